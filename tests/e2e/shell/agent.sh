#!/bin/sh
# An agent in plain sh: it shakes hands, opens a session and answers every prompt with one line. It needs no model.
# Usage: agent.sh LOGS
logs=$1

reply() {
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"
}

while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      reply "$id" '{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}'
      ;;
    *'"method":"session/new"'*)
      read -r session </proc/sys/kernel/random/uuid
      printf '{"type":"session","version":0,"id":"%s","createdAt":%s000,"cwd":"%s"}\n' \
        "$session" "$(date +%s)" "$PWD" >"$logs/$session.jsonl"
      reply "$id" "{\"sessionId\":\"$session\"}"
      ;;
    *'"method":"session/prompt"'*)
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' \
        "$session" "I am a shell script."
      reply "$id" '{"stopReason":"end_turn"}'
      ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id"
      ;;
  esac
done

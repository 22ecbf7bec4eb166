#!/usr/bin/env bash
# An orchestrator in bash: it starts an ACP agent, asks it something, and shows what it heard.
set -euo pipefail

coproc AGENT { exec "$AGENT_REPLAY_PEERS/acp"; }

ask() { # id, method, params
  printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3" >&"${AGENT[1]}"
}

hear() { # how many lines
  local line
  for _ in $(seq "$1"); do
    IFS= read -r line <&"${AGENT[0]}"
    printf '%s\n' "$line" >>"$AGENT_REPLAY_ACTUAL/heard.jsonl"
  done
}

ask 10 initialize '{"protocolVersion":1}'
hear 1
ask 11 session/new "{\"cwd\":\"$AGENT_REPLAY_WORKSPACE\",\"mcpServers\":[]}"
hear 1
ask 12 session/prompt '{"sessionId":"session-1","prompt":[{"type":"text","text":"Say hello."}]}'
hear 2
agent=$AGENT_PID
eval "exec ${AGENT[1]}>&-"
wait "$agent"

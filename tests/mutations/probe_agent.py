"""An agent that tells what reached it: `probe_agent.py SESSIONS [hang]`.

It answers a prompt with the names of the variables in its environment that look like a key's, or "no key". With
"hang" it reads a prompt and never answers. It has no model, so its log is the header alone.
"""

import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any


def answer(request: dict[str, Any], sessions: Path) -> dict[str, Any]:
    """The result of one request. A new session is written to its log."""
    match request["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        case "session/new":
            session = str(uuid.uuid4())
            header = {"type": "session", "version": 0, "id": session, "createdAt": 0, "cwd": str(Path.cwd())}
            (sessions / f"{session}.jsonl").write_text(json.dumps(header) + "\n")
            return {"sessionId": session}
        case "session/prompt":
            keys = sorted(name for name in os.environ if name.endswith(("KEY", "TOKEN", "SECRET")))
            text = " ".join(keys) or "no key"
            content = {"type": "text", "text": text}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            params = {"sessionId": request["params"]["sessionId"], "update": update}
            send({"jsonrpc": "2.0", "method": "session/update", "params": params})
            return {"stopReason": "end_turn"}
    raise KeyError(request["method"])


def send(message: dict[str, Any]) -> None:
    """One line to the client."""
    print(json.dumps(message, separators=(",", ":")), flush=True)


def main(arguments: list[str]) -> None:
    """Answer until the client closes."""
    hangs = arguments[1:] == ["hang"]
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or (hangs and request["method"] == "session/prompt"):
            continue
        try:
            result = {"result": answer(request, Path(arguments[0]))}
        except KeyError:
            result = {"error": {"code": -32601, "message": "Method not found"}}
        send({"jsonrpc": "2.0", "id": request["id"], **result})


if __name__ == "__main__":
    main(sys.argv[1:])

"""An agent that thinks nothing: it says what its fixture expects, so that all that is left of a run is the runner.

    stub_agent SESSIONS FRAMES

Each request is answered with the expected frames up to its response; the session log is the recording with this
run's ids and cwd; the model calls are journalled as if they had been made. The last thing on stderr is a line of JSON
with the CPU that this process used.
"""

# pathlib costs more than all that this program does with paths.
# ruff: noqa: PTH109, PTH118, PTH123

import json
import os
import sys
import time

_SESSION = "0190c0de-0000-7000-8000-000000000001"


def main(sessions: str, frames: str) -> None:
    """Answer until stdin ends."""
    values = {"{{sessionId}}": _SESSION, "{{cwd}}": os.getcwd()}
    with open(frames, encoding="utf-8") as file:
        waiting = _live(file.read(), values).splitlines(keepends=True)
    _write_log(sessions, values)
    for line in sys.stdin:
        request = json.loads(line)
        number = request.get("id")
        if number is None:
            continue
        answer: list[str] = []
        while waiting:
            answer.append(waiting.pop(0))
            if json.loads(answer[-1]).get("id") == number:
                break
        else:
            error = {"code": -32601, "message": "unknown method"}
            answer.append(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + "\n")
        sys.stdout.write("".join(answer))
        sys.stdout.flush()


def _write_log(sessions: str, values: dict[str, str]) -> None:
    """The recording as this run's log, and a journal entry for each model call in it."""
    with open(os.path.join(os.environ["AGENT_REPLAY_FIXTURE"], "session.jsonl"), encoding="utf-8") as file:
        log = _live(file.read(), values)
    with open(os.path.join(sessions, f"{_SESSION}.jsonl"), "w", encoding="utf-8") as file:
        file.write(log)
    with open(os.environ["AGENT_REPLAY_JOURNAL"], "w", encoding="utf-8") as file:
        for ordinal in range(1, log.count('"type":"call/start"') + 1):
            entry = {"kind": "call", "lane": "parent", "ordinal": ordinal, "session": _SESSION}
            file.write(json.dumps(entry) + "\n")


def _live(text: str, values: dict[str, str]) -> str:
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


if __name__ == "__main__":
    main(*sys.argv[1:])
    print(json.dumps({"cpu_ms": time.process_time() * 1000}), file=sys.stderr)

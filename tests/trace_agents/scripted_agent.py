"""An agent under trace replay that does what a JSON file says, and misbehaves on request. Standard library only.

    scripted_agent.py SCRIPT.json

The script: "runs" ("one"|"many"), "hello" (members added to it, or null for none), "steps" (what each run does), and
"answers" (what a live call gives, by tool name, or "model"). A step is one of

    {"model": [messages], …}  {"tool": name, "input": …}  {"state": …, "label": …}  {"final": …, "success": …}
    {"raw": text}             written as it is
    {"stderr": text}          {"exit": n}  {"kill": n}  {"sleep": s}  {"file": name, "text": …}  {"orphan": s}
    {"hang": true}            neither reads nor ends

{{task}}, {{last}}, {{pid}}, {{random}}, {{cwd}} in its strings are the task, the last answer, and what differs in each run.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    script = json.loads(Path(sys.argv[1]).read_bytes())
    reader, writer = connect(os.environ["AGENT_REPLAY_TRACE"])
    if script.get("hello", {}) is not None:
        write(
            writer,
            {"op": "hello", "protocol": 1, "runs": script.get("runs", "one"), **script.get("hello", {})},
        )
    for step in script.get("before", ()):
        misbehave(step, writer)
    while line := reader.readline():
        play(script, json.loads(line), reader, writer)
        if script.get("runs", "one") == "one":
            break
    if script.get("stays"):
        time.sleep(script["stays"])
    return script.get("exit", 0)


def connect(channel: str):
    if channel == "stdio":
        return sys.stdin.buffer, sys.stdout.buffer
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(channel.removeprefix("unix:"))
    return connection.makefile("rb"), connection.makefile("wb")


def write(writer, fields) -> None:
    writer.write(json.dumps(fields).encode() + b"\n")
    writer.flush()


def play(script, run, reader, writer) -> None:
    values = {
        "task": run["task"],
        "last": "",
        "pid": str(os.getpid()),
        "random": os.urandom(8).hex(),
        "cwd": str(Path.cwd()),
    }
    for number, step in enumerate(steps_of(script, run), 1):
        step = filled(step, values)
        if "model" in step or "tool" in step:
            values["last"] = call(script, step, number, reader, writer)
        elif "state" in step:
            write(writer, {"op": "state", "label": step["label"], "state": step["state"]})
        elif "final" in step:
            rest = {key: value for key, value in step.items() if key != "final"}
            write(writer, {"op": "final", "answer": step["final"], **rest})
        else:
            misbehave(step, writer)


def steps_of(script, run):
    """Steps for all traces, or by the trace's id, or by the number of the run."""
    steps = script["steps"]
    if isinstance(steps, dict):
        steps = steps.get(f"{run['trace_id']}.{run['run']}", steps.get(run["trace_id"], steps.get("*", [])))
    return steps


def call(script, step, number, reader, writer):
    kind = "model" if "model" in step else "tool"
    rest = {key: value for key, value in step.items() if key not in ("model", "tool")}
    what = {"messages": step["model"]} if kind == "model" else {"name": step["tool"]}
    number = step.get("id", number)
    write(writer, {"op": kind, "id": number, **what, **rest})
    line = reader.readline()
    if not line:
        sys.exit(0)
    answer = json.loads(line)
    if answer.get("live"):
        result = script.get("answers", {}).get(step.get("tool", "model"))
        write(writer, {"op": "done", "id": number, "result": result})
        return result
    if "error" in answer:
        if script.get("ignores_over") and answer.get("over"):
            return ""
        if answer.get("over"):
            sys.exit(0)
        return f"{answer['error']['type']}: {answer['error']['message']}"
    return answer["result"]


def misbehave(step, writer) -> None:
    if "raw" in step:
        writer.write(step["raw"].encode())
        writer.flush()
    elif "stderr" in step:
        print(step["stderr"], file=sys.stderr, flush=True)
    elif "exit" in step:
        os._exit(step["exit"])
    elif "kill" in step:
        os.kill(os.getpid(), step["kill"])
    elif "sleep" in step:
        time.sleep(step["sleep"])
    elif "file" in step:
        with Path(step["file"]).open("a", encoding="utf-8") as file:
            file.write(step["text"])
    elif "orphan" in step:
        subprocess.Popen(["sleep", str(step["orphan"])], start_new_session=True, stdin=subprocess.DEVNULL)
    elif "hang" in step:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)


def filled(value, values):
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace("{{" + name + "}}", text if isinstance(text, str) else json.dumps(text))
        return value
    if isinstance(value, dict):
        return {key: filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, values) for inner in value]
    return value


if __name__ == "__main__":
    sys.exit(main())

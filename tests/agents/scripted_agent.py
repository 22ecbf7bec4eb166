"""An ACP agent for the runner's own tests: behaves well, except where its script says otherwise.

    scripted_agent.py SESSIONS [SCRIPT]

SCRIPT is a JSON file {moment: [action, …]}: the actions replace what the agent does at that moment. Moments are
"start", "end" (stdin closed) and the methods of the client. Actions are the methods `do_…` of Agent. Standard
library only, so that it starts fast and runs anywhere. The recording is read as ReplayModel would read it: chunks
of one call up to its finish, one journal line a call.
"""

import ctypes
import json
import os
import signal
import sys
import time

_PR_SET_NAME = 15


class Agent:
    def __init__(self, sessions: str, script: dict[str, list[dict[str, object]]]) -> None:
        self.sessions = sessions
        self.script = script
        self.session = ""
        self.turn = 0
        self.request: dict = {}
        self.children: list[int] = []

    # Life.

    def run(self) -> None:
        self.at("start", lambda: None)
        for line in sys.stdin.buffer:
            self.request = json.loads(line)
            method = self.request.get("method", "")
            handler = getattr(self, "on_" + method.replace("/", "_"), self.on_other)
            self.at(method, handler)
        self.at("end", lambda: None)

    def at(self, moment: str, otherwise) -> None:
        actions = self.script.get(moment)
        if actions is None:
            otherwise()
            return
        for action in actions:
            ((name, argument),) = action.items()
            getattr(self, "do_" + name)(argument)

    # The good half.

    def on_initialize(self) -> None:
        self.reply({"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})

    def on_session_new(self) -> None:
        self.do_new_as("sess-")

    def do_new_as(self, prefix: str) -> None:
        """A session whose id begins so."""
        self.session = prefix + os.urandom(6).hex()
        self.log(
            {
                "type": "session",
                "version": 0,
                "id": self.session,
                "createdAt": int(time.time() * 1000),
                "cwd": self.request["params"]["cwd"],
                "delegationDepth": 0,
            }
        )
        self.reply({"sessionId": self.session})

    def on_session_prompt(self) -> None:
        self.turn += 1
        content = self.request["params"]["prompt"]
        self.event("turn/start", turn=self.turn)
        self.event("step/start", turn=self.turn, step=1)
        self.event("user/message", role="user", content=content)
        self.stream()
        self.event("step/end", turn=self.turn, step=1)
        self.event("turn/end", turn=self.turn, reason={"kind": "completed"})
        self.reply({"stopReason": "end_turn"})

    def on_session_cancel(self) -> None:
        return

    def on_other(self) -> None:
        if "id" in self.request and "method" in self.request:
            self.send(
                {
                    "jsonrpc": "2.0",
                    "id": self.request["id"],
                    "error": {"code": -32601, "message": "no such method"},
                }
            )

    def stream(self) -> None:
        text = ""
        for chunk in self.next_call():
            self.event("assistant/chunk", turn=self.turn, step=1, chunk=chunk)
            if chunk["type"] == "text-delta":
                text += chunk["text"]
                self.update(
                    {
                        "sessionUpdate": "agent_message_chunk",
                        "content": {"type": "text", "text": chunk["text"]},
                    }
                )
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        self.event("assistant/message", turn=self.turn, step=1, message=message)

    def next_call(self) -> list[dict]:
        """The chunks of the next recorded call, journalled; logs are used up one after the other."""
        calls = recorded_calls(os.environ["AGENT_REPLAY_FIXTURE"])
        journal = os.environ["AGENT_REPLAY_JOURNAL"]
        served = 0
        if os.path.exists(journal):
            with open(journal, "rb") as file:
                served = len(file.read().splitlines())
        if served >= len(calls):
            self.journal({"kind": "diverged", "message": 'lane "parent" is exhausted', "fix": ""})
            raise SystemExit("diverged")
        lane, ordinal, chunks = calls[served]
        self.journal({"kind": "call", "lane": lane, "ordinal": ordinal, "session": self.session})
        return chunks

    # What it can do wrong.

    def do_normal(self, _: object) -> None:
        getattr(self, "on_" + self.request.get("method", "other").replace("/", "_"), self.on_other)()

    def do_new_without_log(self, _: object) -> None:
        self.session = "sess-" + os.urandom(6).hex()
        self.reply({"sessionId": self.session})

    def do_answer_twice(self, _: object) -> None:
        self.do_normal(None)
        self.do_normal(None)

    def do_answer_later_id(self, add: int) -> None:
        self.send({"jsonrpc": "2.0", "id": self.request["id"] + add, "result": {}})

    def do_refuse(self, message: str) -> None:
        """Answer the request with an error."""
        error = {"code": -32000, "message": message}
        self.send({"jsonrpc": "2.0", "id": self.request["id"], "error": error})

    def do_tell(self, update: dict) -> None:
        """Send an update of the session."""
        self.update(update)

    def do_note(self, fields: dict) -> None:
        """Log an event of the agent's own."""
        self.event("agent/note", **fields)

    def do_log_header(self, data: dict) -> None:
        """Log what a request begins with."""
        self.event("request/header", **data)

    def do_silence(self, _: object) -> None:
        return

    def do_write(self, text: str) -> None:
        self.raw(text.encode())

    def do_stderr(self, text: str) -> None:
        os.write(2, text.encode())

    def do_long_line(self, size: int) -> None:
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x" * size}})

    def do_flood(self, _: object) -> None:
        frame = json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {
                    "sessionId": self.session or "none",
                    "update": {
                        "sessionUpdate": "agent_message_chunk",
                        "content": {"type": "text", "text": "spam " * 40},
                    },
                },
            }
        )
        data = (frame + "\n").encode() * 100
        while True:
            self.raw(data)

    def do_exit(self, status: int) -> None:
        os._exit(status)

    def do_signal(self, number: int) -> None:
        os.kill(os.getpid(), number)

    def do_ignore(self, number: int) -> None:
        signal.signal(number, signal.SIG_IGN)

    def do_close_stdout(self, _: object) -> None:
        os.close(1)

    def do_sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)

    def do_leave_child(self, how: str) -> None:
        """Fork a child that sleeps; "daemon" leaves the session too and is named for the test to find."""
        if os.fork():
            return
        if how == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        if how != "holding":
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, b"left_behind", 0, 0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
        os._exit(0)

    def do_tell_environment(self, _: object) -> None:
        """Say in a frame which variables there are, and every file of the cwd and home."""
        files = [
            name
            for root in (os.getcwd(), os.environ["HOME"])
            for _, _, names in os.walk(root)
            for name in names
        ]
        text = json.dumps({"environment": dict(os.environ), "files": files})
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
        os.write(2, text.encode() + b"\n")

    def do_say(self, texts: list[str]) -> None:
        for text in texts:
            self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def do_tell_place(self, _: object) -> None:
        self.do_say([f"in {os.getcwd()}/a for {os.environ['HOME']}"])

    def do_tell_machine(self, _: object) -> None:
        """Say who runs this where, as the system knows it."""
        import pwd

        account = pwd.getpwuid(os.getuid())
        host = os.uname().nodename
        self.do_say([f"{account.pw_name}@", f"{host} in {account.pw_dir} on {host}."])

    def do_ask(self, request: dict) -> None:
        """Send a request of the agent and wait for its answer, which goes to stderr."""
        text = json.dumps(request).replace("{session}", self.session).replace("{cwd}", os.getcwd())
        self.raw(text.encode() + b"\n")
        os.write(2, sys.stdin.buffer.readline())

    def do_call_model(self, prompts: list[str]) -> None:
        """Ask the gateway of the environment, one call a prompt, and stream the texts on."""
        import urllib.error
        import urllib.request

        for prompt in prompts:
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
            request = urllib.request.Request(
                os.environ["MODEL_URL"] + "/chat/completions", body, {"content-type": "application/json"}
            )
            try:
                with urllib.request.urlopen(request) as answer:
                    text = json.load(answer)["choices"][0]["message"]["content"]
            except urllib.error.HTTPError as error:
                text = f"HTTP {error.code}"
            self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
        self.reply({"stopReason": "end_turn"})

    def do_talk_to_model(self, talk: dict) -> None:
        """Ask the gateway as an agent does: {"system", "tools", "prompt", "results", "more"}, a call for each result.

        results: what the tools of each reply return, in the order of its tool calls, told as a message of the role
        `results_as`. more: other members of the body.
        """
        messages = [
            {"role": "system", "content": talk["system"]},
            {"role": "user", "content": talk["prompt"]},
        ]
        for outcome in [*talk.get("results", []), None]:
            body = {"model": "m", "messages": messages, "tools": talk.get("tools"), **talk.get("more", {})}
            message = self.complete({key: value for key, value in body.items() if value})
            messages = [*messages, message]
            for call in message.get("tool_calls") or []:
                told = {"role": talk.get("results_as", "tool"), "content": outcome}
                messages.append(told | ({"tool_call_id": call["id"]} if told["role"] == "tool" else {}))
        text = message["content"] or ""
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def do_log_words(self, text: str) -> None:
        """Log a turn as if the model had streamed `text` in one piece a word."""
        self.turn += 1
        self.event("turn/start", turn=self.turn)
        self.event("user/message", role="user", content=self.request["params"]["prompt"])
        pieces = [word + " " for word in text.split(" ")]
        pieces[-1] = pieces[-1][:-1]
        chunks = [
            {"type": "block-start", "index": 0, "blockType": "text"},
            *({"type": "text-delta", "index": 0, "text": piece} for piece in pieces),
            {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
            {"type": "finish", "reason": {"kind": "stop"}},
        ]
        for chunk in chunks:
            self.event("assistant/chunk", turn=self.turn, step=1, chunk=chunk)
        self.event("turn/end", turn=self.turn, reason={"kind": "completed"})

    def do_end_turn(self, _: object) -> None:
        self.reply({"stopReason": "end_turn"})

    def complete(self, body: dict) -> dict:
        import urllib.error
        import urllib.request

        data = json.dumps(body).replace("{session}", self.session).replace("{cwd}", os.getcwd()).encode()
        url = os.environ["MODEL_URL"] + "/chat/completions"
        request = urllib.request.Request(url, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            return {"role": "assistant", "content": f"HTTP {error.code}"}

    def do_fetch(self, url: str) -> None:
        """Try to reach another host as any HTTP client does."""
        import urllib.request

        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError as error:
            os.write(2, f"{error}\n".encode())

    # Wire and log.

    def reply(self, result: dict) -> None:
        self.send({"jsonrpc": "2.0", "id": self.request["id"], "result": result})

    def update(self, update: dict) -> None:
        self.send(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": self.session, "update": update},
            }
        )

    def send(self, frame: dict) -> None:
        self.raw(json.dumps(frame, ensure_ascii=False).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def event(self, kind: str, **data: object) -> None:
        self.log({"type": kind, "data": data, "time": int(time.time() * 1000)})

    def log(self, row: dict) -> None:
        with open(os.path.join(self.sessions, self.session + ".jsonl"), "ab") as file:
            file.write(json.dumps(row).encode() + b"\n")

    def journal(self, entry: dict) -> None:
        with open(os.environ["AGENT_REPLAY_JOURNAL"], "ab") as file:
            file.write(json.dumps(entry).encode() + b"\n")


def recorded_calls(directory: str) -> list[tuple[str, int, list[dict]]]:
    """(lane, ordinal, chunks) of every call that ends in a finish."""
    calls = []
    for number in range(9):
        path = os.path.join(directory, f"session.{number}.jsonl" if number else "session.jsonl")
        if not os.path.exists(path):
            break
        lane = f"child {number}" if number else "parent"
        ordinal = 1
        chunks: list[dict] = []
        with open(path, encoding="utf-8", newline="\n") as file:
            rows = [json.loads(line) for line in file]
        for row in rows:
            data = row.get("data", {})
            if row["type"] == "assistant/chunk":
                chunks.append(data["chunk"])
            elif row["type"] == "text-chunks":
                chunks += [
                    {"type": "text-delta", "index": data["index"], "text": text} for text in data["texts"]
                ]
            if chunks and chunks[-1]["type"] == "finish":
                calls.append((lane, ordinal, chunks))
                ordinal += 1
                chunks = []
    return calls


if __name__ == "__main__":
    script = {}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as script_file:
            script = json.load(script_file)
    Agent(sys.argv[1], script).run()

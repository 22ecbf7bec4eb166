"""An agent, a host and a loop in memory, so that the driver can be played without a process.

`Agent` answers each frame of the client from a table of handlers, `play` is the smallest loop that the contract of
driver.py allows: it carries out actions in order, hands in the agent's lines, and meets what only a loop can see.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from replay.acp import (
    Action,
    Done,
    Driver,
    Pending,
    Refusal,
    Report,
    Restart,
    Send,
    Tables,
    TerminalExit,
    TerminalOutput,
    Wait,
    WaitFile,
    WaitLogEvent,
    parse_script,
)

Frame = dict[str, Any]
Handler = Callable[["Agent", Frame], Iterable[Frame | bytes]]


def ok(frame: Frame, result: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": frame["id"], "result": result}


def error(frame: Frame, code: int, message: str) -> Frame:
    return {"jsonrpc": "2.0", "id": frame["id"], "error": {"code": code, "message": message}}


def update(session: str, **fields: Any) -> Frame:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": fields}}


def chunk(session: str, text: str) -> Frame:
    return update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def ask(number: int | str, method: str, **params: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Agent:
    """`received` holds the client's frames; handlers are found by method, responses under "answer"."""

    def __init__(self, **handlers: Handler) -> None:
        self.received: list[Frame] = []
        self.sessions = 0
        self.handlers: dict[str, Handler] = {**_DEFAULTS, **handlers}

    def take(self, frame: Frame) -> list[bytes]:
        self.received.append(frame)
        handler = self.handlers.get(frame.get("method", "answer"))
        if handler is None:
            answers: Iterable[Frame | bytes] = (
                [error(frame, -32601, "Method not found")] if "id" in frame else []
            )
        else:
            answers = handler(self, frame)
        return [item if isinstance(item, bytes) else orjson.dumps(item) for item in answers]

    def sent(self, method: str) -> list[Frame]:
        """The client's frames of one method."""
        return [frame for frame in self.received if frame.get("method") == method]

    def answers(self) -> list[Frame]:
        """The client's answers to this agent's own requests."""
        return [frame for frame in self.received if "method" not in frame]


def _new_session(agent: Agent, frame: Frame) -> list[Frame | bytes]:
    agent.sessions += 1
    return [ok(frame, {"sessionId": f"s{agent.sessions}"})]


_DEFAULTS: dict[str, Handler] = {
    "initialize": lambda _agent, frame: [ok(frame, {"protocolVersion": 1})],
    "authenticate": lambda _agent, frame: [ok(frame, {})],
    "session/new": _new_session,
    "session/load": lambda _agent, frame: [chunk(frame["params"]["sessionId"], "old"), ok(frame, {})],
    "session/resume": lambda _agent, frame: [ok(frame, {})],
    "session/list": lambda _agent, frame: [ok(frame, {"sessions": []})],
    "session/close": lambda _agent, frame: [ok(frame, {})],
    "session/set_mode": lambda _agent, frame: [ok(frame, {})],
    "session/set_config_option": lambda _agent, frame: [ok(frame, {"configOptions": []})],
    "session/prompt": lambda _agent, frame: [
        chunk(frame["params"]["sessionId"], "hello"),
        ok(frame, {"stopReason": "end_turn"}),
    ],
    "session/cancel": lambda _agent, _frame: [],
    "answer": lambda _agent, _frame: [],
}


class Host:
    """Files in a dictionary; commands that never end unless `exits` says how."""

    def __init__(self, files: Mapping[str, str] | None = None, exits: TerminalExit | None = None) -> None:
        self.files = dict(files or {})
        self.exits = exits
        self.calls: list[tuple[Any, ...]] = []

    def read_text_file(self, path: str) -> str | Refusal:
        self.calls.append(("read", path))
        return self.files[path] if path in self.files else Refusal("no such file", -32002)

    def write_text_file(self, path: str, content: str) -> Refusal | None:
        self.calls.append(("write", path))
        if not path.startswith("/sandbox/"):
            return Refusal("outside the sandbox")
        self.files[path] = content
        return None

    def terminal_create(
        self,
        command: str,
        args: Sequence[str],
        env: Sequence[tuple[str, str]],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> str | Refusal:
        self.calls.append(("create", command, list(args), list(env), cwd, output_byte_limit))
        return Refusal("no such command") if command == "missing" else "terminal-1"

    def terminal_output(self, terminal_id: str) -> TerminalOutput | Refusal:
        self.calls.append(("output", terminal_id))
        return TerminalOutput("hi", False, self.exits)

    def terminal_wait_for_exit(self, terminal_id: str) -> TerminalExit | Pending | Refusal:
        self.calls.append(("wait", terminal_id))
        return self.exits if self.exits is not None else Pending(7)

    def terminal_kill(self, terminal_id: str) -> Refusal | None:
        self.calls.append(("kill", terminal_id))
        return None

    def terminal_release(self, terminal_id: str) -> Refusal | None:
        self.calls.append(("release", terminal_id))
        return Refusal("unknown terminal") if terminal_id == "gone" else None


class Run:
    """One play: `driver`, the waits that the loop met by itself, and what finish() said."""

    def __init__(self, driver: Driver, agent: Agent) -> None:
        self.driver = driver
        self.agent = agent
        self.met: list[Wait] = []
        self.restarts = 0
        self.lines: deque[bytes] = deque()
        self.is_done = False

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                for line in action.data.splitlines():
                    self.lines.extend(self.agent.take(orjson.loads(line)))
            elif isinstance(action, Restart):
                # A real loop reads the old process to its end before it starts the new one.
                self.drain()
                self.restarts += 1
                self.carry_out(self.driver.on_eof())
                self.carry_out(self.driver.on_agent_restarted())
            elif isinstance(action, Done):
                self.is_done = True

    def drain(self) -> None:
        while self.lines:
            self.carry_out(self.driver.on_line(self.lines.popleft()))

    def waiting(self) -> Wait | None:
        """What the driver waits for now: a call, since it changes between two looks."""
        return self.driver.waiting

    @property
    def report(self) -> Report:
        return self.driver.finish()

    def frames(self) -> list[Frame]:
        return [frame.value for frame in self.driver.frames]


def start(
    tables: Tables,
    steps: Sequence[Frame],
    agent: Agent | None = None,
    host: Host | None = None,
    deviations: Sequence[Mapping[str, Any]] = (),
    **top: Any,
) -> Run:
    """A driver that stands at its first wait that lines cannot meet."""
    script = parse_script(orjson.dumps({"steps": steps, **top}))
    driver = Driver(script, "/sandbox", host or Host(), tables, deviations)
    run = Run(driver, agent or Agent())
    run.carry_out(driver.start())
    run.drain()
    return run


def play(tables: Tables, steps: Sequence[Frame], agent: Agent | None = None, **options: Any) -> Run:
    """Play to the end, meeting files and log events as soon as nothing else happens."""
    run = start(tables, steps, agent, **options)
    while isinstance(run.driver.waiting, WaitFile | WaitLogEvent):
        run.met.append(run.driver.waiting)
        run.carry_out(run.driver.on_condition())
        run.drain()
    assert run.is_done, f"stuck: {run.driver.waiting.describe() if run.driver.waiting else 'nowhere'}"
    return run


def asking(*requests: Frame) -> Agent:
    """An agent that sends its requests when prompted and ends the turn when all are answered."""

    def prompt(_agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        return list(requests)

    def answer(agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        if len(agent.answers()) < len(requests):
            return []
        return [ok(agent.sent("session/prompt")[-1], {"stopReason": "end_turn"})]

    return Agent(**{"session/prompt": prompt, "answer": answer})


def single(played: Run) -> Any:
    (answer,) = played.agent.answers()
    return answer.get("result", answer.get("error"))

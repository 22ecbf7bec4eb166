"""The driver: plays input.json as an ACP client, without I/O and without a clock.

The loop that owns the pipes calls `start()` once and then one `on_…` for whatever happens; each returns actions
to carry out in order. `waiting` says what the script stands at, `describe()` in words for a hang. `on_condition`
is for the two waits that only the loop can see (WaitFile, WaitLogEvent). After Done lines are still taken in:
updates may come after a prompt's response, and late ones count. `finish()` closes the books.

What breaks the run at once is raised: AgentError (the agent broke JSON-RPC, closed its stdout), DivergenceError
(it did not do what the script expects), FixtureError (the script sends what the schema forbids). What does not keep
the script from going on is collected for `finish()`: breaches of the schema, unused answers.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, NamedTuple

from replay.acp.client import Client
from replay.acp.connection import (
    OPEN,
    CancelRequested,
    Connection,
    Event,
    Frame,
    Notification,
    Request,
    Response,
    encode,
    parse,
)
from replay.acp.deviations import Deviations
from replay.acp.host import ClientHost, Refusal, TerminalExit
from replay.acp.ops import Script
from replay.acp.schema import AGENT, CLIENT, Tables, Verdict
from replay.acp.steps import BARRIER, STEPS, Session, demand_success
from replay.acp.waits import Action, Done, Send, Wait, WaitReply, WaitRestart, WaitUpdate
from replay.errors import AgentError, FixtureError, Location, ReplayError

__all__ = ["AgentFrame", "Driver", "Report"]

_MAX_LISTED = 50


class AgentFrame(NamedTuple):
    """One line of the agent's stdout: as sent, and parsed."""

    raw: bytes
    value: Frame


class Report(NamedTuple):
    """`failures` fail the run; `warnings` are soft problems; `notes` say what the driver itself caused."""

    failures: list[ReplayError]
    warnings: list[str]
    notes: list[str]


class Driver:
    """One run of one script against one agent.

    cwd: absolute path of the sandbox cwd. accepted_deviations: see deviations.py. `frames` is the stdout surface:
    every frame of the agent in order, but for the answers to `settle`.
    """

    def __init__(
        self,
        script: Script,
        cwd: str,
        host: ClientHost,
        tables: Tables,
        accepted_deviations: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.script = script
        self.cwd = cwd
        self.connection = Connection()
        self.client = Client(script, self.connection, host, self.send)
        self.frames: list[AgentFrame] = []
        self.waiting: Wait | None = None
        self.is_done = False
        self.sessions: list[Session] = []
        self.background: dict[int, str] = {}
        """Prompts sent with "wait": false and not awaited yet, each with the path of its step."""
        self.taken_back: set[int] = set()
        """Requests for which `$/cancel_request` was sent."""
        self.guard = 0
        """A prompt whose answer ends the present wait, whatever it is for; 0 for none."""
        self.step_path = ""
        self._tables = tables
        self._deviations = Deviations(accepted_deviations)
        self._play = self._playing()
        self._actions: list[Action] = []
        self._replies: dict[int, Response] = {}
        self._breaches: dict[tuple[str, str], AgentError] = {}
        self._repairs: dict[str, None] = {}
        self._updated_sessions: dict[str, None] = {}
        self._matched: set[int] = set()
        self._turn_starts: dict[str, int] = {}

    # What the loop calls.

    def start(self) -> list[Action]:
        """Begin the script. Call once."""
        return self._enter(self._advance, None)

    def on_line(self, line: bytes) -> list[Action]:
        """The agent wrote a line (without its line end)."""
        return self._enter(self._take_line, line)

    def on_condition(self) -> list[Action]:
        """`waiting` is a WaitFile or a WaitLogEvent and has become true."""
        if self.waiting is None or isinstance(self.waiting, WaitReply | WaitUpdate | WaitRestart):
            return []
        return self._enter(self._advance, True)

    def on_agent_restarted(self) -> list[Action]:
        """The Restart is carried out: a new process reads and writes from here on."""
        return self._enter(self._take_restart)

    def on_host_reply(self, token: int, result: TerminalExit | Refusal) -> list[Action]:
        """The host has the answer that it owed as Pending(token)."""
        return self._enter(self.client.host_reply, token, result)

    def on_eof(self) -> list[Action]:
        """The agent closed its stdout. Raises AgentError unless the script is played or asked for a restart."""
        return self._enter(self._take_eof)

    def finish(self) -> Report:
        """The verdicts that are only known at the end. May be called at any time, also after an error."""
        known = {session.id for session in self.sessions}
        strangers = [
            f'updates came for session "{name}", which no answer named'
            for name in self._updated_sessions
            if name not in known
        ]
        warnings = [*self._repairs, *strangers, *self._deviations.unmet()]
        return Report([*self._breaches.values(), *self.client.unused()], warnings, list(self.client.notes))

    # What the steps call.

    def request(self, method: str, params: dict[str, Any]) -> int:
        """Send a request; its id."""
        number, frame = self.connection.request(method, _filled(params, self.cwd))
        self.send(frame, self.step_path)
        return number

    def send(self, frame: Frame, path: str = "", method: str = "") -> None:
        """Validate a frame of ours and hand it to the loop.

        path: where in the script it comes from, "" if it is the driver's own. method: what a response answers.
        """
        method = frame.get("method", method)
        verdict = self._tables.validate(CLIENT, frame, method)
        self._note_repairs(f'our "{method}"', verdict)
        for failure in verdict.failures:
            if not self._deviations.accept(method, failure.path):
                what = (
                    f'the "{method}" sent here breaks the ACP schema at {failure.path}: {failure.expectation}'
                )
                if not path:
                    raise RuntimeError(what)
                raise FixtureError(
                    what, Location(self.script.file, path=path), _acceptable(method, failure.path)
                )
        self.act(Send(encode(frame)))

    def act(self, action: Action) -> None:
        self._actions.append(action)

    def capabilities(self) -> dict[str, Any]:
        """What the client announces: files and terminals, and elicitation if the script has answers for it."""
        if self.script.client_capabilities is not None:
            return self.script.client_capabilities
        capabilities: dict[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
        if self.script.elicitation_answers is not None:
            capabilities["elicitation"] = {"form": {}, "url": {}}
        return capabilities

    def inside(self, path: str | None) -> str:
        """A path relative to the sandbox cwd, made absolute."""
        return f"{self.cwd}/{path}" if path else self.cwd

    def session(self, fields: dict[str, Any]) -> Session:
        """The session that an op names, the newest by default."""
        index = fields.get("session", len(self.sessions) - 1)
        if not 0 <= index < len(self.sessions):
            raise FixtureError("there is no such session")
        session: Session = self.sessions[index]
        return session

    def begin_turn(self, session: Session, number: int) -> None:
        """A prompt was sent as request `number`: updates of its session count for waits from here on."""
        session.turns += 1
        session.prompt = number
        self.client.cancelled.discard(session.id)
        self._turn_starts[session.id] = len(self.frames)

    def cancel_turn(self, session: Session) -> None:
        """Cancel the running turn and answer what is pending for it."""
        self.send(self.connection.notify("session/cancel", {"sessionId": session.id}), self.step_path)
        self.client.cancel_session(session.id, self.connection.is_open(session.prompt))

    # The machine.

    def _playing(self) -> Generator[Wait, Any]:
        for step in self.script.steps:
            self.step_path = step.path
            yield from STEPS[step.op](self, step.fields)
        for number, path in list(self.background.items()):
            self.step_path = path
            reply = yield WaitReply("session/prompt", number)
            demand_success(reply, number in self.taken_back)

    def _enter(self, call: Callable[..., None], *arguments: Any) -> list[Action]:
        """Run one call of the loop; an error learns which step was played."""
        try:
            call(*arguments)
        except ReplayError as error:
            if not error.where.path and self.step_path:
                error.where = Location(self.script.file, path=self.step_path)
            raise
        actions, self._actions = self._actions, []
        return actions

    def _advance(self, value: Any) -> None:
        """Play on until something is waited for that has not happened yet."""
        while True:
            try:
                self.waiting = self._play.send(value)
            except StopIteration:
                self.waiting = None
                self.is_done = True
                self.act(Done())
                return
            value = self._what_met(self.waiting, 0)
            if value is None:
                return

    def _what_met(self, wait: Wait, start: int) -> Any:
        """What has already met a wait, or None. Frames before the `start`-th are known not to."""
        if isinstance(wait, WaitReply):
            reply = self._replies.pop(wait.id, None)
            if reply is not None:
                self.background.pop(wait.id, None)
            return reply
        if isinstance(wait, WaitUpdate):
            for index in range(start, len(self.frames)):
                frame = self.frames[index].value
                is_new = index not in self._matched and wait.is_met_by(frame)
                if is_new and self._is_of_this_turn(index, frame):
                    self._matched.add(index)
                    return True
        return self._replies.get(self.guard)

    def _is_of_this_turn(self, index: int, frame: Frame) -> bool:
        """Whether a frame came since its session's newest prompt, or for a session that has had none."""
        name = frame["params"].get("sessionId")
        return not isinstance(name, str) or index >= self._turn_starts.get(name, 0)

    def _take_line(self, line: bytes) -> None:
        frame = parse(line)
        start = len(self.frames)
        if self.connection.methods.get(_response_id(frame)) != BARRIER:
            self.frames.append(AgentFrame(line, frame))
        event = self.connection.receive(frame)
        self._take_event(event, self._is_usable(frame, event))
        met = self._what_met(self.waiting, start) if self.waiting is not None else None
        if met is not None:
            self._advance(met)

    def _take_event(self, event: Event, is_usable: bool) -> None:
        if isinstance(event, Response):
            self._take_response(event)
        elif isinstance(event, Request):
            self.client.handle(event, is_usable)
        elif isinstance(event, CancelRequested):
            if event.state == OPEN:
                self.client.cancel_request(event.id)
            else:
                self.client.notes.append(
                    f"the agent cancelled its request {event.id!r}, which is {event.state}"
                )
        elif event.method == "session/update":
            self._take_update(event)

    def _take_update(self, event: Notification) -> None:
        name = event.params.get("sessionId") if isinstance(event.params, dict) else None
        if isinstance(name, str):
            self._updated_sessions[name] = None

    def _take_response(self, response: Response) -> None:
        number = response.id
        assert isinstance(
            number, int
        )  # we only ever sent integers, and the connection knows every one of them
        self._replies[number] = response
        for session in self.sessions:
            if session.prompt == number:
                self.client.cancelled.discard(session.id)
        path = self.background.get(number)
        if path is not None and response.error is not None:
            # Nobody waits for it yet: say so now, before a wait that it explains runs into its deadline.
            try:
                demand_success(response, number in self.taken_back)
            except ReplayError as error:
                error.where = Location(self.script.file, path=path)
                raise

    def _take_restart(self) -> None:
        if not isinstance(self.waiting, WaitRestart):
            raise RuntimeError("the agent was restarted, the script did not ask for it")
        self.connection.restart()
        self.client.restart()
        self.background.clear()
        self._advance(True)

    def _take_eof(self) -> None:
        if self.waiting is None or isinstance(self.waiting, WaitRestart):
            return
        raise AgentError(
            f"the agent closed its stdout in the middle of the script: {self.waiting.describe()}"
        )

    def _is_usable(self, frame: Frame, event: Event) -> bool:
        """Judge a frame of the agent; False if it breaks the schema where no deviation is accepted."""
        method = event.method if isinstance(event, Response) else str(frame.get("method"))
        verdict = self._tables.validate(AGENT, frame, method)
        if verdict.answer == "valid":
            return True
        self._note_repairs(f'"{method}"', verdict)
        usable = True
        for failure in verdict.failures:
            if self._deviations.accept(method, failure.path):
                continue
            usable = False
            if len(self._breaches) < _MAX_LISTED:
                what = f'the agent\'s {_kind(event)} "{method}" breaks the ACP schema at {failure.path}: {failure.expectation}'
                error = AgentError(
                    what, Location(self.script.file, path=self.step_path), _acceptable(method, failure.path)
                )
                self._breaches.setdefault((method, failure.path), error)
        return usable

    def _note_repairs(self, what: str, verdict: Verdict) -> None:
        if len(self._repairs) < _MAX_LISTED:
            self._repairs.update(dict.fromkeys(f"{what} {note}" for note in verdict.notes))


def _acceptable(method: str, path: str) -> str:
    return f'correct it, or accept it in the suite with a reason: {{"method": "{method}", "path": "{path}", "reason": "…"}}'


def _kind(event: Event) -> str:
    if isinstance(event, Response):
        return "answer to"
    return "request" if isinstance(event, Request) else "notification"


def _response_id(frame: Frame) -> Any:
    number = frame.get("id") if "method" not in frame else None
    return number if type(number) is int else None


def _filled(value: Any, cwd: str) -> Any:
    """`value` with the sandbox cwd in the place of `{{cwd}}` in every string."""
    if isinstance(value, str):
        return value.replace("{{cwd}}", cwd) if "{{cwd}}" in value else value
    if isinstance(value, list):
        return [_filled(item, cwd) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, cwd) for key, item in value.items()}
    return value

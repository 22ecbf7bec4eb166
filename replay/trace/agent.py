"""The side of the agent, for agents in Python: the recorder's wrappers, answered by the runner of a trace replay.

    def make_agent(session):                       # what an entry names: "shop.agent:make_agent"
        ask, search = session.model(client.create), session.tool(search)
        def agent(task, **inputs):
            ...
            return answer                          # or Outcome(answer, success)
        return agent

    serve(make_agent, os.environ)

In production the same function gets a Recorder. `serve` speaks the agent protocol on the channel that the environment
names. On stdio it first moves the protocol to a descriptor of its own, so that whatever prints goes to stderr.
"""

import inspect
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, BinaryIO, Final

import orjson

from replay.errors import UsageError
from replay.trace.calls import MODEL, Call
from replay.trace.jsonable import freeze
from replay.trace.model import ABSENT, StepError
from replay.trace.protocol import CHANNEL_VARIABLE, VERSION, Outcome
from replay.trace.raising import error_of
from replay.trace.state import StateProvider
from replay.trace.wrap import Pending, Served, Session

__all__ = ["Agent", "LeftTraceError", "ServedSession", "open_session", "serve"]

type Agent = Callable[..., Any]
"""(task, **inputs) -> the answer; plain or async."""

_UNIX: Final = "unix:"


class LeftTraceError(BaseException):
    """The trace does not hold what the agent asked for, or the runner is gone: the run is over.

    No Exception, so that an agent which handles failures of its model and its tools does not try again.
    """


class _Channel:
    """Two ends of one conversation, a line at a time."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        """Raises LeftTraceError where nobody listens."""
        try:
            self._writer.write(data + b"\n")
            self._writer.flush()
        except OSError:
            raise LeftTraceError("the runner is gone") from None

    def receive(self) -> dict[str, Any] | None:
        """The next message, None at the end."""
        line = self._reader.readline()
        if not line:
            return None
        message: dict[str, Any] = orjson.loads(line)
        return message


class ServedSession(Session):
    """Every wrapped call is asked of the runner, which answers it from a trace or says that it is live.

    begin is one question and its answer, so that calls of threads and of tasks come one after the other. states: looked
    at before and after each live call of a tool, and at the end of a run.
    """

    def __init__(self, channel: _Channel, states: Sequence[StateProvider] = ()) -> None:
        self._channel = channel
        self._states = tuple(states)
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self.here: ContextVar[int | None] = ContextVar("here", default=None)

    def begin(self, call: Call) -> Pending | None:
        """Raises LeftTraceError where the trace has no such call."""
        number = next(self._ids)
        fields = _asked(call, number, self.here.get())
        if call.kind != MODEL and self._states:
            fields["state"] = self._looked()
        question = _frozen(fields)
        with self._lock:
            self._channel.send(question)
            answer = self._channel.receive()
        if answer is None or answer.get("over"):
            raise LeftTraceError("the runner is gone" if answer is None else answer["error"]["message"])
        if answer.get("live"):
            return _Live(self, call.kind, number)
        said = answer.get("error")
        error = StepError(said["type"], said["message"]) if said is not None else None
        return Pending(Served(answer.get("result"), answer.get("stream", ""), error))

    def state(self, label: str, state: Any) -> None:
        """Say what the agent holds at this moment."""
        self._say({"op": "state", "label": label, "state": state})

    def observed(self, source: str, output: Any) -> None:
        """Say what reached the agent without its asking."""
        self._say({"op": "observation", "source": source, "output": output})

    def finished(self, kind: str, number: int, fields: dict[str, Any]) -> None:
        """A live call is over."""
        if kind != MODEL and self._states:
            fields["state"] = self._looked()
        self._say({"op": "done", "id": number, **fields})

    def end(self, final: Outcome) -> None:
        """The run is over."""
        for name, state in self._looked().items():
            self.state(name, state)
        fields: dict[str, Any] = {"op": "final"}
        if final.error is not None:
            fields["error"] = {"type": final.error.type, "message": final.error.message}
        else:
            fields.update(answer=final.answer, success=final.success)
        self._say(fields)

    def _looked(self) -> dict[str, Any]:
        return {provider.name: provider.snapshot() for provider in self._states}

    def _say(self, fields: dict[str, Any]) -> None:
        line = _frozen(fields)
        with self._lock:
            self._channel.send(line)


class _Live(Pending):
    """A call that the agent makes itself."""

    __slots__ = ("_kind", "_number", "_pieces", "_session", "_tokens")

    def __init__(self, session: ServedSession, kind: str, number: int) -> None:
        super().__init__()
        self._session = session
        self._kind = kind
        self._number = number
        self._pieces: list[Any] = []
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        self._tokens.append(self._session.here.set(self._number))

    def __exit__(self, *exception: object) -> None:
        try:
            self._session.here.reset(self._tokens.pop())
        except ValueError:
            # The end of an async generator may run in another context than its beginning.
            self._session.here.set(None)

    def done(self, value: Any) -> None:
        self._session.finished(self._kind, self._number, {"result": value})

    def piece(self, value: Any) -> None:
        # At once: the agent may change it.
        self._pieces.append(orjson.Fragment(freeze(value)))

    def end(self, *, is_closed: bool) -> None:
        self._session.finished(self._kind, self._number, self._stream("closed" if is_closed else "complete"))

    def failed(self, error: BaseException) -> None:
        kept = error_of(error)
        fields: dict[str, Any] = {"error": {"type": kept.type, "message": kept.message}}
        if self._pieces:
            fields.update(self._stream("complete"))
        self._session.finished(self._kind, self._number, fields)

    def _stream(self, how: str) -> dict[str, Any]:
        return {"result": self._pieces, "stream": how}


def open_session(environment: Mapping[str, str], states: Sequence[StateProvider] = ()) -> ServedSession:
    """The session on the channel that the environment names. Call it once, before anything is printed.

    Raises UsageError outside of a trace replay.
    """
    channel = environment.get(CHANNEL_VARIABLE, "")
    if channel == "stdio":
        writer = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return ServedSession(_Channel(os.fdopen(os.dup(0), "rb"), writer), states)
    if channel.startswith(_UNIX):
        import socket

        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(channel.removeprefix(_UNIX))
        return ServedSession(_Channel(connection.makefile("rb"), connection.makefile("wb")), states)
    raise UsageError(
        f'{CHANNEL_VARIABLE} is "{channel}": there is no runner to speak to',
        fix="start the agent by a trace_regression_test, or give it a Recorder",
    )


def serve(
    make_agent: Callable[[ServedSession], Agent],
    environment: Mapping[str, str],
    *,
    many: bool = True,
    agent_version: str = "",
    model_version: str = "",
    tool_versions: Mapping[str, str] | None = None,
    tools: Any = None,
    states: Sequence[StateProvider] = (),
) -> int:
    """Play runs until there are no more. The process's exit code.

    many: whether one process plays several runs one after the other; else it ends after the first. tools: the agent's
    tool registry, which snapshots hold.
    """
    session = open_session(environment, states)
    agent = make_agent(session)
    hello = {
        "op": "hello",
        "protocol": VERSION,
        "runs": "many" if many else "one",
        "agent_version": agent_version,
        "model_version": model_version,
        "tool_versions": dict(tool_versions or {}),
        "tools": tools,
    }
    session._say(hello)
    while (run := session._channel.receive()) is not None:
        try:
            session.end(_played(agent, run))
        except LeftTraceError:
            break
        if not many:
            break
    return 0


def _played(agent: Agent, run: Mapping[str, Any]) -> Outcome:
    """One run of the agent; what it raises is how it ended."""
    try:
        answer = agent(run["task"], **run["inputs"])
        if inspect.isawaitable(answer):
            import asyncio

            answer = asyncio.run(_awaited(answer))
    except Exception as error:
        return Outcome(error=error_of(error))
    return answer if isinstance(answer, Outcome) else Outcome(answer)


async def _awaited(answer: Any) -> Any:
    return await answer


def _asked(call: Call, number: int, parent: int | None) -> dict[str, Any]:
    """The question of a call; what it does not say is left out."""
    fields: dict[str, Any] = {"op": call.kind, "id": number, "name": call.name, "parent": parent}
    if call.kind == MODEL:
        fields.update(
            messages=call.messages or [],
            tools=call.tools,
            model_name=call.model_name or None,
            temperature=call.temperature,
            options=call.options or None,
        )
    else:
        fields.update(tool_call_id=call.tool_call_id or None)
    known = {key: value for key, value in fields.items() if value is not None}
    return known if call.kind == MODEL or call.input is ABSENT else {**known, "input": call.input}


def _frozen(fields: Mapping[str, Any]) -> bytes:
    """One line; values that are no JSON as a recorder writes them."""
    members = (orjson.dumps(key) + b":" + freeze(value) for key, value in fields.items())
    return b"{" + b",".join(members) + b"}"

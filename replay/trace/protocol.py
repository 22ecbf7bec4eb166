"""The agent protocol, version 1: how an agent and the runner talk during a trace replay. Bytes and values, no pipe.

    agent   {"op":"hello","protocol":1,"runs":"one"|"many",…}       once, before anything else
    runner  {"op":"run","run":1,"trace_id":…,"task":…,"inputs":{},"seed":n}
    agent   {"op":"model","id":1,"messages":[…],…}                  a call of the model
            {"op":"tool","id":2,"name":…,"input":…}                 a call of a tool
    runner  {"op":"answer","id":1,"result":…}                       what the recording holds
            {"op":"answer","id":1,"error":{"type":…,"message":…}}   the recording, or the replay, says no
            {"op":"answer","id":1,"live":true}                      the agent calls it itself
    agent   {"op":"done","id":1,"result":…,"usage":{…}}             and says what came of it
            {"op":"observation",…}  {"op":"state","label":…,"state":…}
            {"op":"final","answer":…,"success":true}                ends the run; with "error" instead, it broke

One JSON object a line, UTF-8, LF. Several calls may be open at once; `id` tells them apart and is a string or an integer.
Members that an op does not have are refused, so that a misspelled one is not lost: what else a call was made with goes
into its "options".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import AgentError
from replay.trace.limits import MAX_NAME_CHARACTERS
from replay.trace.model import ABSENT, NOTHING, STREAMS, StepError

__all__ = [
    "CHANNEL_VARIABLE",
    "MAX_LINE_BYTES",
    "MODEL",
    "TOOL",
    "VERSION",
    "Ask",
    "Done",
    "Hello",
    "Message",
    "Observed",
    "Outcome",
    "State",
    "decode_message",
    "encode_error",
    "encode_live",
    "encode_result",
    "encode_run",
]

VERSION: Final = 1
MAX_LINE_BYTES: Final = 16 << 20
CHANNEL_VARIABLE: Final = "AGENT_REPLAY_TRACE"
"""Set under every replay: "stdio", or "unix:" and the path of the socket to connect to."""
MODEL, TOOL = "model", "tool"
_LABEL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}")
_SHOWN_CHARACTERS = 120

type Id = str | int


class Hello(NamedTuple):
    """What an agent says of itself. many: it takes another run after a final; else its process ends there."""

    many: bool = False
    agent_version: str = ""
    model_version: str = ""
    tool_versions: Mapping[str, str] = NOTHING
    tools: Any = None
    """Its tool registry, as it would tell a model."""


class Ask(NamedTuple):
    """A call that is about to be made. name: of the tool, or of the wrapped model function."""

    kind: str
    id: Id
    name: str = ""
    input: Any = ABSENT
    messages: list[Any] | None = None
    tools: list[Any] | None = None
    model_name: str = ""
    temperature: float | None = None
    tool_call_id: str = ""
    parent: Id | None = None
    """The call inside which it is made."""
    options: Mapping[str, Any] = NOTHING
    state: Mapping[str, Any] | None = None
    """The agent's state before a tool call, by the name of its provider."""


class Done(NamedTuple):
    """What came of a live call. result is ABSENT where there is an error."""

    id: Id
    result: Any = ABSENT
    error: StepError | None = None
    stream: str = ""
    text: str | None = None
    """What the model said, where `result` is the provider's own form of it."""
    model_name: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    state: Mapping[str, Any] | None = None


class Observed(NamedTuple):
    """What reached the agent without its asking."""

    source: str
    output: Any


class State(NamedTuple):
    """What the agent holds at this moment, under a name of its own."""

    label: str
    state: Any


class Outcome(NamedTuple):
    """The end of a run. success is None where the agent does not judge itself."""

    answer: Any = None
    success: bool | None = None
    error: StepError | None = None


type Message = Hello | Ask | Done | Observed | State | Outcome


def decode_message(line: bytes) -> Message:
    """One line of an agent. Raises AgentError saying what is wrong with it, as a sentence about the line."""
    try:
        fields = orjson.loads(line)
    except ValueError:
        raise _wrong("is not JSON", line, "write protocol lines only; print other text on stderr") from None
    if not isinstance(fields, dict):
        raise _wrong("is no JSON object", line)
    op = fields.pop("op", None)
    decode = _OPS.get(op) if isinstance(op, str) else None
    if decode is None:
        raise _wrong(f"has no op of the protocol, but {_shown(op)}", line, f"write one of {', '.join(_OPS)}")
    reader = _Reader(op, fields, line)
    message = decode(reader)
    reader.end()
    return message


def encode_run(
    number: int,
    trace_id: str,
    task: str,
    inputs: Mapping[str, Any],
    environment: Mapping[str, Any],
    seed: int,
) -> bytes:
    """What starts a run. number counts from 1."""
    return _line(
        {
            "op": "run",
            "run": number,
            "trace_id": trace_id,
            "task": task,
            "inputs": dict(inputs),
            "environment": dict(environment),
            "seed": seed,
        }
    )


def encode_result(id: Id, result: Any, stream: str = "", error: StepError | None = None) -> bytes:
    """A served value; of a stream the list of its pieces, and the error after them."""
    fields = {"op": "answer", "id": id, "result": result}
    if stream:
        fields["stream"] = stream
        if error is not None:
            fields["error"] = {"type": error.type, "message": error.message}
    return _line(fields)


def encode_error(id: Id, error: StepError, over: bool = False) -> bytes:
    """An error that the call fails with. over: the run is at its end, and whatever follows is not judged."""
    fields = {"op": "answer", "id": id, "error": {"type": error.type, "message": error.message}}
    return _line({**fields, "over": True} if over else fields)


def encode_live(id: Id) -> bytes:
    """The agent has to make the call itself, and to report it with "done"."""
    return _line({"op": "answer", "id": id, "live": True})


class _Reader:
    """The members of one message, each taken once, by type."""

    __slots__ = ("_fields", "_line", "_op")

    def __init__(self, op: str, fields: dict[str, Any], line: bytes) -> None:
        self._op = op
        self._fields = fields
        self._line = line

    def wrong(self, what: str, fix: str = "") -> AgentError:
        return _wrong(f"({self._op}) {what}", self._line, fix)

    def has(self, key: str) -> bool:
        return key in self._fields

    def value(self, key: str, default: Any = ABSENT) -> Any:
        return self._fields.pop(key, default)

    def text(self, key: str, default: str | None = "") -> str:
        value = self._fields.pop(key, default)
        if not isinstance(value, str):
            raise self.wrong(f'needs a string "{key}", got {_shown(value)}')
        if len(value) > MAX_NAME_CHARACTERS:
            raise self.wrong(f'has a "{key}" of {len(value)} characters; {MAX_NAME_CHARACTERS} are allowed')
        return value

    def optional[T](self, key: str, kind: type[T], noun: str) -> T | None:
        value = self._fields.pop(key, None)
        if value is not None and (
            not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool)
        ):
            raise self.wrong(f'needs {noun} as "{key}", got {_shown(value)}')
        return value

    def object(self, key: str) -> dict[str, Any]:
        return self.optional(key, dict, "an object") or {}

    def id(self, key: str = "id") -> Id:
        value = self._fields.pop(key, None)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.wrong(f'needs a string or an integer as "{key}", got {_shown(value)}')
        return value

    def number(self, key: str) -> float | None:
        value = self._fields.pop(key, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.wrong(f'needs a number as "{key}", got {_shown(value)}')
        return value

    def error(self) -> StepError | None:
        value = self._fields.pop("error", None)
        if value is None:
            return None
        if isinstance(value, str):
            return StepError("Error", value)
        if not isinstance(value, dict) or not isinstance(value.get("type", ""), str):
            raise self.wrong(f'needs {{"type","message"}} as "error", got {_shown(value)}')
        return StepError(value.get("type") or "Error", str(value.get("message", "")))

    def end(self) -> None:
        for key in self._fields:
            fix = 'what else a call was made with goes into "options"' if self._op in (MODEL, TOOL) else ""
            raise self.wrong(f'has no member "{key[:40]}"', fix)


def _hello(reader: _Reader) -> Hello:
    protocol = reader.value("protocol", None)
    if protocol != VERSION or isinstance(protocol, bool):
        raise reader.wrong(f"speaks protocol {_shown(protocol)}; this runner speaks {VERSION}")
    runs = reader.text("runs", "one")
    if runs not in ("one", "many"):
        raise reader.wrong(f'has "runs" {_shown(runs)}', 'write "one" or "many"')
    versions = reader.object("tool_versions")
    if not all(isinstance(version, str) for version in versions.values()):
        raise reader.wrong('needs strings in "tool_versions"')
    return Hello(
        runs == "many",
        reader.text("agent_version"),
        reader.text("model_version"),
        versions,
        reader.value("tools", None),
    )


def _model(reader: _Reader) -> Ask:
    messages = reader.optional("messages", list, "a list")
    if messages is None:
        raise reader.wrong('needs a list "messages": what the model is sent')
    return Ask(
        MODEL,
        reader.id(),
        reader.text("name"),
        messages=messages,
        tools=reader.optional("tools", list, "a list"),
        model_name=reader.text("model_name"),
        temperature=reader.number("temperature"),
        parent=reader.id("parent") if reader.has("parent") else None,
        options=reader.object("options"),
    )


def _tool(reader: _Reader) -> Ask:
    name = reader.text("name", None)
    if not name:
        raise reader.wrong('needs a "name"')
    return Ask(
        TOOL,
        reader.id(),
        name,
        input=reader.value("input"),
        tool_call_id=reader.text("tool_call_id"),
        parent=reader.id("parent") if reader.has("parent") else None,
        options=reader.object("options"),
        state=reader.optional("state", dict, "an object"),
    )


def _done(reader: _Reader) -> Done:
    number, error = reader.id(), reader.error()
    has_result = reader.has("result")
    stream = reader.text("stream")
    if stream and stream not in STREAMS:
        raise reader.wrong(f'has "stream" {_shown(stream)}', f"write one of {', '.join(STREAMS)}")
    if has_result and error is not None and not stream:
        raise reader.wrong('has both a "result" and an "error", which only a stream has')
    if not has_result and error is None:
        raise reader.wrong('needs a "result" or an "error"')
    result = reader.value("result")
    if stream and not isinstance(result, list):
        raise reader.wrong(f'is a stream, so that its "result" is the list of pieces, got {_shown(result)}')
    usage = _Reader(reader._op, reader.object("usage"), reader._line)
    tokens = [usage.optional(f"{which}_tokens", int, "an integer") for which in ("prompt", "completion")]
    usage.end()
    text = reader.value("text", None)
    if text is not None and not isinstance(text, str):
        raise reader.wrong(f'needs a string "text", got {_shown(text)}')
    state = reader.optional("state", dict, "an object")
    return Done(number, result, error, stream, text, reader.text("model_name"), tokens[0], tokens[1], state)


def _observation(reader: _Reader) -> Observed:
    if not reader.has("output"):
        raise reader.wrong('needs an "output"')
    return Observed(reader.text("source"), reader.value("output"))


def _state(reader: _Reader) -> State:
    label = reader.text("label", None)
    if not label or not reader.has("state"):
        raise reader.wrong('needs a "label" and a "state"')
    if not _LABEL.fullmatch(label):
        raise reader.wrong(
            f"has the label {_shown(label)}, which names no file",
            "write letters, digits, _ and -, at most 80",
        )
    return State(label, reader.value("state"))


def _final(reader: _Reader) -> Outcome:
    error = reader.error()
    success = reader.optional("success", bool, "true or false")
    if error is None and not reader.has("answer"):
        raise reader.wrong('needs an "answer" or an "error"')
    return Outcome(reader.value("answer", None), success, error)


_OPS: Final[Mapping[str, Callable[[_Reader], Message]]] = {
    "hello": _hello,
    "model": _model,
    "tool": _tool,
    "done": _done,
    "observation": _observation,
    "state": _state,
    "final": _final,
}


def _wrong(what: str, line: bytes, fix: str = "") -> AgentError:
    shown = line[: 2 * _SHOWN_CHARACTERS].decode("utf-8", "backslashreplace").strip()
    cut = shown[:_SHOWN_CHARACTERS] + ("…" if len(shown) > _SHOWN_CHARACTERS else "")
    return AgentError(f"a line of the agent {what}: {cut}", fix=fix)


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = orjson.dumps(value).decode("utf-8", "replace")
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)

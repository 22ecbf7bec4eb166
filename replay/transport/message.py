"""What crosses the host's socket, NDJSON: the messages of a peer, of a controller, and the host's answers. Pure.

    peer -> host       open, outbound, end (no more outbound), close
    host -> peer       opened, inbound, exit, diverged
    controller -> host release, hold, wait, now, status; each is answered by {"ok": …}

One reason for both directions in one file: what one side encodes the other decodes, and the tests hold them together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import DivergenceError
from replay.transport.lines import MAX_DEPTH, parse_line

__all__ = [
    "CONTROL_OPS",
    "Close",
    "Control",
    "Diverged",
    "End",
    "Exit",
    "Inbound",
    "Open",
    "Opened",
    "Outbound",
    "decode_host",
    "decode_peer",
    "encode",
]

CONTROL_OPS = ("hold", "now", "release", "status", "wait")
_PEER = "a peer"
_HOST = "the host"


class Open(NamedTuple):
    """A connection begins. pid: the peer's process, 0 where it does not say."""

    protocol: str
    transcript: str = ""
    process: str = ""
    pid: int = 0


class Outbound(NamedTuple):
    """A frame that the orchestrator sent. ref: what an answer to it is to carry, for protocols without ids."""

    frame: Any
    ref: Any = None


class End(NamedTuple):
    """The orchestrator sends no more, and still listens."""


class Close(NamedTuple):
    """The orchestrator closed the connection. error: the sentence, where it broke the wire."""

    error: str = ""


class Control(NamedTuple):
    """A controller's op; `name` is a gate or a label."""

    op: str
    name: str = ""
    number: int = 1
    transcript: str = ""


class Opened(NamedTuple):
    """The host's yes to Open. answered: kinds of outbound requests whose answers the transcript holds."""

    connection: int
    workspace: str
    answered: Sequence[str] = ()


class Inbound(NamedTuple):
    """A frame for the orchestrator. ref: of the outbound frame that it answers, or of itself where it asks."""

    frame: Any
    ref: Any = None
    label: str = ""


class Exit(NamedTuple):
    """The provider's runtime ends here. status: success, error or cancelled; signal: "SIGKILL"."""

    status: str
    error: str = ""
    code: int | None = None
    signal: str = ""


class Diverged(NamedTuple):
    """The run left its transcript; the connection ends after it."""

    message: str


type FromPeer = Open | Outbound | End | Close | Control
type FromHost = Opened | Inbound | Exit | Diverged

_NAMES = {
    Open: "open",
    Outbound: "outbound",
    End: "end",
    Close: "close",
    Opened: "opened",
    Inbound: "inbound",
    Exit: "exit",
    Diverged: "diverged",
}
# A peer wraps a line of the orchestrator in objects of its own, and this file in one more.
_MAX_DEPTH = MAX_DEPTH + 16


def encode(message: FromPeer | FromHost) -> bytes:
    """The line of any message. Raises DivergenceError where a frame cannot be written as JSON."""
    if isinstance(message, Control):
        return _encode_control(message)
    row = {"op": _NAMES[type(message)]}
    defaults = message._field_defaults
    for key, value in zip(message._fields, message, strict=True):
        if key not in defaults or value != defaults[key]:
            row[key] = value
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError, RecursionError) as error:
        raise DivergenceError(f"a frame cannot be written as JSON: {error}") from None


def decode_peer(line: bytes) -> FromPeer:
    """What a peer or a controller wrote. Raises DivergenceError on anything else."""
    row = parse_line(line, _PEER, _MAX_DEPTH)
    op = row.get("op")
    match op:
        case "outbound":
            return Outbound(_frame(row), _ref(row))
        case "open":
            return Open(
                _text(row, "protocol", ""),
                _text(row, "transcript"),
                _text(row, "process"),
                _integer(row, "pid", 0),
            )
        case "end":
            return End()
        case "close":
            return Close(_text(row, "error"))
        case "release":
            return Control("release", _text(row, "gate", ""), transcript=_text(row, "transcript"))
        case "hold":
            return Control("hold", _text(row, "label", ""), transcript=_text(row, "transcript"))
        case "wait":
            return Control("wait", _text(row, "label", ""), _integer(row, "n", 1), _text(row, "transcript"))
        case "now" | "status":
            return Control(str(op))
    raise DivergenceError(f"{_PEER} sent the op {_shown(op)}, which the host does not know")


def decode_host(line: bytes) -> FromHost:
    """What the host wrote to a peer. Raises DivergenceError on anything else."""
    row = parse_line(line, _HOST, _MAX_DEPTH)
    op = row.get("op")
    match op:
        case "inbound":
            return Inbound(_frame(row), _ref(row), _text(row, "label"))
        case "opened":
            answered = row.get("answered")
            return Opened(
                _integer(row, "connection", 0),
                _text(row, "workspace"),
                tuple(map(str, answered)) if isinstance(answered, list) else (),
            )
        case "exit":
            code = row.get("code")
            return Exit(
                _text(row, "status", ""),
                _text(row, "error"),
                code if isinstance(code, int) else None,
                _text(row, "signal"),
            )
        case "diverged":
            return Diverged(_text(row, "message"))
    raise DivergenceError(f"{_HOST} sent the op {_shown(op)}, which a peer does not know")


def _encode_control(message: Control) -> bytes:
    row: dict[str, Any] = {"op": message.op}
    if message.op == "release":
        row["gate"] = message.name
    elif message.name:
        row["label"] = message.name
    if message.number != 1:
        row["n"] = message.number
    if message.transcript:
        row["transcript"] = message.transcript
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _frame(row: Mapping[str, Any]) -> dict[str, Any]:
    frame = row.get("frame")
    if not isinstance(frame, dict):
        raise DivergenceError(f'a message with the op {_shown(row.get("op"))} needs an object "frame"')
    return frame


def _ref(row: Mapping[str, Any]) -> int | str | None:
    ref = row.get("ref")
    if isinstance(ref, bool) or not isinstance(ref, (int, str, type(None))):
        raise DivergenceError(
            f'a message with the op {_shown(row.get("op"))} needs a string or a whole number "ref"'
        )
    return ref


def _text(row: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A string; one that is required has the default "" and may not be empty."""
    value = row.get(key, "")
    if not isinstance(value, str) or (default is not None and not value):
        raise DivergenceError(f'a message with the op {_shown(row.get("op"))} needs a string "{key}"')
    return value


def _integer(row: Mapping[str, Any], key: str, default: int) -> int:
    value = row.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DivergenceError(f'a message with the op {_shown(row.get("op"))} needs a whole number "{key}"')
    return value


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) and len(value) < 40 else str(type(value).__name__)

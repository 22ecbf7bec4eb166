"""Readers: what passed a provider's process, line by line -> frames with labels, one reader a protocol.

A reader serves one process. Labels name entries for gates and for people: of JSON-RPC the method, for an answer that of
its request and `.response`. Claude's lines become the logical frames of wires/claude.py.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from replay.errors import UsageError
from replay.transport.transcript import Frame

__all__ = ["READERS", "Named", "Reader", "reader_of"]


class Named(NamedTuple):
    """A frame and what its entry is called."""

    label: str
    frame: Frame


class Reader(Protocol):
    """One process's lines, in order of passage. Each call gives the frames that it completes."""

    def outbound(self, line: Frame) -> Iterable[Named]: ...
    def inbound(self, line: Frame) -> Iterable[Named]: ...
    def end(self) -> Iterable[Named]:
        """The orchestrator closed the provider's stdin."""
        ...


class JsonRpcReader:
    """ACP and Codex: a line is a frame."""

    def __init__(self) -> None:
        self._asked: dict[bool, dict[Any, str]] = {True: {}, False: {}}

    def outbound(self, line: Frame) -> Iterator[Named]:
        yield Named(self._label(line, True), line)

    def inbound(self, line: Frame) -> Iterator[Named]:
        yield Named(self._label(line, False), line)

    def end(self) -> Iterable[Named]:
        return ()

    def _label(self, line: Frame, is_outbound: bool) -> str:
        method, ref = line.get("method"), line.get("id")
        handle = (type(ref).__name__, ref) if isinstance(ref, (int, str)) else None
        if isinstance(method, str):
            if handle is not None:
                self._asked[is_outbound][handle] = method
            return method
        return self._asked[not is_outbound].get(handle, "unasked") + ".response"


class ClaudeReader:
    """The Claude CLI: arguments and stream-JSON."""

    def __init__(self, arguments: Sequence[str]) -> None:
        from replay.transport.wires.claude import ClaudeWire

        self._wire = ClaudeWire(arguments)

    def outbound(self, line: Frame) -> Iterator[Named]:
        return _named(self._wire.read_outbound(line))

    def inbound(self, line: Frame) -> Iterator[Named]:
        return _named(self._wire.read_inbound(line))

    def end(self) -> Iterator[Named]:
        return _named(self._wire.end_outbound())


class FrameReader:
    """Lines that are frames already: what the HTTP recorder tells, and Cursor's."""

    def outbound(self, line: Frame) -> Iterator[Named]:
        yield Named(_label_of(line), line)

    def inbound(self, line: Frame) -> Iterator[Named]:
        yield Named(_label_of(line), line)

    def end(self) -> Iterable[Named]:
        return ()


READERS: Final[Mapping[str, Callable[[Sequence[str]], Reader]]] = {
    "acp.ndjson-jsonrpc": lambda _arguments: JsonRpcReader(),
    "claude-agent-sdk.query": ClaudeReader,
    "codex.app-server": lambda _arguments: JsonRpcReader(),
    "cursor-agent-sdk.local": lambda _arguments: FrameReader(),
    "opencode-sdk.sse": lambda _arguments: FrameReader(),
}


def reader_of(protocol: str, arguments: Sequence[str]) -> Reader:
    """A reader for one process. Raises UsageError for a protocol that has none."""
    make = READERS.get(protocol)
    if make is None:
        raise UsageError(
            f'no recorder knows the protocol "{protocol}"', fix=f"write one of: {', '.join(sorted(READERS))}"
        )
    return make(arguments)


def _named(logical: Iterable[Any]) -> Iterator[Named]:
    for each in logical:
        yield Named(_label_of(each.frame), each.frame)


_CALLED: Final = {"assistant": "message", "prompt.offer": "prompt", "user": "user.message"}


def _label_of(frame: Frame) -> str:
    """What a frame of a protocol without methods is called: its type, or the word of it that tells its kind."""
    kind = frame.get("type")
    event = frame.get("event")
    detail: Any = None
    if kind == "system":
        detail = frame.get("subtype")
    elif kind in ("sdk.response", "control.response"):
        detail = f"{frame.get('operation')}.response"
    elif isinstance(event, dict):
        payload = event.get("payload")
        detail = event.get("type") or (payload.get("type") if isinstance(payload, dict) else None)
    if isinstance(detail, str):
        return detail
    return _CALLED.get(kind, kind) if isinstance(kind, str) else "frame"

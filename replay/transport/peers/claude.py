"""The peer of the `claude` CLI: takes its place under the SDKs of the family, and under clients without an SDK.

The command line is the CLI's own, so no flag of it is ours. Clients that close stdin after their prompt still get
the answer, as they would from the CLI: the end of stdin is the end of outbound frames and nothing else.
"""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from replay.errors import DivergenceError
from replay.transport.lines import parse_line
from replay.transport.peers import Outbound, Write, program, stdio
from replay.transport.wires.claude import PROTOCOL, ClaudeWire, made_up_answer

if TYPE_CHECKING:
    from typing import NoReturn

    from replay.transport.link import Ending, Link
    from replay.transport.peers.in_process import StdioPeer
    from replay.transport.wires.claude import Logical

__all__ = ["PROTOCOL", "VERSION", "ClaudePeer", "in_process", "main", "serve"]

# What `-v` prints. The SDKs that ask want 2.0.0 or newer; this is the version whose wire was read for this peer.
VERSION = "2.1.197 (Claude Code)"
_ASKS_VERSION = (["-v"], ["--version"])


class ClaudePeer:
    """One CLI process.

    arguments: its command line without the program's name; raises UsageError as ClaudeWire does. answered: kinds of
    outbound frames that the transcript answers itself. A client waits for the answer to each control request, so one
    of another kind gets an empty success at once.
    """

    ends_with_input = False

    def __init__(self, arguments: Sequence[str], answered: Collection[str] = ()) -> None:
        self._wire = ClaudeWire(arguments)
        self._answered = answered
        self._handles: dict[str, Any] = {}

    def start(self) -> Iterable[Outbound | Write]:
        """A prompt on the command line needs no input."""
        call = self._wire.call
        return self._send(self._wire.offer(call.prompt)) if call.prompt else ()

    def receive(self, line: bytes) -> Iterable[Outbound | Write]:
        if not self._wire.call.is_stream:
            raise DivergenceError(
                "the orchestrator writes plain text to the claude peer, which reads stream-JSON only",
                fix="start it with --input-format stream-json, or with the prompt as an argument",
            )
        raw = parse_line(line, "the orchestrator")
        try:
            frames = self._wire.read_outbound(raw)
        except DivergenceError as error:
            raise DivergenceError(
                f"the orchestrator wrote a line that breaks the wire: {error.what}"
            ) from None
        return self._send(frames)

    def end(self) -> Iterable[Outbound | Write]:
        return self._send(self._wire.end_outbound())

    def deliver(self, frame: Any, ref: Any) -> Iterable[Outbound | Write]:
        handle = None
        if ref is not None:
            # The host's handles are numbers, a request id is text.
            handle = ref if isinstance(ref, str) else f"replay-{ref}"
            self._handles[handle] = ref
        return _lines(self._wire.write_inbound(frame, handle))

    def _send(self, frames: Iterable[Logical]) -> Iterable[Outbound | Write]:
        for frame, ref in frames:
            yield Outbound(frame, ref if ref is None else self._handles.get(ref, ref))
            if ref is not None and (answer := made_up_answer(frame, self._answered)) is not None:
                yield from _lines(self._wire.write_inbound(answer, ref))


def serve(link: Link, call: program.Call) -> Ending:
    """The edge: this process's stdin and stdout are the wire, its command line the options."""
    return stdio.serve(link, ClaudePeer(call.rest, link.answered))


def in_process(path: str, arguments: Sequence[str], transcript: str = "", process: str = "") -> StdioPeer:
    """This peer on a socket pair in this process, for the host at `path`. Raises as Link.dial and ClaudePeer do."""
    from replay.transport.link import Link
    from replay.transport.peers.in_process import StdioPeer

    link = Link.dial(path, PROTOCOL, transcript, process)
    return StdioPeer(link, ClaudePeer(arguments, link.answered))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The executable. arguments: without the program's name; default, those of this process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in _ASKS_VERSION:
        os.write(1, VERSION.encode() + b"\n")
        sys.exit(0)
    program.run(PROTOCOL, serve, own_flags=False, arguments=given)


def _lines(frames: Iterable[dict[str, Any]]) -> list[Write]:
    return [Write(orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)) for frame in frames]

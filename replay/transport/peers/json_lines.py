"""The translator of protocols whose frame is the line itself: ACP, and the app-server of Codex.

Correlation needs no help from here: the frames carry their ids, and the host puts the live ones in.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from replay.transport.lines import parse_line
from replay.transport.peers import Outbound, Write

__all__ = ["JsonLinesPeer"]


class JsonLinesPeer:
    """A line is a frame and a frame is a line, both ways."""

    ends_with_input = True

    def start(self) -> Iterable[Outbound | Write]:
        return ()

    def receive(self, line: bytes) -> Iterable[Outbound | Write]:
        return (Outbound(parse_line(line, "the orchestrator")),)

    def end(self) -> Iterable[Outbound | Write]:
        return ()

    def deliver(self, frame: Any, ref: Any) -> Iterable[Outbound | Write]:
        return (Write(orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)),)

"""acp.ndjson-jsonrpc: JSON-RPC 2.0 lines over stdio. Pure.

The wild form has logical frames, `{"kind":"request"|"response"|"notification","method",…}` without ids: they become
frames of JSON-RPC, numbered from 1 by each side and in each life of a process, an answer with the first request of its
method that has none.
"""

from collections.abc import Sequence
from typing import Any

from replay.errors import FixtureError, Location
from replay.transport.profile import Ignore, Profile
from replay.transport.profiles import jsonrpc
from replay.transport.profiles.operations import closes_nothing
from replay.transport.transcript import EmitInbound, Entry, Frame, RuntimeExit

__all__ = ["PROFILE"]

_KINDS = ("request", "response", "notification")


class _Numbering:
    """Ids of one life of one process: per side a counter, and what waits for an answer by method."""

    __slots__ = ("_last", "_pending")

    def __init__(self) -> None:
        self._last = {False: 0, True: 0}
        self._pending: dict[tuple[bool, str], list[int]] = {}

    def of_request(self, is_inbound: bool, method: str) -> int:
        self._last[is_inbound] += 1
        self._pending.setdefault((is_inbound, method), []).append(self._last[is_inbound])
        return self._last[is_inbound]

    def of_response(self, is_inbound: bool, method: str) -> int | None:
        waiting = self._pending.get((not is_inbound, method), [])
        return waiting.pop(0) if waiting else None


def _prepare(entries: Sequence[Entry], place: str) -> tuple[Entry, ...]:
    lives: dict[str, _Numbering] = {}
    out: list[Entry] = []
    for entry in entries:
        if isinstance(entry, RuntimeExit):
            lives.pop(entry.process, None)
            out.append(entry)
            continue
        frame = entry.frame
        if "jsonrpc" not in frame and frame.get("kind") in _KINDS:
            numbering = lives.setdefault(entry.process, _Numbering())
            frame = _as_jsonrpc(frame, isinstance(entry, EmitInbound), numbering, Location(place, entry.line))
        out.append(entry._replace(frame=frame))
    return tuple(out)


def _as_jsonrpc(frame: Frame, is_inbound: bool, numbering: _Numbering, where: Location) -> Frame:
    kind, method = frame["kind"], frame.get("method")
    if not isinstance(method, str):
        raise FixtureError("must be the name of a method", where._replace(path="$.frame.method"))
    out: dict[str, Any] = {"jsonrpc": "2.0"}
    if kind == "response":
        ref = numbering.of_response(is_inbound, method)
        if ref is None:
            what = f'answers "{method}", and no request of that method waits for an answer'
            raise FixtureError(what, where._replace(path="$.frame.method"))
        key = "error" if "error" in frame else "result"
        return out | {"id": ref, key: frame.get(key)}
    if kind == "request":
        out["id"] = numbering.of_request(is_inbound, method)
    out["method"] = method
    return out | {key: frame[key] for key in ("params",) if key in frame}


def _mentions(frame: Frame) -> tuple[str, ...]:
    return ("params", "requestId") if frame.get("method") == "$/cancel_request" else ()


PROFILE = Profile(
    protocol="acp.ndjson-jsonrpc",
    match="exact",
    ignored=(
        Ignore(
            "client-info",
            "$.params.clientInfo",
            "name and version of the orchestrator change with each of its releases, and the answer does not depend on them",
            ("initialize",),
        ),
        Ignore(
            "meta",
            "$.params._meta",
            "the protocol keeps it for extensions, which the other side need not understand",
        ),
    ),
    kind_of=jsonrpc.kind_of,
    prepare=_prepare,
    pairs=jsonrpc.find_pairs,
    ref_of=jsonrpc.ref_of,
    with_ref=jsonrpc.with_ref,
    mentions=_mentions,
    closes=closes_nothing,
)

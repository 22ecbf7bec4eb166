"""opencode-sdk.sse: calls of the SDK as operations, their responses, and the events of the stream. Pure."""

from collections.abc import Sequence

from replay.transport.profile import Ignore, Profile
from replay.transport.profiles.operations import (
    as_they_are,
    closes_nothing,
    find_pairs,
    mentions_nothing,
    no_ref,
    same_frame,
    type_of,
)
from replay.transport.transcript import Entry, Frame

__all__ = ["PROFILE"]


def _operation_answered(frame: Frame) -> str:
    operation = frame.get("operation")
    return operation if type_of(frame) == "sdk.response" and isinstance(operation, str) else ""


def _pairs(entries: Sequence[Entry]) -> dict[int, int]:
    return find_pairs(entries, _operation_answered)


PROFILE = Profile(
    protocol="opencode-sdk.sse",
    match="exact",
    ignored=(
        Ignore(
            "directory",
            "$.directory",
            "clients add the directory that they run in to every call; a placeholder there asks for it",
        ),
        Ignore(
            "workspace",
            "$.workspace",
            "clients add the workspace that they are in to every call, beside the directory",
        ),
    ),
    kind_of=type_of,
    prepare=as_they_are,
    pairs=_pairs,
    ref_of=no_ref,
    with_ref=same_frame,
    mentions=mentions_nothing,
    closes=closes_nothing,
)

"""A profile: what one protocol adds to the engine, which knows none. Pure.

How a request and its answer are recognised, which fields of an outbound frame do not count, and how the wild form is
brought into the one that the engine plays. The registry is `PROFILES`; a profile is imported when it is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from replay.errors import FixtureError
from replay.transport.transcript import Entry, Frame

__all__ = ["PROFILES", "Ignore", "Profile", "Ref", "profile"]

PROFILES: Mapping[str, str] = {
    "acp.ndjson-jsonrpc": "replay.transport.profiles.acp",
    "claude-agent-sdk.query": "replay.transport.profiles.claude",
    "codex.app-server": "replay.transport.profiles.codex",
    "cursor-agent-sdk.local": "replay.transport.profiles.cursor",
    "opencode-sdk.sse": "replay.transport.profiles.opencode",
}

type Ref = int | str
"""What ties an answer to its request on the wire: a JSON-RPC id, or a handle of the peer's own."""


class Ignore(NamedTuple):
    """A path of outbound frames where neither presence nor value counts, unless the transcript has a placeholder there.

    where: a JSON path as a mismatch prints it; `[*]` is any index, a final `.*` each value below.
    kinds: methods or types of the frames it is limited to; () for all.
    """

    name: str
    where: str
    reason: str
    kinds: tuple[str, ...] = ()


class Profile(NamedTuple):
    """One protocol. `match` is how a frame is compared where its entry does not say.

    kind_of(frame) -> method or type, "" if it has none.
    prepare(entries, place) -> as many entries in the form that the engine plays.
    pairs(entries) -> {index of an answer: index of what it answers}, for prepared entries of all processes.
    ref_of(frame) -> the handle that the frame itself carries, or None.
    with_ref(frame, ref) -> the same frame with that handle, where frames carry one.
    mentions(frame) -> the path to the handle of an earlier request of the same sender, () if there is none.
    closes(frame) -> whether after this outbound frame the connection may close without a runtime_exit.
    """

    protocol: str
    match: str
    ignored: tuple[Ignore, ...]
    kind_of: Callable[[Frame], str]
    prepare: Callable[[Sequence[Entry], str], tuple[Entry, ...]]
    pairs: Callable[[Sequence[Entry]], dict[int, int]]
    ref_of: Callable[[Frame], Ref | None]
    with_ref: Callable[[Frame, Ref], Frame]
    mentions: Callable[[Frame], tuple[str, ...]]
    closes: Callable[[Frame], bool]


def profile(protocol: str) -> Profile:
    """The profile of a protocol. Raises FixtureError, which lists the known ones, for any other name."""
    module: Any = PROFILES.get(protocol)
    if module is None:
        raise FixtureError(
            f"no protocol is named {protocol!r}", fix=f"write one of: {', '.join(sorted(PROFILES))}"
        )
    found: Profile = import_module(module).PROFILE
    return found

"""codex.app-server: JSON-RPC lines over stdio, written without the "jsonrpc" key. Pure."""

from replay.transport.profile import Ignore, Profile
from replay.transport.profiles import jsonrpc
from replay.transport.profiles.operations import as_they_are, closes_nothing, mentions_nothing

__all__ = ["PROFILE"]

PROFILE = Profile(
    protocol="codex.app-server",
    match="exact",
    ignored=(
        Ignore(
            "jsonrpc",
            "$.jsonrpc",
            "the server neither sends the version of JSON-RPC nor asks for it; some clients add it all the same",
        ),
        Ignore(
            "client-info",
            "$.params.clientInfo",
            "name and version of the orchestrator change with each of its releases, and the answer does not depend on them",
            ("initialize",),
        ),
    ),
    kind_of=jsonrpc.kind_of,
    prepare=as_they_are,
    pairs=jsonrpc.find_pairs,
    ref_of=jsonrpc.ref_of,
    with_ref=jsonrpc.with_ref,
    mentions=mentions_nothing,
    closes=closes_nothing,
)

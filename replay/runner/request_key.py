"""Request keys: what tells a changed prompt from a changed order, without the prompt.

A key is the SHA-256 of the redacted and normalised request as compact JSON: model, leading system messages, tools, messages and
every other member of the body, in that order and with the order of keys as it was sent, for a provider's cache sees
that too. Not in it: whether the reply is streamed, and headers. Paths, times and ids of the run are placeholders
whose numbers begin anew in each request, the suite's own rules are applied, and marks for a provider's cache, which
wander, are left out. Ids of ACP sessions are known from the moment that the driver knows them.
"""

from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from replay.script.conversation import without_markers
from replay.surface import Normaliser, Volatile
from replay.surface import Rule as SurfaceRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from replay.models.wire import WireRequest
    from replay.runner.seam import SeamOrder

__all__ = ["make_key"]


def make_key(order: SeamOrder) -> Callable[[WireRequest], str]:
    """The key function of a run: `sha256:<64 hex digits>` of a request. May be called from several threads."""
    paths = order.sandbox.spellings()
    rules = [SurfaceRule(*rule) for rule in order.rules]
    known: dict[bytes, str] = {}

    def key(request: WireRequest) -> str:
        sessions = list(order.sessions())
        value = [request.model, request.tools, request.messages, request.options]
        # The same parts come again in every request of a conversation.
        data = sha256(orjson.dumps([sessions, value])).digest()
        found = known.get(data)
        if found is None:
            ids = [str(each) for each in order.redact(list(sessions))]
            normaliser = Normaliser(Volatile(paths, ids), rules)
            lines = normaliser.normalise("request", order.redact([without_markers(value)]))
            found = known[data] = f"sha256:{sha256(orjson.dumps(lines)).hexdigest()}"
        return found

    return key

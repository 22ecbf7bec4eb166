"""claude-agent-sdk.query: logical frames of the SDK's query, SDK messages as they are. Pure.

Frames carry no ids; the peer translates from and to the stream-JSON of the `claude` executable, where requests of the
control protocol have them.
"""

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
from replay.transport.wires.claude import kind_of

__all__ = ["PROFILE"]

_ANSWERED = {
    "permission.response": "permission.request",
    "query.opened": "query.open",
    "session.forked": "session.fork",
}
_REQUEST = "control.request"
_RESPONSE = "control.response"


def _operation_answered(frame: Frame) -> str:
    """A `control.response` names its operation: a type of its own, or the subtype of a `control.request`."""
    kind = type_of(frame)
    if kind != _RESPONSE:
        return _ANSWERED.get(kind, "")
    operation = frame.get("operation")
    return operation if isinstance(operation, str) and operation.startswith("query.") else _REQUEST


def _belongs(request: Frame, answer: Frame) -> bool:
    if type_of(answer) == _RESPONSE:
        return kind_of(request) in (answer.get("operation"), f"{_REQUEST}:{answer.get('operation')}")
    options, result = request.get("options"), answer.get("result")
    if not isinstance(options, dict) or not isinstance(result, dict):
        return False
    return "toolUseID" in result and options.get("toolUseID") == result["toolUseID"]


def _pairs(entries: Sequence[Entry]) -> dict[int, int]:
    return find_pairs(entries, _operation_answered, _belongs)


PROFILE = Profile(
    protocol="claude-agent-sdk.query",
    match="exact",
    ignored=(
        Ignore(
            "session-id",
            "$.message.session_id",
            'the SDK sends "default", "" or the session\'s id, by version; the session is the one of query.open',
            ("prompt.offer",),
        ),
        Ignore(
            "uuid",
            "$.message.uuid",
            "the SDK makes it anew for each message",
            ("prompt.offer",),
        ),
        Ignore(
            "decision-classification",
            "$.result.decisionClassification",
            "says to the CLI's statistics who decided; one of the two SDKs never writes it",
            ("permission.response",),
        ),
    ),
    kind_of=kind_of,
    prepare=as_they_are,
    pairs=_pairs,
    ref_of=no_ref,
    with_ref=same_frame,
    mentions=mentions_nothing,
    closes=closes_nothing,
)

"""Values that the orchestrator mints: each run of it makes others, so a transcript must not insist on the recorded ones.

A UUID, or the value of a key that a protocol lets its client choose, is minted if it stands in an outbound frame and in
no inbound frame before it. Where it comes again it is captured and referred to, else anything may stand there. What the
provider minted and the orchestrator repeats stays as it is: that is the correlation a replay checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from replay.surface.names import UUID
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound

__all__ = ["CHOSEN", "with_references"]

CHOSEN: Final[Mapping[str, frozenset[str]]] = {
    "acp.ndjson-jsonrpc": frozenset(("messageId", "terminalId")),
    "claude-agent-sdk.query": frozenset(("sessionId", "uuid")),
    "codex.app-server": frozenset(("clientUserMessageId",)),
    "cursor-agent-sdk.local": frozenset(("agentId",)),
    "opencode-sdk.sse": frozenset(("messageID", "partID")),
}
"""By protocol: keys of outbound frames whose values are the client's own choice, whatever they look like."""

_ID: Final = "id"
_ANY: Final = "{{any}}"


def with_references(entries: Sequence[Entry], protocol: str) -> list[Entry]:
    """The entries with placeholders for what the orchestrator minted."""
    texts = [_text(entry) for entry in entries]
    chosen = CHOSEN.get(protocol, frozenset())
    names: dict[str, str] = {}
    captured: set[str] = set()
    out: list[Entry] = []
    for index, entry in enumerate(entries):
        if isinstance(entry, ExpectOutbound):
            for value, key in _candidates(entry.frame, chosen, is_top=True):
                if value not in names and not any(value in text for text in texts[:index]):
                    comes_again = any(value in text for text in texts[index + 1 :])
                    names[value] = _name(key, names) if comes_again else ""
        out.append(_put(entry, names, captured))
    return out


def _candidates(
    value: Any, chosen: frozenset[str], key: str = "", *, is_top: bool = False
) -> Iterator[tuple[str, str]]:
    """(value, the key that it stands at) of what a client may have minted; a frame's own id is the engine's."""
    if isinstance(value, dict):
        for name, each in value.items():
            if not (is_top and name == _ID):
                yield from _candidates(each, chosen, name)
    elif isinstance(value, list):
        for each in value:
            yield from _candidates(each, chosen, key)
    elif isinstance(value, str):
        if key in chosen and value and "{{" not in value:
            yield value, key
        for found in UUID.finditer(value):
            yield found.group(), key


def _name(key: str, names: Mapping[str, str]) -> str:
    """The key, with a number if another value has it."""
    base = "".join(char if char.isascii() and char.isalnum() else "_" for char in key) or "value"
    base = base if base[0].isalpha() else f"_{base}"
    taken = set(names.values())
    number = 1
    while (name := base if number == 1 else f"{base}{number}") in taken:
        number += 1
    return name


def _put(entry: Entry, names: Mapping[str, str], captured: set[str]) -> Entry:
    """The entry with its placeholders: where a value first stands it is captured, everywhere else referred to."""
    if not names or not isinstance(entry, (ExpectOutbound, EmitInbound)):
        return entry

    def put(text: str) -> str:
        for value, name in names.items():
            if value not in text:
                continue
            if not name:
                text = text.replace(value, _ANY)
                continue
            if value not in captured:
                captured.add(value)
                text = text.replace(value, f"{{{{capture:{name}}}}}", 1)
            text = text.replace(value, f"{{{{ref:{name}}}}}")
        return text

    return entry._replace(frame=_mapped(entry.frame, put, is_top=True))


def _mapped(value: Any, put: Any, *, is_top: bool = False) -> Any:
    if isinstance(value, str):
        return put(value)
    if isinstance(value, list):
        return [_mapped(each, put) for each in value]
    if isinstance(value, dict):
        return {key: each if is_top and key == _ID else _mapped(each, put) for key, each in value.items()}
    return value


def _text(entry: Entry) -> str:
    return "" if not isinstance(entry, (ExpectOutbound, EmitInbound)) else orjson.dumps(entry.frame).decode()

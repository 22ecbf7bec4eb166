"""Merging of JSON members that arrive in pieces: what a codec has no word for, it must still put together."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def merge(into: dict[str, Any], piece: Mapping[str, Any], concatenate: bool = False) -> None:
    """Adds `piece` to `into`: objects member by member, lists end to end, anything else replaces what was there.

    concatenate: strings are pieces of one text. `piece` is copied, so that no two owners share a list.
    """
    for name, value in piece.items():
        before = into.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merge(before, value, concatenate)
        elif isinstance(before, list) and isinstance(value, list):
            before += _copied(value)
        elif concatenate and isinstance(before, str) and isinstance(value, str):
            into[name] = before + value
        else:
            into[name] = _copied(value)


def _copied(value: Any) -> Any:
    # Not copy.deepcopy: importing it costs more than all copies of a run.
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value

"""JSON as this room sees it, and the one value that JSON cannot hold: the absence of a value."""

from typing import Final

__all__ = ["ABSENT", "Absent", "Json", "json_path_step"]

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None


class Absent:
    """A key or a line that one side has and the other has not; never equal to null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


def json_path_step(key: str | int) -> str:
    """One step of a JSON path: `.turn`, `[3]`, or `["odd key"]` where a dot would be ambiguous."""
    if isinstance(key, int):
        return f"[{key}]"
    if key.isidentifier():
        return f".{key}"
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{quoted}"]'

"""What can happen to a directory of fixtures: each function makes an edit, which takes the directory.

An edit that finds nothing to change raises EditError: a mutation that changed nothing would prove nothing.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = [
    "Edit",
    "EditError",
    "add_directory",
    "add_file",
    "both",
    "copy",
    "delete",
    "drop_rows",
    "paste_before",
    "rename",
    "repeat_last_call",
    "replace",
    "use_crlf",
]

type Edit = Callable[[Path], None]


class EditError(Exception):
    """The fixture is not what the mutation was written for."""


def replace(file: str, old: str, new: str) -> Edit:
    """The first `old` becomes `new`."""

    def edit(directory: Path) -> None:
        data = (directory / file).read_bytes()
        if old.encode() not in data:
            raise EditError(f"{file} does not hold {old!r}")
        (directory / file).write_bytes(data.replace(old.encode(), new.encode(), 1))

    return edit


def delete(file: str) -> Edit:
    """The file goes; a directory that it leaves empty goes too, as git would have it."""

    def edit(directory: Path) -> None:
        _there(directory, file).unlink()
        parent = (directory / file).parent
        if not any(parent.iterdir()):
            parent.rmdir()

    return edit


def add_file(file: str, data: bytes = b"left here\n") -> Edit:
    """A new file, its directories with it."""

    def edit(directory: Path) -> None:
        if (directory / file).exists():
            raise EditError(f"{file} is there already")
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).write_bytes(data)

    return edit


def add_directory(name: str) -> Edit:
    """An empty directory."""

    def edit(directory: Path) -> None:
        (directory / name).mkdir(parents=True)

    return edit


def copy(old: str, new: str) -> Edit:
    """A file once more, under another name."""

    def edit(directory: Path) -> None:
        add_file(new, _there(directory, old).read_bytes())(directory)

    return edit


def rename(old: str, new: str) -> Edit:
    """A file or a directory under another name."""

    def edit(directory: Path) -> None:
        _there(directory, old).rename(directory / new)

    return edit


def paste_before(file: str, data: bytes, line: int = 1) -> Edit:
    """`data` in front of a line, which is counted from 1."""

    def edit(directory: Path) -> None:
        lines = _lines(_there(directory, file))
        (directory / file).write_bytes(b"".join([*lines[: line - 1], data, *lines[line - 1 :]]))

    return edit


def use_crlf(file: str) -> Edit:
    """CR LF at the end of each line."""

    def edit(directory: Path) -> None:
        data = _there(directory, file).read_bytes()
        if b"\r" in data or b"\n" not in data:
            raise EditError(f"{file} has no plain line ends")
        (directory / file).write_bytes(data.replace(b"\n", b"\r\n"))

    return edit


def drop_rows(file: str, first: str, last: str = "") -> Edit:
    """The first row that holds `first` goes, and all that follow up to one that holds `last`, if given."""

    def edit(directory: Path) -> None:
        lines = _lines(_there(directory, file))
        begin = _find(file, lines, first, 0)
        end = _find(file, lines, last, begin) if last else begin
        (directory / file).write_bytes(b"".join([*lines[:begin], *lines[end + 1 :]]))

    return edit


def repeat_last_call(file: str) -> Edit:
    """The recording's last model call once more, as a call of its own that the agent will not make."""

    def edit(directory: Path) -> None:
        lines = _lines(_there(directory, file))
        ends = [number for number, line in enumerate(lines) if b'"type":"call/end"' in line]
        starts = [number for number, line in enumerate(lines) if b'"type":"call/start"' in line]
        if not ends:
            raise EditError(f"{file} has no marked call")
        rows = [json.loads(line) for line in lines[starts[-1] : ends[-1] + 1]]
        for row in rows:
            if "call" in row["data"]:
                row["data"]["call"] += 1
        more = [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for row in rows]
        (directory / file).write_bytes(b"".join([*lines[: ends[-1] + 1], *more, *lines[ends[-1] + 1 :]]))

    return edit


def both(*edits: Edit) -> Edit:
    """Several edits, one after the other."""

    def edit(directory: Path) -> None:
        for one in edits:
            one(directory)

    return edit


def _there(directory: Path, name: str) -> Path:
    if not os.path.lexists(directory / name):
        raise EditError(f"there is no {name}")
    return directory / name


def _lines(file: Path) -> list[bytes]:
    # Of bytes, so that U+2028 and its like are content.
    return file.read_bytes().splitlines(keepends=True)


def _find(file: str, lines: Sequence[bytes], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text.encode() in lines[number]:
            return number
    raise EditError(f"{file} has no row with {text!r}")

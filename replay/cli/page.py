"""A page of labelled lines: plain text of a fixed width for a pipe, in colour and as wide as the terminal for a person."""

import sys
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Line", "Page", "show_table"]

_PLAIN_WIDTH: Final = 100
_LABEL_WIDTH: Final = 11
_NESTING: Final = 4
_LEAST_WIDTH: Final = 30


class Line(NamedTuple):
    """A label with its text, or a heading without a label. `depth` is how deep it is nested."""

    label: str
    text: str
    depth: int = 0
    style: str = ""
    """A style of rich, for a terminal only."""


class Page:
    """Lines, printed in order. most_lines: how many lines of one text are shown; 0 for all."""

    __slots__ = ("_lines", "_most_lines")

    def __init__(self, most_lines: int) -> None:
        self._lines: list[Line] = []
        self._most_lines = most_lines

    def add(self, label: str, text: str, depth: int = 0, style: str = "") -> None:
        """Add one labelled text, of any number of lines."""
        self._lines.append(Line(label, text, depth, style))

    def show(self) -> None:
        """Print the page."""
        if not sys.stdout.isatty():
            for line in self._lines:
                for text in self._rendered(line, _PLAIN_WIDTH):
                    print(text)
            return
        from rich.console import Console

        console = Console(highlight=False, markup=False, soft_wrap=True)
        for line in self._lines:
            for text in self._rendered(line, console.width):
                console.print(text, style=line.style or None)

    def _rendered(self, line: Line, width: int) -> Iterator[str]:
        indent = " " * (line.depth * _NESTING)
        if not line.label:
            yield (indent + line.text).rstrip()
            return
        texts = list(_wrapped(line.text, max(width - len(indent) - _LABEL_WIDTH - 2, _LEAST_WIDTH)))
        left = len(texts) - self._most_lines
        if self._most_lines and left > 1:
            texts = [*texts[: self._most_lines], f"… {left} lines more (--full)"]
        for number, text in enumerate(texts or [""]):
            label = line.label if number == 0 else ""
            yield f"{indent}  {label:<{_LABEL_WIDTH}}{text}".rstrip()


def show_table(table: Table) -> None:
    """Print a table, a line a row."""
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000  # a pipe has no width: rows must stay lines
    console.print(table)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, long ones broken; what a terminal would act on is escaped."""
    for line in text.removesuffix("\n").split("\n"):
        shown = "".join(char if char.isprintable() or char == "\t" else ascii(char)[1:-1] for char in line)
        shown = shown.expandtabs(4)
        if len(shown) <= width:
            yield shown
            continue
        yield from wrap(shown, width, replace_whitespace=False, drop_whitespace=True, break_on_hyphens=False)

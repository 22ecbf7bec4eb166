"""The tables that the benchmark prints: a title, columns of numbers, and a verdict on each aim."""

from collections.abc import Sequence

__all__ = ["Cell", "print_aim", "print_table"]

type Cell = str | float | None


def print_table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, *tuple[Cell, ...]]]) -> None:
    """Print a table; a number has one decimal, None is left blank."""
    texts = [[name, *map(_text, cells)] for name, *cells in rows]
    widths = [max(len(row[at]) for row in [[title, *columns], *texts]) for at in range(len(columns) + 1)]
    print()
    for number, (name, *cells) in enumerate([[title, *columns], *texts]):
        line = name.ljust(widths[0])
        line += "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        print(line.rstrip())
        if not number:
            print("-" * len(line))


def print_aim(what: str, measured: float, most: float, unit: str) -> None:
    """Say whether an aim is met."""
    verdict = "pass" if measured <= most else "miss"
    print(f"aim: {what} at most {most:g}{unit}; measured {measured:.3g}{unit}: {verdict}")


def _text(cell: Cell) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else f"{cell:.1f}"

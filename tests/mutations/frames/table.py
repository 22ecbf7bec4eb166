"""The table of frame mutants: a row a scenario, every survivor below it, and the sum."""

from collections import Counter
from collections.abc import Mapping

from tests.mutations.frames.equivalents import Equivalents, Named
from tests.mutations.frames.mutant import Mutant
from tests.mutations.frames.play import CATCHERS, FAULT, SURVIVED, Outcome

__all__ = ["Row", "Table"]

EXPLAINED = "explained"
"""Of a mutant that survives as a row of the named equivalents says it may."""
_RESULTS = (*CATCHERS, EXPLAINED, SURVIVED)
_COLUMNS = ("mutants", *_RESULTS)
_NAME_WIDTH, _WIDTH = 26, 13


class Row:
    """What came of the mutants of one scenario."""

    def __init__(self, name: str, *, should_survive: bool) -> None:
        self.name = name
        self._should_survive = should_survive
        self.wrong = 0
        """Mutants that came out as they should not."""
        self.possible = 0
        """Mutants that could have been drawn."""
        self.counts: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.explained: Counter[Named] = Counter()
        self.named = 0
        self.cpu_seconds = 0.0
        self.leftovers = 0
        self.shown: list[str] = []

    def skip(self, by_construction: Mapping[str, int], named: int) -> None:
        self.skipped.update(by_construction)
        self.named += named

    def add(self, title: str, mutant: Mutant | None, outcome: Outcome, *, is_shown: bool) -> None:
        assert mutant is not None
        by = outcome.by
        if by == SURVIVED and mutant.named is not None and mutant.named.may:
            by = EXPLAINED
            self.explained[mutant.named] += 1
        self.counts[by] += 1
        self.cpu_seconds += outcome.cpu_seconds
        self.leftovers += outcome.leftovers
        is_wrong = by == FAULT or (by == SURVIVED) != self._should_survive
        self.wrong += is_wrong
        if is_shown or is_wrong:
            said = f": {outcome.said}" if outcome.said else ""
            self.shown.append(f"{title}  {mutant.where}  {mutant.what}  [{by}]{said}")


class Table:
    """Prints each row as it comes. is_good: whether each came out as it should and left nothing behind."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self.is_good = True
        print(
            _line("scenario", _COLUMNS),
            "   equivalent: by construction, named; of how many possible; CPU each",
        )

    def add(self, row: Row) -> None:
        self._rows.append(row)
        total = row.counts.total()
        self.is_good = self.is_good and not row.wrong and not row.leftovers
        each = row.cpu_seconds / total if total else 0.0
        rest = f"   {row.skipped.total()}, {row.named}; {row.possible}; {each:.2f} s"
        print(_line(row.name, _cells(row.counts)), rest, flush=True)
        for line in row.shown:
            print(f"    {line}", flush=True)

    def close(self, seconds: float, leftovers: int, equivalents: Equivalents) -> None:
        """Print the sum, what was not made and why, and rows of the named list that matched nothing."""
        sums: Counter[str] = Counter()
        skipped: Counter[str] = Counter()
        explained: Counter[Named] = Counter()
        for row in self._rows:
            sums.update(row.counts)
            explained.update(row.explained)
            skipped.update(row.skipped)
        print(_line("all", _cells(sums)))
        left = leftovers + sum(row.leftovers for row in self._rows)
        self.is_good = self.is_good and bool(sums.total()) and not leftovers
        print(f"in {seconds:.0f} s; processes left behind: {left}")
        for why, count in skipped.most_common():
            print(f"  equivalent by construction: {count:5} {why}")
        for named in equivalents.rows:
            count = explained[named] if named.may else equivalents.used[named]
            how = "explained" if named.may else "not played"
            place = f"{named.protocol} {named.kinds} {named.paths or '(whole frame)'}"
            print(f"  equivalent by name: {count:5} {how:10} {place}: {named.reason}")


def _cells(counts: Counter[str]) -> list[object]:
    return [counts.total(), *(counts[name] for name in _RESULTS)]


def _line(name: str, cells: object) -> str:
    assert isinstance(cells, (list, tuple))
    return name.ljust(_NAME_WIDTH) + "".join(str(cell).rjust(_WIDTH) for cell in cells)

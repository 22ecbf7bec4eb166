"""The choice of a sample from what a Sampler has kept: how many of each category, which, and why each. Pure.

1. Near duplicates go: in an order that puts rare tools, long runs and odd paths first, a candidate stays if it is less
   like all that stay than the bound.
2. Places are shared out among the categories in proportion to the traces seen, a minimum for each, no category more than
   it has; within one, half of them to runs that failed, half to runs that succeeded, as far as there are any.
3. At most half of a category's places of an outcome go to what is rare: a tool of few traces, the longest runs, a
   sequence of tools that is not there yet. The others are drawn.
4. If different traces are too few, near duplicates fill the sample up, the categories again in proportion.

Everything is ordered by rank, which seed and trace id alone decide: the order of the stream does not matter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from replay.errors import UsageError, counted
from replay.trace.sampler import Sampler
from replay.trace.sampler_features import Candidate, hashes_of, likeness

__all__ = ["WHY", "CategorySample", "Chosen", "Sample", "apportion", "choose"]

WHY: Final = ("rare_tool", "longest", "path", "drawn", "near_duplicate")
_RARE_PER: Final = 100
_RARE_AT_LEAST: Final = 3
_OUTCOMES: Final = (False, True, None)
_OUTCOME_NAMES: Final = {False: "failed", True: "succeeded", None: "unjudged"}


class Chosen(NamedTuple):
    """A trace of the sample. why: of WHY; detail: the sentence."""

    candidate: Candidate
    why: str
    detail: str


class CategorySample(NamedTuple):
    """A category: traces seen, different ones among the candidates, its share of the places unrounded, what it got."""

    name: str
    seen: int
    different: int
    share: float
    chosen: int
    outcomes: Mapping[str, int]


class Sample(NamedTuple):
    """The choice, by category and id. minimum: what each category was promised in the end."""

    chosen: tuple[Chosen, ...]
    categories: tuple[CategorySample, ...]
    total: int
    minimum: int
    notes: tuple[str, ...]


def choose(sampler: Sampler, minimum: int = 1, alike: float = 0.8) -> Sample:
    """The sample: exactly sampler.count traces where that many ids were seen, else all.

    minimum: of each category that has so many; alike: from which likeness on two traces are near duplicates.
    """
    if minimum < 0:
        raise UsageError(f"a minimum for each category is a number from 0, not {minimum}")
    if not 0 < alike <= 1:
        raise UsageError(f"a likeness is above 0 and at most 1, not {alike:g}")
    candidates = _candidates(sampler)
    rare = _rare_tools(sampler)
    crowd = _Crowd(candidates.values(), alike)
    kept = [candidate for candidate in _in_order(sampler, candidates, rare) if crowd.takes(candidate)]
    seen = Counter[str]()
    for (category, _), number in sampler.seen.items():
        seen[category] += number
    different = Counter(candidate.category for candidate in kept)
    # A category may have nothing left: its traces are like those of another, or carry their ids.
    quotas, promised = apportion(sampler.count, seen, {name: different[name] for name in seen}, minimum)
    choice = _Choice(sampler, kept, quotas)
    choice.take_rare(rare)
    choice.take_longest()
    choice.take_paths()
    choice.draw()
    missing = min(sampler.count, len(candidates)) - len(choice.chosen)
    if missing > 0:
        _fill(choice, crowd, candidates, seen, missing)
    chosen = sorted(choice.chosen.values(), key=lambda one: (one.candidate.category, one.candidate.trace_id))
    notes = _notes(sampler, minimum, promised, missing, choice, rare)
    summary = _summary(seen, different, sampler.count, chosen)
    return Sample(tuple(chosen), summary, sampler.total, promised, notes)


def apportion(
    count: int,
    weights: Mapping[str, int],
    most: Mapping[str, int],
    minimum: int,
    least: Mapping[str, int] | None = None,
) -> tuple[dict[str, int], int]:
    """Places in proportion to weights: each name at least `minimum` (and least[name]), at most most[name].

    They add up to count, or to all of `most`. Between its bounds a name is less than one place off its share of what the
    others leave. Where there are too few places for the minimum it is lowered; the second value is what it came to.
    """
    while minimum and sum(min(minimum, most[name]) for name in weights) > count:
        minimum -= 1
    floors = {name: max(min(minimum, most[name]), (least or {}).get(name, 0)) for name in weights}
    count = min(count, sum(most[name] for name in weights))
    fixed: dict[str, int] = {}
    while True:
        free = [name for name in weights if name not in fixed]
        left = count - sum(fixed.values())
        weight = sum(weights[name] for name in free)
        shares = {name: left * weights[name] / weight for name in free} if weight else {}
        below = {name: floors[name] - share for name, share in shares.items() if share < floors[name]}
        above = {name: share - most[name] for name, share in shares.items() if share > most[name]}
        if not below and not above:
            return fixed | _rounded(shares, left), minimum
        # Whichever side pulls harder is right to do so; the other may not be out of bounds any more after it.
        if sum(below.values()) >= sum(above.values()):
            fixed |= {name: floors[name] for name in below}
        else:
            fixed |= {name: most[name] for name in above}


def _rounded(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """Whole numbers that add up: the largest remainders are rounded up."""
    whole = {name: int(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (whole[name] - shares[name], name))
    for name in by_remainder[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


class _Crowd:
    """Candidates no two of which are alike; finds those that could be without looking at all.

    Of two sets that share the part `alike` of all their members, the rarest few members of each are not all missing in
    the other: so only sets are compared that meet in those.
    """

    def __init__(self, candidates: Iterable[Candidate], alike: float) -> None:
        self._alike = alike
        self._sets = {candidate.trace_id: hashes_of(candidate.sketch) for candidate in candidates}
        self._common = Counter(one for hashes in self._sets.values() for one in hashes)
        self._index: dict[int, list[str]] = {}

    def takes(self, candidate: Candidate) -> bool:
        """Whether it is unlike all that were taken; then it is taken as well."""
        hashes = self._sets[candidate.trace_id]
        rarest = self._rarest(hashes)
        if self._nearest(hashes, rarest)[1] >= self._alike:
            return False
        for one in rarest:
            self._index.setdefault(one, []).append(candidate.trace_id)
        return True

    def nearest(self, candidate: Candidate, chosen: Iterable[str]) -> tuple[str, float]:
        """Which of the chosen is most like it."""
        hashes = self._sets[candidate.trace_id]
        others = [(likeness(hashes, self._sets[one]), one) for one in chosen]
        alike, trace_id = max(others, key=lambda pair: (pair[0], pair[1]), default=(0.0, ""))
        return trace_id, alike

    def _nearest(self, hashes: frozenset[int], rarest: Sequence[int]) -> tuple[str, float]:
        near = {trace_id for one in rarest for trace_id in self._index.get(one, ())}
        return max(
            ((one, likeness(hashes, self._sets[one])) for one in near),
            key=lambda pair: pair[1],
            default=("", 0.0),
        )

    def _rarest(self, hashes: frozenset[int]) -> list[int]:
        by_rarity = sorted(hashes, key=lambda one: (self._common[one], one))
        # Floor, and not the least number that is enough: rounding must not lose a pair.
        return by_rarity[: len(hashes) - int(self._alike * len(hashes)) + 1]


class _Choice:
    """What is taken, by whom, within the places of each category and outcome."""

    def __init__(self, sampler: Sampler, kept: Sequence[Candidate], quotas: Mapping[str, int]) -> None:
        self.sampler = sampler
        self.kept = {candidate.trace_id: candidate for candidate in kept}
        self.quotas = quotas
        self.chosen: dict[str, Chosen] = {}
        self.uncovered = 0
        self._places: dict[tuple[str, bool | None], int] = {}
        for category, quota in quotas.items():
            self._places |= _by_outcome(category, quota, kept, sampler)
        # Of each stratum, how many places are left for what is rare.
        self._rare = {stratum: (places + 1) // 2 for stratum, places in self._places.items()}

    def take_rare(self, rare: Sequence[str]) -> None:
        """A trace for each rare tool."""
        for name in rare:
            if any(name in one.candidate.tools for one in self.chosen.values()):
                continue
            traces, pool = self.sampler.tools[name]
            detail = f'one of {counted(traces, "trace")} of {self.sampler.total} that call "{name}"'
            if not any(
                self._take(candidate, "rare_tool", detail) for candidate in self._own(pool.candidates())
            ):
                self.uncovered += 1

    def take_longest(self) -> None:
        """The longest runs of each category."""
        for category in sorted(self.quotas):
            for pool, noun in (
                (self.sampler.steps[category], "steps"),
                (self.sampler.tokens[category], "tokens"),
            ):
                longest = next(self._own(pool.candidates()), None)
                number = getattr(longest, noun, 0)
                if longest is not None and number:
                    self._take(longest, "longest", f'among the longest of "{category}": {number} {noun}')

    def take_paths(self) -> None:
        """A trace for each sequence of tools that is not there yet."""
        there = {(one.candidate.category, one.candidate.shape) for one in self.chosen.values()}
        for stratum in self._strata():
            for candidate in self._own(self.sampler.shapes[stratum].candidates()):
                if (candidate.category, candidate.shape) not in there:
                    detail = f"its path: {candidate.shape or 'no tool'}"
                    if self._take(candidate, "path", detail):
                        there.add((candidate.category, candidate.shape))

    def draw(self) -> None:
        """The rest, by rank."""
        by_stratum: dict[tuple[str, bool | None], list[Candidate]] = {}
        for candidate in sorted(self.kept.values(), key=lambda one: one.rank):
            by_stratum.setdefault((candidate.category, candidate.success), []).append(candidate)
        for stratum in self._strata():
            category, outcome = stratum
            seen = self.sampler.seen[stratum]
            detail = f'drawn from {seen} of "{category}" that {_said(outcome, seen)}'
            for candidate in by_stratum.get(stratum, ()):
                if self._places[stratum] and candidate.trace_id not in self.chosen:
                    self._put(candidate, "drawn", detail)

    def add(self, candidate: Candidate, detail: str) -> None:
        """Take a near duplicate, beyond all places."""
        self.chosen[candidate.trace_id] = Chosen(candidate, "near_duplicate", detail)

    def _strata(self) -> list[tuple[str, bool | None]]:
        return sorted(self._places, key=lambda stratum: (stratum[0], _OUTCOMES.index(stratum[1])))

    def _own(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Those that no near duplicate stands for, and no other trace of the same id."""
        return (one for one in candidates if self.kept.get(one.trace_id) == one)

    def _take(self, candidate: Candidate, why: str, detail: str) -> bool:
        stratum = (candidate.category, candidate.success)
        if candidate.trace_id in self.chosen or not self._places[stratum] or not self._rare[stratum]:
            return False
        self._rare[stratum] -= 1
        self._put(candidate, why, detail)
        return True

    def _put(self, candidate: Candidate, why: str, detail: str) -> None:
        self._places[candidate.category, candidate.success] -= 1
        self.chosen[candidate.trace_id] = Chosen(candidate, why, detail)


def _candidates(sampler: Sampler) -> dict[str, Candidate]:
    """All that were kept, by id; of several traces of one id, the first by itself."""
    pools = [
        *sampler.typical.values(), *sampler.shapes.values(), *sampler.steps.values(), *sampler.tokens.values(),
        *(tool.pool for tool in sampler.tools.values()), sampler.spares,
    ]  # fmt: skip
    found: dict[str, Candidate] = {}
    for candidate in (candidate for pool in pools for candidate in pool.candidates()):
        there = found.setdefault(candidate.trace_id, candidate)
        if candidate.digest < there.digest:
            found[candidate.trace_id] = candidate
    return found


def _rare_tools(sampler: Sampler) -> list[str]:
    """The rarest first: in at most a hundredth of the traces."""
    most = max(_RARE_AT_LEAST, sampler.total // _RARE_PER)
    rare = [(tool.traces, name) for name, tool in sampler.tools.items() if tool.traces <= most]
    return [name for _, name in sorted(rare)]


def _in_order(
    sampler: Sampler, candidates: Mapping[str, Candidate], rare: Sequence[str]
) -> Iterator[Candidate]:
    """Each candidate once: what is rare first, then by rank."""
    categories = sorted(sampler.steps)
    strata = sorted(sampler.shapes, key=lambda stratum: (stratum[0], _OUTCOMES.index(stratum[1])))
    pools = [
        *(sampler.tools[name].pool for name in rare),
        *(pools[category] for category in categories for pools in (sampler.steps, sampler.tokens)),
        *(sampler.shapes[stratum] for stratum in strata),
    ]
    first = [candidate for pool in pools for candidate in pool.candidates()]
    rest = sorted(candidates.values(), key=lambda candidate: (candidate.rank, candidate.trace_id))
    done: set[str] = set()
    for candidate in (*first, *rest):
        if candidate.trace_id not in done and candidates[candidate.trace_id] == candidate:
            done.add(candidate.trace_id)
            yield candidate


def _by_outcome(
    category: str, quota: int, kept: Sequence[Candidate], sampler: Sampler
) -> dict[tuple[str, bool | None], int]:
    """The places of a category by outcome: unjudged runs in proportion, the rest half and half."""
    there = Counter(candidate.success for candidate in kept if candidate.category == category)
    seen = {outcome: sampler.seen.get((category, outcome), 0) for outcome in _OUTCOMES}
    unjudged = min(there[None], round(quota * seen[None] / sum(seen.values())))
    left = quota - unjudged
    failed = min(there[False], left // 2 + (left % 2 if seen[False] > seen[True] else 0))
    succeeded = min(there[True], left - failed)
    failed = min(there[False], left - succeeded)
    unjudged = quota - failed - succeeded
    places = {False: failed, True: succeeded, None: unjudged}
    return {(category, outcome): places[outcome] for outcome in _OUTCOMES if seen[outcome]}


def _fill(
    choice: _Choice, crowd: _Crowd, candidates: Mapping[str, Candidate], seen: Mapping[str, int], missing: int
) -> None:
    """Fill up with near duplicates: in each category by rank."""
    rest = sorted(
        (candidate for trace_id, candidate in candidates.items() if trace_id not in choice.chosen),
        key=lambda candidate: (candidate.rank, candidate.trace_id),
    )
    taken = Counter(one.candidate.category for one in choice.chosen.values())
    there = {name: taken[name] + sum(one.category == name for one in rest) for name in seen}
    quotas, _ = apportion(len(choice.chosen) + missing, seen, there, 0, taken)
    for candidate in rest:
        if taken[candidate.category] < quotas[candidate.category]:
            taken[candidate.category] += 1
            near, alike = crowd.nearest(candidate, choice.chosen)
            choice.add(candidate, f"like {near} ({alike:.2f}), and needed for the count")


def _summary(
    seen: Mapping[str, int], different: Mapping[str, int], count: int, chosen: Sequence[Chosen]
) -> tuple[CategorySample, ...]:
    total = sum(seen.values())
    found = []
    for name in sorted(seen):
        own = [one.candidate.success for one in chosen if one.candidate.category == name]
        outcomes = {_OUTCOME_NAMES[outcome]: own.count(outcome) for outcome in _OUTCOMES}
        share = round(count * seen[name] / total, 3)
        found.append(CategorySample(name, seen[name], different.get(name, 0), share, len(own), outcomes))
    return tuple(found)


def _notes(
    sampler: Sampler, minimum: int, promised: int, missing: int, choice: _Choice, rare: Sequence[str]
) -> tuple[str, ...]:
    notes = []
    if len(choice.chosen) < sampler.count:
        notes.append(
            f"{counted(len(choice.chosen), 'trace')} of different ids is all there is; {sampler.count} were asked for"
        )
    if promised < minimum:
        notes.append(
            f"the minimum for each category is {promised} and not {minimum}: {sampler.count} places are too few for "
            f"{len(choice.quotas)} categories"
        )
    if missing > 0:
        notes.append(f"{counted(missing, 'near duplicate')} taken: different traces were too few")
    if choice.uncovered:
        notes.append(
            f"{choice.uncovered} of {counted(len(rare), 'rare tool')} are in no trace of the sample: no place was left"
        )
    return tuple(notes)


def _said(outcome: bool | None, number: int) -> str:
    was = "was" if number == 1 else "were"
    return {False: "failed", True: "succeeded", None: f"{was} not judged"}[outcome]

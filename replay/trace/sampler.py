"""What is kept of a stream of traces so that a sample can be chosen at its end: the same whatever their order. Pure.

Memory does not grow with the stream. Kept are counts, and pools of candidates that are each the least so-and-so-many by
an order that the seed and the trace alone decide; such a pool is the same for every order of the stream, and the pools
of two halves make the pool of the whole (`merge`).

    typical   of each category and outcome, by the hash of the sketch, one trace for all that have the same sketch, so
              that a million copies fill one place
    shapes    of each category and outcome, one trace for each sequence of tools
    longest   of each category, the most steps, and the most tokens
    tools     of each tool, how many traces call it, and some that do
    spares    of all, by chance alone: what fills up a sample that would else be too small
"""

from hashlib import blake2b
from heapq import heappop_max, heappush_max
from typing import Any, Final, NamedTuple

from replay.errors import FixtureError, UsageError, counted
from replay.session.chunk import shown
from replay.trace.sampler_features import Candidate, rank_of

__all__ = ["MAX_CATEGORIES", "MAX_COUNT", "MAX_TOOLS", "Pool", "Sampler", "Tool"]

MAX_CATEGORIES: Final = 256
MAX_COUNT: Final = 100_000
MAX_TOOLS: Final = 4096
_SHAPES: Final = 64
_LONGEST: Final = 3
_OF_A_TOOL: Final = 4

type Stratum = tuple[str, bool | None]
"""A category, and whether the run succeeded."""


class Pool:
    """The `size` candidates of least rank, one for each rank: of several of one rank, the one that comes first by itself."""

    __slots__ = ("_heap", "_items", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: dict[Any, Candidate] = {}
        self._heap: list[Any] = []

    def wants(self, rank: Any, candidate: Candidate) -> bool:
        """Whether adding would change the pool."""
        there = self._items.get(rank)
        if there is not None:
            return _own_order(candidate) < _own_order(there)
        return len(self._heap) < self.size or rank < self._heap[0]

    def add(self, rank: Any, candidate: Candidate) -> None:
        """Keep it, if it is among the least."""
        if not self.wants(rank, candidate):
            return
        if rank not in self._items:
            heappush_max(self._heap, rank)
            if len(self._heap) > self.size:
                del self._items[heappop_max(self._heap)]
                # Its own rank is less than the greatest, so it was not the one to go.
        self._items[rank] = candidate

    def ranked(self) -> list[tuple[Any, Candidate]]:
        """All of them, the least rank first."""
        return sorted(self._items.items(), key=lambda item: item[0])

    def candidates(self) -> list[Candidate]:
        """The same without their ranks."""
        return [candidate for _, candidate in self.ranked()]


class Tool(NamedTuple):
    """A tool: in how many traces it was called, and some of them."""

    traces: int
    pool: Pool


class Sampler:
    """Counts and pools of a stream. count: how large the sample shall be; seed: from 0, below 2 ** 63."""

    def __init__(self, count: int, seed: int = 0) -> None:
        if not 1 <= count <= MAX_COUNT:
            raise UsageError(f"a sample has 1 to {MAX_COUNT} traces, not {count}")
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"a seed is a whole number from 0, below 2 ** 63, not {seed}")
        self.count = count
        self.seed = seed
        self.key = seed.to_bytes(8)
        self.seen: dict[Stratum, int] = {}
        self.typical: dict[Stratum, Pool] = {}
        self.shapes: dict[Stratum, Pool] = {}
        self.steps: dict[str, Pool] = {}
        self.tokens: dict[str, Pool] = {}
        self.tools: dict[str, Tool] = {}
        self.spares = Pool(count)
        self._greatest_tools: list[tuple[int, str]] = []

    @property
    def total(self) -> int:
        """How many traces came."""
        return sum(self.seen.values())

    def wants(self, candidate: Candidate) -> bool:
        """Whether any pool would keep it: only such a trace has to be read as a whole."""
        if (candidate.category, candidate.success) not in self.seen:
            return True
        if any(pool.wants(rank, candidate) for pool, rank in self._pools(candidate)):
            return True
        return any(
            self.tools[name].pool.wants(candidate.rank, candidate)
            if name in self.tools
            else self._takes_tool(name)
            for name in candidate.tools
        )

    def add(self, candidate: Candidate) -> None:
        """Take one trace of the stream. Raises FixtureError for one category too many."""
        stratum = (candidate.category, candidate.success)
        if stratum not in self.seen:
            self._open(stratum)
        self.seen[stratum] += 1
        for pool, rank in self._pools(candidate):
            pool.add(rank, candidate)
        for name in candidate.tools:
            self._count_tool(name, 1)
            if name in self.tools:
                self.tools[name].pool.add(candidate.rank, candidate)

    def merge(self, other: Sampler) -> None:
        """Take what another sampler of the same count and seed has seen. Raises FixtureError as add does."""
        if (self.count, self.seed) != (other.count, other.seed):
            raise ValueError("samplers of different counts or seeds have nothing in common")
        for stratum, seen in other.seen.items():
            if stratum not in self.seen:
                self._open(stratum)
            self.seen[stratum] += seen
            _merge(self.typical[stratum], other.typical[stratum])
            _merge(self.shapes[stratum], other.shapes[stratum])
        for category in other.steps:
            _merge(self.steps[category], other.steps[category])
            _merge(self.tokens[category], other.tokens[category])
        _merge(self.spares, other.spares)
        for name, tool in other.tools.items():
            self._count_tool(name, tool.traces)
            if name in self.tools:
                _merge(self.tools[name].pool, tool.pool)

    def _pools(self, candidate: Candidate) -> tuple[tuple[Pool, Any], ...]:
        """The pools that it may go to, but for those of its tools, each with its rank there."""
        stratum = (candidate.category, candidate.success)
        rank = candidate.rank
        return (
            (self.spares, rank),
            (self.typical[stratum], hash_of(candidate.sketch, self.key)),
            (self.shapes[stratum], rank_of(candidate.shape, self.key)),
            (self.steps[candidate.category], (-candidate.steps, rank)),
            (self.tokens[candidate.category], (-candidate.tokens, rank)),
        )

    def _open(self, stratum: Stratum) -> None:
        category, _ = stratum
        if category not in self.steps:
            if len(self.steps) >= MAX_CATEGORIES:
                raise FixtureError(
                    f"is of one more category than {MAX_CATEGORIES}, {shown(category)}: metadata.category is to be what "
                    "suites group by, and no id"
                )
            self.steps[category], self.tokens[category] = Pool(_LONGEST), Pool(_LONGEST)
        self.seen[stratum] = 0
        self.typical[stratum] = Pool(2 * self.count)
        self.shapes[stratum] = Pool(min(self.count, _SHAPES))

    # Of too many tools those of least rank are counted. One of them was so from its first trace on: the count is whole.

    def _takes_tool(self, name: str) -> bool:
        if len(self._greatest_tools) < MAX_TOOLS:
            return True
        return (rank_of(name, self.key), name) < self._greatest_tools[0]

    def _count_tool(self, name: str, traces: int) -> None:
        if name not in self.tools:
            if not self._takes_tool(name):
                return
            self.tools[name] = Tool(0, Pool(_OF_A_TOOL))
            heappush_max(self._greatest_tools, (rank_of(name, self.key), name))
            if len(self._greatest_tools) > MAX_TOOLS:
                _, gone = heappop_max(self._greatest_tools)
                del self.tools[gone]
        if name in self.tools:
            tool = self.tools[name]
            self.tools[name] = tool._replace(traces=tool.traces + traces)

    def describe(self) -> str:
        """ "1000000 traces of 5 categories"."""
        return f"{counted(self.total, 'trace')} of {len(self.steps)} {'category' if len(self.steps) == 1 else 'categories'}"


def hash_of(sketch: bytes, key: bytes) -> int:
    """The rank of a sketch."""
    return int.from_bytes(blake2b(sketch, digest_size=8, key=key).digest())


def _own_order(candidate: Candidate) -> tuple[int, str, int]:
    return candidate.rank, candidate.trace_id, candidate.digest


def _merge(pool: Pool, other: Pool) -> None:
    for rank, candidate in other.ranked():
        pool.add(rank, candidate)

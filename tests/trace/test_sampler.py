"""The sampler: exact counts, proportions, minimums, no near duplicates, and the same sample for every order."""

import random
import tracemalloc
from collections import Counter
from itertools import combinations
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError, UsageError
from replay.trace.codec import write_trace
from replay.trace.model import AgentTrace
from replay.trace.sampler import MAX_CATEGORIES, MAX_TOOLS, Sampler
from replay.trace.sampler_choice import Sample, apportion, choose
from replay.trace.sampler_features import Candidate, Place, candidate_of, hashes_of, likeness
from tests.trace.suite_values import make_trace

NOWHERE = Place("x.jsonl", 0, 0)
WORDS = [
    f"{one}{two}"
    for one in ("pay", "book", "find", "move", "check")
    for two in ("er", "ing", "able", "ory", "ism", "s")
]


def candidate(trace: AgentTrace, key: bytes = b"\0" * 8) -> Candidate:
    data = write_trace(trace, indent=False)
    return candidate_of(orjson.loads(data), data, NOWHERE, key)


def some_trace(
    number: int, category: str, success: bool | None, *, like: int | None = None, tool: str = ""
) -> AgentTrace:
    """A trace of its own; of one `like`, they differ by a number only."""
    chance = random.Random(number if like is None else -1 - like)
    task = " ".join(chance.choices(WORDS, k=24)) + f" {number}"
    calls = [
        (chance.choice(("find", "read", "write")), {"q": chance.choice(WORDS)})
        for _ in range(chance.randint(1, 4))
    ]
    return make_trace(
        f"t{number:05d}",
        category,
        (*calls, *([tool] if tool else [])),
        success=success,
        final_answer="",
        task=task,
    )


def make_stream(chance: random.Random, size: int, share_alike: float = 0.3) -> list[AgentTrace]:
    categories = chance.choices(("a", "b", "c", "d"), (50, 30, 15, 5), k=size)
    return [
        some_trace(
            number,
            category,
            chance.choice((True, True, True, False, None)),
            like=chance.randrange(3) if chance.random() < share_alike else None,
            tool="rare" if chance.random() < 0.01 else "",
        )
        for number, category in enumerate(categories)
    ]


def sample_of(traces: list[AgentTrace], count: int, seed: int = 0, **options: Any) -> Sample:
    sampler = Sampler(count, seed)
    for trace in traces:
        sampler.add(candidate(trace, sampler.key))
    return choose(sampler, **options)


def ids(sample: Sample) -> list[str]:
    return [one.candidate.trace_id for one in sample.chosen]


@given(st.integers(0, 10_000), st.integers(1, 120), st.integers(1, 60), st.integers(0, 4), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_of_any_stream_the_sample_holds_its_promises(
    chance: int, size: int, count: int, minimum: int, seed: int
) -> None:
    traces = make_stream(random.Random(chance), size)
    sample = sample_of(traces, count, seed, minimum=minimum)
    # Exactly as many as were asked for, where there are so many.
    assert len(sample.chosen) == len(set(ids(sample))) == min(count, size)
    # No two are alike, but those that were needed for the count.
    different = [one.candidate for one in sample.chosen if one.why != "near_duplicate"]
    for one, other in combinations(different, 2):
        assert likeness(hashes_of(one.sketch), hashes_of(other.sketch)) < 0.8
    if len(different) < len(sample.chosen):
        assert sum(category.different for category in sample.categories) == len(different)
    # Every category has its minimum, as far as it has so many.
    for category in sample.categories:
        assert category.chosen >= min(sample.minimum, category.different)
    # In any order, and in two halves, the same.
    shuffled = [*traces]
    random.Random(chance + 1).shuffle(shuffled)
    assert [one[:2] for one in sample_of(shuffled, count, seed, minimum=minimum).chosen] == [
        one[:2] for one in sample.chosen
    ]
    assert merged(traces, count, seed, minimum) == sample


def merged(traces: list[AgentTrace], count: int, seed: int, minimum: int) -> Sample:
    halves = [Sampler(count, seed), Sampler(count, seed)]
    for number, trace in enumerate(traces):
        halves[number % 2].add(candidate(trace, halves[0].key))
    halves[1].merge(halves[0])
    return choose(halves[1], minimum)


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 1000), min_size=1, max_size=8),
    st.integers(1, 400),
    st.integers(0, 10),
)
@settings(max_examples=300, deadline=None)
def test_places_are_within_one_of_their_share(weights: dict[str, int], count: int, minimum: int) -> None:
    places, promised = apportion(count, weights, weights, minimum)
    assert sum(places.values()) == min(count, sum(weights.values()))
    assert all(min(promised, weights[name]) <= places[name] <= weights[name] for name in weights)
    assert promised == minimum or sum(min(promised + 1, one) for one in weights.values()) > count
    # Those that no bound holds share what is left in proportion.
    free = [name for name in weights if min(promised, weights[name]) < places[name] < weights[name]]
    left, weight = sum(places[name] for name in free), sum(weights[name] for name in free)
    for name in free:
        assert abs(places[name] - left * weights[name] / weight) < len(free) + 1
    if not minimum and count <= min(weights.values()):
        assert all(abs(places[name] - count * weights[name] / sum(weights.values())) < 1 for name in weights)


def test_categories_are_in_proportion_and_outcomes_in_balance() -> None:
    chance = random.Random(4)
    categories = ["big"] * 1500 + ["middle"] * 450 + ["small"] * 50
    traces = [some_trace(at, name, chance.random() < 0.9) for at, name in enumerate(categories)]
    sample = sample_of(traces, 40, minimum=3)
    chosen = {
        one.name: (one.chosen, one.outcomes["failed"], one.outcomes["succeeded"]) for one in sample.categories
    }
    # 3 for the small one; of 37 the others get 1500 and 450 parts of 1950.
    assert chosen == {"big": (28, 14, 14), "middle": (9, 4, 5), "small": (3, 1, 2)}


def test_rare_tools_long_runs_and_odd_paths_are_kept() -> None:
    traces = [some_trace(at, "a", at % 5 > 0) for at in range(1200)]
    traces[700] = some_trace(700, "a", True, tool="refund")
    traces[800] = make_trace(
        "long", "a", tuple(("find", {"q": WORDS[at % 30]}) for at in range(60)), task="a long way"
    )
    sample = sample_of(traces, 30)
    why = {one.candidate.trace_id: (one.why, one.detail) for one in sample.chosen}
    assert why["t00700"] == ("rare_tool", 'one of 1 trace of 1200 that call "refund"')
    assert why["long"] == ("longest", 'among the longest of "a": 120 steps')
    drawn = sum(one.why == "drawn" for one in sample.chosen)
    assert drawn >= 14, "at least half stand for what is common"
    assert any(one.why == "path" and "its path:" in one.detail for one in sample.chosen)


def test_a_flood_of_near_duplicates_takes_one_place() -> None:
    traces = [some_trace(at, "a", True, like=1) for at in range(3000)]
    traces += [some_trace(at, "a", True) for at in range(3000, 3040)]
    random.Random(1).shuffle(traces)
    sample = sample_of(traces, 30)
    flood = [one for one in ids(sample) if int(one[1:]) < 3000]
    assert len(flood) <= 1 and not [one for one in sample.chosen if one.why == "near_duplicate"]


def test_near_duplicates_fill_a_sample_that_would_be_too_small_and_say_so() -> None:
    sample = sample_of([some_trace(at, "a", True, like=at % 2) for at in range(50)], 10)
    assert Counter(one.why == "near_duplicate" for one in sample.chosen) == {True: 8, False: 2}
    doubled = next(one for one in sample.chosen if one.why == "near_duplicate")
    assert doubled.detail.startswith("like t0") and "needed for the count" in doubled.detail
    assert sample.notes == ("8 near duplicates taken: different traces were too few",)


def test_fewer_traces_than_asked_for_are_all_taken_and_said() -> None:
    sample = sample_of([some_trace(at, "a", True) for at in range(7)], 10)
    assert len(sample.chosen) == 7
    assert sample.notes[0] == "7 traces of different ids is all there is; 10 were asked for"


def test_a_minimum_that_does_not_fit_is_lowered_and_said() -> None:
    sample = sample_of([some_trace(at, f"c{at % 8}", True) for at in range(80)], 12, minimum=5)
    assert sample.minimum == 1 and [category.chosen for category in sample.categories].count(0) == 0
    assert "the minimum for each category is 1 and not 5" in sample.notes[0]


def test_another_seed_is_another_sample() -> None:
    traces = make_stream(random.Random(3), 400)
    assert ids(sample_of(traces, 20, 1)) == ids(sample_of(traces, 20, 1)) != ids(sample_of(traces, 20, 2))


def test_two_traces_of_one_id_are_one() -> None:
    one, other = some_trace(1, "a", True), some_trace(2, "b", False)._replace(trace_id="t00001")
    both = [ids(sample_of(order, 5)) for order in ([one, other], [other, one])]
    assert both == [["t00001"], ["t00001"]]
    chosen = [sample_of(order, 5).chosen[0].candidate for order in ([one, other], [other, one])]
    assert chosen[0] == chosen[1]


def test_what_no_pool_wants_changes_nothing() -> None:
    traces = make_stream(random.Random(9), 600)
    with_all, wanted = Sampler(5), Sampler(5)
    refused = 0
    for trace in traces:
        one = candidate(trace, with_all.key)
        with_all.add(one)
        if wanted.wants(one):
            wanted.add(one)
        else:
            refused += 1
            wanted.seen[one.category, one.success] += 1
            for name in one.tools:
                wanted.tools[name] = wanted.tools[name]._replace(traces=wanted.tools[name].traces + 1)
    assert refused > 100
    assert choose(with_all) == choose(wanted)


def test_tools_beyond_the_bound_are_forgotten_the_same_in_every_order() -> None:
    traces = [make_trace(f"t{at}", "a", (f"tool{at}",)) for at in range(MAX_TOOLS + 50)]
    kept = []
    for order in (traces, traces[::-1]):
        sampler = Sampler(5)
        for trace in order:
            sampler.add(candidate(trace, sampler.key))
        kept.append({name: tool.traces for name, tool in sampler.tools.items()})
    assert kept[0] == kept[1] and len(kept[0]) == MAX_TOOLS


def test_a_category_for_each_trace_is_refused() -> None:
    sampler = Sampler(5)
    with pytest.raises(FixtureError, match=r"metadata\.category is to be what suites group by, and no id"):
        for at in range(MAX_CATEGORIES + 1):
            sampler.add(candidate(make_trace(f"t{at}", f"c{at}")))


@pytest.mark.parametrize(("count", "seed"), [(0, 0), (-1, 0), (10**9, 0), (5, -1), (5, 1 << 63)])
def test_a_count_or_seed_that_is_none_is_refused(count: int, seed: int) -> None:
    with pytest.raises(UsageError):
        Sampler(count, seed)


@pytest.mark.parametrize(("minimum", "alike"), [(-1, 0.8), (1, 0.0), (1, 1.5)])
def test_a_minimum_or_likeness_that_is_none_is_refused(minimum: int, alike: float) -> None:
    with pytest.raises(UsageError):
        choose(Sampler(5), minimum, alike)


@given(st.sets(st.integers(0, 40), min_size=1), st.sets(st.integers(0, 40), min_size=1))
def test_likeness_is_a_share_and_symmetric(left: set[int], right: set[int]) -> None:
    one, other = frozenset(left), frozenset(right)
    assert likeness(one, one) == 1 and likeness(one, other) == likeness(other, one) <= 1


def test_memory_does_not_grow_with_the_stream() -> None:
    sampler = Sampler(10)
    chance = random.Random(2)
    sizes = []
    tracemalloc.start()
    for at in range(3000):
        sampler.add(candidate(some_trace(at, chance.choice("abc"), chance.random() < 0.5), sampler.key))
        if at in (1499, 2999):
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    pools = [
        *sampler.typical.values(),
        *sampler.shapes.values(),
        *sampler.steps.values(),
        *sampler.tokens.values(),
    ]
    kept = sum(len(pool.candidates()) for pool in (*pools, sampler.spares))
    assert kept <= 6 * (2 * 10 + 10) + 2 * 3 * 3 + 10
    # Full pools only exchange what they hold; a sketch may be longer than the one that it takes the place of.
    assert sizes[1] < sizes[0] * 1.05

"""What is asked of an invocation of Bazel: which tests ran, which were hits, what is wrong with it."""

from collections.abc import Collection

from tests.mutations.bazel import Invocation

__all__ = ["HIT", "INTERNAL", "SCENARIOS", "cache_flags", "counts_text", "executed", "hits", "problems_of"]

HIT = "remote cache hit"
# Actions that Bazel does itself, such as links and manifests; nobody caches them.
INTERNAL = "internal"
# Every session, transport and trace target with its guards; without the two large programs that try the comparators themselves.
SCENARIOS = ("//scenarios/...", "--test_size_filters=-large")
# A pattern that finds fewer has gone wrong.
FEWEST = 100


def cache_flags(endpoint: str) -> list[str]:
    return ["--config=remote-cache", f"--remote_cache={endpoint}"]


def executed(run: Invocation) -> set[str]:
    """The tests that ran, wherever that was."""
    return {label for label, test in run.tests.items() if test.strategies - {HIT}}


def hits(run: Invocation) -> set[str]:
    """The tests of which every attempt came from the remote cache."""
    return {label for label, test in run.tests.items() if test.strategies == {HIT}}


def problems_of(run: Invocation, tests: Collection[str] | None = None) -> list[str]:
    """What is wrong with a run in which exactly those tests have to pass; None for at least FEWEST."""
    problems = [
        f"{label} is {test.status}:\n{test.log[:1500]}"
        for label, test in run.tests.items()
        if test.status != "PASSED"
    ]
    if tests is None:
        problems += [f"only {len(run.tests)} tests were found"] * (len(run.tests) < FEWEST)
    elif set(tests) != set(run.tests):
        problems.append(
            f"of these tests some have no result, or others have: {sorted(set(tests) ^ set(run.tests))}"
        )
    if run.code != 0 or problems:
        problems.append(f"exit {run.code}:\n{run.text[-3000:]}")
    return problems


def counts_text(run: Invocation) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(run.runners.items())) or "none"

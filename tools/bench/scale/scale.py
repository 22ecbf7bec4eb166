"""How the cost of replays grows with their number: `bazel run //tools/bench/scale -- [--sizes 100,1000,5000] [--run-sizes 100,1000]`.

A module of copies of one scenario is made in the user's cache directory, in packages and in one package, with a target
for each scenario and batched. Of every size Bazel says what loading and analysis cost; of the sizes to run, how long the
tests, a test command with nothing to do and a refresh of one scenario take. The same run plays the agent alone.

Each cost is fitted as size^k, over all sizes and over the two largest: the second hides no constant part. The larger of
the two is held against the aim; of what runs for minutes it is that of the CPU, which other work on the machine does not
change. Exit code 1: an aim is missed; 2: something could not be measured.
"""

import argparse
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.bench.child import Broken
from tools.bench.scale.build import Build, Invocation
from tools.bench.scale.fit import exponent, last_exponent
from tools.bench.scale.tree import AGENT, ALONE, LAYOUTS, MODES, PER_PACKAGE, PER_SHARD, Variant, write_module
from tools.bench.table import Cell, print_aim, print_table

_MOST_EXPONENT = 1.1
_MOST_NO_OP_SECONDS = 3.0
_NO_OP_SIZE = 1000
_MOST_BATCHED_MS = 50.0
_REPETITIONS = 3
"""Of what is short: the least of them counts. The first one makes links that the others find."""
_MOST_IN_ONE = 1400
"""A guard lets a suite have 16 MiB, and this many of our scenarios are that."""
_PROGRAMS = ("@agent_replay//replay/runner:main", "@agent_replay//replay/scenario:guard_main")
# What the work tree of agent_replay itself sets, and what a large monorepo sets too.
_RC = """\
common --nobuild_runfile_links --noexperimental_split_xml_generation --incompatible_strict_action_env
common --sandbox_default_allow_network=false
"""

type Costs = dict[str, dict[int, float]]
"""Kind of tree ("packages, batched") to size to cost."""


class Alone(NamedTuple):
    """The agent without a runner, one on each processor: milliseconds of one run."""

    wall: float
    cpu: float


class Scale:
    """The measurements, as they are made."""

    def __init__(self, build: Build, cores: int) -> None:
        self._build = build
        self._cores = cores
        self.missed = False
        self.analysed: dict[Variant, tuple[Invocation, float]] = {}
        """What loading and analysis cost, and the heap that they left, in MB."""
        self.ran: dict[Variant, Invocation] = {}
        self.alone: dict[Variant, Alone] = {}
        """The agent without a runner, while the machine was as loaded as it was for the variant."""
        self.no_op: dict[Variant, float] = {}
        self.refreshed: dict[Variant, float] = {}

    def analyse(self, variants: Sequence[Variant]) -> None:
        """Load and analyse each variant in a server that has seen the agent and the runner only."""
        for variant in variants:
            _say(f"loading and analysing {variant.name}")
            self._build.restart()
            before = self._build.measure("build", "--nobuild", AGENT, *_PROGRAMS, with_heap=True)
            after = self._build.measure("build", "--nobuild", variant.pattern, with_heap=True)
            self.analysed[variant] = after, after.heap - before.heap

    def run(self, variants: Sequence[Variant]) -> None:
        """Run all tests of each variant, then none of them, then a command on one."""
        for variant in variants:
            _say(f"running {variant.name}")
            self._build.call("build", variant.pattern)
            # Before and after, since the load of a shared machine changes.
            alone = [self._measure_alone()]
            self.ran[variant] = self._build.measure("test", variant.pattern)
            alone.append(self._measure_alone())
            self.alone[variant] = Alone(*(sum(values) / len(alone) for values in zip(*alone, strict=True)))
            if any(test.is_cached for test in self.ran[variant].tests):
                raise Broken(f"{variant.pattern}: a test was not run, so its time means nothing")
            self.no_op[variant] = min(self._build.call("test", variant.pattern) for _ in range(_REPETITIONS))
            scenario = next(variant.packages())[1][0]
            self._build.call("build", variant.refresh)
            self.refreshed[variant] = min(
                self._build.call("run", variant.refresh, "--", scenario) for _ in range(_REPETITIONS)
            )

    def _measure_alone(self) -> Alone:
        [test] = self._build.measure("test", ALONE).tests
        said = json.loads(test.log.read_text().splitlines()[-1])
        return Alone(said["wall_ms"], said["cpu_ms"])

    # Tables.

    def print_growth(self, title: str, costs: Costs, decimals: int = 2, *, is_judged: bool = True) -> None:
        """A table of one cost by size, with its exponents, and a verdict on the worst of them."""
        sizes = sorted({size for of_kind in costs.values() for size in of_kind})
        worst = 0.0
        rows: list[tuple[str, *tuple[Cell, ...]]] = []
        for kind, of_kind in costs.items():
            fitted, last = exponent(of_kind), last_exponent(of_kind)
            worst = max(worst, fitted or 0.0, last or 0.0)
            cells: list[Cell] = [
                f"{of_kind[size]:.{decimals}f}" if size in of_kind else None for size in sizes
            ]
            cells += [None if k is None else f"{k:.2f}" for k in (fitted, last)]
            rows.append((kind, *cells))
        print_table(title, [*(f"{size}" for size in sizes), "k", "k at the end"], rows)
        if is_judged and len(sizes) > 1:
            self.judge(f"exponent of {title}", worst, _MOST_EXPONENT, "")

    def judge(self, what: str, measured: float, most: float, unit: str) -> None:
        print_aim(what, measured, most, unit)
        self.missed = self.missed or measured > most

    def print_analysis(self) -> None:
        """What a target costs before anything runs."""
        quantities: list[tuple[str, int, Callable[[Invocation, float], float]]] = [
            ("loading and analysis, s of wall", 2, lambda found, _: found.wall),
            ("loading and analysis, s of Bazel's CPU", 2, lambda found, _: found.cpu),
            ("heap after it, MB", 1, lambda _, heap: heap),
            ("actions", 0, lambda found, _: found.actions),
            ("configured targets", 0, lambda found, _: found.targets),
        ]
        for title, decimals, value in quantities:
            costs = _by_kind({variant: value(*found) for variant, found in self.analysed.items()})
            # CPU says the same on a machine that others use too.
            self.print_growth(title, costs, decimals, is_judged="wall" not in title)

    def print_runs(self) -> None:
        """What scenarios cost when they run, beside the agent alone."""
        walls = {v: run.wall for v, run in self.ran.items()}
        self.print_growth("all tests run, s of wall", _by_kind(walls), is_judged=False)
        self.print_growth(
            "all tests run, s of CPU", _by_kind({v: run.test_cpu for v, run in self.ran.items()})
        )
        per_core = {v: run.wall * 1000 * self._cores / v.size for v, run in self.ran.items()}
        self.print_growth(
            "the agent alone, ms of wall",
            _by_kind({v: one.wall for v, one in self.alone.items()}),
            1,
            is_judged=False,
        )
        self.print_growth("ms of wall per scenario per core", _by_kind(per_core), 1, is_judged=False)
        beyond = {v: found - self.alone[v].wall for v, found in per_core.items()}
        self.print_growth("the same beyond the agent's own", _by_kind(beyond), 1, is_judged=False)
        cpus = {v: run.test_cpu * 1000 / v.size - self.alone[v].cpu for v, run in self.ran.items()}
        self.print_growth("ms of CPU per scenario beyond the agent's own", _by_kind(cpus), 1, is_judged=False)
        # On a machine that others use, wall is also their doing; CPU is not.
        for what, costs in (("wall", beyond), ("CPU", cpus)):
            for variant, found in costs.items():
                if variant.mode == "batched":
                    title = f"{variant.name}: {what} per scenario per core beyond the agent"
                    self.judge(title, found, _MOST_BATCHED_MS, " ms")

    def print_rest(self) -> None:
        """What is paid for all scenarios whenever anything is done to one."""
        guards = {
            v: sum(test.seconds for test in run.tests if "guard" in test.label)
            for v, run in self.ran.items()
            if v.mode == "batched"
        }
        self.print_growth("guards, s of wall", _by_kind(guards), is_judged=False)
        self.print_growth("test with nothing to do, s of wall", _by_kind(self.no_op))
        for variant, seconds in self.no_op.items():
            if variant.size == _NO_OP_SIZE:
                self.judge(f"{variant.name}: test with nothing to do", seconds, _MOST_NO_OP_SECONDS, " s")
        self.print_growth("refresh of one scenario, s of wall", _by_kind(self.refreshed))


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="bazel run //tools/bench/scale --", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--sizes", type=_sizes, default=[100, 1000, 5000], help="scenarios: 100,1000,5000")
    parser.add_argument(
        "--run-sizes", type=_sizes, help="of these all tests are run; those up to 1000 if not said"
    )
    chosen = parser.parse_args(arguments)
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if workspace is None:
        parser.error("start it with `bazel run //tools/bench/scale`: it uses the workspace's own Bazel")
    if chosen.run_sizes is None:
        chosen.run_sizes = [size for size in chosen.sizes if size <= _NO_OP_SIZE]
    if not set(chosen.run_sizes) <= set(chosen.sizes):
        parser.error("--run-sizes names a size that --sizes does not")
    try:
        return _measure(Path(workspace), chosen.sizes, chosen.run_sizes)
    except Broken as error:
        print(f"scale: {error}", file=sys.stderr)
        return 2


def _measure(source: Path, sizes: Sequence[int], run_sizes: Sequence[int]) -> int:
    variants = [Variant(layout, mode, size) for layout in LAYOUTS for mode in MODES for size in sizes]
    to_run = [variant for variant in variants if variant.size in run_sizes and _is_run(variant)]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent_replay" / "scale"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = home / "module"
        write_module(root, source, source / "tools" / "bench", variants, _RC)
        cores = os.cpu_count() or 1
        build = Build(source / "tools" / "bazel", root, home)
        print(
            f"{cores} processors, load {os.getloadavg()[0]:.1f}; packages of {PER_PACKAGE}, {PER_SHARD} scenarios a shard"
        )
        print(
            f"every test is run of: {', '.join(variant.name for variant in to_run)}; the others are analysed only"
        )
        scale = Scale(build, cores)
        try:
            scale.analyse(variants)
            scale.print_analysis()
            scale.run(to_run)
            scale.print_runs()
            scale.print_rest()
        finally:
            build.restart()
            shutil.rmtree(root, ignore_errors=True)
    return 1 if scale.missed else 0


def _is_run(variant: Variant) -> bool:
    """Whether it can be run, and says more than another."""
    return variant.layout == "packages" or (variant.mode == "batched" and variant.size <= _MOST_IN_ONE)


def _say(what: str) -> None:
    """What is going on, for whoever waits."""
    print(f"scale: {what} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


def _by_kind(costs: Mapping[Variant, float]) -> Costs:
    found: Costs = {}
    for variant, cost in costs.items():
        found.setdefault(f"{variant.layout}, {variant.mode}", {})[variant.size] = cost
    return found


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

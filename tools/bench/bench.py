"""What a replay costs, side by side in one run: `bazel run //tools/bench -- [--quick] [--tests-only]`.

    side by side one reply tested in different ways, ours among them, before and after its runner became one file
    scenario     the runner with an agent that does nothing, and with a real one, in Bazel's sandbox and outside;
                 below them what no runner can do without: Bazel's wrapper, the interpreter, plain standard library
    imports      the runner's imports, group by group
    throughput   a large session log through the replay path, against bare orjson.loads
    wire         schema validation, the gateway's first byte
    streams      the gateway beside a bare server that writes the same bytes: one long stream, 200 at once
    transport    frames a second of the transport engine, beside reading and writing the same JSON and nothing else
    recorder     what recording a trace costs an agent, microseconds a step beside a plain loop
    sampler      traces a second that the sampler reads, beside a loop that parses them and keeps nothing

Times are milliseconds of CPU, medians over interleaved repetitions, unless the column says otherwise: machines are
shared, and CPU is what a build pays for. Aims are printed with their verdict and do not change the exit code.
"""

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tools.bench.child import Broken, Cost, interpreter, median_cost, run_child
from tools.bench.imports import GATEWAY, GROUPS, INTERPRETER, ORJSON, STANDARD_LIBRARY
from tools.bench.recorder import TRACE, measure_recorder
from tools.bench.replay_log import make_log
from tools.bench.sampler import measure_sampler
from tools.bench.sandbox import count_runfiles, run_in_sandbox
from tools.bench.side_by_side import BARE_PY, BARE_SH, BEFORE, CASSETTE, print_side_by_side
from tools.bench.streams import BARE_SERVER, GATEWAY_SERVER, measure_streams
from tools.bench.table import print_aim, print_table
from tools.bench.throughput import BARE, DERIVE, measure_throughput
from tools.bench.transport import measure_transport
from tools.bench.wire import measure_first_byte, measure_validation

_MOST_OVERHEAD_MS = 100.0
_MOST_DECODE_RATIO = 3.0
_MOST_STEP_MICROSECONDS = 50.0
_MOST_SAMPLER_MINUTES = 3.0
"""CPU for a million traces."""
_LOADS = ((1, 50), (1, 20_000), (200, 100))
"""Streams at once, and chunks of each."""
_HERE = "tools/bench"


class Effort(NamedTuple):
    """How much is measured. `rounds` go over all workloads in turn, each of them `runs` times in the sandbox."""

    rounds: int
    runs: int
    log_megabytes: int
    turns: int
    repetitions: int


FULL = Effort(rounds=4, runs=5, log_megabytes=50, turns=5000, repetitions=7)
QUICK = Effort(rounds=1, runs=5, log_megabytes=10, turns=1000, repetitions=3)

OUTPUTS, FLOOR = "outputs_test", "floor_test"
IMPORTS, STUB, TURN = "imports_test", "stub_test", "turn_test"


class Workloads:
    """The targets of this package, started where they are asked for."""

    def __init__(self, workspace: str, runfiles: Path) -> None:
        self.workspace = workspace
        self.runfiles = runfiles
        self.turn = runfiles / "_main" / _HERE / "turn"
        listed = subprocess.run(
            [self._program(IMPORTS), "--list"], check=True, stdout=subprocess.PIPE, text=True
        )
        self._modules = listed.stdout.split()

    def run_outside(self, target: str) -> Cost:
        arguments = {
            FLOOR: [str(self.runfiles / "_main" / _HERE / "stub"), str(self.turn)],
            IMPORTS: self._modules,
        }.get(target, [])
        manifest = (
            {"AGENT_REPLAY_MANIFEST": f"_main/{_HERE}/{target}.manifest.json"}
            if target in (STUB, TURN)
            else {}
        )
        return run_child(
            [self._program(target), *arguments], {"RUNFILES_DIR": str(self.runfiles), **manifest}
        )

    def run_inside(self, target: str, runs: int) -> Cost:
        return run_in_sandbox(self.workspace, target, runs, self._modules if target == IMPORTS else [])

    def _program(self, target: str) -> str:
        return str(self.runfiles / "_main" / _HERE / target)


def main(arguments: list[str]) -> int:
    """The command. Fails only if something could not be measured."""
    parser = argparse.ArgumentParser(
        prog="bazel run //tools/bench --", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and a smaller log")
    parser.add_argument("--tests-only", action="store_true", help="nothing but what a test's action costs")
    parsed = parser.parse_args(arguments)
    effort = QUICK if parsed.quick else FULL
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if workspace is None:
        parser.error("start it with `bazel run //tools/bench`: it runs tests of the workspace")
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
        f"{effort.rounds} x {effort.runs} runs, log of {effort.log_megabytes} MB x {effort.repetitions}"
    )
    workloads = Workloads(workspace, _runfiles())
    try:
        bench_scenario(workloads, effort)
    except Broken as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if parsed.tests_only:
        return 0
    bench_throughput(effort)
    bench_wire(workloads.turn, effort)
    for streams, chunks in _LOADS:
        bench_streams(streams, chunks, effort)
    bench_transport(effort)
    bench_recorder(effort)
    bench_sampler(effort)
    return 0


def bench_scenario(workloads: Workloads, effort: Effort) -> None:
    """A scenario and its imports, outside and in the sandbox."""
    by_themselves = [BARE_PY, FLOOR, STUB, TURN, IMPORTS]
    targets = [BARE_SH, OUTPUTS, CASSETTE, *BEFORE.values(), *by_themselves]
    outside: dict[str, list[Cost]] = {target: [] for target in by_themselves}
    inside: dict[str, list[Cost]] = {target: [] for target in targets}
    shell: list[Cost] = []
    # A first run of each fills the caches of the system, and lets Bazel build what is to be measured.
    for target in targets:
        workloads.run_inside(target, 1)
    for _ in range(effort.rounds):
        for target in targets:
            inside[target].append(workloads.run_inside(target, effort.runs))
        for _ in range(effort.runs):
            shell.append(run_child(interpreter(), {}))
            for target in by_themselves:
                outside[target].append(workloads.run_outside(target))
    within = {target: median_cost(costs) for target, costs in inside.items()}
    without = {target: median_cost(costs) for target, costs in outside.items()}
    files = count_runfiles(workloads.workspace, targets)
    print_side_by_side(within, files, _beyond_wrapper(within, TURN) - _overhead(within))
    _print_scenario(within, without, median_cost(shell))
    _print_imports(within[IMPORTS], without[IMPORTS])


def _beyond_wrapper(within: dict[str, Cost], target: str) -> float:
    """CPU of a target in the sandbox beyond Bazel's own."""
    wrapper = OUTPUTS if target in (STUB, TURN) else BARE_SH
    return within[target].cpu - within[wrapper].cpu


def _overhead(within: dict[str, Cost]) -> float:
    """CPU of the runner in the sandbox without its agent."""
    return _beyond_wrapper(within, STUB) - within[STUB].agent


def _print_scenario(within: dict[str, Cost], without: dict[str, Cost], shell: Cost) -> None:
    overhead = _overhead(within)
    outside_overhead = without[STUB].cpu - without[STUB].agent

    def row(name: str, target: str) -> tuple[str, float, float, float, float]:
        return (
            name,
            _beyond_wrapper(within, target),
            within[target].wall,
            without[target].cpu,
            without[target].wall,
        )

    print_table(
        "one scenario (CPU without Bazel's wrapper)",
        ["sandbox CPU", "wall", "outside CPU", "wall"],
        [
            ("Bazel's wrapper around a test", within[BARE_SH].cpu, within[BARE_SH].wall, None, None),
            (
                "Bazel's wrapper around a test with outputs",
                within[OUTPUTS].cpu,
                within[OUTPUTS].wall,
                None,
                None,
            ),
            ("bare interpreter (-I -S)", None, None, shell.cpu, shell.wall),
            row("an empty py_test", BARE_PY),
            row("floor: stdlib runner + stub agent", FLOOR),
            row("runner + stub agent", STUB),
            ("  the stub agent", within[STUB].agent, None, without[STUB].agent, None),
            ("  the runner alone: overhead", overhead, None, outside_overhead, None),
            row("runner + reference agent: a whole scenario", TURN),
            (
                "  the agent",
                _beyond_wrapper(within, TURN) - overhead,
                None,
                without[TURN].cpu - outside_overhead,
                None,
            ),
        ],
    )
    print_aim("CPU of the runner without the agent, in the sandbox,", overhead, _MOST_OVERHEAD_MS, " ms")


def _print_imports(within: Cost, without: Cost) -> None:
    inside, outside = within.details or {}, without.details or {}
    groups = [INTERPRETER, ORJSON, STANDARD_LIBRARY, *GROUPS]
    rows = [(group, inside[group], outside[group]) for group in groups]
    total = ("the replay path", sum(row[1] for row in rows), sum(row[2] for row in rows))
    print_table(
        "imports",
        ["sandbox CPU", "outside CPU"],
        [*rows, total, *((f"gateway only: {group}", inside[group], outside[group]) for group in GATEWAY)],
    )


def bench_throughput(effort: Effort) -> None:
    """A large log through the replay path."""
    data = make_log(effort.log_megabytes * 1_000_000)
    rows = measure_throughput(data, effort.repetitions)
    size = len(data) / 1e6
    print_table(
        f"a log of {size:.0f} MB, {data.count(b'\n')} rows",
        ["CPU", "MB/s", f"x {BARE}"],
        [(row.step, row.cpu, size / row.cpu * 1000, f"{row.ratio:.2f}") for row in rows],
    )
    ratio = next(row.ratio for row in rows if row.step == DERIVE)
    print_aim(f"{DERIVE} of {BARE}", ratio, _MOST_DECODE_RATIO, "x")


def bench_wire(directory: Path, effort: Effort) -> None:
    """Frames and model calls."""
    judged, decoded = measure_validation(directory, effort.repetitions)
    first = measure_first_byte(directory, effort.repetitions * 5)
    print_table(
        "the wire",
        ["CPU", "wall"],
        [
            ("schema validation, µs a frame", judged, None),
            ("  orjson.loads of it, µs a frame", decoded, None),
            ("gateway, first byte of a streamed call", None, f"{first.first:.2f}"),
            ("gateway, the whole call", f"{first.cpu:.2f}", f"{first.last:.2f}"),
        ],
    )


def bench_streams(streams: int, chunks: int, effort: Effort) -> None:
    """The gateway under load, with the bare server in turns; the median run by wall clock of each."""
    runs = [measure_streams(streams, chunks) for _ in range(effort.repetitions)]
    middle = {
        server: sorted((run[server] for run in runs), key=lambda load: load.wall)[len(runs) // 2]
        for server in (BARE_SERVER, GATEWAY_SERVER)
    }
    bare = middle[BARE_SERVER]
    print_table(
        f"{streams} at once, {chunks} chunks each" if streams > 1 else f"one stream of {chunks} chunks",
        ["first byte", "slowest", "to the end", "server CPU", "chunks/s", "x wall"],
        [
            (name, load.first, load.slowest_first, load.wall, load.cpu, f"{load.chunks_per_second:.0f}",
             f"{load.wall / bare.wall:.2f}")
            for name, load in middle.items()
        ],
    )  # fmt: skip


def bench_transport(effort: Effort) -> None:
    """The transport engine, each direction by itself."""
    print_table(
        f"a transcript of {effort.turns} turns",
        ["frames/s", "x bare"],
        [
            (rate.step, f"{rate.frames_per_second:.0f}", f"{rate.ratio:.2f}")
            for rate in measure_transport(effort.turns, effort.repetitions)
        ],
    )


def bench_recorder(effort: Effort) -> None:
    """The recorder of traces around an agent that does nothing else."""
    costs = measure_recorder(effort.turns // 2, effort.repetitions)
    print_table(
        "a step of a recorded agent",
        ["CPU, µs", "beyond plain"],
        [(cost.way, f"{cost.microseconds:.2f}", f"{cost.beyond:.2f}") for cost in costs],
    )
    most = max(cost.beyond for cost in costs if cost.way.startswith("recorded"))
    most += next(cost.microseconds for cost in costs if cost.way == TRACE)
    print_aim(
        "CPU of recording a step and making its part of the trace", most, _MOST_STEP_MICROSECONDS, " µs"
    )


def bench_sampler(effort: Effort) -> None:
    """The sampler over a stream of traces, and its choice."""
    rates = measure_sampler(effort.turns * 4, effort.repetitions)
    print_table(
        f"{effort.turns * 4} traces",
        ["traces/s", "x bare"],
        [(rate.step, f"{rate.traces_per_second:.0f}", f"{rate.ratio:.2f}") for rate in rates],
    )
    minutes = 1e6 / rates[1].traces_per_second / 60
    print_aim("CPU of the sampler for a million traces", minutes, _MOST_SAMPLER_MINUTES, " min")


def _runfiles() -> Path:
    """The tree of this program, whichever of the ways it was started in."""
    here = Path(__file__).absolute()
    return here.parents[len(Path(_HERE).parts) + 1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

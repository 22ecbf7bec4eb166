"""One reply of 41 chunks, tested in every way that is at hand: what the test action takes, side by side.

    bare sh_test, py_test    what Bazel and a language cost before anything is tested
    pytest with a cassette   a client of the provider's HTTP in the test's process; no agent, no tool, no protocol
    replay, runner alone     our test with an agent that says what its fixture expects
    replay, a real agent     our test with the reference agent
    the agent alone          of that, what the reference agent itself takes

The rows "before" run the same sources over the same fixture in the same run, started as tests were up to commit 957e00c:
an interpreter that starts an interpreter, a file for each module and one for its bytecode, protobuf for the result. What has
been made faster inside the modules since is in both.
"""

from collections.abc import Mapping

from tools.bench.child import Cost
from tools.bench.table import Cell, print_table

__all__ = ["AGENT", "BARE_PY", "BARE_SH", "BEFORE", "CASSETTE", "print_side_by_side"]

BARE_SH, BARE_PY, CASSETTE = "nothing_test", "bare_test", "cassette_test"
BEFORE: Mapping[str, str] = {"stub_test": "stub_before_test", "turn_test": "turn_before_test"}
"""A replay test -> the same as it was started before."""
AGENT = "turn_test"
_ROWS = (
    ("bare sh_test", BARE_SH),
    ("bare py_test", BARE_PY),
    ("pytest with a recorded HTTP cassette", CASSETTE),
    ("replay, runner alone: before", BEFORE["stub_test"]),
    ("replay, runner alone: now", "stub_test"),
    ("replay, a real agent: before", BEFORE["turn_test"]),
    ("replay, a real agent: now", "turn_test"),
)


def print_side_by_side(costs: Mapping[str, Cost], files: Mapping[str, int], agent_cpu: float) -> None:
    """costs: of each target in the sandbox. files: its runfiles. agent_cpu: of the agent of AGENT, milliseconds."""
    bare = costs[BARE_SH]

    def row(name: str, cpu: float, wall: float, links: Cell) -> tuple[str, Cell, Cell, Cell, Cell, Cell]:
        return name, cpu, f"{cpu / bare.cpu:.2f}", wall, f"{wall / bare.wall:.2f}", links

    rows = [row(name, costs[target].cpu, costs[target].wall, str(files[target])) for name, target in _ROWS]
    rows.append(row("the agent alone", agent_cpu, costs[AGENT].agent_wall, None))
    print_table("one reply of 41 chunks, a test each", ["CPU", "x sh", "wall", "x sh", "files"], rows)
    for name, before in BEFORE.items():
        now, then = costs[name], costs[before]
        print(f"{name}: CPU {now.cpu / then.cpu:.2f}, wall {now.wall / then.wall:.2f} of before")

"""What can go wrong with a suite of traces: its two tests and the guard say what was changed, or rightly say nothing.

Each suite is a package of its own: the traces of //tests/rules/trace with one mutation. Its snapshots are those that the
accept command takes in the suite that stays as it was.
"""

import shutil
from collections.abc import Sequence
from typing import NamedTuple

from tests.mutations.bazel import Bazel, Invocation, Test
from tests.mutations.edits import Edit, add_file, both, delete, drop_rows, paste_before, rename, replace
from tests.mutations.findings import Finding, findings_of
from tests.mutations.packages import label_of
from tests.mutations.report import Report
from tests.mutations.work_tree import EXTRA, WorkTree

__all__ = ["MUTATIONS", "Mutation", "check_traces"]

PACKAGE = "traces"
PLACE = f"{EXTRA}/{PACKAGE}"
BASE = "tests/rules/trace/traces"
NAMES = ("one-apple", "pear-and-plum", "three", "twice")
UNTOUCHED = "untouched"
TRACE, SNAPSHOT, SUITE = "traces/twice.json", "snapshots/twice/basket.json", "suite.json"
EXACT, SNAPSHOTS, GUARD = "exact_test", "snapshot_test", "guard_test"
PASSES = ("passes",)
KEY = b"sk-" + b"Abc1234567" * 4

_SUITE = '{"schema": 1, "threshold": 1, "categories": {"price": {}}, "traces": {"twice": {"budgets": {"steps": 5}}}}\n'
_SAMPLE = f'{{"schema": 1, "traces": [{", ".join(f"""{{"trace_id": "{name}"}}""" for name in NAMES)}]}}\n'
_TESTS = f"""load("//rules:defs.bzl", "trace_guard_test", "trace_regression_test", "trace_snapshot_test")

trace_regression_test(
    name = "{EXACT}",
    size = "small",
    agent = "//{PLACE}:agent",
    suite = "{SUITE}",
    traces = glob(["traces/**"]),
)

trace_snapshot_test(
    name = "{SNAPSHOTS}",
    size = "small",
    agent = "//{PLACE}:agent",
    snapshots = glob(["snapshots/**"], allow_empty = True),
    suite = "{SUITE}",
    traces = glob(["traces/**"]),
)

trace_guard_test(
    name = "{GUARD}",
    record = "//{PLACE}/NAME:{EXACT}.record",
)
"""
_AGENT = """load("//rules:defs.bzl", "py_trace_agent")

py_trace_agent(
    name = "agent",
    testonly = True,
    entry = "tests.mutations.trace_agent:make_agent",
    visibility = ["//mutants:__subpackages__"],
    deps = ["//tests/mutations:trace_agent"],
)
"""


class Mutation(NamedTuple):
    """`exact`, `snapshot`: pieces of what the test of that name says, in order, or PASSES; `code`: the greater of their
    exit codes. guard: what the guard says, `file|words` each.
    """

    name: str
    edit: Edit
    exact: Sequence[str] = PASSES
    snapshot: Sequence[str] = PASSES
    code: int = 0
    guard: Sequence[str] = ()


_OTHER_OUTPUT = replace(TRACE, '"tool_output": 5', '"tool_output": 7')
_OUTPUT_SAYS = (
    "twice (price)",
    "the 2nd model call is not asked as recorded: $.messages[1].content",
    "5",
    "7",
)
_SUCCESS_SAYS = ("failed: twice", "success: ended with success true, expected false")
_BROKEN = (f"{TRACE}:4", "is a merge conflict marker")

MUTATIONS = (
    Mutation(UNTOUCHED, lambda _: None),
    # What the agent is served.
    Mutation("tool-output", _OTHER_OUTPUT, ("failed (threshold): 3 of 4", *_OUTPUT_SAYS), ("failed: twice", "basket.json $.state.sum: 10 became 12"), 1),
    Mutation("served-answer", replace(TRACE, '"text": "That makes 10."', '"text": "That makes 11."'), ("failed: twice", 'answer: $: "That makes 10." became "That makes 11."'), code=1),
    Mutation("served-call", replace(TRACE, '"fruit": "plum"', '"fruit": "pear"'), ("failed: twice", 'the trace holds no call of "price" with this input'), ("failed: twice", "the trace holds no call"), 1),
    Mutation("served-error", replace(TRACE, '"tool_output": 5,', '"error": {"type": "builtins.KeyError", "message": "plum"},'), ("failed: twice",), ("failed: twice",), 1, (f"{TRACE}|not in canonical form",)),
    # What the agent has to do.
    Mutation("other-prompt", replace(TRACE, '"content": "a plum and a plum"', '"content": "two plums"'), ("failed: twice", "the 1st model call is not asked as recorded: $.messages[0].content", "two plums", "a plum and a plum"), code=1),
    Mutation("other-task", replace(TRACE, '"task": "a plum and a plum"', '"task": "a plum and a pear"'), ("failed: twice", "the 1st model call is not asked as recorded"), code=1),
    Mutation("other-answer", replace(TRACE, '"final_answer": "That makes 10."', '"final_answer": "That makes 9."'), ("failed: twice", "answer: $"), code=1),
    Mutation("other-success", replace(TRACE, '"success": true', '"success": false'), _SUCCESS_SAYS, _SUCCESS_SAYS, 1),
    Mutation("other-tool", replace(TRACE, '"tool_name": "price"', '"tool_name": "cost"'), ("failed: twice", "twice (price)"), code=1),
    # What the suite asks for.
    Mutation("threshold-reached", both(_OTHER_OUTPUT, replace(SUITE, '"threshold": 1', '"threshold": 0.75')), ("passed: 3 of 4", *_OUTPUT_SAYS), ("passed: 3 of 4", "$.state.sum")),
    Mutation("threshold-missed", both(_OTHER_OUTPUT, replace(SUITE, '"threshold": 1', '"threshold": 0.76')), ("failed (threshold): 3 of 4",), ("failed (threshold): 3 of 4",), 1),
    Mutation("threshold-of-category", both(_OTHER_OUTPUT, replace(SUITE, '"threshold": 1, "categories": {"price": {', '"threshold": 0.5, "categories": {"price": {"threshold": 0.9')), ("failed (threshold of price): 3 of 4",), ("failed (threshold of price): 3 of 4",), 1),
    Mutation("threshold-too-high", replace(SUITE, '"threshold": 1', '"threshold": 2'), (f"{SUITE}:1 $.threshold",), (f"{SUITE}:1 $.threshold",), 2, (f"{SUITE}:1 $.threshold|2",)),
    Mutation("budget", replace(SUITE, '"steps": 5', '"steps": 4'), ("failed: twice", "steps: took 5 steps, 4 are allowed"), ("failed: twice", "steps: took 5 steps"), 1),
    Mutation("suite-misspelt", replace(SUITE, '"threshold"', '"treshold"'), (f"{SUITE}:1 $.treshold",), (f"{SUITE}:1 $.treshold",), 2, (f"{SUITE}:1 $.treshold|",)),
    Mutation("override-of-none", replace(SUITE, '"twice"', '"thrice"'), ("failed (traces): 4 of 4", "$.traces.thrice: there is no such trace"), ("failed (traces): 4 of 4",), 1, (f"{SUITE} $.traces.thrice|no such trace",)),
    Mutation("category-of-none", replace(SUITE, '"price"', '"prize"'), guard=(f"{SUITE} $.categories.prize|", f"{SUITE} $.categories|does not name")),
    # Snapshots.
    Mutation("snapshot-edited", replace(SNAPSHOT, '"sum": 10', '"sum": 11'), PASSES, (f"{SNAPSHOT} $.hash: was changed by hand",), 2, (f"{SNAPSHOT} $.hash|changed by hand",)),
    Mutation("snapshot-changed", both(drop_rows(SNAPSHOT, '"hash"'), replace(SNAPSHOT, '"sum": 10', '"sum": 11')), PASSES, ("failed: twice", "basket.json $.state.sum: 11 became 10"), 1, (f"{SNAPSHOT}:4|not in the form that accept writes",)),
    Mutation("snapshot-deleted", delete(SNAPSHOT), PASSES, ("failed: twice", "no snapshot of it is accepted yet"), 1),
    Mutation("snapshot-of-other-label", rename(SNAPSHOT, "snapshots/twice/bag.json"), PASSES, ("failed: twice", "bag.json was not taken", "basket.json was taken, and is not accepted yet"), 1, ('snapshots/twice/bag.json $.label|says "basket"',)),
    # The files.
    Mutation("trace-deleted", both(delete(TRACE), replace(SUITE, ', "traces": {"twice": {"budgets": {"steps": 5}}}', "")), ("passed: 3 of 3",), ("passed: 3 of 3",), guard=("sample.json:1 $.traces[3].trace_id|there is no such trace", "snapshots/twice/|holds snapshots of no trace")),
    Mutation("trace-renamed", rename(TRACE, "traces/thrice.json"), ('traces/thrice.json $.trace_id: says "twice"',), ('traces/thrice.json $.trace_id: says "twice"',), 2, ('traces/thrice.json $.trace_id|says "twice"', "sample.json:1 $.traces[3].trace_id|no such trace", "snapshots/twice/|of no trace", f"{SUITE} $.traces.twice|no such trace")),
    Mutation("not-json", paste_before(TRACE, b"<<<<<<< ours\n", 4), _BROKEN, _BROKEN, 2, (f"{TRACE}:4|merge conflict marker",)),
    Mutation("not-canonical", replace(TRACE, '"schema": 1', '"schema":1'), guard=(f"{TRACE}:2|not in canonical form",)),
    Mutation("stray", add_file("traces/notes.txt"), guard=("traces/notes.txt|neither a trace",)),
    Mutation("stray-blob", add_file(f"traces/blobs/{'0' * 64}"), guard=(f"traces/blobs/{'0' * 64}|holds other bytes than its name",)),
    Mutation("stray-above", add_file("suite.json.orig"), guard=("suite.json.orig|a file that nothing claims",)),
    Mutation("secret", replace(TRACE, '"kind": "recorded"', f'"kind": "recorded",\n      "key": "{KEY.decode()}"'), guard=(f"{TRACE}:8|looks like a secret",)),
)  # fmt: skip


def check_traces(tree: WorkTree, bazel: Bazel, report: Report) -> None:
    """Make the packages, accept the snapshots of the untouched one, run all tests once, check each."""
    (tree.extra / PACKAGE).mkdir(parents=True)
    (tree.extra / PACKAGE / "BUILD.bazel").write_text(_AGENT)
    base = tree.extra / PACKAGE / UNTOUCHED
    shutil.copytree(tree.root / BASE, base / "traces")
    (base / SUITE).write_text(_SUITE)
    (base / "sample.json").write_text(_SAMPLE)
    (base / "BUILD.bazel").write_text(_TESTS.replace("NAME", UNTOUCHED))
    test = f"//{PLACE}/{UNTOUCHED}:{SNAPSHOTS}"
    first = bazel.call("test", test)
    accepted = bazel.call("run", f"{test}.accept")
    taken = sorted(path.relative_to(base).as_posix() for path in base.glob("snapshots/*/*"))
    is_taken = taken == [f"snapshots/{name}/basket.json" for name in NAMES]
    report.check(
        "snapshots that nobody accepted",
        "fail, and accept takes them",
        f"{accepted.code}: {taken}",
        first.code == 3 and accepted.code == 0 and is_taken,
        first.text[-1500:] + accepted.text[-1500:],
    )
    for mutation in MUTATIONS:
        place = tree.extra / PACKAGE / mutation.name
        if mutation.name != UNTOUCHED:
            shutil.copytree(base, place)
            (place / "BUILD.bazel").write_text(_TESTS.replace("NAME", mutation.name))
            mutation.edit(place)
    run = bazel.call("test", f"//{PLACE}/...")
    for mutation in MUTATIONS:
        _check(report, mutation, run)
    shown = KEY.decode() in run.text + "".join(test.log for test in run.tests.values())
    report.check("the secret itself", "is in no log", "it is" if shown else "it is not", not shown)


def _check(report: Report, mutation: Mutation, run: Invocation) -> None:
    tests = {
        name: run.tests.get(label_of(f"{PACKAGE}/{mutation.name}", name))
        for name in (EXACT, SNAPSHOTS, GUARD)
    }
    problems: list[str] = []
    codes = [0]
    for name, says in ((EXACT, mutation.exact), (SNAPSHOTS, mutation.snapshot)):
        test = tests[name]
        problems += _problems(name, says, test, run)
        # A test that passes below a threshold that is reached says what failed.
        if test is not None and test.attempts:
            codes.append(test.attempts[0].result().get("exit_code", -1))
    if max(codes) != mutation.code:
        problems.append(f"its exit codes are {codes[1:]}, not up to {mutation.code}")
    problems += _guard_problems(f"{PLACE}/{mutation.name}", mutation.guard, tests[GUARD])
    expected = (
        f"{mutation.exact[0]}; snapshots: {mutation.snapshot[0]}; guard: {len(mutation.guard) or 'nothing'}"
    )
    exact = tests[EXACT]
    report.row(mutation.name, expected, exact.first_line if exact is not None else "no test", problems)


def _problems(name: str, says: Sequence[str], test: Test | None, run: Invocation) -> list[str]:
    if test is None:
        return [f"there is no {name}: {run.text[-1500:]}"]
    is_to_pass = says[0].startswith("pass")
    if (test.status == "PASSED") is not is_to_pass:
        return [f"{name} is {test.status}: {test.log[:800]}"]
    at = 0
    for piece in says if says != PASSES else ():
        at = test.log.find(piece, at)
        if at < 0:
            return [f"{name} does not say {piece!r}: {test.log[:800]}"]
    return []


def _guard_problems(place: str, wanted: Sequence[str], guard: Test | None) -> list[str]:
    """Whether the guard's findings are the wanted ones."""
    if guard is None:
        return ["there is no guard"]
    left: list[Finding] = findings_of(guard)
    for one in wanted:
        file, words = one.split("|")
        match = next(
            (item for item in left if item.line.startswith(f"{place}/{file}") and words in item.line), None
        )
        if match is None:
            return [f"the guard does not say {one!r}: {guard.log[:800]}"]
        left.remove(match)
    return [f"the guard says more: {left}"] if left else []

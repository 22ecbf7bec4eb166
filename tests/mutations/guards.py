"""What can go wrong with a directory of fixtures, all of it in one package: the guard names each, with a cure.

A scenario of the package is a copy of a real one with one mutation, under the mutation's name; one stays as it was.
The guard must say what is expected of each and nothing else, and the scenarios' own tests must judge what they get.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tests.mutations.bazel import Bazel, Invocation
from tests.mutations.edits import (
    Edit,
    add_directory,
    add_file,
    both,
    copy,
    delete,
    paste_before,
    rename,
    replace,
    use_crlf,
)
from tests.mutations.findings import Finding, findings_of
from tests.mutations.packages import add_scenario, label_of, write_package
from tests.mutations.report import Report
from tests.mutations.work_tree import EXTRA, WorkTree

__all__ = ["check_guards"]

PACKAGE = "guard"
PLACE = f"{EXTRA}/{PACKAGE}"
STDOUT, LOG, INPUT, OVERRIDE = "stdout.expected.jsonl", "session.jsonl", "input.json", "replay.override.json"
PROMPT, SCHEMAS = "system-prompt.expected.md", "tool-schemas.expected.json"
PASSES, ABSENT = "passes", "no test"


class Mutation(NamedTuple):
    """`guard`: for each finding `path|words|words of the fix`, the path below the scenario. `test`: PASSES, ABSENT,
    or what the first line of the failing test says."""

    name: str
    base: str
    edit: Edit
    guard: Sequence[str]
    test: str = PASSES
    overrides: bool = False
    pins: bool = False


BOM = b"\xef\xbb\xbf"
# Not written out, or the guard of this repository would find it here.
KEY = b"sk-" + b"Abc1234567" * 4
MARKERS = b"<<<<<<< ours\n"

MUTATIONS = (
    Mutation("untouched", "tool-read", lambda _: None, ()),
    # Deleted.
    Mutation("no-input", "tool-read", delete(INPUT), ("|has no input.json|write input.json",), ABSENT),
    Mutation("no-log", "tool-read", delete(LOG), (f"{LOG}|is missing|",), f"{LOG}: "),
    Mutation("no-stdout", "tool-read", delete(STDOUT), (f"{STDOUT}|is missing|//:refresh -- no-stdout",), "//:refresh -- no-stdout"),
    Mutation("no-override", "error-before-stream", delete(OVERRIDE), (f"{OVERRIDE}|is missing, though the suite declares it|overrides of",), OVERRIDE, overrides=True),
    Mutation("no-prompt", "text-turn", delete(PROMPT), (f"{PROMPT}|is missing, though the suite declares it|pins of",), PROMPT, pins=True),
    Mutation("no-first-child", "subagent-parallel", delete("session.1.jsonl"), ("session.2.jsonl|session.1.jsonl is missing|rename it to session.1.jsonl",), "session.1.jsonl is missing"),
    # No file tells that these were ever there; the test does.
    Mutation("no-last-child", "subagent-one-shot", delete("session.1.jsonl"), (), "model call"),
    Mutation("no-seed", "tool-read", delete("workspace/notes.txt"), (), "stdout:"),
    # Added.
    Mutation("stray-file", "tool-read", add_file("notes.txt"), ("notes.txt|no meaning in a scenario|delete it",)),
    Mutation("left-behind", "tool-read", copy(LOG, "session.jsonl.orig"), ("session.jsonl.orig|no meaning in a scenario|delete it",)),
    Mutation("stray-directory", "tool-read", add_file("old/notes.txt"), ("old/|no meaning in a scenario|delete it",)),
    Mutation("empty-directory", "tool-read", add_directory("old"), ("old/|is an empty directory|delete it",)),
    Mutation("empty-in-seed", "tool-read", add_directory("workspace/logs"), ("workspace/logs/|is an empty directory|workspace.seed.json",)),
    Mutation("unnameable", "tool-read", add_file("workspace/a:b.txt"), ("workspace/a:b.txt|Bazel cannot write as a label|rename it",)),
    Mutation("nested-build", "tool-read", add_file("BUILD"), ("|nested BUILD file|delete the BUILD file",), ABSENT),
    Mutation("nested-in-seed", "tool-read", add_file("workspace/BUILD.bazel"), ("workspace/|nested BUILD file|workspace.seed.json",), "stdout:"),
    Mutation("stray-override", "tool-read", add_file(OVERRIDE, b"[]\n"), (f"{OVERRIDE}|is not declared|overrides of",)),
    Mutation("stray-prompt", "tool-read", add_file(PROMPT), (f"{PROMPT}|is not declared|pins of",)),
    Mutation("stray-modes", "tool-read", both(add_file("workspace.expected/a"), add_file("workspace.executable.txt", b"a\n")), ("workspace.executable.txt|is compared by nothing|workspace_modes",), "workspace:"),
    Mutation("orphan-child", "tool-read", copy(LOG, "session.2.jsonl"), ("session.2.jsonl|session.1.jsonl is missing|rename it", "session.2.jsonl|names its parent|", "session.2.jsonl|is also that of lane|"), "session.1.jsonl is missing"),
    Mutation("stranger-child", "tool-read", copy(LOG, "session.1.jsonl"), ("session.1.jsonl|names its parent|", "session.1.jsonl|is also that of lane|"), "session.1"),
    Mutation("credentials", "tool-read", add_file("workspace/.env", b"A=1\n"), ("workspace/.env|is a file of credentials|replay needs no key",), ".env"),
    Mutation("secret", "tool-read", add_file("workspace/deploy.txt", b"key " + KEY + b"\n"), ("workspace/deploy.txt|looks like a secret|revoke it",), "secret"),
    # Renamed.
    Mutation("misspelt-stdout", "tool-read", rename(STDOUT, "stdout.expcted.jsonl"), (f"{STDOUT}|is missing|//:refresh", f"stdout.expcted.jsonl|no meaning|rename it to {STDOUT}"), "is missing"),
    Mutation("misspelt-input", "tool-read", rename(INPUT, "inputs.json"), ("|has no input.json|write input.json",), ABSENT),
    Mutation("misspelt-log", "tool-read", rename(LOG, "session.0.jsonl"), (f"{LOG}|is missing|", f"session.0.jsonl|no meaning|rename it to {LOG}"), f"{LOG}: "),
    Mutation("misspelt-child", "subagent-one-shot", rename("session.1.jsonl", "session.2.jsonl"), ("session.2.jsonl|session.1.jsonl is missing|rename it to session.1.jsonl",), "session.1.jsonl is missing"),
    Mutation("misspelt-seed", "tool-read", rename("workspace", "workspce"), ("workspce/|no meaning|move it into workspace/",), "stdout:"),
    # Damaged.
    Mutation("marker-input", "tool-read", paste_before(INPUT, MARKERS, 2), (f"{INPUT}:2|merge conflict marker|take one side",), INPUT),
    Mutation("marker-log", "tool-read", paste_before(LOG, MARKERS, 4), (f"{LOG}:4|merge conflict marker|take one side",), f"{LOG}:4"),
    Mutation("marker-stdout", "tool-read", paste_before(STDOUT, b">>>>>>> theirs\n", 3), (f"{STDOUT}:3|merge conflict marker|take one side",), f"{STDOUT}:3"),
    Mutation("marker-override", "error-before-stream", paste_before(OVERRIDE, MARKERS), (f"{OVERRIDE}:1|merge conflict marker|take one side",), OVERRIDE, overrides=True),
    Mutation("crlf-input", "tool-read", use_crlf(INPUT), (f"{INPUT}:1|CR LF|LF line ends",)),
    Mutation("crlf-log", "tool-read", use_crlf(LOG), (f"{LOG}:1|CR LF|LF line ends",)),
    Mutation("crlf-stdout", "tool-read", use_crlf(STDOUT), (f"{STDOUT}:1|CR LF|LF line ends",)),
    Mutation("crlf-override", "error-before-stream", use_crlf(OVERRIDE), (f"{OVERRIDE}:1|CR LF|LF line ends",), overrides=True),
    Mutation("bom-input", "tool-read", paste_before(INPUT, BOM), (f"{INPUT}:1|byte order mark|plain UTF-8",), INPUT),
    Mutation("bom-log", "tool-read", paste_before(LOG, BOM), (f"{LOG}:1|byte order mark|plain UTF-8",), LOG),
    Mutation("bom-stdout", "tool-read", paste_before(STDOUT, BOM), (f"{STDOUT}:1|byte order mark|plain UTF-8",), STDOUT),
    Mutation("bom-override", "error-before-stream", paste_before(OVERRIDE, BOM), (f"{OVERRIDE}:1|byte order mark|plain UTF-8",), OVERRIDE, overrides=True),
    Mutation("not-canonical", "tool-read", replace(STDOUT, '"jsonrpc":', '"jsonrpc": '), (f"{STDOUT}:1|not in canonical form|//:refresh",)),
    Mutation("repeated-key", "tool-read", replace(LOG, '"turn":1', '"turn":1,"turn":2'), (f"{LOG}:2|twice in one object|",), "session:2 $.data.turn: expected 2, actual 1"),
)  # fmt: skip

# Beside the scenarios: a file, a directory, an empty one.
STRAYS = (
    ("top.jsonl", add_file("top.jsonl"), "top.jsonl|no scenario claims|delete it"),
    ("notes", add_file("notes/a.txt"), "notes/|has no input.json|delete the directory"),
    ("hollow", add_directory("hollow"), "hollow/|is an empty directory|delete it"),
)
# Declared in the suite, and not there, as after a rename of the directory.
GONE = "gone"


def check_guards(tree: WorkTree, bazel: Bazel, report: Report) -> None:
    """Make the package, run all of it once, check the guard and every test."""
    directory = tree.extra / PACKAGE
    for mutation in MUTATIONS:
        add_scenario(tree, PACKAGE, mutation.base, mutation.name)
        mutation.edit(directory / mutation.name)
    for _, edit, _ in STRAYS:
        edit(directory)
    write_package(
        tree,
        PACKAGE,
        overrides=[mutation.name for mutation in MUTATIONS if mutation.overrides] + [GONE],
        pins=[mutation.name for mutation in MUTATIONS if mutation.pins],
    )
    run = bazel.call("test", f"//{PLACE}/...")
    guard = run.tests.get(label_of(PACKAGE, "suite_guard_test"))
    found = findings_of(guard)
    if guard is None or guard.status != "FAILED":
        report.check("the guard", "fails", guard.status if guard else "no such test", False, run.text[-3000:])
    for mutation in MUTATIONS:
        _check(report, mutation, run, found)
    for name, _, wanted in STRAYS:
        place = f"{PLACE}/{name}"
        problems = _guard_problems(f"{PLACE}/", (wanted,), _about(found, place))
        report.row(f"stray {wanted.partition('|')[0]}", _said((wanted,)), _got(found, place), problems)
    _check_gone(report, run, found)
    names = [*(mutation.name for mutation in MUTATIONS), *(name for name, _, _ in STRAYS), GONE]
    others = [finding for finding in found if not any(_about([finding], f"{PLACE}/{name}") for name in names)]
    report.check("the guard", "nothing else", f"{len(found)} findings", not others, f"{others}")
    shown = KEY.decode() in run.text + "".join(test.log for test in run.tests.values())
    report.check("the secret itself", "is in no log", "it is" if shown else "it is not", not shown)


def _check(report: Report, mutation: Mutation, run: Invocation, found: Sequence[Finding]) -> None:
    place = f"{PLACE}/{mutation.name}"
    problems = _guard_problems(f"{place}/", mutation.guard, _about(found, place))
    test = run.tests.get(label_of(PACKAGE, f"{mutation.name}_test"))
    if test is None or mutation.test == ABSENT:
        if test is not None or mutation.test != ABSENT:
            problems.append(f"the scenario's test is {test and test.status}: {run.text[-1500:]}")
    elif (test.status == "PASSED") != (mutation.test == PASSES):
        problems.append(f"the scenario's test is {test.status}: {test.log[:500]}")
    elif mutation.test != PASSES and mutation.test not in test.first_line:
        problems.append(f"the first line of its test lacks {mutation.test!r}: {test.first_line}")
    elif "Traceback" in test.log:
        problems.append(test.log)
    expected = f"{_said(mutation.guard)}; test: {mutation.test}"
    report.row(mutation.name, expected, _got(found, place), problems)


def _check_gone(report: Report, run: Invocation, found: Sequence[Finding]) -> None:
    place = f"{PLACE}/{GONE}"
    undeclared = f"{OVERRIDE}|is missing, though the suite declares it|overrides of"
    wanted = ("|there is no such directory|take", undeclared)
    problems = _guard_problems(f"{place}/", wanted, _about(found, place))
    test = run.tests.get(label_of(PACKAGE, f"{GONE}_test"))
    if test is None or test.status != "FAILED" or f"{place}/{INPUT}" not in test.first_line:
        problems.append(f"its test says {test.first_line if test else 'nothing'}")
    report.row("a declared scenario that is gone", _said(wanted), _got(found, place), problems)


def _about(found: Sequence[Finding], place: str) -> list[Finding]:
    return [finding for finding in found if finding.is_below(place)]


def _guard_problems(prefix: str, wanted: Sequence[str], found: Sequence[Finding]) -> list[str]:
    """Whether these findings are the wanted ones, each with its fix."""
    left, problems = list(found), []
    for one in wanted:
        path, words, fix = one.split("|")
        starts = (f"{prefix}{path}:", f"{prefix}{path} ")
        match = next((item for item in left if item.line.startswith(starts) and words in item.line), None)
        if match is None:
            problems.append(f"the guard does not say {one!r}: {found}")
            continue
        left.remove(match)
        if not match.fix or fix not in match.fix:
            problems.append(f"the fix of {path} is {match.fix!r}, not {fix!r}")
    if left and not problems:
        problems.append(f"the guard says more: {left}")
    return problems


def _said(wanted: Sequence[str]) -> str:
    sentences = [" ".join(one.split("|")[:2]).strip() for one in wanted]
    return f"guard: {' & '.join(sentences)}" if wanted else "guard: nothing"


def _got(found: Sequence[Finding], place: str) -> str:
    return " & ".join(item.line.removeprefix(f"{PLACE}/") for item in _about(found, place)) or "nothing"

"""What can go wrong with a transport scenario, all of it in one package: each test and the guard say what was changed.

A scenario of the package is a copy of a real one with one mutation, under the mutation's name; one stays as it was. How
many mutants of each frame the scenarios catch is the work of another table; here it is what a person reads.
"""

import shutil
from collections.abc import Sequence
from typing import NamedTuple

from tests.mutations.bazel import Bazel, Invocation
from tests.mutations.edits import Edit, add_file, delete, drop_rows, paste_before, rename, replace
from tests.mutations.findings import Finding, findings_of
from tests.mutations.packages import label_of
from tests.mutations.report import Report
from tests.mutations.work_tree import EXTRA, WorkTree

__all__ = ["BASE", "MUTATIONS", "Mutation", "check_transports", "copy_of_base"]

PACKAGE = "transports"
PLACE = f"{EXTRA}/{PACKAGE}"
BASE, VARIANT = "scenarios/transport/simple", "acp"
TRANSCRIPT, EVENTS = f"{VARIANT}.transcript.ndjson", f"{VARIANT}.events.expected.jsonl"
PROJECTION = f"{VARIANT}.projection.expected.json"
PASSES, ABSENT = "passes", "no test"


class Mutation(NamedTuple):
    """`says`: pieces of the first line of the failing test, in order; PASSES or ABSENT alone.

    guard: what the guard says of the scenario's files, `file|words` each.
    """

    name: str
    edit: Edit
    says: Sequence[str]
    code: int = 1
    guard: Sequence[str] = ()


KEY = b"sk-" + b"Abc1234567" * 4
_MORE = b'{"type":"expect_outbound","frame":{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"session-1"}}}\n'

MUTATIONS = (
    Mutation("untouched", lambda _: None, (PASSES,)),
    # What the orchestrator has to say.
    Mutation("other-prompt", replace(TRANSCRIPT, '"Say hello."', '"Say goodbye."'), (f"{TRANSCRIPT}:6", "$.params.prompt[0].text", "Say goodbye.", "Say hello.")),
    Mutation("request-dropped", drop_rows(TRANSCRIPT, '"label":"prompt"'), (f"{TRANSCRIPT}:10", "answers 3"), 2, (f"{TRANSCRIPT}:10|answers 3",)),
    Mutation("request-too-many", paste_before(TRANSCRIPT, _MORE, 12), (f"{TRANSCRIPT}:12",)),
    # What the provider says.
    Mutation("other-word", replace(TRANSCRIPT, "I am here.", "I am there."), ("events:", "$.data.text", "I am here.", "I am there.")),
    Mutation("word-dropped", drop_rows(TRANSCRIPT, "I am here."), ("events:", "item_delta", "item_completed")),
    Mutation("other-end", replace(TRANSCRIPT, '"end_turn"', '"refusal"'), ("subject exited with status 1", "scenario.py")),
    # The files.
    Mutation("not-json", paste_before(TRANSCRIPT, b"<<<<<<< ours\n", 4), (f"{TRANSCRIPT}:4",), 2, (f"{TRANSCRIPT}:4|merge conflict marker",)),
    Mutation("no-transcript", delete(TRANSCRIPT), (ABSENT,), guard=(f"{EVENTS}|belongs to no test", f"{PROJECTION}|belongs to no test", f"{TRANSCRIPT}|is missing")),
    Mutation("no-events", delete(EVENTS), ("events: it has no expected file", ":refresh -- no-events/acp"), guard=(f"{EVENTS}|is missing",)),
    Mutation("other-expected-word", replace(PROJECTION, "I am here.", "I am there."), ("projection:1 $.", "I am there.", "I am here.")),
    Mutation("no-scenario", delete("scenario.py"), ("subject exited with status 1",)),
    Mutation("other-provider", rename(TRANSCRIPT, "acp.pi.transcript.ndjson"), ("events:", "$.data.provider"), guard=("acp.pi.transcript.ndjson:1|says \"acp\"", f"{TRANSCRIPT}|is missing")),
    Mutation("other-scenario", replace(TRANSCRIPT, '"scenario":"other-scenario"', '"scenario":"simple"'), (PASSES,), guard=(f"{TRANSCRIPT}:1|says \"simple\"",)),
    Mutation("stray", add_file("notes.txt"), (PASSES,), guard=("notes.txt|no meaning in a transport scenario",)),
    Mutation("misspelt", rename(EVENTS, "acp.events.expcted.jsonl"), ("events: it has no expected file",), guard=(f"{EVENTS}|is missing", "acp.events.expcted.jsonl|no meaning")),
    Mutation("not-canonical", replace(TRANSCRIPT, '"type":"runtime_exit"', '"type": "runtime_exit"'), (PASSES,), guard=(f"{TRANSCRIPT}:12|not in canonical form",)),
    Mutation("not-captured", replace(TRANSCRIPT, '"capturedAt":', '"captured":'), (f"{TRANSCRIPT}:1", "capturedAt"), 2, (f"{TRANSCRIPT}:1|capturedAt",)),
    Mutation("secret", add_file("workspace/deploy.txt", b"key " + KEY + b"\n"), ("workspace/deploy.txt:1", "would reach"), 2, ("workspace/deploy.txt:1|looks like a secret",)),
)  # fmt: skip


def copy_of_base(tree: WorkTree, name: str) -> None:
    """The files of the base that one variant has, under the name of another scenario."""
    target = tree.extra / PACKAGE / name
    target.mkdir(parents=True)
    for file in (TRANSCRIPT, EVENTS, PROJECTION, "scenario.py"):
        shutil.copy(tree.root / BASE / file, target / file)
    replace(TRANSCRIPT, '"scenario":"simple"', f'"scenario":"{name}"')(target)


def check_transports(tree: WorkTree, bazel: Bazel, report: Report) -> None:
    """Make the package, run all of it once, check the guard and every test."""
    for mutation in MUTATIONS:
        copy_of_base(tree, mutation.name)
        mutation.edit(tree.extra / PACKAGE / mutation.name)
    (tree.extra / PACKAGE / "BUILD.bazel").write_text(
        f"""load("//rules:defs.bzl", "transport_replay_suite")

transport_replay_suite(
    name = "suite",
    commands = "//{PLACE}",
    inexpressible = {{"no-transcript": {{}}}},
    providers = ["{VARIANT}"],
    subject = "//scenarios/transport:subject",
    surfaces = ["events.jsonl", "projection.json"],
)
"""
    )
    run = bazel.call("test", f"//{PLACE}/...")
    guard = run.tests.get(label_of(PACKAGE, "suite_guard_test"))
    found = findings_of(guard)
    for mutation in MUTATIONS:
        _check(report, mutation, run, found)
    shown = KEY.decode() in run.text + "".join(test.log for test in run.tests.values())
    report.check("the secret itself", "is in no log", "it is" if shown else "it is not", not shown)


def _check(report: Report, mutation: Mutation, run: Invocation, found: Sequence[Finding]) -> None:
    place = f"{PLACE}/{mutation.name}"
    about = [finding for finding in found if finding.is_below(place)]
    problems = _guard_problems(place, mutation.guard, about)
    test = run.tests.get(label_of(PACKAGE, f"{mutation.name}_{VARIANT}_test"))
    if ABSENT in mutation.says or test is None:
        if test is not None or ABSENT not in mutation.says:
            problems.append(f"its test is {test and test.status}: {run.text[-1500:]}")
    elif PASSES in mutation.says or test.status == "PASSED":
        if test.status != "PASSED" or PASSES not in mutation.says:
            problems.append(f"its test is {test.status}: {test.log[:500]}")
    else:
        line, at = test.first_line, 0
        for piece in mutation.says:
            at = line.find(piece, at)
            if at < 0:
                problems.append(f"the first line of its test lacks {piece!r}: {line}")
                break
        if test.attempts[0].result().get("exit_code") != mutation.code:
            problems.append(
                f"its exit code is {test.attempts[0].result().get('exit_code')}, not {mutation.code}"
            )
    expected = f"test: {' … '.join(mutation.says)}; guard: {len(mutation.guard) or 'nothing'}"
    report.row(mutation.name, expected, test.first_line if test is not None else "no test", problems)


def _guard_problems(place: str, wanted: Sequence[str], found: Sequence[Finding]) -> list[str]:
    """Whether these findings are the wanted ones."""
    left, problems = list(found), []
    for one in wanted:
        file, words = one.split("|")
        match = next(
            (item for item in left if item.line.startswith(f"{place}/{file}") and words in item.line), None
        )
        if match is None:
            problems.append(f"the guard does not say {one!r}: {found}")
        else:
            left.remove(match)
    if left and not problems:
        problems.append(f"the guard says more: {left}")
    return problems

"""One mutation in each of many scenarios at once: exactly these tests fail, and each says what was changed.

The fixtures are those of //scenarios/acp. A scenario carries one mutation, so that its verdict has one cause; the
scenarios without one must come from the cache.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.mutations.bazel import Bazel, Invocation, Test
from tests.mutations.edits import Edit, both, drop_rows, repeat_last_call, replace
from tests.mutations.findings import Finding, findings_of
from tests.mutations.report import Report
from tests.mutations.work_tree import WorkTree

__all__ = ["check_surfaces"]

PACKAGE = "scenarios/acp"
STDOUT, LOG, INPUT = "stdout.expected.jsonl", "session.jsonl", "input.json"


class Word(NamedTuple):
    """One word of an expected output changed: the difference is at that place, and nowhere before it."""

    scenario: str
    file: str
    old: str
    new: str

    @property
    def what(self) -> str:
        return f"{self.scenario}/{self.file}: {_short(self.old)} -> {_short(self.new)}"


class Change(NamedTuple):
    """Any other mutation. `says` are pieces of the first line, in order, after `prefix`."""

    what: str
    scenario: str
    edit: Edit
    says: Sequence[str]
    surface: str = ""
    """The first failing surface of result.json, empty if the run stopped before any."""
    code: int = 1
    guard: str = ""
    """What the guard says of the scenario's files, empty if it has nothing to say."""


WORDS = (
    Word("handshake", STDOUT, "Reference agent", "Reference urgent"),
    Word("tool-read", STDOUT, "plumber", "painter"),
    Word("gateway-text-turn", STDOUT, " gateway.", " highway."),
    Word("unicode-and-long-lines", STDOUT, " café", " cafe"),
    Word("bash-turn", LOG, '"text":"5\\n"', '"text":"6\\n"'),
    Word("subagent-one-shot", "session.1.jsonl", '"content":[{"type":"text","text":"heron"', '"content":[{"type":"text","text":"egret"'),
    Word("max-tokens-continue", LOG, '"reason":{"kind":"completed"}', '"reason":{"kind":"cancelled"}'),
    Word("permission-allow", LOG, "Write approved.txt with the shell.", "Write approved.txt with the pencil."),
    Word("hook-deny", LOG, '"decision":"deny"', '"decision":"allow"'),
)  # fmt: skip

_CALL = '"type":"call/start"'
_SECOND_CALL = '"type":"call/start","data":{"turn":1,"step":2'
_CALL_END = '"type":"call/end"'

CHANGES = (
    Change(
        "a word of the prompt in input.json",
        "plan-updates",
        replace(INPUT, "Make a plan", "Make a mess"),
        ("session:3 $.data.content[0].text: expected", "Make a plan", "actual", "Make a mess"),
        "session",
    ),
    Change(
        "another mode in input.json",
        "set-mode",
        replace(INPUT, '"modeId": "read-only"', '"modeId": "ask"'),
        ("stdout:5 $.method: expected", "session/update", "actual", "session/request_permission"),
        "stdout",
    ),
    Change(
        "an op that there is not",
        "reject-extra-dirs",
        replace(INPUT, "newSessionExpectError", "newSessionExpectTrouble"),
        (f"{PACKAGE}/reject-extra-dirs/input.json", "$.steps[1].op", '"newSessionExpectTrouble"'),
        code=2,
        guard='input.json:7 $.steps[1].op: unknown op "newSessionExpectTrouble"',
    ),
    Change(
        "a word of a seeded file that the agent reads",
        "parallel-tool-calls",
        replace("workspace/red.txt", "warm", "cold"),
        ("stdout:", "$.params.update.content[0].content.text: expected", "warm", "actual", "cold"),
        "stdout",
    ),
    Change(
        "a word of a seeded file that the agent edits",
        "tool-edit",
        replace("workspace/hello.py", "Helo", "Halo"),
        ("stdout:", "expected", "Helo", "actual", "Halo"),
        "stdout",
    ),
    Change(
        "a word of the pinned prompt",
        "text-turn",
        replace("system-prompt.expected.md", "coding agent", "cooking agent"),
        ("pins:1 $: expected", "cooking agent", "actual", "coding agent"),
        "pins",
    ),
    Change(
        "a file that shall be executable, misspelt",
        "workspace-modes",
        replace("workspace.executable.txt", "bin/hello", "bin/helo"),
        ("workspace:1 $.executable: expected absent, actual true",),
        "workspace",
        guard='workspace.executable.txt:1: names "bin/helo", which is no file of workspace.expected/',
    ),
    Change(
        "a word of the override",
        "error-mid-stream",
        replace("replay.override.json", "broke off", "went on"),
        ("stdout:8 $.error.message: expected", "broke off", "actual", "went on"),
        "stdout",
    ),
    Change(
        "a recorded delta says another word",
        "multi-turn",
        replace(LOG, '" glad"', '" sad"'),
        ("stdout:5 $.params.update.content.text: expected", '" glad"', "actual", '" sad"'),
        "stdout",
        guard=f"{LOG}:10 $.data.chunk.block.text: contradicts the deltas",
    ),
    Change(
        "a recorded tool call has another argument",
        "workspace-edit",
        both(
            replace(LOG, '"argumentsDelta":"**/*.py', '"argumentsDelta":"**/*.md'),
            replace(LOG, '"arguments":"{\\"pattern\\":\\"**/*.py', '"arguments":"{\\"pattern\\":\\"**/*.md'),
        ),
        ("stdout:", "**/*.py", "actual", "**/*.md"),
        "stdout",
    ),
    Change(
        "a row of recorded deltas removed",
        "permission-reject",
        drop_rows(LOG, '"type":"text-chunks"'),
        ("stdout:", "expected", '"You"', "actual", "You rejected the command"),
        "stdout",
    ),
    Change(
        "the last model call removed",
        "bash-spill",
        drop_rows(LOG, _SECOND_CALL, _CALL_END),
        ('lane "parent" is exhausted: the agent made a 2nd model call, the recording has 1',),
        "stdout",
    ),
    Change(
        "the last model call removed, behind the gateway",
        "gateway-tool-call",
        drop_rows(LOG, _SECOND_CALL, _CALL_END),
        ('lane "parent" is exhausted: the agent made a 2nd model call, the recording has 1',),
        "stdout",
    ),
    Change(
        "a tool result that the agent sent to its model, in the gateway's log",
        "requests-tool-call",
        replace(LOG, "1\\toak", "1\\tash"),
        ("requests:13 $.data.message.content[0].content[0].text: expected", "ash", "actual", "oak"),
        "requests",
    ),
    Change(
        "a hash of the system prompt, in the gateway's log",
        "requests-text-turn",
        replace(LOG, '"hashes":{"system":"sha256:', '"hashes":{"system":"sha256:f'),
        ("requests:4 $.data.hashes.system: expected", "sha256:f", "actual", "sha256:"),
        "requests",
    ),
    Change(
        "a subagent's only model call removed",
        "subagent-nested",
        drop_rows("session.2.jsonl", _CALL, _CALL_END),
        ("makes a model call that no lane is left for", '"child 2"'),
        "session.1",
    ),
    Change(
        "a model call too many",
        "empty-response-retry",
        repeat_last_call(LOG),
        ("session:19 $: missing line", "call/start"),
        "session",
    ),
    Change(
        "the first of two model calls removed",
        "client-terminal",
        drop_rows(LOG, _CALL, _CALL_END),
        ("stdout:3 $: missing line", '"toolCall'),
        "stdout",
    ),
    Change(
        "a model call without its end",
        "client-fs",
        drop_rows(LOG, '"type":"finish"', _CALL_END),
        (f"{PACKAGE}/client-fs/session.jsonl:7: 1st model call (turn 1, step 1)", "never ends"),
        code=2,
        guard=f"{LOG}:7: 1st model call (turn 1, step 1)",
    ),
)
# What the consumption case of result.json says where a call is left over.
_LEFT_OVER = {
    "empty-response-retry": "1 of 3 model calls were never made",
    "set-mode": "2 of 4 model calls were never made",
}


def check_surfaces(tree: WorkTree, bazel: Bazel, report: Report) -> None:
    """Mutate, run all scenarios once, check each verdict, take the mutations back."""
    expected: dict[str, tuple[str, ...]] = {}
    for word in WORDS:
        directory = tree.keep(f"{PACKAGE}/{word.scenario}")
        before = (directory / word.file).read_bytes()
        replace(word.file, word.old, word.new)(directory)
        expected[word.scenario] = _difference(word, before, (directory / word.file).read_bytes())
    for change in CHANGES:
        change.edit(tree.keep(f"{PACKAGE}/{change.scenario}"))
    everything = {directory.name for directory in (tree.root / PACKAGE).iterdir() if directory.is_dir()}
    run = bazel.call("test", "//scenarios/...")
    tree.restore()
    found = findings_of(run.tests.get(_label("acp_guard")))
    for word in WORDS:
        surface = expected[word.scenario][0].partition(":")[0]
        change = Change(word.what, word.scenario, lambda _: None, expected[word.scenario], surface)
        _check(report, change, run, found)
    for change in CHANGES:
        _check(report, change, run, found)
    _check_the_rest(report, run, everything, found)


def _label(scenario: str) -> str:
    return f"//{PACKAGE}:{scenario}_test"


def _check(report: Report, change: Change, run: Invocation, found: Sequence[Finding]) -> None:
    test = run.tests.get(_label(change.scenario))
    expected = f"exit {change.code}: {'…'.join(change.says)}" + ("; the guard too" if change.guard else "")
    if test is None:
        report.row(change.what, expected, "no such test", [run.text[-2000:]])
        return
    problems = _verdict_problems(change, test)
    own = [finding for finding in found if finding.is_below(f"{PACKAGE}/{change.scenario}")]
    if change.guard and not any(change.guard in finding.line and finding.fix for finding in own):
        problems.append(f"the guard does not say {change.guard!r} with a fix: {own}")
    if not change.guard and own:
        problems.append(f"the guard complains: {own}")
    report.row(change.what, expected, test.first_line, problems)


def _verdict_problems(change: Change, test: Test) -> list[str]:
    if test.status != "FAILED" or len(test.attempts) != 1:
        return [f"the test is {test.status}"]
    line, result = test.first_line, test.attempts[0].result()
    problems: list[str] = []
    if change.code == 1 and not line.startswith(f"{change.scenario}: "):
        problems.append(f"the first line does not lead with the scenario: {line}")
    at = 0
    for piece in change.says:
        at = line.find(piece, at)
        if at < 0:
            problems.append(f"the first line lacks {piece!r}: {line}")
            break
    if result.get("first_line") != line:
        problems.append(f"result.json has another first line: {result.get('first_line')!r}")
    if result.get("exit_code") != change.code or result.get("scenario") != change.scenario:
        problems.append(f"result.json says {result.get('scenario')}, exit {result.get('exit_code')}")
    failed = [case for case in result.get("cases", []) if case["verdict"] == "FAILED"]
    if (failed[0]["surface"] if failed else "") != change.surface:
        problems.append(f"result.json says {[case['surface'] for case in failed]} failed")
    elif failed and change.says[0].startswith(change.surface):
        problems.extend(_case_problems(failed[0], line))
    left_over = _LEFT_OVER.get(change.scenario, "")
    consumption = next((case for case in failed if case["surface"] == "consumption"), {"message": ""})
    if left_over not in consumption["message"] or (consumption["message"] and not left_over):
        problems.append(f"consumption: {consumption['message']!r}, expected {left_over!r}")
    if "Traceback" in test.log:
        problems.append(test.log)
    return problems


def _case_problems(case: dict[str, Any], line: str) -> list[str]:
    """Whether the case says in fields what the first line says in words."""
    if not line.endswith(case["message"]):
        return [f"result.json has another message: {case['message']}"]
    if case["path"] == "$" or "…" in line:  # a whole line, or texts that the message shortens
        return []
    wanted = f"{case['path']}: expected {case['expected'] or 'absent'}, actual {case['actual'] or 'absent'}"
    return [] if wanted in line else [f"result.json says {wanted}"]


def _check_the_rest(report: Report, run: Invocation, everything: set[str], found: Sequence[Finding]) -> None:
    mutated = {word.scenario for word in WORDS} | {change.scenario for change in CHANGES}
    if len(mutated) != len(WORDS) + len(CHANGES):
        raise ValueError("a scenario carries one mutation")
    rest = sorted(everything - mutated)
    wrong = [
        name
        for name in rest
        if not (test := run.tests.get(_label(name))) or test.status != "PASSED" or not test.is_cached
    ]
    what, got = f"the {len(rest)} scenarios without a mutation", f"{len(rest) - len(wrong)} of {len(rest)}"
    report.check(what, "each cached and passed", got, bool(rest) and not wrong, f"not so: {wrong}")
    places = [f"{PACKAGE}/{name}" for name in mutated]
    strangers = [finding for finding in found if not any(map(finding.is_below, places))]
    report.check("the guard", "nothing else", f"{len(found)} findings", not strangers, f"{strangers}")


def _difference(word: Word, before: bytes, after: bytes) -> tuple[str, ...]:
    """What the first line must say, worked out from the two files alone."""
    surface = "stdout" if word.file == STDOUT else word.file.removesuffix(".jsonl")
    rows = zip(before.split(b"\n"), after.split(b"\n"), strict=True)
    for number, (old, new) in enumerate(rows, start=1):
        if old != new:
            path, was, now = _inside(json.loads(old), json.loads(new))
            return f"{surface}:{number} {path}: expected ", _text(now), ", actual ", _text(was)
    raise ValueError(f"{word.file} did not change")


def _inside(old: Any, new: Any, path: str = "$") -> tuple[str, Any, Any]:
    """The path of the one leaf that differs, and both its values."""
    steps = old.items() if isinstance(old, dict) else enumerate(old) if isinstance(old, list) else ()
    for step, value in steps:
        if value != new[step]:
            return _inside(value, new[step], f"{path}.{step}" if isinstance(step, str) else f"{path}[{step}]")
    return path, old, new


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) < 24 else f"…{text[-22:]}"

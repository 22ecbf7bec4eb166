"""A cache that goes away in the middle of a run, and one whose entries are wrong: no test is lost, none passes falsely."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from tests.mutations.bazel import Invocation
from tests.mutations.report import Report
from tests.remote.checkout import Checkout
from tests.remote.entries import DAMAGES, REVERSED, Damage, Entries
from tests.remote.front import open_front
from tests.remote.runs import HIT, INTERNAL, cache_flags, counts_text, executed, hits, problems_of

__all__ = ["check_damage", "check_failing_test", "check_outage"]

PACKAGE = "scenarios/acp"
SESSIONS = f"//{PACKAGE}/..."
FAILING, EXPECTED = f"//{PACKAGE}:text-turn_test", f"{PACKAGE}/text-turn/stdout.expected.jsonl"
WARNING = "WARNING: Remote Cache:"
# Of the requests for one test, which come after all others: fewer than it makes, so that some tests get theirs and some do not.
CUT_SHORT = 2


def check_outage(there: Checkout, tests: Collection[str], endpoint: str, report: Report) -> Invocation:
    """The cache is gone before the last requests, which are for tests. Returns a run before that, all of it hits."""
    sessions = {label for label in tests if label.startswith(f"//{PACKAGE}:")}
    there.forget()
    with open_front(endpoint) as front:
        whole = there.bazel.call("test", SESSIONS, *cache_flags(front.endpoint))
    got = f"{len(hits(whole))} hits after {front.count} requests"
    is_whole = whole.code == 0 and hits(whole) == sessions
    report.check(
        "the cache through a front that counts", f"{len(sessions)} hits", got, is_whole, whole.text[-3000:]
    )
    there.forget()
    with open_front(endpoint, front.count - CUT_SHORT * len(sessions)) as front:
        run = there.bazel.call("test", SESSIONS, *cache_flags(front.endpoint))
    problems = problems_of(run, sessions)
    if not front.is_gone or not executed(run) or not hits(run):
        problems.append(f"it was no middle: gone is {front.is_gone}; {counts_text(run)}:\n{run.text[-1500:]}")
    got = f"{len(hits(run))} hits, {len(executed(run))} ran, {len(run.tests)} passed"
    report.row(
        f"it goes away after request {front.limit}", "some hits, the others run, all pass", got, problems
    )
    _check_report(there, run, report)
    warnings = [line for line in run.text.split("\n") if line.startswith(WARNING)]
    said = warnings[0] if warnings else "no warning"
    report.check("what Bazel says of it", f"{WARNING} …", said, bool(warnings), run.text[-3000:])
    return whole


def _check_report(there: Checkout, run: Invocation, report: Report) -> None:
    """What `replay cache-report` says of the run that has just been."""
    events = there.bazel.events.with_name("outage.json")
    events.write_bytes(there.bazel.events.read_bytes())
    said = there.replay("cache-report", str(events), "--json")
    begins = re.search(r"^\{", said, re.MULTILINE)
    found: dict[str, Any] = json.JSONDecoder().raw_decode(said, begins.start())[0] if begins else {}
    hit, ran, trouble = (found.get(name) for name in ("remote_hits", "ran", "cache_trouble"))
    is_so = (hit, ran) == (len(hits(run)), len(executed(run))) and bool(trouble)
    got = f"{hit} hits, {ran} ran, trouble: {trouble[0] if trouble else 'none'}"
    report.check("what `replay cache-report` says of it", "as many, and the trouble", got, is_so, said)


def check_damage(
    there: Checkout, good: Invocation, entries: Entries, flags: Sequence[str], report: Report
) -> None:
    """Each kind of damage to what is stored of one test, and one to all that is stored of other actions."""
    labels = sorted(label for label in good.tests if "guard" not in label)
    spoilt = dict(zip(labels, DAMAGES, strict=False))
    found = {label: damage.apply(entries.files(label, damage.part)) for label, damage in spoilt.items()}
    outputs = REVERSED.apply(entries.outputs())
    there.forget()
    run = there.bazel.call("test", SESSIONS, *flags)
    for label, damage in spoilt.items():
        _check_one(label, damage, found[label], run, report)
    ran = executed(run) - set(spoilt)
    problems = problems_of(run, good.tests)
    if ran or not outputs:
        problems.append(f"{outputs} outputs were damaged; these tests ran as well: {sorted(ran)}")
    local = sum(count for name, count in run.runners.items() if name not in (HIT, INTERNAL))
    got = f"{local - len(executed(run))} actions and {len(ran)} tests ran"
    expected = "they are made again, no other test runs"
    report.row(f"{REVERSED.what} ({outputs} of them)", expected, got, problems)


def _check_one(label: str, damage: Damage, found: int, run: Invocation, report: Report) -> None:
    test = run.tests.get(label)
    got = f"{test.status}, {', '.join(test.strategies)}: {test.first_line}" if test else "no such test"
    is_passed = found > 0 and test is not None and test.status == "PASSED"
    if damage.is_valid:
        # Nothing in it can be wrong. It is there since the test passed: check_failing_test.
        is_so, expected = is_passed and label in hits(run), "a hit without a log, of a test that had passed"
    else:
        name = label.rpartition(":")[2].removesuffix("_test")
        is_own = test is not None and test.first_line.startswith(f"{name}: passed")
        is_so, expected = is_passed and is_own and label in executed(run), "the test runs again, and passes"
    report.check(damage.what, expected, got, is_so, f"{found} entries were damaged\n{run.text[-2000:]}")


def check_failing_test(
    there: Checkout, here: Checkout, entries: Entries, flags: Sequence[str], report: Report
) -> None:
    """A test that fails in one checkout runs in the other one too, and nothing of it is stored."""
    before = entries.results(FAILING)
    ran = []
    for checkout in (there, here):
        expected = checkout.tree.keep(EXPECTED)
        expected.write_bytes(expected.read_bytes().replace(b'"end_turn"', b'"refusal"'))
        run = checkout.bazel.call("test", FAILING, *flags)
        checkout.tree.restore()
        ran.append(f"{run.tests[FAILING].status}, {', '.join(run.tests[FAILING].strategies)}")
    stored = len(entries.results(FAILING)) - len(before)
    is_so = stored == 0 and all(text.startswith("FAILED") and HIT not in text for text in ran)
    got = f"{'; '.join(ran)}; {stored} entries"
    report.check(
        "a test that fails, in both checkouts", "FAILED, run in both, no entry", got, is_so, run.text[-2000:]
    )

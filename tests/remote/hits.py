"""What runs again and what does not: in another checkout nothing, after a change exactly what depends on it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutations.report import Report
from tests.remote.checkout import Checkout
from tests.remote.runs import HIT, INTERNAL, SCENARIOS, counts_text, executed, hits, problems_of

__all__ = ["CHANGES", "Change", "check_changes", "check_first", "check_second"]


def check_first(here: Checkout, flags: Sequence[str], report: Report) -> set[str]:
    """Everything runs and is stored. Returns the labels, none if something failed: what follows would mean little."""
    run = here.bazel.call("test", *SCENARIOS, *flags, _log_flag(here))
    ran = executed(run)
    problems = problems_of(run)
    if ran != set(run.tests):
        problems.append(f"these did not run: {sorted(set(run.tests) - ran)}")
    report.row(
        "a first checkout, with an empty cache",
        "every test runs",
        f"{len(ran)} of {len(run.tests)} ran",
        problems,
    )
    return set() if problems else set(run.tests)


def check_second(
    here: Checkout, there: Checkout, tests: Collection[str], flags: Sequence[str], report: Report
) -> None:
    """Another path, output base, HOME, USER, umask and file times: nothing runs."""
    run = there.bazel.call("test", *SCENARIOS, *flags, _log_flag(there))
    problems = problems_of(run, tests)
    if executed(run):
        problems.append(f"these ran: {sorted(executed(run))}")
    others = sorted(set(run.runners) - {HIT, INTERNAL})
    if others or not run.runners:
        problems.append(f"there are actions that are no hits: {', '.join(others) or 'none is counted'}")
    if hits(run) != set(tests):
        problems.append(f"these are no hits: {sorted(set(tests) - hits(run))}")
    if problems:
        problems.append(there.replay("cache-explain", str(_log(here)), str(_log(there))))
    got = f"{len(hits(run))} hits, {len(executed(run))} ran; actions: {counts_text(run)}"
    what = "a second: other path, output base, HOME, USER, umask, times"
    report.row(what, f"{len(tests)} remote hits, 0 ran, no action ran", got, problems)


def _log(checkout: Checkout) -> Path:
    return checkout.bazel.events.with_name("execution.log")


def _log_flag(checkout: Checkout) -> str:
    return f"--execution_log_compact_file={_log(checkout)}"


class Change(NamedTuple):
    """An edit of files that no test minds, and the tests that have to run again for it."""

    what: str
    files: Sequence[str]
    edit: Callable[[bytes], bytes]
    reruns: Callable[[str], bool]
    """By label."""


def _more(text: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data + text


def _instead(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        if old not in data:
            raise ValueError(f"there is no {old!r} to replace")
        return data.replace(old, new, 1)

    return edit


def _one_of(*labels: str) -> Callable[[str], bool]:
    return lambda label: label in labels


SESSION, TRANSPORT = "scenarios/acp", "scenarios/transport"
TRACE, TRACED = "scenarios/trace/framework", "scenarios/trace/reference"
# A statement, since a comment changes no bytecode.
_STATEMENT = b"\n_TOUCHED = True\n"
CHANGES = (
    Change(
        "README and ARCHITECTURE", ("README.md", "ARCHITECTURE.md"), _more(b"\nOne more line.\n"), _one_of()
    ),
    Change(
        "a fixture of one session scenario",
        (f"{SESSION}/text-turn/input.json",),
        _instead(b"{\n", b"{ \n"),
        _one_of(f"//{SESSION}:text-turn_test", f"//{SESSION}:acp_guard_test"),
    ),
    Change(
        "a fixture of one transport scenario",
        (f"{TRANSPORT}/queued_message/codex.transcript.ndjson",),
        _instead(b'"capturedAt":"2', b'"capturedAt":"3'),
        _one_of(f"//{TRANSPORT}:queued_message_codex_test", f"//{TRANSPORT}:transport_guard_test"),
    ),
    # A suite of traces is judged as a whole.
    Change(
        "a trace of one suite",
        (f"{TRACE}/traces/files-lines.json",),
        _instead(b'"total_duration_ms": ', b'"total_duration_ms": 1'),
        lambda label: label.startswith(f"//{TRACE}:"),
    ),
    # What it does over ACP, and what its loop does at the desk; a guard runs no agent.
    Change(
        "the reference agent",
        ("scenarios/reference_agent/server.py",),
        _more(_STATEMENT),
        lambda label: label.startswith((f"//{SESSION}:", f"//{TRACED}:")) and "guard" not in label,
    ),
    Change("the runner", ("replay/runner/environment.py",), _more(_STATEMENT), lambda _: True),
)


def check_changes(there: Checkout, tests: Collection[str], flags: Sequence[str], report: Report) -> None:
    """After each change exactly what depends on it runs. The next one begins from the tree as it was."""
    for change in CHANGES:
        for file in change.files:
            place = there.tree.keep(file)
            place.write_bytes(change.edit(place.read_bytes()))
        run = there.bazel.call("test", *SCENARIOS, *flags)
        there.tree.restore()
        wanted = {label for label in tests if change.reruns(label)}
        ran = executed(run)
        problems = problems_of(run, tests)
        if ran != wanted:
            problems.append(f"ran for nothing: {sorted(ran - wanted)}; did not run: {sorted(wanted - ran)}")
        report.row(f"changed: {change.what}", _ran_text(wanted), _ran_text(ran), problems)


def _ran_text(labels: Collection[str]) -> str:
    few = ", ".join(sorted(label.rpartition(":")[2] for label in labels)) if len(labels) < 4 else ""
    return f"{len(labels)} ran" + (f": {few}" if few else "")

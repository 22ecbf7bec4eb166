"""`replay doctor DIR…`: checks fixtures outside Bazel and shows the script that they replay. Transcripts: doctor_transcripts.

Reads any directory of scenarios, another project's too: files that are none of ours and data that only looks
personal are warnings here, where the guard of a suite fails for them.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from replay.cli.doctor_transcripts import (
    check_transcripts,
    find_transcripts,
    print_transcripts,
    summary,
)
from replay.cli.page import show_table
from replay.errors import ReplayError, UsageError, counted
from replay.scenario.content import Inspection, inspect_scenario
from replay.scenario.disk import packages_below, read_tree
from replay.scenario.finding import Finding, Rule
from replay.scenario.guard import find_outside_scenarios, find_unpinned
from replay.scenario.tree import Tree, by_directory
from replay.script import Fault, Lane
from replay.session import count_events

__all__ = ["add_arguments", "run"]

_WARNINGS: Final = frozenset((Rule.STRAY, Rule.PERSONAL, Rule.DUPLICATE, Rule.UNTOLD))
"""Rules that only warn: other projects keep other files, and a personal path hurts nobody who reads it here."""


class _Checked(NamedTuple):
    """One scenario with all its findings."""

    place: str
    inspection: Inspection
    findings: list[Finding]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "directories", nargs="+", metavar="DIR", help="a scenario, or a directory with scenarios below it"
    )
    parser.add_argument("--strict", action="store_true", help="fail for warnings as well")
    parser.add_argument("--quiet", action="store_true", help="print findings and the last line only")


def run(arguments: argparse.Namespace) -> int:
    """Check, report, and return 0, or 2 if there is an error (with --strict: or a warning)."""
    transcripts = [path for directory in arguments.directories for path in find_transcripts(directory)]
    code = _run_transcripts(transcripts, arguments.quiet) if transcripts else 0
    packages = [
        package for directory in arguments.directories for package in _packages(directory, transcripts)
    ]
    if packages or not transcripts:
        code = max(code, _run_scenarios(arguments, packages))
    return code


def _run_transcripts(paths: Sequence[str], is_quiet: bool) -> int:
    checked = check_transcripts(paths)
    if not is_quiet:
        print_transcripts(checked)
    errors = [one.error for one in checked if one.error is not None]
    for error in errors:
        print(error.explained())
    print(summary(checked))
    return 2 if errors else 0


def _packages(directory: str, transcripts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The packages of session scenarios; a directory with a transcript is another kind of scenario."""
    taken = {path.rpartition("/")[0] for path in transcripts}
    try:
        packages = packages_below(directory)
    except UsageError:
        if any(path.startswith(f"{directory.rstrip('/')}/") for path in transcripts):
            return []
        raise
    kept = [
        (package, [name for name in names if (f"{package}/{name}" if package else name) not in taken])
        for package, names in packages
    ]
    return [(package, names) for package, names in kept if names]


def _run_scenarios(arguments: argparse.Namespace, packages: Sequence[tuple[str, list[str]]]) -> int:
    checked: list[_Checked] = []
    loose: list[Finding] = []
    for package, names in packages:
        # What lies beside the scenarios is asked about only where their own directory was named.
        is_named = any(_is_same(package, directory) for directory in arguments.directories)
        tree = read_tree(package, None if is_named else names)
        scenarios, rest = _check(tree)
        checked.extend(scenarios)
        loose.extend(rest)
    if not arguments.quiet:
        _print_table(checked)
        _print_scripts(checked)
    findings = [*loose, *(found for scenario in checked for found in scenario.findings)]
    return _report(checked, findings, arguments.strict)


def _is_same(package: str, directory: str) -> bool:
    return (package.rstrip("/") or ".") == (directory.rstrip("/") or ".")


def _check(tree: Tree) -> tuple[list[_Checked], list[Finding]]:
    """Scenarios with their findings, and the findings that belong to none."""
    files = by_directory(tree.files)
    inspections = {
        name: inspect_scenario(name, files.get(name, {}), tree.place(name)) for name in tree.scenarios
    }
    outside = list(find_outside_scenarios(tree))
    outside += find_unpinned(tree, {name: inspection.logs for name, inspection in inspections.items()})
    checked = []
    for name, inspection in inspections.items():
        place = tree.place(name)
        own = [found for found in outside if found.error.where.file.startswith(f"{place}/")]
        outside = [found for found in outside if found not in own]
        findings = sorted(
            [*own, *inspection.findings], key=lambda found: (found.error.where.file, found.error.where.line)
        )
        checked.append(_Checked(place, inspection, findings))
    return checked, outside


def _print_table(checked: Sequence[_Checked]) -> None:
    from rich.table import Table

    table = Table(
        "scenario",
        "logs",
        "events",
        "model calls",
        "override",
        "errors",
        "warnings",
        box=None,
        pad_edge=False,
    )
    for column in table.columns[1:4] + table.columns[5:]:
        column.justify = "right"
    for scenario in checked:
        inspection = scenario.inspection
        errors, warnings = _count(scenario.findings)
        events = sum(count_events(row) for log in inspection.logs for row in log.rows)
        calls = sum(len(lane.calls) for lane in inspection.lanes)
        table.add_row(
            scenario.place,
            str(len(inspection.logs)),
            str(events),
            str(calls),
            "yes" if inspection.has_override else "",
            str(errors or ""),
            str(warnings or ""),
        )
    show_table(table)


def _print_scripts(checked: Sequence[_Checked]) -> None:
    for scenario in checked:
        for lane in scenario.inspection.lanes:
            for line in _script_lines(scenario.place, lane):
                print(line)


def _script_lines(place: str, lane: Lane) -> Iterator[str]:
    yield f"{place} {lane.name}: {counted(len(lane.calls), 'model call')}"
    for call in lane.calls:
        entry = call.entry
        chunks = entry.chunks
        words = [entry.kind, counted(len(chunks), "chunk")]
        reasons = [chunk["reason"] for chunk in chunks if chunk.get("type") == "finish"]
        if reasons:
            reason = reasons[-1]
            words.append(f"finish {reason.get('kind') if isinstance(reason, dict) else reason}")
        message = getattr(entry, "message", "")
        if message:
            words.append(repr(message))
        if isinstance(entry, Fault):
            words[0] = " ".join([entry.kind, *(str(value) for value in entry.fault.values())])
        recorded = f" turn {call.turn} step {call.step}" if call.turn or call.step else ""
        yield f"  {call.ordinal} {call.where}{recorded}: {', '.join(words)}"


def _count(findings: Sequence[Finding]) -> tuple[int, int]:
    warnings = sum(found.rule in _WARNINGS for found in findings)
    return len(findings) - warnings, warnings


def _report(checked: Sequence[_Checked], findings: Sequence[Finding], strict: bool) -> int:
    for found in findings:
        label = "warning: " if found.rule in _WARNINGS else ""
        error = found.error
        print(ReplayError(label + error.what, error.where, error.fix).explained())
    errors, warnings = _count(findings)
    logs = sum(len(scenario.inspection.logs) for scenario in checked)
    print(
        f"{counted(len(checked), 'scenario')}, {counted(logs, 'session log')}: "
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    )
    return 2 if errors or (strict and warnings) else 0

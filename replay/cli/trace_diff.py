"""`replay trace diff OLD NEW`: which traces changed sides between two reports, and how sure that is."""

import argparse
from collections.abc import Iterator

from replay.cli.trace_files import load_report
from replay.errors import counted
from replay.runner.console import write_console
from replay.trace.previous import compare_with, with_history
from replay.trace.report import FAILED, Report, percent

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("old", metavar="OLD", help="a report, or the directory of a test's outputs")
    parser.add_argument("new", metavar="NEW", help="another")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a trace newly fails")


def run(arguments: argparse.Namespace) -> int:
    """Say what changed; 0, or with --check 1 where something broke."""
    old, new = load_report(arguments.old), load_report(arguments.new)
    traces = with_history([trace._replace(history="") for trace in new.traces], old)
    changes = compare_with(old, traces)
    reports = {trace.trace_id: trace for trace in new.traces}
    lines = [
        f"{percent(changes.before.share)} before, {percent(changes.after.share)} now, over "
        f"{counted(changes.after.total, 'trace')} that both judged: "
        f"{len(changes.new_failures)} newly failed, {len(changes.fixed)} fixed"
    ]
    for trace_id in changes.new_failures:
        reasons = reports[trace_id].reasons
        lines.append(f"- {trace_id}" + (f": {reasons[0].kind}: {reasons[0].message}" if reasons else ""))
    lines += [f"+ {trace_id}" for trace_id in changes.fixed]
    lines += [
        f"  {trace_id}: new{', and fails' if reports[trace_id].status == FAILED else ''}"
        for trace_id in changes.added
    ]
    lines += [f"  {trace_id}: not judged any more" for trace_id in changes.removed]
    lines += _versions(old, new)
    if changes.new_failures or changes.fixed:
        lines.append(
            f"  so uneven a split, or a more uneven one, comes by chance alone with probability {changes.chance:.2g}"
        )
    write_console("".join(f"{line}\n" for line in lines))
    return 1 if changes.new_failures and arguments.check else 0


def _versions(old: Report, new: Report) -> Iterator[str]:
    for key in ("agent", "model"):
        before, now = old.versions.get(key, ""), new.versions.get(key, "")
        if before != now:
            yield f"  {key}: {before or 'not known'} -> {now or 'not known'}"
    if old.strategy != new.strategy:
        yield f"  strategy: {old.strategy} -> {new.strategy}: the two do not ask the same"

"""`replay stale [DIR…]`: how old each recording is, and what has changed since it was made.

"Now" is what nobody needs to run anything for: what the newest outputs of tests below bazel-testlogs show (a test
that passed shows its own fixture), else what the outputs of the other fixtures of the same directory show.
"""

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from replay.cli.page import show_table
from replay.errors import counted
from replay.runner.freshness import Known, survey
from replay.runner.pending import TESTLOGS
from replay.runner.stale import age_days, stale_reasons
from replay.scenario.disk import packages_below

__all__ = ["add_arguments", "run"]

_COLUMNS: Final = """\
columns, each of the fixture; "X, now Y" where the newest evidence says Y:
  scenario  its directory
  age       days since provenance.capturedAt of session.jsonl; "authored" for a fixture that was not recorded
  agent     name and version of the agent, by the provenance, else by the reply to initialize
  model     of the provenance, else of the first request header; compared is what the request header asks for
  prompt    hash of the system prompt: the gateway's, else of the pinned text of the scenario's header class
  tools     the same of the tool schemas
  protocol  protocolVersion of the reply to initialize
  stale     why the fixture should be recorded again; empty for a fresh one
now: outputs of tests (bazel-testlogs), else the newest other fixtures of the same directory and agent
exit code: 0, with --check 1 where a fixture is stale"""
_WORKSPACE_FILES: Final = ("MODULE.bazel", "REPO.bazel", "WORKSPACE.bazel", "WORKSPACE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _COLUMNS
    parser.add_argument(
        "directories", nargs="*", default=["."], metavar="DIR", help="scenarios, or directories of them"
    )
    parser.add_argument("--max-age", type=int, metavar="DAYS", help="a recording that is older is stale")
    parser.add_argument("--testlogs", default="", metavar="DIR", help="where tests left their outputs")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a fixture is stale")


def run(arguments: argparse.Namespace, today: date | None = None) -> int:
    """List the scenarios; 0, or with --check 1 where one is stale. today: the date that ages are counted to."""
    # As record stamps it: the day of the provenance is that of UTC.
    on = today or datetime.now(UTC).date()
    rows: list[list[str]] = []
    stale = 0
    for directory in arguments.directories:
        for place, names in packages_below(directory):
            root, package = _workspace(Path(place or "."))
            testlogs = arguments.testlogs or (str(root / TESTLOGS) if root else "")
            for known in survey(place, names, testlogs, package):
                reasons = _reasons(known, on, arguments.max_age)
                stale += bool(reasons)
                rows.append(_row(place, known, on, reasons))
    _print(rows)
    print(f"{counted(len(rows), 'scenario')}, {stale} stale")
    return 1 if stale and arguments.check else 0


def _reasons(known: Known, on: date, max_age: int | None) -> list[str]:
    if known.problem is not None:
        return [str(known.problem)]
    return stale_reasons(known.recording, known.today, on, max_age)


def _workspace(package: Path) -> tuple[Path | None, str]:
    """(root of the Bazel workspace, name of the package) of a directory; no root outside of one."""
    package = package.absolute()
    for root in (package, *package.parents):
        if any((root / name).exists() for name in _WORKSPACE_FILES):
            relative = str(package.relative_to(root))
            return root, "" if relative == "." else relative
    return None, ""


def _row(place: str, known: Known, on: date, reasons: Sequence[str]) -> list[str]:
    then, now = known.recording, known.today
    age = age_days(then, on)
    return [
        os.path.join(place, known.name),
        str(age) if age is not None else then.kind or "?",
        f"{then.agent} {_then_now(then.version, now.version)}".strip(),
        f"{then.model}, asked for {then.asked}, now {now.asked}"
        if _differ(then.asked, now.asked)
        else then.model,
        _then_now(then.prompt, now.prompt),
        _then_now(then.tools, now.tools),
        _then_now(then.protocol, now.protocol),
        "; ".join(reasons),
    ]


def _then_now(then: str, now: str) -> str:
    return f"{then}, now {now}" if _differ(then, now) else then


def _differ(then: str, now: str) -> bool:
    return bool(then and now) and then != now


def _print(rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(
        "scenario", "age", "agent", "model", "prompt", "tools", "protocol", "stale", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(*row)
    show_table(table)

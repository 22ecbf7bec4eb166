"""The accept command: takes what failed tests left in their outputs for right, without a second run.

    bazel run //:accept [-- SCENARIO…]                        a target of replay_commands
    python -m replay.runner.accept --manifest FILE …          by hand: FILE is a manifest as the rules write it

Without a name it takes every scenario whose newest run failed by surfaces that differ. Each diff is shown before it
is written. What the model said stays as it was recorded. Exit code 0, or 2 where something was not taken.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from replay.errors import ReplayError, UsageError, counted
from replay.runner.acceptance import Proposal
from replay.runner.change_diff import in_colour, render_change, summary
from replay.runner.command import add_manifest, guarded, open_suites
from replay.runner.environment import Environment, read_environment
from replay.runner.main import write_console
from replay.runner.pending import Pending, find_pending, testlogs_of
from replay.scenario.write_back import claimed, planned_changes, write_back

__all__ = ["main", "show_proposal", "show_refusal", "suite_arguments", "take"]

_MAX_DIFF_LINES = 120


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    parser = argparse.ArgumentParser(
        prog="accept",
        description="Take what failed tests left in their outputs for right, without a second run.",
    )
    suite_arguments(parser)
    options = parser.parse_args(arguments)
    return guarded(
        lambda: _accept(options, read_environment(os.environ)),
        "each fixture is as it was, or holds all that was shown",
    )


def suite_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that reads outputs of tests."""
    parser.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help="a name, or SUITE/NAME; none for all"
    )
    parser.add_argument(
        "--testlogs",
        default="",
        metavar="DIR",
        help="where tests left their outputs; bazel-testlogs by default",
    )
    add_manifest(parser)


def _accept(options: argparse.Namespace, environment: Environment) -> int:
    suites = open_suites(options.manifest, environment)
    taken = refused = 0
    for pending in find_pending(suites, options.scenarios, testlogs_of(suites, options.testlogs)):
        if pending.refusal is not None:
            show_refusal(pending, pending.refusal)
            refused += 1
        elif pending.proposal is None:
            write_console(f"{pending.spec.name}: its test passed, there is nothing to take\n")
        elif not pending.proposal.changes:
            write_console(f"{pending.spec.name}: the fixture holds these outputs already\n")
        else:
            show_proposal(pending.proposal, _MAX_DIFF_LINES)
            take(pending.proposal)
            taken += 1
    write_console(f"{counted(taken, 'scenario')} accepted{f', {refused} not' if refused else ''}\n")
    return 2 if refused else 0


def show_proposal(proposal: Proposal, max_lines: int) -> None:
    """Print what would change, at most `max_lines` lines a file; in colour on a terminal."""
    for change in proposal.changes:
        lines = render_change(change, max_lines)
        shown = in_colour(lines) if sys.stdout.isatty() else lines
        text = "".join(f"  {line}\n" for line in shown)
        write_console(f"{proposal.spec.name}/{change.name}\n{text}")


def show_refusal(pending: Pending, refusal: ReplayError) -> None:
    """Print why nothing of a scenario's outputs can be taken."""
    write_console(f"{pending.spec.name}: {refusal.explained()}\n")


def take(proposal: Proposal) -> None:
    """Write a proposal into the fixture, all of it or nothing, and say so.

    Raises UsageError where something else was written since it was made.
    """
    what = proposal.directory, proposal.files, proposal.stale
    with claimed(proposal.directory):
        if planned_changes(*what) != proposal.changes:
            raise UsageError(
                f"{proposal.spec.name}: its fixture has changed since this was shown, and nothing of it is written",
                fix="run the same command again",
            )
        write_back(*what)
    done = ", ".join(summary(change) for change in proposal.changes)
    write_console(f"{proposal.spec.name}: {done}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`replay trace COMMAND`: what there is to do with traces and suites outside of a test."""

import argparse
import importlib
from typing import Final

__all__ = ["COMMANDS", "add_arguments", "run"]

COMMANDS: Final = {
    "judge": ("replay.cli.trace_judge", "judge what a test left behind, without running the agent again"),
    "report": ("replay.cli.trace_report", "show a report, or write it as a page or as JUnit XML"),
    "diff": ("replay.cli.trace_diff", "say what changed from one report to another"),
    "strategies": (
        "replay.cli.trace_strategies",
        "measure what each strategy is worth on a suite, with the agent and its known changes",
    ),
    "import": ("replay.cli.trace_import", "make traces of a suite out of other recordings"),
    "sample": ("replay.cli.trace_sample", "choose traces for a suite from any number of them"),
}
"""Subcommand -> (module with `add_arguments(parser)` and `run(arguments) -> exit code`, what it does)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands; the module of each is imported when its arguments are."""
    commands = parser.add_subparsers(dest="trace_command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        importlib.import_module(module).add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    """Run one of them."""
    module = importlib.import_module(COMMANDS[arguments.trace_command][0])
    return int(module.run(arguments))

"""The entry point: arguments, the registry of subcommands, and the one place where an error becomes text.

Exit codes are those of errors.py: 0 fine, 1 diverged, 2 fixture or usage wrong, 3 agent, 4 a fault of our own.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

from replay.errors import ReplayError

__all__ = ["COMMANDS", "main"]

COMMANDS: Final = {
    "doctor": ("replay.cli.doctor", "check fixtures without Bazel and print the script that they replay"),
    "inspect": ("replay.cli.inspect", "show a session as a readable conversation"),
    "diff": ("replay.cli.diff", "say what an agent did differently in two runs"),
    "stale": ("replay.cli.stale", "list how old recordings are, and what has changed since"),
    "cache-explain": (
        "replay.cli.cache_explain",
        "say why tests of one run were no hits of another run's cache",
    ),
    "cache-report": ("replay.cli.cache_report", "say what the caches were worth in a run of Bazel"),
    "trace": ("replay.cli.trace", "judge, compare, show and sample recorded runs of an agent"),
}
"""Subcommand -> (module with `add_arguments(parser)` and `run(arguments) -> exit code`, what it does)."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Prints errors to stderr, never a traceback for a user's mistake."""
    try:
        parsed = _parser(arguments).parse_args(arguments)
        module = importlib.import_module(COMMANDS[parsed.command][0])
        code = int(module.run(parsed))
        sys.stdout.flush()
        return code
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has seen enough: nothing failed, and the interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except Exception:
        traceback.print_exc()
        print(
            "replay: this is a fault of replay itself; please report it with the lines above", file=sys.stderr
        )
        return 4


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="replay", description="Hermetic record and replay of AI agents.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in arguments:
            importlib.import_module(module).add_arguments(command)
    return parser

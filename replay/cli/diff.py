"""`replay diff A B`: what the agent did differently in two runs, by meaning; exit code 0 for the same, 1 for a difference."""

import argparse
from typing import Final

from replay.cli.compare import compare_stories
from replay.cli.story import Story, read_story
from replay.scenario.layout import INPUT

__all__ = ["add_arguments", "run"]

_DESCRIPTION: Final = "a scenario's directory, or test.outputs/ of its test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("left", metavar="A", help=_DESCRIPTION)
    parser.add_argument("right", metavar="B", help=_DESCRIPTION)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences, section by section; 0 if there is none, else 1."""
    left, right = read_story(arguments.left), read_story(arguments.right)
    # What a test left has no input.json; the same client played.
    if left.script is None:
        left = read_story(arguments.left, right.script)
    elif right.script is None:
        right = read_story(arguments.right, left.script)
    sections = [section for section in compare_stories(left, right) if section.lines]
    if not sections:
        print(f"same{_only_in_form(left, right)}")
        return 0
    print(f"- {left.place}\n+ {right.place}")
    for section in sections:
        print(f"{section.title}:")
        for line in section.lines:
            print(f"  {line}")
    return 1


def _only_in_form(left: Story, right: Story) -> str:
    """Which files differ though the runs mean the same."""
    shared = sorted(left.files.keys() & right.files.keys() - {INPUT})
    names = [name for name in shared if left.files[name] != right.files[name]]
    return f" (in form only: {', '.join(names)})" if names else ""

"""What a scenario directory holds, by name. The same names as rules/private/layout.bzl.

input.json                      what the driver plays; makes the directory a scenario
session.jsonl, session.1.jsonl  the parent's log and its children's, contiguous, in order of creation
stdout.expected.jsonl           what the agent writes
requests.expected.jsonl         what an agent that logs itself asks the model, where the suite compares it
replay.override.json            a script that stands in for the logs' own, where the suite declares it
system-prompt.expected.md, tool-schemas.expected.json   in the scenario of a header class that pins them
workspace/, workspace.seed.json, workspace.expected/    the agent's cwd before and after the run
workspace.executable.txt        which files of workspace.expected/ are executable, where the suite compares that
"""

from collections.abc import Iterable
from typing import Final

__all__ = [
    "EXECUTABLE",
    "EXPECTED_WORKSPACE",
    "INPUT",
    "OVERRIDE",
    "PINS",
    "REQUESTS",
    "SEED",
    "STDOUT",
    "WORKSPACE",
    "child_gap",
    "children_of",
    "is_fixture_file",
    "log_name",
    "log_number",
    "nearest_name",
]

INPUT: Final = "input.json"
STDOUT: Final = "stdout.expected.jsonl"
REQUESTS: Final = "requests.expected.jsonl"
OVERRIDE: Final = "replay.override.json"
PINS: Final = ("system-prompt.expected.md", "tool-schemas.expected.json")
SEED: Final = "workspace.seed.json"
WORKSPACE: Final = "workspace/"
EXPECTED_WORKSPACE: Final = "workspace.expected/"
EXECUTABLE: Final = "workspace.executable.txt"

_SINGLE: Final = frozenset((INPUT, STDOUT, REQUESTS, OVERRIDE, SEED, EXECUTABLE, *PINS))


def log_name(number: int) -> str:
    """The file of the parent's log (0) or of the k-th child's."""
    return f"session.{number}.jsonl" if number else "session.jsonl"


def log_number(name: str) -> int | None:
    """The inverse of log_name; None for any other name, `session.01.jsonl` and `session.0.jsonl` among them."""
    if name == "session.jsonl":
        return 0
    if not name.startswith("session.") or not name.endswith(".jsonl"):
        return None
    middle = name[len("session.") : -len(".jsonl")]
    is_canonical = middle.isascii() and middle.isdigit() and middle[0] != "0" and len(middle) <= 6
    return int(middle) if is_canonical else None


def is_fixture_file(name: str) -> bool:
    """Whether a path relative to the scenario directory has a meaning there."""
    return name in _SINGLE or name.startswith((WORKSPACE, EXPECTED_WORKSPACE)) or log_number(name) is not None


def children_of(names: Iterable[str]) -> list[int]:
    """The numbers of the children among `names`, ascending."""
    return sorted(number for number in map(log_number, names) if number)


def child_gap(names: Iterable[str]) -> tuple[int, int] | None:
    """(missing, orphan): the first number that lacks though a later one is there; None if there is no gap."""
    for place, number in enumerate(children_of(names), start=1):
        if number != place:
            return place, number
    return None


def nearest_name(name: str) -> str:
    """The fixture file that `name` was probably meant to be, "" if there is none."""
    from difflib import get_close_matches  # only on the way to an error

    base = name.rpartition("/")[2]
    if base == "session.0.jsonl":
        return log_name(0)
    found = get_close_matches(base, [*sorted(_SINGLE), "session.jsonl", "session.1.jsonl"], 1, 0.8)
    return found[0] if found else ""

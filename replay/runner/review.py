"""The review command: walks through what failed tests left in their outputs and asks about each scenario.

    bazel run //:review [-- SCENARIO…]

What accept would take at once is shown and taken on the answer "a". Answers are lines of standard input; its end and
Ctrl-C leave everything undecided as it was.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from replay.errors import counted
from replay.runner.accept import show_proposal, show_refusal, suite_arguments, take
from replay.runner.command import INTERRUPTED, Suites, guarded, open_suites
from replay.runner.environment import Environment, read_environment
from replay.runner.main import write_console
from replay.runner.pending import Pending, find_pending, judged, testlogs_of

__all__ = ["main"]

_SHORT, _WHOLE = 30, 100_000
_QUESTION = "[a]ccept [s]kip [d]etails [q]uit: "
_ACCEPT, _SKIP, _DETAILS, _QUIT = "a", "s", "d", "q"


class _Books:
    """What was decided so far, by name of the scenario."""

    __slots__ = ("accepted", "left", "skipped")

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self.skipped: list[str] = []
        self.left: list[str] = []

    def closing(self) -> str:
        words = [f"{counted(len(self.accepted), 'scenario')} accepted", f"{len(self.skipped)} skipped"]
        if self.left:
            words.append(f"{len(self.left)} undecided: {', '.join(self.left)}")
        return ", ".join(words)


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code: 0, or 2 where outputs cannot be taken at all."""
    parser = argparse.ArgumentParser(
        prog="review", description="Decide one by one about what failed tests left in their outputs."
    )
    suite_arguments(parser)
    options = parser.parse_args(arguments)
    return guarded(lambda: _review(options, read_environment(os.environ)), "nothing was written")


def _review(options: argparse.Namespace, environment: Environment) -> int:
    suites = open_suites(options.manifest, environment)
    testlogs = testlogs_of(suites, options.testlogs)
    found = list(find_pending(suites, options.scenarios, testlogs))
    for pending in found:
        if pending.refusal is not None:
            show_refusal(pending, pending.refusal)
    code = 2 if any(pending.refusal is not None for pending in found) else 0
    waiting = [pending for pending in found if pending.proposal is not None and pending.proposal.changes]
    if not waiting:
        write_console("nothing to review\n")
        return code
    books = _Books()
    books.left = [pending.spec.name for pending in waiting]
    try:
        for number, pending in enumerate(waiting, 1):
            write_console(f"({number} of {len(waiting)}) {pending.spec.name}\n")
            if not _decide(suites, pending, testlogs, books):
                break
            books.left.pop(0)
    except KeyboardInterrupt:
        write_console("\n")
        code = INTERRUPTED
    write_console(books.closing() + "\n")
    return code


def _decide(suites: Suites, pending: Pending, testlogs: str, books: _Books) -> bool:
    """Ask until one scenario is decided; False to stop."""
    most = _SHORT
    while True:
        now = judged(suites, pending.manifest, pending.spec, testlogs)
        if now.refusal is not None or now.proposal is None or not now.proposal.changes:
            # Somebody wrote the fixture, or ran the test, while the question was open.
            write_console(
                f"{now.spec.name}: {now.refusal.explained() if now.refusal else 'nothing is left to take'}\n"
            )
            books.skipped.append(now.spec.name)
            return True
        show_proposal(now.proposal, most)
        answer = _ask()
        if answer == _ACCEPT:
            again = judged(suites, pending.manifest, pending.spec, testlogs)
            if again.proposal is None or again.proposal.changes != now.proposal.changes:
                write_console("it has changed since it was shown:\n")
                continue
            take(again.proposal)
            books.accepted.append(now.spec.name)
            return True
        if answer == _SKIP:
            books.skipped.append(now.spec.name)
            return True
        if answer == _QUIT:
            return False
        most = _WHOLE


def _ask() -> str:
    """One of the four answers; the end of standard input means quit."""
    while True:
        write_console(_QUESTION)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            write_console("\n")  # nobody's echo ends the line
        if not line:
            return _QUIT
        answer = line.strip().lower()[:1]
        if answer in (_ACCEPT, _SKIP, _DETAILS, _QUIT):
            return answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

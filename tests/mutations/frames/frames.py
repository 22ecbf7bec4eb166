"""`bazel run //tests/mutations/frames -- [SCENARIO[/VARIANT][#N]…]`: how many mutants of a transcript its test catches.

For each scenario up to --per-scenario mutants over its variants: one frame changed, dropped, said twice or swapped with the
next one. Each is played by the scenario's real test; the table says who caught how many, and every survivor stands below
it, by a number that plays it again. The exit code is 1 where a mutant survives or a test fails without any mutation.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from replay.transport.profile import profile
from replay.transport.transcript import Transcript, read_transcript, write_transcript
from tests.mutations.frames.equivalents import Equivalents
from tests.mutations.frames.mutant import Mutant, Mutants, draw
from tests.mutations.frames.named import NAMED
from tests.mutations.frames.play import (
    SURVIVED,
    Outcome,
    Variant,
    find_variants,
    play,
    write_subject,
)
from tests.mutations.frames.table import Row, Table
from tests.mutations.frames.workers import Workers

__all__ = ["main"]

_SCENARIOS = "scenarios/transport"
# All that a play imports late: once here and not in each fork.
_LATE = (
    "replay.runner.seed",
    "replay.surface.compare",
    "replay.surface.render",
    "replay.transport.profiles.acp",
    "replay.transport.profiles.claude",
    "replay.transport.profiles.codex",
    "replay.transport.profiles.cursor",
    "replay.transport.profiles.opencode",
)


class Job(NamedTuple):
    """A mutant of a variant, by its number; 0 is the variant as it is."""

    variant: Variant
    number: int
    mutant: Mutant | None

    @property
    def title(self) -> str:
        return f"{self.variant.title}#{self.number}"


class Wanted(NamedTuple):
    """What an argument names; number 0 is all."""

    scenario: str
    variant: str
    number: int

    @classmethod
    def of(cls, text: str) -> Wanted:
        name, _, number = text.partition("#")
        scenario, _, variant = name.partition("/")
        return cls(scenario, variant, int(number or 0))

    def takes(self, variant: Variant) -> bool:
        return self.scenario == variant.scenario and self.variant in ("", variant.name)


def main(arguments: Sequence[str]) -> int:
    """The process's exit code."""
    options = _parser().parse_args(arguments)
    tree = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY") or Path.cwd())
    wanted = [Wanted.of(text) for text in options.scenarios]
    variants = [
        variant
        for variant in find_variants(tree / options.directory)
        if not wanted or any(one.takes(variant) for one in wanted)
    ]
    if not variants:
        print(
            f"no scenario below {options.directory} is named {' or '.join(options.scenarios)}",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory(prefix="agent_replay_frames-") as scratch:
        return _Run(options, wanted, Path(scratch)).go(variants)


class _Run:
    """One run of the tool."""

    def __init__(self, options: argparse.Namespace, wanted: Sequence[Wanted], scratch: Path) -> None:
        self._options = options
        self._numbers = {one.number for one in wanted} - {0}
        self._scratch = scratch
        self._subject = write_subject(scratch)
        self._equivalents = Equivalents(NAMED)
        self._plays = 0
        _import_late()
        self._workers = Workers(options.jobs)

    def go(self, variants: Sequence[Variant]) -> int:
        table, began = Table(), time.monotonic()
        broken = self._check_unmutated(variants)
        for scenario in dict.fromkeys(variant.scenario for variant in variants):
            own = [one for one in variants if one.scenario == scenario and one.title not in broken]
            row = Row(scenario, should_survive=self._options.named)
            jobs = list(self._jobs(own, row))
            for job, outcome in self._workers.run((job, self._task(job)) for job in jobs):
                row.add(job.title, job.mutant, outcome, is_shown=self._options.verbose or bool(self._numbers))
            table.add(row)
        table.close(time.monotonic() - began, self._workers.leftovers, self._equivalents)
        for title, said in broken.items():
            print(f"{title} fails as it is: {said}")
        return 1 if broken or not table.is_good else 0

    def _check_unmutated(self, variants: Sequence[Variant]) -> dict[str, str]:
        """Variants that do not pass as they are, which proves that an untouched test is never taken for a caught one."""
        jobs = [Job(variant, 0, None) for variant in variants]
        outcomes = self._workers.run((job, self._task(job)) for job in jobs)
        return {
            job.variant.title: f"{outcome.by}: {outcome.said}"
            for job, outcome in outcomes
            if outcome.by != SURVIVED
        }

    def _jobs(self, variants: Sequence[Variant], row: Row) -> Iterator[Job]:
        for place, variant in enumerate(variants):
            made: list[Mutant] = []
            for file in variant.transcripts:
                transcript = _read(variant, file)
                mutants = Mutants(file, transcript, profile(transcript.start.protocol), self._equivalents)
                row.skip(mutants.skipped, sum(one.is_unread for one in mutants.made))
                made += [one for one in mutants.made if one.is_unread == self._options.named]
            row.possible += len(made)
            whole, rest = divmod(self._options.per_scenario, len(variants))
            drawn = draw(made, whole + (place < rest), f"{self._options.seed}/{variant.title}")
            for number, mutant in enumerate(drawn, 1):
                if not self._numbers or number in self._numbers:
                    yield Job(variant, number, mutant)

    def _task(self, job: Job) -> Callable[[], Outcome]:
        self._plays += 1
        mutated = {}
        if job.mutant is not None:
            transcript = _read(job.variant, job.mutant.file)
            mutated[job.mutant.file] = write_transcript(job.mutant.applied(transcript))
        return partial(play, job.variant, mutated, self._subject, self._scratch / str(self._plays))


def _read(variant: Variant, file: str) -> Transcript:
    return read_transcript(variant.files[file].read_bytes(), f"{variant.scenario}/{file}")


def _import_late() -> None:
    from importlib import import_module

    for name in _LATE:
        import_module(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="frames", description="Mutants of each scenario's frames.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO[/VARIANT][#N]", help="all if none is named")
    parser.add_argument("--per-scenario", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="tests at a time")
    parser.add_argument("--verbose", action="store_true", help="say of every mutant who caught it")
    parser.add_argument(
        "--named", action="store_true", help="play mutants of the named equivalents instead: all must survive"
    )
    parser.add_argument("--directory", default=_SCENARIOS, metavar="DIR", help="where the scenarios are")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

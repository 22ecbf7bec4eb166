"""`replay trace sample SOURCE… --count N --out DIR`: a suite's worth of traces from any number, and why each.

The same traces and seed give the same sample, in whatever order and files they come.
"""

import argparse
import os

from replay.errors import counted
from replay.runner.console import write_console
from replay.trace.sampler_choice import Sample, choose
from replay.trace.sampler_explanation import EXPLANATION
from replay.trace.sampler_files import find_sources, read_sources, write_sample

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a .json file (a trace), a .jsonl file (a trace a line), a directory",
    )
    parser.add_argument("--count", type=int, required=True, metavar="N", help="how many to choose")
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="the directory of the suite; it gets traces/ and sample.json",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="another seed, another sample (default 0)"
    )
    parser.add_argument(
        "--minimum", type=int, default=1, metavar="N", help="of each category at least (default 1)"
    )
    parser.add_argument(
        "--alike",
        type=float,
        default=0.8,
        metavar="SHARE",
        help="of features that make two traces near duplicates (default 0.8)",
    )
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes that read"
    )


def run(arguments: argparse.Namespace) -> int:
    """Choose, write, and say what was chosen."""
    parts = find_sources(arguments.sources)
    sampler = read_sources(parts, arguments.count, arguments.seed, arguments.jobs)
    sample = choose(sampler, arguments.minimum, arguments.alike)
    write_sample(sample, arguments.seed, arguments.out)
    write_console(_summary(sample, sampler.describe(), arguments.out))
    return 0


def _summary(sample: Sample, seen: str, out: str) -> str:
    lines = [
        f"{counted(len(sample.chosen), 'trace')} chosen from {seen}, written to {out}; why each: {EXPLANATION} there"
    ]
    for category in sample.categories:
        outcomes = ", ".join(f"{number} {outcome}" for outcome, number in category.outcomes.items() if number)
        name = category.name or "(no category)"
        lines.append(
            f"  {name}: {category.chosen} of {category.seen} ({category.share:g} in proportion): {outcomes or 'none'}"
        )
    lines += [f"  note: {note}" for note in sample.notes]
    return "".join(f"{line}\n" for line in lines)

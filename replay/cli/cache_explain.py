"""`replay cache-explain A B`: why the tests that run B executed were no hits of what run A left in the cache."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from replay.errors import FixtureError, Location, counted
from replay.runner.console import write_console

if TYPE_CHECKING:
    from replay.cache.reason import Explanation, Group, Reason

__all__ = ["add_arguments", "run"]

_MOST_REASONS: Final = 5
_MOST_MADE: Final = 3
_MOST_TESTS: Final = 8
_READS: Final = """\
A and B are two files of one kind: compact execution logs (--execution_log_compact_file), which hold every input, argument,
variable and platform property of a test, or build events (--build_event_json_file, --build_event_binary_file), which hold
the command line and the files of a target. A is the run that should have filled the cache, B the one that missed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _READS
    parser.add_argument("before", metavar="A", help="the run that should have filled the cache")
    parser.add_argument("after", metavar="B", help="the run whose tests were executed")
    parser.add_argument("--full", action="store_true", help="show every test, reason and file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Explain B; 0 whatever is said."""
    explanation = _explain(arguments.before, arguments.after)
    text = (
        _json(explanation) if arguments.json else "\n".join(_lines(explanation, full=arguments.full)) + "\n"
    )
    write_console(text)
    return 0


def _explain(before: str, after: str) -> Explanation:
    from replay.cache.stream import kind_of

    one, other = kind_of(before), kind_of(after)
    if one.is_events != other.is_events:
        raise FixtureError(
            f"is {other.value}, and {before} is {one.value}",
            Location(after),
            "name two execution logs, or two files of build events",
        )
    if one.is_events:
        from replay.cache.event_difference import explain_events

        return explain_events(before, after)
    from replay.cache.log_difference import explain_logs

    return explain_logs(before, after)


def _lines(explanation: Explanation, *, full: bool) -> Iterator[str]:
    hits = sum(len(tests) for tests in explanation.hits.values())
    answered = ", ".join(f"{len(tests)} {cache}" for cache, tests in sorted(explanation.hits.items()))
    yield (
        f"B: {counted(hits + explanation.missed, 'test')}, {explanation.missed} executed, {counted(hits, 'hit')}"
        + (f" ({answered})" if answered else "")
    )
    for group in explanation.groups:
        yield ""
        yield from _group_lines(group, full=full)
    if explanation.only_before:
        yield ""
        yield f"{counted(len(explanation.only_before), 'test')} of A not in B: its own action cache answered, or it was not asked"
    for note in explanation.notes:
        yield f"note: {note}"


def _group_lines(group: Group, *, full: bool) -> Iterator[str]:
    from replay.cache.inputs import MAX_COUNTED

    many = f"{group.total} reasons or more" if group.total >= MAX_COUNTED else f"{group.total} reasons"
    why = "for one reason" if group.total == 1 else f"for {many}"
    yield f"{counted(len(group.tests), 'test')} {why}"
    reasons = _first(group.reasons, _MOST_REASONS, full)
    for reason in reasons:
        yield from _reason_lines(reason, full=full)
    if group.total > len(reasons):
        yield f"  … {group.total - len(reasons)} more" + ("" if full else " (--full)")
    tests = _first(group.tests, _MOST_TESTS, full)
    for test in tests:
        yield f"    {test}"
    if len(group.tests) > len(tests):
        yield f"    … {len(group.tests) - len(tests)} more (--full)"


def _reason_lines(reason: Reason, *, full: bool) -> Iterator[str]:
    yield f"  {reason.kind.value}: {reason.name}" if reason.name else f"  {reason.kind.value}"
    if reason.before or reason.after:
        yield f"      A: {reason.before or 'not there'}"
        yield f"      B: {reason.after or 'not there'}"
    made = _first(reason.made, _MOST_MADE, full)
    for path in made:
        yield f"      made from it: {path}"
    if len(reason.made) > len(made):
        yield f"      … and {len(reason.made) - len(made)} more (--full)"
    if reason.fix:
        yield f"      fix: {reason.fix}"


def _first[T](items: Sequence[T], count: int, full: bool) -> Sequence[T]:
    """The first items; all of them where that is asked for, or where but one would be left."""
    return items if full or len(items) <= count + 1 else items[:count]


def _json(explanation: Explanation) -> str:
    import orjson

    shape = {
        "version": 1,
        "source": explanation.source,
        "hits": sum(len(tests) for tests in explanation.hits.values()),
        "missed": explanation.missed,
        "hit_by": explanation.hits,
        "groups": [
            {
                "tests": group.tests,
                "total_reasons": group.total,
                "reasons": [reason._asdict() | {"kind": reason.kind.value} for reason in group.reasons],
            }
            for group in explanation.groups
        ],
        "only_before": explanation.only_before,
        "notes": explanation.notes,
    }
    return orjson.dumps(shape, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

"""`replay cache-report BEP`: what the caches were worth in one run of Bazel, by its build events."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from replay.errors import counted
from replay.runner.console import write_console

if TYPE_CHECKING:
    from replay.cache.run_report import RunReport

__all__ = ["add_arguments", "run"]

_MOST: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "events", metavar="BEP", help="what --build_event_json_file or --build_event_binary_file wrote"
    )
    parser.add_argument(
        "--earlier", default="", metavar="BEP", help="an earlier run: say what ran again unchanged"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Report on the run; 0 whatever its tests did."""
    from replay.cache.run_report import report_run

    report = report_run(arguments.events, arguments.earlier)
    write_console(_json(report) if arguments.json else "\n".join(_lines(report)) + "\n")
    return 0


def _lines(report: RunReport) -> Iterator[str]:
    hits = report.local_hits + report.disk_hits + report.remote_hits
    share = f", {100 * hits / report.tests:.0f} %" if report.tests else ""
    yield f"{counted(report.tests, 'test')}: {counted(hits, 'hit')}{share}; {report.ran} executed, {len(report.failed)} failed"
    yield f"hits      {report.local_hits} local action cache, {report.disk_hits} disk cache, {report.remote_hits} remote cache"
    yield f"time      {report.seconds_saved:.1f} s saved, {report.seconds_ran:.1f} s of tests executed, {report.wall_seconds:.1f} s in all"
    if not report.is_whole:
        yield "the run was broken off: what it did after these events is not in the file"
        if not report.tests:
            yield "where a gRPC cache is gone, Bazel writes no events of tests, whose logs it would upload: see its console"
    if report.cache_trouble:
        yield ""
        yield "trouble with a cache or an executor, as Bazel told it"
        yield from (f"  {line}" for line in report.cache_trouble[:_MOST])
    yield from _named("failed", report.failed)
    yield from _named("flaky: failed and then passed", report.flaky)
    if report.slowest:
        yield ""
        yield "slowest of those executed"
        yield from (f"  {slow.seconds:8.2f} s  {slow.label}" for slow in report.slowest)
    for unchanged in report.unchanged:
        yield from _named(f"executed though nothing changed; {unchanged.why}", unchanged.tests)


def _named(heading: str, tests: tuple[str, ...]) -> Iterator[str]:
    if not tests:
        return
    yield ""
    yield f"{heading} ({len(tests)})"
    yield from (f"  {test}" for test in tests[:_MOST])
    if len(tests) > _MOST:
        yield f"  … {len(tests) - _MOST} more (--json)"


def _json(report: RunReport) -> str:
    import orjson

    shape: dict[str, object] = {"version": 1, **report._asdict()}
    shape["slowest"] = [slow._asdict() for slow in report.slowest]
    shape["unchanged"] = sorted({test for one in report.unchanged for test in one.tests})
    shape["unchanged_because"] = [one._asdict() for one in report.unchanged]
    return orjson.dumps(shape, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

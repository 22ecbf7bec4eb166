"""The report of a run, and the two commands as they are called."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.cache.run_report import report_run
from replay.cli.main import main
from tests.cache.logs import Log, events, write_events

TESTS: dict[str, dict[str, object]] = {
    "//a:local_test": {"cached_locally": True, "test_attempt_duration_millis": 2000},
    "//a:disk_test": {"execution_info": {"strategy": "disk cache hit"}, "test_attempt_duration_millis": 3000},
    "//a:remote_test": {"execution_info": {"strategy": "remote cache hit", "cached_remotely": True}},
    "//a:slow_test": {"test_attempt_duration": {"seconds": 7}},
    "//a:failed_test": {"status": "FAILED"},
}
GONE = [
    "INFO: 30 processes: 13 remote cache hit, 17 internal.\n\x1b[33mWARNING: Remote Ca",
    "che: Connection refused: /127.0.0.1:9\x1b[0m\n(10:00:00) WARNING: Remote Cache: Connection refused: /127.0.0.1:9\n",
    "WARNING: something else\nWARNING: Remote Cache: Connection refused: /127.0.0.1:9",
]


def test_figures_of_a_run(tmp_path: Path) -> None:
    report = report_run(write_events(tmp_path / "run.bep", events(TESTS)))
    assert (report.tests, report.local_hits, report.disk_hits, report.remote_hits, report.ran) == (
        5,
        1,
        1,
        1,
        2,
    )
    assert (report.seconds_saved, report.seconds_ran) == (6.5, 8.5)
    assert report.failed == ("//a:failed_test",)
    assert [tuple(slow) for slow in report.slowest] == [("//a:slow_test", 7.0), ("//a:failed_test", 1.5)]
    assert report.is_whole and not report.cache_trouble


def test_attempts_are_one_test_and_flaky_ones_are_named(tmp_path: Path) -> None:
    made = events({"//a:flaky_test": {"status": "FAILED"}})
    again = events({"//a:flaky_test": {}})
    summary = type(made[0])(
        id={"test_summary": {"label": "//a:flaky_test"}},
        test_summary={"overall_status": "FLAKY", "attempt_count": 2},
    )
    report = report_run(write_events(tmp_path / "run.bep", [*made, *again, summary]))
    assert (report.tests, report.ran, report.seconds_ran) == (1, 1, 3.0)
    assert (report.flaky, report.failed) == (("//a:flaky_test",), ())


def test_cache_that_went_away_is_told(tmp_path: Path) -> None:
    report = report_run(write_events(tmp_path / "run.bep", events(TESTS, stderr=GONE)))
    line = "WARNING: Remote Cache: Connection refused: /127.0.0.1:9"
    assert report.cache_trouble == (f"{line} (2 times)", f"(10:00:00) {line}")


def test_run_that_was_broken_off_is_told(tmp_path: Path) -> None:
    report = report_run(write_events(tmp_path / "run.bep", events(TESTS)[:-1]))
    assert not report.is_whole


def test_tests_that_ran_though_nothing_changed_are_named_with_the_reason(tmp_path: Path) -> None:
    ran: dict[str, dict[str, object]] = {"//a:x_test": {}, "//a:y_test": {}}
    ordered = write_events(tmp_path / "1.bep", events(ran, {"cache_test_results": ("0", [])}))
    assert [(one.why, one.tests) for one in report_run(ordered).unchanged] == [
        ("no cached result was asked for: --nocache_test_results", ("//a:x_test", "//a:y_test"))
    ]
    plain = write_events(tmp_path / "2.bep", events(ran))
    assert report_run(plain).unchanged == ()
    assert [one.tests for one in report_run(plain, plain).unchanged] == [("//a:x_test", "//a:y_test")]
    failed = write_events(tmp_path / "4.bep", events({label: {"status": "FAILED"} for label in ran}))
    assert report_run(plain, failed).unchanged == ()
    other = write_events(tmp_path / "3.bep", events(ran, {"test_arg": ("-v", [])}))
    assert report_run(plain, other).unchanged == ()


def printed(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> str:
    assert main(arguments) == 0
    return capfdbinary.readouterr().out.decode()


def test_report_as_text_and_as_json(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write_events(tmp_path / "run.bep", events(TESTS, stderr=GONE))
    text = printed(capfdbinary, "cache-report", path)
    assert text.startswith("5 tests: 3 hits, 60 %; 2 executed, 1 failed\n")
    assert "6.5 s saved" in text and "Connection refused" in text and "7.00 s  //a:slow_test" in text
    shape: dict[str, Any] = orjson.loads(printed(capfdbinary, "cache-report", path, "--json"))
    assert (shape["version"], shape["tests"], shape["slowest"][0]["label"]) == (1, 5, "//a:slow_test")


def test_explanation_as_text_and_as_json(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    paths = []
    for name, content in (("a", "old"), ("b", "new")):
        log = Log()
        for number in range(12):
            log.test(f"//acp:case{number:02}_test", log.input_set([log.file("agent.py", content)]))
        paths.append(log.write(tmp_path / f"{name}.log"))
    text = printed(capfdbinary, "cache-explain", *paths)
    assert text.startswith("B: 12 tests, 12 executed, 0 hits\n\n12 tests for one reason\n  input: agent.py\n")
    assert "… 4 more (--full)" in text and "case11" not in text
    assert "case11" in printed(capfdbinary, "cache-explain", *paths, "--full")
    shape: dict[str, Any] = orjson.loads(printed(capfdbinary, "cache-explain", *paths, "--json"))
    assert (shape["missed"], len(shape["groups"]), shape["groups"][0]["reasons"][0]["kind"]) == (
        12,
        1,
        "input",
    )


def test_two_kinds_of_files_are_refused(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    log = Log().write(tmp_path / "a.log")
    made = write_events(tmp_path / "b.bep", events(TESTS))
    assert main(["cache-explain", log, made]) == 2
    said = capfdbinary.readouterr().err.decode()
    assert f"b.bep: is build events in binary form, and {log} is a compact execution log" in said
    assert main(["cache-report", log]) == 2
    assert "a report is made of build events" in capfdbinary.readouterr().err.decode()

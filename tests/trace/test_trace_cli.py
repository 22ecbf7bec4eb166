"""`replay trace`: a test's outputs judged again, reports shown and compared, as people do it."""

import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.cli.main import main
from replay.runner.trace_part import write_part
from replay.trace.codec import write_trace
from replay.trace.report_json import read_report
from tests.trace.suite_values import make_trace, replayed


@pytest.fixture
def package(tmp_path: Path, monkeypatch: Any) -> Path:
    """A suite of four traces, and what a test of each of two agents left."""
    monkeypatch.chdir(tmp_path)
    suite = tmp_path / "suite"
    (suite / "traces").mkdir(parents=True)
    traces = [make_trace(f"t{number}", "a") for number in range(4)]
    for trace in traces:
        (suite / "traces" / f"{trace.trace_id}.json").write_bytes(write_trace(trace))
    for name, broken in (("old", "t1"), ("new", "t2")):
        replays = [
            replayed(trace, trace._replace(final_answer="lost") if trace.trace_id == broken else trace)
            for trace in traces
        ]
        write_part(str(tmp_path / name / "actual"), replays)
    return tmp_path


def run(*arguments: str) -> int:
    return main(["trace", *arguments])


def test_runs_are_judged_again_by_another_suite(package: Path, capfdbinary: Any) -> None:
    assert run("judge", "suite", "new", "--strategy", "mock_tools", "--json", "new/report.json") == 1
    output, errors = capfdbinary.readouterr()
    assert errors == b""
    assert output.decode().splitlines()[:2] == [
        "suite: failed (threshold): 3 of 4 traces passed, 75 % (30 % to 95 %); failed: t2",
        "  threshold fails: 3 of 4 passed, 75 % (95 % interval 30 % to 95 %), 100 % asked for",
    ]
    (package / "suite" / "suite.json").write_bytes(b'{"schema": 1, "threshold": 0.7}')
    assert run("judge", "suite", "new", "--html", "page.html", "--junit", "x/report.xml") == 0
    assert b"<!doctype html>" in Path("page.html").read_bytes()[:200] and Path("x/report.xml").exists()


def test_reports_are_shown_and_compared(package: Path, capfdbinary: Any) -> None:
    for name in ("old", "new"):
        run("judge", "suite", name, "--json", f"{name}/report.json")
    capfdbinary.readouterr()
    assert run("diff", "old", "new") == 0
    assert run("diff", "old", "new", "--check") == 1
    lines = capfdbinary.readouterr()[0].decode().splitlines()
    assert lines[:3] == [
        "75 % before, 75 % now, over 4 traces that both judged: 1 newly failed, 1 fixed",
        '- t2: answer: $: "done" became "lost"',
        "+ t1",
    ]
    assert run("judge", "suite", "new", "--previous", "old", "--json", "both.json") == 1
    changes = read_report(Path("both.json").read_bytes(), "both.json").changes
    assert changes is not None and (changes.new_failures, changes.fixed) == (("t2",), ("t1",))
    capfdbinary.readouterr()
    assert run("report", "both.json") == 0
    assert b"newly failed: t2" in capfdbinary.readouterr()[0]


def test_outputs_may_be_zipped_as_bazel_leaves_them(package: Path, capfdbinary: Any) -> None:
    assert run("judge", "suite", "new", "--strategy", "mock_tools", "--json", "new/report.json") == 1
    judged = capfdbinary.readouterr()[0]
    zipped = package / "zipped"
    zipped.mkdir()
    with zipfile.ZipFile(zipped / "outputs.zip", "w") as archive:
        for path in sorted((package / "new").rglob("*.json*")):
            archive.write(path, path.relative_to(package / "new"))
    assert run("judge", "suite", "zipped") == 1
    assert run("report", "zipped") == 0
    assert capfdbinary.readouterr()[0] == judged * 2
    (zipped / "outputs.zip").write_bytes(b"PK no zip")
    assert run("report", "zipped") == 2
    assert capfdbinary.readouterr()[1].startswith(b"zipped/outputs.zip cannot be read: File is not a zip")
    with zipfile.ZipFile(zipped / "outputs.zip", "w") as archive:
        archive.writestr("other", "")
    assert run("report", "zipped") == 2
    assert capfdbinary.readouterr()[1] == b"zipped/outputs.zip holds no report.json\n"


def test_every_mistake_of_a_suite_is_told_at_once(package: Path, capfdbinary: Any) -> None:
    (package / "suite" / "suite.json").write_bytes(
        b'{"schema": 1,\n"threshold": 70,\n"budgets": {"steps": -1}}'
    )
    assert run("judge", "suite", "new") == 2
    assert capfdbinary.readouterr()[1].decode().splitlines() == [
        "suite/suite.json:2 $.threshold: must be a share from 0 to 1, not 70",
        "    fix: write 0.7 for 70 %",
        "         and suite/suite.json:3 $.budgets.steps: input should be greater than or equal to 0",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("judge", "suite", "nowhere"),
            "nowhere/replays.jsonl cannot be read: No such file or directory",
        ),
        (("judge", "nowhere", "new"), "nowhere/traces holds no trace"),
        (("judge", "suite", "new", "--strategy", "exakt"), '"exakt" is no strategy'),
        (("report", "suite"), "suite/report.json cannot be read: No such file or directory"),
        (("report", "suite/traces/t0.json"), "suite/traces/t0.json:1 $: is no report: it must say "),
        (
            ("sample", "nowhere.jsonl", "--count", "3", "--out", "x"),
            "nowhere.jsonl cannot be read: No such file",
        ),
        (("sample", "suite/traces", "--count", "0", "--out", "x"), "a sample has 1 to 100000 traces, not 0"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, package: Path, capfdbinary: Any
) -> None:
    assert run(*arguments) == 2
    output, errors = capfdbinary.readouterr()
    assert output == b"" and errors.decode().startswith(sentence)


def test_outputs_of_another_version_or_of_too_few_traces_are_refused(package: Path, capfdbinary: Any) -> None:
    part = package / "new" / "actual" / "replays.jsonl"
    part.write_bytes(part.read_bytes().split(b"\n")[0] + b"\n")
    assert run("judge", "suite", "new") == 2
    assert capfdbinary.readouterr()[1].decode().startswith('new: holds no run of "t1" and 2 traces more')
    part.write_bytes(orjson.dumps({"trace_id": "t0", "of": 1, "runs": [{}]}) + b"\n")
    assert run("judge", "suite", "new") == 2
    assert (
        capfdbinary.readouterr()[1]
        .decode()
        .startswith(
            "new/actual/replays.jsonl:1 $.runs[0]: is no run that a trace test of this version left\n    fix: "
        )
    )

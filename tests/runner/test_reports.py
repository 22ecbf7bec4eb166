"""What a run says: console, XML, Bazel's files, result.json and result.pb alike."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from replay.errors import AgentError, FixtureError, Location, UsageError
from replay.proto import result_pb2
from replay.runner.artefacts import Frame, encode_frames, result_message, write_result
from replay.runner.bazel_test import begin, end, select, write_reports
from replay.runner.environment import Environment
from replay.runner.junit import render_junit
from replay.runner.manifest import ScenarioSpec
from replay.runner.record_report import render_record
from replay.runner.report import render_console, render_refresh, render_refresh_summary, render_summary
from replay.runner.result import FAILED, PASSED, WRITTEN, Case, Result, worst

_DIFFERS = Result(
    "text-turn", "//s:text-turn_test", "replay",
    [Case("stdout", FAILED, 'stdout:3 $.a: expected "x", actual "y"', "$.a", '"x"', '"y"', ["-x", "+y"]), Case("session", PASSED)],
)  # fmt: skip
_WRONG = Result(
    "b", "", "replay", error=FixtureError("no JSON", Location("s/b/input.json", 3, "$.x"), "write JSON")
)
_HANGS = Result("c", "//s:c_test", "replay", error=AgentError("hangs"), evidence=["stderr: waiting"])
_FAULT = Result("d", "//s:d_test", "replay", fault="Traceback\n  here\nValueError: oops\n")
_PASSES = Result("e", "//s:e_test", "replay", [Case("stdout", PASSED)])


def _specs(*names: str) -> list[ScenarioSpec]:
    return [ScenarioSpec(name, "", "", "", {}, {}, {}, False, False, "") for name in names]


def test_gravest_exit_code_wins() -> None:
    assert [result.exit_code for result in (_PASSES, _DIFFERS, _WRONG, _HANGS, _FAULT)] == [0, 1, 2, 3, 4]
    assert worst([_DIFFERS, _HANGS, _PASSES]) == 3
    assert worst([]) == 0


def test_first_line_says_scenario_surface_and_difference() -> None:
    lines = render_console(_DIFFERS._replace(artefacts=["actual/"]), "out").split("\n")
    assert lines[0] == 'text-turn: stdout:3 $.a: expected "x", actual "y"'
    assert lines[1:3] == ["  -x", "  +y"]
    assert "  artefacts: out (actual/)" in lines
    assert "  reproduce: bazel test //s:text-turn_test --test_output=streamed" in lines
    assert "  accept: bazel run //:accept -- text-turn" in lines


def test_fixture_error_leads_with_its_place() -> None:
    text = render_console(_WRONG, "")
    assert text.startswith("s/b/input.json:3 $.x: no JSON\n")
    assert "  fix: write JSON\n" in text
    assert "accept" not in text


def test_commands_are_those_of_the_suites_package() -> None:
    text = render_console(_DIFFERS._replace(commands="//a/b"), "")
    assert "  accept: bazel run //a/b:accept -- text-turn\n" in text
    advice = "bazel run //:record -- b\nor write it, then bazel run //:refresh -- b"
    wrong = _WRONG._replace(error=FixtureError("no log", fix=advice), commands="//a/b")
    assert "  fix: bazel run //a/b:record -- b\n       or write it, then bazel run //a/b:refresh -- b\n" in (
        render_record(wrong)
    )
    assert "//:" not in render_console(wrong, "") + json.dumps(result_message(wrong))


def test_fault_shows_its_traceback() -> None:
    text = render_console(_FAULT, "")
    assert text.startswith("d: the runner itself failed: ValueError: oops\n")
    assert "please report it" in text


def test_summary_names_what_failed() -> None:
    assert render_summary([_PASSES, _HANGS]) == "1 of 2 scenarios passed; failed: c\n"


def test_refresh_says_what_it_wrote_and_what_it_left() -> None:
    wrote = _PASSES._replace(
        cases=[Case("stdout", WRITTEN, "wrote a (+1 -0)"), Case("session", WRITTEN, "deleted b (+0 -2)")]
    )
    assert render_refresh(wrote, "") == "e: wrote a (+1 -0), deleted b (+0 -2)\n"
    assert render_refresh(_PASSES._replace(warnings=["slow"]), "") == "e: unchanged\n  warning: slow\n"
    assert render_refresh(_HANGS, "").startswith("c: hangs\n")
    assert render_refresh_summary([wrote, _PASSES], 0) == "2 scenarios: 1 written, 1 unchanged\n"
    assert (
        render_refresh_summary([_HANGS], 2) == "3 scenarios: 0 written, 0 unchanged, 2 not run, 1 failed: c\n"
    )


def test_scenario_whose_name_a_shell_would_read_is_quoted() -> None:
    text = render_console(_DIFFERS._replace(scenario="it's two"), "")
    assert "  accept: bazel run //:accept -- 'it'\\''s two'\n" in text


def test_xml_is_well_formed_whatever_the_text() -> None:
    nasty = 'a<b>&"\x00\x1b[31m\ud800￾ü'
    results = [
        _DIFFERS,
        _WRONG,
        _HANGS,
        _FAULT,
        Result(nasty, "", "replay", [Case("stdout", FAILED, nasty, diff=[nasty])]),
    ]
    root = ElementTree.fromstring(render_junit(results))
    assert [suite.get("failures") for suite in root] == ["1", "0", "0", "0", "1"]
    assert [suite.get("errors") for suite in root] == ["0", "1", "1", "1", "0"]
    assert [case.get("name") for case in root[0]] == ["stdout", "session"]
    assert root[0][0][0].get("message") == 'stdout:3 $.a: expected "x", actual "y"'


def test_result_is_the_same_in_both_forms(tmp_path: Path) -> None:
    write_result(str(tmp_path), _DIFFERS)
    value = json.loads((tmp_path / "result.json").read_bytes())
    message = result_pb2.Result.FromString((tmp_path / "result.pb").read_bytes())
    assert value["first_line"] == message.first_line == _DIFFERS.first_line
    assert message.exit_code == value["exit_code"] == 1
    assert message.cases[0].verdict == result_pb2.Case.FAILED
    assert message.cases[0].expected == value["cases"][0]["expected"] == '"x"'


def test_frames_keep_bytes_that_are_no_utf8() -> None:
    line = json.loads(encode_frames([Frame(1.23456, "agent", b'{"a":"\xff"}')]))
    assert line == {"ms": 1.235, "from": "agent", "line": '{"a":"\\xff"}'}


def test_shards_share_all_scenarios_and_an_empty_one_passes() -> None:
    specs = _specs("a", "b", "c")
    shares = [[s.name for s in select(Environment(shards=4, shard=shard), specs)[0]] for shard in range(4)]
    assert shares == [["a"], ["b"], ["c"], []]
    with pytest.raises(UsageError):
        select(Environment(shards=2, shard=2), specs)


def test_filter_takes_names_and_patterns() -> None:
    specs = _specs("text-turn", "text-long", "bash")
    assert [s.name for s in select(Environment(only="text-*"), specs)[0]] == ["text-turn", "text-long"]
    assert [s.name for s in select(Environment(only="bash:stdout"), specs)[0]] == ["bash"]
    with pytest.raises(UsageError, match="matches none of 3"):
        select(Environment(only="x"), specs)
    chosen, warnings = select(Environment(only="x"), specs[:1])
    assert chosen == [] and "nothing ran" in warnings[0]


def test_files_of_bazel_are_written(tmp_path: Path) -> None:
    environment = Environment(
        xml=str(tmp_path / "x" / "test.xml"), warnings=str(tmp_path / "warnings"),
        premature_exit=str(tmp_path / "premature"), shard_status=str(tmp_path / "status"),
    )  # fmt: skip
    begin(environment)
    assert (tmp_path / "premature").exists() and (tmp_path / "status").exists()
    write_reports(environment, [_PASSES._replace(warnings=["stale"])])
    assert (tmp_path / "warnings").read_text() == "e: stale\n"
    end(environment)
    assert not (tmp_path / "premature").exists()

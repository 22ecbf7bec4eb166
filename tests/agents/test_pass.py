"""The agent at its best: refresh makes the fixture, replay passes, a second refresh writes nothing."""

import json

from tests.agents.stage import Scenario


def test_refresh_of_an_authored_scenario_makes_a_fixture_that_replays(scenario: Scenario) -> None:
    assert scenario.run().code == 1
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    outcome = scenario.run()
    assert outcome.code == 0, outcome.text
    assert outcome.result["exit_code"] == 0
    assert [case["surface"] for case in outcome.result["cases"]] == ["stdout", "session", "consumption"]


def test_refresh_of_unchanged_run_writes_nothing(recorded: Scenario) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in recorded.fixture.iterdir()}
    outcome = recorded.refresh()
    assert outcome.code == 0, outcome.text
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in recorded.fixture.iterdir()
    }
    assert "wrote" not in outcome.text


def test_provenance_of_the_header_survives_a_refresh(recorded: Scenario) -> None:
    header = json.loads((recorded.fixture / "session.jsonl").read_text().split("\n")[0])
    assert header["provenance"] == "authored"
    assert header["id"] == "{{sessionId}}"


def test_one_changed_word_fails_one_surface_and_the_first_line_says_which(recorded: Scenario) -> None:
    expected = recorded.fixture / "stdout.expected.jsonl"
    text = expected.read_text()
    assert "there." in text
    expected.write_text(text.replace("there.", "here."))
    outcome = recorded.run()
    assert outcome.code == 1
    assert outcome.first_line.startswith("hello: stdout:")
    assert '$.params.update.content.text: expected "here.", actual "there."' in outcome.first_line
    failed = [case for case in outcome.result["cases"] if case["verdict"] == "FAILED"]
    assert [(case["surface"], case["expected"], case["actual"]) for case in failed] == [
        ("stdout", '"here."', '"there."')
    ]
    assert outcome.result["first_line"] == outcome.first_line
    assert (recorded.outputs / "actual" / "stdout.expected.jsonl").read_text() == text
    assert "reproduce: bazel test //scenarios:hello_test" in outcome.text
    assert "accept: bazel run //:accept -- hello" in outcome.text


def test_missing_expectation_fails_and_names_the_command(recorded: Scenario) -> None:
    (recorded.fixture / "stdout.expected.jsonl").unlink()
    outcome = recorded.run()
    assert outcome.code == 1
    assert "stdout.expected.jsonl is missing" in outcome.first_line
    assert "bazel run //:refresh -- hello" in outcome.first_line


def test_missing_recording_fails_and_names_the_command(recorded: Scenario) -> None:
    manifest = recorded.write()
    value = json.loads(manifest.read_text())
    del value["scenarios"][0]["files"]["session.jsonl"]
    manifest.write_text(json.dumps(value))
    recorded.write = lambda: manifest  # type: ignore[method-assign]
    outcome = recorded.run()
    assert outcome.code == 2
    assert outcome.first_line.startswith("scenarios/hello/session.jsonl: missing")
    assert "fix: record it: bazel run //:record -- hello" in outcome.text


def test_unused_call_of_the_recording_fails_consumption(recorded: Scenario) -> None:
    log = recorded.fixture / "session.jsonl"
    chunk = {
        "type": "assistant/chunk",
        "data": {"turn": 2, "step": 1, "chunk": {"type": "finish", "reason": {"kind": "stop"}}},
    }
    log.write_text(log.read_text() + json.dumps(chunk) + "\n")
    outcome = recorded.run()
    assert outcome.code == 1
    assert any(
        case["surface"] == "consumption" and case["verdict"] == "FAILED" for case in outcome.result["cases"]
    )


def test_exhausted_lane_is_the_first_line(recorded: Scenario) -> None:
    recorded.steps = [*recorded.steps, {"op": "prompt", "text": "again"}]
    (recorded.fixture / "input.json").unlink()
    outcome = recorded.run()
    assert outcome.code == 1
    assert 'lane "parent" is exhausted' in outcome.first_line
    assert (recorded.outputs / "actual" / "session.jsonl").exists()


def test_xml_has_a_case_a_surface(recorded: Scenario) -> None:
    xml = recorded.directory / "test.xml"
    recorded.run(XML_OUTPUT_FILE=str(xml))
    text = xml.read_text()
    assert text.count("<testcase") == 3
    for name in ("stdout", "session", "consumption"):
        assert f'name="{name}"' in text


def test_premature_exit_file_is_gone_at_a_clean_end(recorded: Scenario) -> None:
    file = recorded.directory / "premature"
    recorded.run(TEST_PREMATURE_EXIT_FILE=str(file))
    assert not file.exists()


def test_workspace_after_the_run_is_compared_where_one_is_expected(recorded: Scenario) -> None:
    (recorded.fixture / "workspace").mkdir()
    (recorded.fixture / "workspace" / "kept.txt").write_text("kept")
    (recorded.fixture / "workspace.expected").mkdir()
    (recorded.fixture / "workspace.expected" / "kept.txt").write_text("other")
    outcome = recorded.run()
    assert outcome.code == 1
    assert outcome.first_line == 'hello: workspace:1 $.text: expected "other", actual "kept"'
    outcome = recorded.refresh()
    assert outcome.code == 0, outcome.text
    assert "wrote workspace.expected/kept.txt" in outcome.text
    outcome = recorded.run()
    assert outcome.code == 0, outcome.text
    assert outcome.result["cases"][2] == {
        "surface": "workspace", "verdict": "PASSED", "message": "", "path": "", "expected": "", "actual": "",
    }  # fmt: skip


def test_reference_to_the_request_survives_a_refresh(recorded: Scenario) -> None:
    log = recorded.fixture / "session.jsonl"
    text = log.read_text()
    assert '"there."' in text
    reference = r"{{fromRequest:say (\\w+)}}"
    log.write_text(text.replace('"there."', f'"{reference}"'))
    outcome = recorded.refresh()
    assert outcome.code in (0, 1)
    assert reference in log.read_text()


def test_run_without_a_session_needs_no_more_than_a_header(scenario: Scenario) -> None:
    scenario.answers = []
    scenario.steps = [{"op": "initialize"}]
    assert scenario.refresh().code == 0
    outcome = scenario.run()
    assert outcome.code == 0, outcome.text
    assert len((scenario.fixture / "session.jsonl").read_text().splitlines()) == 1


def test_session_that_left_no_log_is_a_failure(scenario: Scenario) -> None:
    scenario.answers = []
    scenario.steps = [{"op": "initialize"}, {"op": "newSession"}]
    assert scenario.refresh().code == 0
    scenario.agent_script = {"session/new": [{"new_without_log": 0}]}
    outcome = scenario.run()
    assert outcome.code == 1
    assert "the agent wrote no such session log" in outcome.first_line

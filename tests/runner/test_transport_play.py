"""A transport test from outside: the real runner, host and peer, and a subject that does well or badly."""

import json
import os
import select
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.runner.transport_stage import PLACE, PLAY, TRANSCRIPT, TransportScenario

SEND_WRONG = {"send": {"id": 8, "method": "thread/start", "params": {"cwd": "/elsewhere"}}}


@pytest.fixture
def scenario(tmp_path: Path) -> TransportScenario:
    return TransportScenario(tmp_path)


def test_subject_that_plays_its_transcript_and_writes_its_surface_passes(scenario):
    outcome = scenario.run()
    assert (outcome.code, outcome.first_line[:32]) == (0, "hello/codex: passed (3 surfaces,"), outcome.text
    assert outcome.verdicts() == {"subject": "PASSED", "codex": "PASSED", "projection": "PASSED"}
    assert sorted(path.name for path in outcome.outputs.iterdir()) == [
        "codex.frames.ndjson", "codex.status.json", "result.json", "result.pb",
    ]  # fmt: skip
    status = json.loads((outcome.outputs / "codex.status.json").read_bytes())
    assert (status["outcome"], status["entries"], status["played"]) == ("consumed", 6, 6)
    assert status["frames"] == {"outbound": 2, "inbound": 4}
    assert scenario.processes() == []
    assert list(scenario.temporary.iterdir()) == []


def test_environment_of_the_subject_is_made_from_nothing(scenario):
    scenario.steps += [{"environment": "environment.json"}]
    scenario.subject = {"env": {"OWN": "{workspace}/x", "AT": "{peers}"}}
    outcome = scenario.run(OPENAI_API_KEY="1", RUNFILES_DIR=str(scenario.directory), PYTHONSAFEPATH="1")
    # A surface without an expected file is what a new one is.
    assert outcome.first_line == (
        "hello/codex: environment: it has no expected file; to write it: bazel run //scenarios:refresh -- hello/codex"
    )
    assert "accept: bazel run //scenarios:accept -- hello/codex" in outcome.text
    found = json.loads((outcome.outputs / "actual/codex.environment.expected.json").read_bytes())
    assert found["AGENT_REPLAY_TRANSPORT"].startswith("/tmp/")
    assert found["AGENT_REPLAY_SCENARIO"] == str(scenario.fixture)
    assert found["OWN"] == "{{workspace}}/x" and found["AT"].endswith("/peers")
    assert {name: found[name] for name in ("HOME", "PWD", "TMPDIR", "TEST_TMPDIR", "AGENT_REPLAY_WORKSPACE")} == {
        "HOME": "{{home}}", "PWD": "{{cwd}}", "TMPDIR": "{{tmp}}", "TEST_TMPDIR": "{{tmp}}",
        "AGENT_REPLAY_WORKSPACE": "{{workspace}}",
    }  # fmt: skip
    assert (found["AGENT_REPLAY_VARIANT"], found["AGENT_REPLAY_TRANSCRIPTS"], found["AGENT_REPLAY_ORDER"]) == (
        "codex", "codex", "0",
    )  # fmt: skip
    own = {
        "LANG",
        "LC_CTYPE",
        "PATH",
        "TEMP",
        "TMP",
        "TZ",
        "OWN",
        "AT",
        "HOME",
        "PWD",
        "TMPDIR",
        "TEST_TMPDIR",
    }
    others = {name for name in found if not name.startswith("AGENT_REPLAY_")} - own
    assert others == {"TEST_UNDECLARED_OUTPUTS_DIR"}


def test_workspace_is_seeded_and_is_not_the_cwd(scenario):
    (scenario.fixture / "workspace/src").mkdir(parents=True)
    (scenario.fixture / "workspace/src/a.txt").write_text("text")
    script = (
        "import json, os, pathlib; root = pathlib.Path(os.environ['AGENT_REPLAY_WORKSPACE']);"
        "print((root / 'src/a.txt').read_text(), os.listdir('.'), root != pathlib.Path.cwd()); raise SystemExit(3)"
    )
    scenario.subject = {"args": ["-c", script]}
    assert scenario.run().first_line == "hello/codex: the subject exited with status 3: text [] True"


def test_frame_that_the_transcript_does_not_expect_names_its_line(scenario):
    scenario.steps[3] = SEND_WRONG
    outcome = scenario.run()
    assert outcome.code == 1
    assert outcome.first_line.startswith(f"hello/codex: {PLACE}:4"), outcome.text
    assert "$.params.cwd" in outcome.first_line and "/elsewhere" in outcome.first_line
    assert "reproduce: bazel test //scenarios:hello_codex_test --test_output=streamed" in outcome.text
    assert "accept:" not in outcome.text and "Traceback" not in outcome.text.split("stderr:")[0]
    assert outcome.verdicts()["codex"] == "FAILED"
    assert json.loads((outcome.outputs / "codex.status.json").read_bytes())["outcome"] == "diverged"


def test_subject_that_goes_on_after_a_divergence_is_ended(scenario):
    scenario.steps[3:] = [SEND_WRONG, {"hang": True}]
    outcome = scenario.run()
    assert outcome.code == 1 and outcome.first_line.startswith(f"hello/codex: {PLACE}:4")
    assert "the subject went on for 1 s after that, and SIGTERM ended it" in outcome.text
    assert scenario.processes() == []


def test_subject_that_ends_early_left_the_rest_of_the_transcript(scenario):
    scenario.steps = [PLAY[0], PLAY[1], PLAY[2], {"exit": 0}]
    outcome = scenario.run()
    assert outcome.code == 1
    assert f"{PLACE}:" in outcome.first_line, outcome.text
    assert outcome.verdicts()["codex"] == "FAILED" and "accept:" not in outcome.text


def test_subject_that_never_dials_fails_as_nothing_was_consumed(scenario):
    scenario.steps = [PLAY[-1]]
    outcome = scenario.run()
    assert (outcome.code, outcome.verdicts()) == (
        1, {"subject": "PASSED", "codex": "FAILED", "projection": "PASSED"},
    )  # fmt: skip
    assert outcome.first_line.startswith(
        "hello/codex: nothing was consumed: the subject never started or dialled"
    )


def test_last_words_of_a_failing_subject_are_the_first_line(scenario):
    scenario.steps += [
        {"stderr": "Traceback (most recent call last):\n  …\nAssertionError: one turn, not two"},
        {"exit": 1},
    ]
    outcome = scenario.run()
    assert (
        outcome.first_line
        == "hello/codex: the subject exited with status 1: AssertionError: one turn, not two"
    )
    assert outcome.code == 1 and outcome.verdicts()["codex"] == "PASSED"
    assert "stderr: AssertionError: one turn, not two" in outcome.text
    assert "accept:" not in outcome.text
    assert (outcome.outputs / "subject.stderr.txt").read_text().endswith("not two\n")
    assert (outcome.outputs / "actual/codex.projection.expected.json").is_file()
    assert outcome.result["agent"]["exit_status"] == 1


def test_assertion_in_mid_play_comes_before_the_connection_that_it_closed(scenario):
    scenario.steps = [*PLAY[:3], {"stderr": "one turn, not two"}, {"exit": 1}]
    outcome = scenario.run()
    assert outcome.first_line == "hello/codex: the subject exited with status 1: one turn, not two"
    assert outcome.verdicts()["codex"] == "UNKNOWN" and f"{PLACE}: 2 of 6 entries played" in outcome.text


def test_crash_is_the_subjects_failure(scenario):
    scenario.steps = [{"signal": int(signal.SIGSEGV)}]
    outcome = scenario.run()
    assert (outcome.code, outcome.first_line) == (3, "hello/codex: the subject was ended by SIGSEGV")


def test_process_that_is_left_behind_fails_and_is_ended(scenario):
    scenario.steps += [{"leave": True}]
    outcome = scenario.run()
    assert outcome.code == 3
    assert outcome.first_line.startswith(
        "hello/codex: the subject left 1 process behind, now ended: /bin/sleep 300"
    )
    assert scenario.processes() == []


def test_time_that_is_over_ends_the_subject_with_what_it_left(scenario):
    scenario.steps = [*PLAY[:3], PLAY[-1], {"print": "so far"}, {"hang": True}]
    outcome = scenario.run(TEST_TIMEOUT="3")
    assert (outcome.code, outcome.seconds < 6) == (3, True)
    assert outcome.first_line.startswith("hello/codex: the subject did not end in"), outcome.text
    assert (outcome.outputs / "subject.stdout.txt").read_text() == "so far\n"
    assert (outcome.outputs / "actual/codex.projection.expected.json").is_file()
    assert scenario.processes() == []


def test_sigterm_leaves_what_was_produced(scenario, tmp_path):
    mark = tmp_path / "there"
    scenario.steps = [PLAY[-1], {"surface": f"../../../{mark.name}", "text": "{}"}, {"hang": True}]
    report = tmp_path / "test.xml"
    os.mkfifo(mark)
    told = os.open(mark, os.O_RDONLY | os.O_NONBLOCK)
    runner = scenario.start(XML_OUTPUT_FILE=str(report))
    assert select.select([told], [], [], 20)[0], "the subject did not come so far"
    os.close(told)
    runner.send_signal(signal.SIGTERM)
    output, _ = runner.communicate(timeout=20)
    assert runner.returncode == 3, output
    assert output.decode().startswith("hello/codex: SIGTERM or SIGINT ended the run before it was over")
    assert (scenario.outputs / "actual/codex.projection.expected.json").is_file()
    assert report.is_file()
    assert scenario.processes() == []


def test_xml_has_a_case_for_the_subject_each_transcript_and_each_surface(scenario, tmp_path):
    scenario.expected = {"projection.json": b'{\n  "threads": []\n}\n'}
    report = tmp_path / "test.xml"
    outcome = scenario.run(XML_OUTPUT_FILE=str(report))
    assert outcome.code == 1
    [suite] = ElementTree.parse(report).getroot()
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"subject": [], "codex": [], "projection": ["failure"]}


def test_surface_that_differs_says_where_and_how_to_accept(scenario):
    scenario.expected = {
        "projection.json": b'{\n  "threads": [\n    {\n      "id": "thread-2"\n    }\n  ]\n}\n'
    }
    outcome = scenario.run()
    assert (
        outcome.first_line
        == 'hello/codex: projection:1 $.threads[0].id: expected "thread-2", actual "thread-1"'
    )
    assert "accept: bazel run //scenarios:accept -- hello/codex" in outcome.text
    assert '+      "cwd": "{{workspace}}"' in outcome.text.replace("  +", "+")


def test_surface_that_the_subject_did_not_write_fails(scenario):
    scenario.steps = PLAY[:-1]
    outcome = scenario.run()
    assert outcome.first_line.startswith("hello/codex: projection: the subject wrote no projection.json")
    assert outcome.code == 1 and "accept:" not in outcome.text


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("projection.json", "{", "the subject wrote projection.json:1: is no JSON"),
        ("events.jsonl", "{}\n{}\nnope\n", "the subject wrote events.jsonl:3: is no JSON"),
        ("events.txt", "words", "the subject wrote events.txt, which is no surface"),
    ],
)
def test_surface_that_cannot_be_read_is_the_subjects_failure(scenario, file, text, says):
    scenario.steps = [*PLAY[:-1], {"surface": file, "text": text}]
    outcome = scenario.run()
    assert outcome.code == 3 and outcome.first_line.startswith(f"hello/codex: {says}"), outcome.text


def test_only_the_case_of_a_filter_can_fail(scenario):
    scenario.expected = {"projection.json": b"{}\n"}
    assert scenario.run(TESTBRIDGE_TEST_ONLY="hello/codex:subject").code == 0
    assert scenario.run(TESTBRIDGE_TEST_ONLY="hello/codex:projection").code == 1


def test_filter_of_another_scenario_runs_nothing_and_passes(scenario):
    outcome = scenario.run(TESTBRIDGE_TEST_ONLY="other")
    assert outcome.code == 0 and "nothing ran" in outcome.text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[1:], f"{PLACE}:1"),
        (lambda lines: [lines[0], {"type": "expect_outbound"}], f"{PLACE}:2"),
        (
            lambda lines: [{**lines[0], "protocol": "unheard.of"}, *lines[1:]],
            "no protocol is named 'unheard.of'",
        ),
        (lambda lines: [], f"{PLACE}:1: is empty"),
    ],
)
def test_transcript_that_is_wrong_is_one_sentence(scenario, change, says):
    scenario.transcript = change(TRANSCRIPT)
    outcome = scenario.run()
    assert outcome.code == 2 and says in outcome.first_line, outcome.text
    assert "Traceback" not in outcome.text


def test_subject_that_cannot_be_started_is_one_sentence(scenario):
    scenario.subject = {"binary": str(scenario.directory / "absent")}
    outcome = scenario.run()
    assert outcome.code == 3 and "cannot be started: No such file or directory" in outcome.first_line


def test_manifest_without_transcripts_says_what_to_record(scenario):
    path = scenario.write()
    manifest = json.loads(path.read_bytes())
    manifest["scenarios"][0]["transcripts"] = {}
    scenario.manifest = {"scenarios": manifest["scenarios"]}
    outcome = scenario.run()
    assert (outcome.code, outcome.first_line) == (2, f"{PLACE}: there is no transcript to play")
    assert "fix: record it: bazel run //scenarios:record -- hello/codex" in outcome.text


def test_output_of_a_flood_keeps_its_beginning_and_its_end():
    from replay.runner.pipe_output import Output

    output = Output()
    output.take(b"first\n")
    for _ in range(3000):
        output.take(b"x" * 4095 + b"\n")
    output.take(b"last\n")
    text = output.text()
    assert text.startswith(b"first\n") and text.endswith(b"last\n") and b"bytes left out" in text
    assert len(text) < 7 << 20 and output.lines == 3002
    assert output.last_lines(1) == ["last"]

"""Accept and review as a person uses them: a test fails, its outputs are taken, and the next test passes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runner.accept import take
from replay.runner.acceptance import Proposal
from replay.runner.manifest import decode_manifest
from replay.scenario.write_back import planned_changes
from tests.agents.stage import Outcome, Scenario

_TEST = Path("testlogs/scenarios/hello_test/test.outputs")


@pytest.fixture
def failed(recorded: Scenario) -> Scenario:
    """A recorded scenario whose expected output was changed, and the outputs of the test that failed for it."""
    recorded.outputs = recorded.directory / _TEST
    recorded.outputs.mkdir(parents=True)
    _edit(recorded, "stdout.expected.jsonl", '"there."', '"here."')
    assert recorded.run().code == 1
    return recorded


def _edit(scenario: Scenario, name: str, old: str, new: str) -> None:
    file = scenario.fixture / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def _command(scenario: Scenario, name: str, *arguments: str, answers: str = "") -> Outcome:
    manifest = scenario.directory / "manifest.json"
    command = [
        sys.executable,
        "-m",
        f"replay.runner.{name}",
        "--manifest",
        str(manifest),
        "--testlogs",
        "testlogs",
    ]
    done = subprocess.run(
        [*command, *arguments],
        env=scenario._environment({"BUILD_WORKSPACE_DIRECTORY": str(scenario.directory)}),
        cwd=scenario.directory,
        input=answers.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), 0, scenario.outputs, scenario.temporary)


def _tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_accepted_outputs_make_the_next_test_pass(failed: Scenario) -> None:
    before = _tree(failed.directory)
    done = _command(failed, "accept")
    assert done.code == 0, done.text
    assert done.text.startswith("hello/stdout.expected.jsonl\n  --- expected\n  +++ actual\n")
    changed = [line.split() for line in done.text.split("\n") if line.startswith(("  -  ", "  +  "))]
    assert changed == [["-", '"text":', '"here."'], ["+", '"text":', '"there."']]
    assert done.text.endswith("hello: wrote stdout.expected.jsonl (+1 -1)\n1 scenario accepted\n")
    after = _tree(failed.directory)
    assert [path for path in after if after[path] != before.get(path)] == [
        str(failed.fixture / "stdout.expected.jsonl")
    ]
    assert before.keys() == after.keys()
    assert failed.run().code == 0
    assert _command(failed, "accept", "hello").text == (
        "hello: its test passed, there is nothing to take\n0 scenarios accepted\n"
    )
    assert _command(failed, "accept").text == "0 scenarios accepted\n"


def test_accepting_twice_takes_it_once(failed: Scenario) -> None:
    assert _command(failed, "accept").code == 0
    done = _command(failed, "accept")
    assert (done.code, done.text) == (
        0,
        "hello: the fixture holds these outputs already\n0 scenarios accepted\n",
    )


@pytest.mark.parametrize("name", ["stdout.expected.jsonl", "session.jsonl", "input.json"])
def test_outputs_that_are_older_than_the_fixture_are_refused(failed: Scenario, name: str) -> None:
    file = failed.fixture / name
    file.write_bytes(
        file.read_bytes() + b" \n"
        if name == "input.json"
        else file.read_bytes().replace(b'"Hello ', b'"Hullo ')
    )
    before = _tree(failed.fixture)
    done = _command(failed, "accept", "hello")
    assert done.code == 2
    assert done.text.startswith(
        f"hello: its outputs are older than its fixture: {name} has changed since the test ran\n"
        "    fix: bazel test //scenarios:hello_test\n"
    )
    assert done.text.endswith("0 scenarios accepted, 1 not\n")
    assert _tree(failed.fixture) == before


def test_file_that_came_since_makes_outputs_old(failed: Scenario) -> None:
    (failed.fixture / "workspace").mkdir()
    (failed.fixture / "workspace" / "a.txt").write_text("a\n")
    failed.write()
    assert "workspace/a.txt has changed since the test ran" in _command(failed, "accept").text


def test_agents_half_of_a_log_is_taken_and_the_models_half_is_not(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    log = recorded.fixture / "session.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row for row in rows if row["type"] == "turn/end"]
    kept = [row for row in rows if row["type"] != "turn/end"]
    log.write_text("".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n" for row in kept))
    without = log.read_bytes()
    assert recorded.run().code == 1
    done = _command(recorded, "accept")
    assert done.code == 0, done.text
    after = log.read_bytes()
    assert [line for line in after.splitlines() if b"turn/end" not in line] == without.splitlines()
    assert recorded.run().code == 0


def test_run_that_left_its_recording_is_refused(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    recorded.steps = [*recorded.steps, {"op": "prompt", "text": "again"}]
    (recorded.fixture / "input.json").unlink()
    assert recorded.run().code == 1
    assert (recorded.outputs / "actual" / "stdout.expected.jsonl").exists()
    before = _tree(recorded.fixture)
    done = _command(recorded, "accept")
    assert done.code == 2
    assert done.text.startswith(
        "hello: its run left the recording, and only outputs of a run that came to its end can be taken: "
        'lane "parent" is exhausted'
    )
    assert _tree(recorded.fixture) == before


def test_call_that_was_not_made_is_refused(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    log = recorded.fixture / "session.jsonl"
    chunk = {"type": "finish", "reason": {"kind": "stop"}}
    row = {"type": "assistant/chunk", "data": {"turn": 2, "step": 1, "chunk": chunk}}
    log.write_text(log.read_text() + json.dumps(row) + "\n")
    assert recorded.run().code == 1
    done = _command(recorded, "accept")
    assert done.code == 2
    assert "its run left the recording" in done.text


def test_agent_that_crashes_leaves_what_there_is_and_nothing_of_it_is_taken(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    recorded.agent_script = {"session/prompt": [{"exit": 7}]}
    outcome = recorded.run()
    assert outcome.code == 3, outcome.text
    assert (recorded.outputs / "actual" / "stdout.expected.jsonl").read_bytes()
    done = _command(recorded, "accept")
    assert done.code == 2
    assert done.text.startswith("hello: its agent failed, and only outputs of a run that came to its end")


def test_outputs_in_a_zip_file_and_in_a_shard_are_found(failed: Scenario) -> None:
    shard = failed.outputs.parent / "shard_2_of_2" / "test.outputs"
    shard.mkdir(parents=True)
    shutil.make_archive(str(shard / "outputs"), "zip", failed.outputs)
    shutil.rmtree(failed.outputs)
    done = _command(failed, "accept", "hello")
    assert done.code == 0, done.text


def test_newest_of_several_runs_counts(failed: Scenario) -> None:
    older = failed.outputs.parent / "run_1_of_2" / "test.outputs"
    shutil.copytree(failed.outputs, older)
    result = json.loads((older / "result.json").read_text())
    (older / "result.json").write_text(json.dumps({**result, "exit_code": 0, "cases": []}))
    for path, when in ((older, 1), (failed.outputs, 2)):
        os.utime(path / "result.json", (when, when))
    assert _command(failed, "accept", "hello").text.endswith("1 scenario accepted\n")
    os.utime(older / "result.json", (3, 3))
    assert "its test passed" in _command(failed, "accept", "hello").text


def test_nothing_ran_says_which_test_to_run(recorded: Scenario) -> None:
    (recorded.directory / "testlogs").mkdir()
    named = _command(recorded, "accept", "hello")
    assert (named.code, named.text) == (
        2,
        "hello: its test has left no outputs\n    fix: bazel test //scenarios:hello_test\n"
        "0 scenarios accepted, 1 not\n",
    )
    everything = _command(recorded, "accept")
    assert (everything.code, everything.text) == (
        2,
        "no test of these suites has left outputs\n    fix: bazel test //scenarios:suite\n",
    )


def test_review_takes_skips_and_leaves(failed: Scenario) -> None:
    before = _tree(failed.fixture)
    for answers, closing in (
        ("s\n", "0 scenarios accepted, 1 skipped\n"),
        ("x\nq\n", "0 scenarios accepted, 0 skipped, 1 undecided: hello\n"),
        ("d\n", "0 scenarios accepted, 0 skipped, 1 undecided: hello\n"),
        ("", "0 scenarios accepted, 0 skipped, 1 undecided: hello\n"),
    ):
        done = _command(failed, "review", answers=answers)
        assert done.code == 0
        assert done.text.startswith("(1 of 1) hello\nhello/stdout.expected.jsonl\n")
        assert done.text.endswith(closing)
        assert _tree(failed.fixture) == before
    done = _command(failed, "review", answers="d\na\n")
    assert done.text.endswith("hello: wrote stdout.expected.jsonl (+1 -1)\n1 scenario accepted, 0 skipped\n")
    assert failed.run().code == 0
    assert _command(failed, "review").text == "nothing to review\n"


def test_ctrl_c_in_a_review_leaves_what_was_not_decided(failed: Scenario) -> None:
    import signal

    before = _tree(failed.fixture)
    manifest = str(failed.directory / "manifest.json")
    running = subprocess.Popen(
        [sys.executable, "-m", "replay.runner.review", "--manifest", manifest, "--testlogs", "testlogs"],
        env=failed._environment({"BUILD_WORKSPACE_DIRECTORY": str(failed.directory)}),
        cwd=failed.directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert running.stdout is not None
    text = b""
    while not text.endswith(b"[q]uit: "):
        text += os.read(running.stdout.fileno(), 65536)
    running.send_signal(signal.SIGINT)
    rest = running.communicate(timeout=30)[0]
    assert running.returncode == 130
    assert rest.endswith(b"0 scenarios accepted, 0 skipped, 1 undecided: hello\n")
    assert _tree(failed.fixture) == before


def test_secret_that_an_agent_says_is_neither_shown_nor_taken(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    token = "ghp_" + "aB3dE5gH7jK9" * 3
    assert recorded.run().code == 0
    _edit(recorded, "stdout.expected.jsonl", '"there."', '"here."')
    assert recorded.run().code == 1
    actual = recorded.outputs / "actual" / "stdout.expected.jsonl"
    actual.write_text(actual.read_text().replace('"there."', f'"token {token}"'))
    before = _tree(recorded.fixture)
    done = _command(recorded, "accept")
    assert done.code == 2
    assert "would hold what looks like a secret: GitHub token at column" in done.text
    assert token not in done.text
    assert _tree(recorded.fixture) == before


@pytest.fixture
def failed_log(recorded: Scenario) -> Scenario:
    """A scenario whose test failed because the agent's half of its log had lost an event."""
    recorded.outputs = recorded.directory / _TEST
    log = recorded.fixture / "session.jsonl"
    log.write_bytes(b"".join(line for line in log.read_bytes().splitlines(True) if b"turn/end" not in line))
    assert recorded.run().code == 1
    return recorded


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b'"text":"Hello "', b'"text":"Hullo "', "the agent logs another model stream than it was served: "),
        (b'"type":"finish","reason":{"kind":"stop"}', b'"type":"usage","usage":{}', "has a usage as its"),
        (b'"kind":"stop"', b'"kind":"length"', "the agent logs another model stream than it was served: "),
    ],
)
def test_log_with_another_model_half_is_refused(
    failed_log: Scenario, old: bytes, new: bytes, sentence: str
) -> None:
    actual = failed_log.outputs / "actual" / "session.jsonl"
    data = actual.read_bytes()
    assert old in data
    actual.write_bytes(data.replace(old, new, 1))
    before = _tree(failed_log.fixture)
    done = _command(failed_log, "accept")
    assert done.code == 2
    assert done.text.startswith("hello: session.jsonl: ") and sentence in done.text
    assert _tree(failed_log.fixture) == before


def test_bundle_without_a_surface_that_failed_is_refused(failed_log: Scenario) -> None:
    (failed_log.outputs / "actual" / "session.jsonl").unlink()
    before = _tree(failed_log.fixture)
    done = _command(failed_log, "accept")
    assert done.code == 2
    assert "its run left no session log" in done.text
    (failed_log.outputs / "actual" / "stdout.expected.jsonl").unlink()
    assert "holds no outputs of the run (actual/)" in _command(failed_log, "accept").text
    assert _tree(failed_log.fixture) == before


def test_files_that_the_run_left_are_taken_and_those_that_it_did_not_leave_go(recorded: Scenario) -> None:
    recorded.outputs = recorded.directory / _TEST
    for place, name in (
        ("workspace", "kept.txt"),
        ("workspace.expected", "kept.txt"),
        ("workspace.expected", "a/gone.txt"),
        ("workspace", "new.txt"),
    ):
        path = recorded.fixture / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    assert recorded.run().code == 1
    done = _command(recorded, "accept")
    assert done.text.endswith(
        "hello: deleted workspace.expected/a/gone.txt (+0 -1), wrote workspace.expected/new.txt (+1 -0)\n"
        "1 scenario accepted\n"
    )
    assert not (recorded.fixture / "workspace.expected" / "a").exists()
    assert recorded.run().code == 0


def test_requests_that_changed_are_taken_around_the_same_answers(scenario: Scenario) -> None:
    scenario.agent = {
        "session_log": "gateway",
        "model_api": "openai_chat",
        "replay_env": {"MODEL_URL": "{gateway_url}"},
    }
    scenario.options["wait_seconds"] = 5
    scenario.agent_script = {
        "session/prompt": [{"call_model": ["say hello"]}],
        "session/new": [{"new_without_log": 0}],
    }
    assert scenario.refresh().code == 0
    scenario.outputs = scenario.directory / _TEST
    log = scenario.fixture / "session.jsonl"
    before = log.read_text().splitlines()
    scenario.agent_script["session/prompt"] = [{"call_model": ["greet me"]}]
    assert scenario.run().code == 1
    done = _command(scenario, "accept")
    assert done.code == 0, done.text
    after = log.read_text().splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert [json.loads(line)["type"] for line in changed] == ["user/message", "call/start"]
    assert scenario.run().code == 0


def test_outputs_that_cannot_be_read_are_said_to_be_so(failed: Scenario) -> None:
    (failed.outputs / "outputs.zip").write_bytes(b"half a zip file")
    done = _command(failed, "accept")
    assert done.code == 2
    assert done.text.startswith("hello: ") and "outputs.zip cannot be read" in done.text
    assert done.text.endswith("0 scenarios accepted, 1 not\n")


def test_proposal_is_not_written_over_what_came_after_it(recorded: Scenario) -> None:
    directory, name = str(recorded.fixture), "stdout.expected.jsonl"
    spec = decode_manifest(recorded.write().read_bytes()).scenarios[0]
    files = {name: b"{}\n"}
    proposal = Proposal(spec, directory, files, [], planned_changes(directory, files))
    (recorded.fixture / name).write_bytes(b'{"newer":1}\n')
    with pytest.raises(UsageError, match="has changed since this was shown"):
        take(proposal)
    assert (recorded.fixture / name).read_bytes() == b'{"newer":1}\n'

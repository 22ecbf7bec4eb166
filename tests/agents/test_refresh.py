"""The refresh command as a person uses it: what it writes, says and refuses."""

import json
from pathlib import Path

from tests.agents.stage import Outcome, Scenario


def _files(scenario: Scenario) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in scenario.fixture.rglob("*") if path.is_file()}


def _last_lines(outcome: Outcome) -> list[str]:
    return outcome.text.rstrip("\n").split("\n")


def test_unchanged_scenario_is_said_to_be_so(recorded: Scenario) -> None:
    before = _files(recorded)
    outcome = recorded.refresh("hello")
    assert (outcome.code, outcome.text) == (0, "hello: unchanged\n")
    assert _files(recorded) == before


def test_first_refresh_writes_what_is_not_there_yet(scenario: Scenario) -> None:
    outcome = scenario.refresh("hello")
    assert outcome.code == 0, outcome.text
    assert outcome.text.startswith("hello: wrote stdout.expected.jsonl (+")
    assert ", wrote session.jsonl (+" in outcome.text
    assert "-0)" in outcome.text
    assert scenario.refresh("hello").text == "hello: unchanged\n"


def test_changed_line_is_written_and_counted(recorded: Scenario) -> None:
    file = recorded.fixture / "stdout.expected.jsonl"
    text = file.read_text()
    file.write_text(text.replace("there.", "here."))
    assert recorded.refresh("hello").text == "hello: wrote stdout.expected.jsonl (+1 -1)\n"
    assert file.read_text() == text


def test_children_that_are_no_more_are_deleted(recorded: Scenario) -> None:
    parent = (recorded.fixture / "session.jsonl").read_bytes()
    header = json.dumps({"type": "session", "version": 0, "id": "c", "createdAt": 0, "parentSession": "p"})
    (recorded.fixture / "session.1.jsonl").write_text(header + "\n")
    assert recorded.refresh("hello").text == "hello: deleted session.1.jsonl (+0 -1)\n"
    assert (recorded.fixture / "session.jsonl").read_bytes() == parent


def test_expected_files_that_the_run_does_not_leave_are_deleted(recorded: Scenario) -> None:
    for place, names in (("workspace", ["a/kept.txt"]), ("workspace.expected", ["a/kept.txt", "b/gone.txt"])):
        for name in names:
            path = recorded.fixture / place / name
            path.parent.mkdir(parents=True)
            path.write_text("text\n")
    assert recorded.run().code == 1
    assert recorded.refresh("hello").text == "hello: deleted workspace.expected/b/gone.txt (+0 -1)\n"
    assert not (recorded.fixture / "workspace.expected" / "b").exists()
    assert recorded.run().code == 0


def test_run_that_leaves_its_recording_writes_nothing(recorded: Scenario) -> None:
    recorded.steps = [*recorded.steps, {"op": "prompt", "text": "again"}]
    (recorded.fixture / "input.json").unlink()
    recorded.write()
    before = _files(recorded)
    outcome = recorded.refresh("hello")
    assert outcome.code == 1
    assert 'lane "parent" is exhausted' in outcome.first_line
    assert "accept:" not in outcome.text
    assert _files(recorded) == before


def test_call_that_is_not_made_writes_nothing_and_cannot_be_accepted(recorded: Scenario) -> None:
    log = recorded.fixture / "session.jsonl"
    chunk = {"type": "finish", "reason": {"kind": "stop"}}
    row = {"type": "assistant/chunk", "data": {"turn": 2, "step": 1, "chunk": chunk}}
    log.write_text(log.read_text() + json.dumps(row) + "\n")
    before = _files(recorded)
    outcome = recorded.refresh("hello")
    assert outcome.code == 1
    assert outcome.first_line.startswith("hello: consumption: ")
    assert "accept:" not in outcome.text
    assert "accept:" not in recorded.run().text
    assert _files(recorded) == before


def test_session_that_left_no_log_writes_nothing(recorded: Scenario) -> None:
    recorded.answers = []
    recorded.steps = [{"op": "initialize"}, {"op": "newSession"}]
    for path in list(recorded.fixture.iterdir()):
        path.unlink()
    assert recorded.refresh().code == 0
    before = _files(recorded)
    recorded.agent_script = {"session/new": [{"new_without_log": 0}]}
    outcome = recorded.refresh("hello")
    assert outcome.code == 1
    assert outcome.first_line == "hello: session: the agent wrote no such session log"
    assert _files(recorded) == before


def test_agent_that_crashes_writes_nothing(recorded: Scenario) -> None:
    before = _files(recorded)
    recorded.agent_script = {"session/prompt": [{"exit": 7}]}
    outcome = recorded.refresh("hello")
    assert outcome.code == 3, outcome.text
    assert _files(recorded) == before


def test_killed_refresh_is_completed_and_has_to_be_run_again(recorded: Scenario) -> None:
    aside = recorded.fixture / ".replay-write-back"
    (aside / "new").mkdir(parents=True)
    stdout = (recorded.fixture / "stdout.expected.jsonl").read_bytes()
    (aside / "new" / "stdout.expected.jsonl").write_bytes(b"{}\n" + stdout)
    (aside / "commit").write_text('{"write":["stdout.expected.jsonl"],"delete":[]}')
    outcome = recorded.refresh("hello")
    assert outcome.code == 2
    assert outcome.first_line.startswith("hello: a write was killed here")
    assert not aside.exists()
    assert (recorded.fixture / "stdout.expected.jsonl").read_bytes() == b"{}\n" + stdout
    assert recorded.refresh("hello").text == "hello: wrote stdout.expected.jsonl (+0 -1)\n"


def test_several_manifests_in_one_run_stand_in_the_one_that_lists_them(recorded: Scenario) -> None:
    first = json.loads(recorded.write().read_text())
    second = json.loads(json.dumps(first))
    second["suite"] = "//scenarios:other"
    second["agent"]["binary"] = "/bin/false"
    second["agent"]["args"] = []
    paths = []
    for name, manifest in (("one", first), ("two", second)):
        path = recorded.directory / f"{name}.json"
        path.write_text(json.dumps(manifest))
        paths.append(str(path))
    index = recorded.directory / "index.json"
    index.write_text(json.dumps({"version": 1, "kind": "suites", "manifests": paths}))
    recorded.write = lambda: index  # type: ignore[method-assign]
    before = _files(recorded)
    outcome = recorded.refresh("hello")
    assert outcome.code == 2
    assert "//scenarios:suite/hello, //scenarios:other/hello" in outcome.text
    assert recorded.refresh("//scenarios:suite/hello").text == "hello: unchanged\n"
    outcome = recorded.refresh("--all", "--outputs", "out")
    assert outcome.code == 3
    assert outcome.first_line == "hello: unchanged"
    left = {name: recorded.directory / "out/scenarios" / name / "hello" for name in ("suite", "other")}
    codes = [json.loads((place / "result.json").read_bytes())["exit_code"] for place in left.values()]
    assert codes == [0, 3]
    assert _last_lines(outcome)[-1] == "2 scenarios: 0 written, 1 unchanged, 1 failed: hello"
    assert _files(recorded) == before


def test_mistakes_are_sentences(recorded: Scenario, tmp_path: Path) -> None:
    outcome = recorded.refresh("helo")
    assert outcome.code == 2
    assert outcome.first_line == 'there is no scenario "helo" in the suites of this command'
    assert "//scenarios:suite: hello" in outcome.text
    recorded.write = lambda: tmp_path / "nowhere.json"  # type: ignore[method-assign]
    outcome = recorded.refresh("hello")
    assert outcome.code == 2
    assert "nowhere.json cannot be read: No such file or directory" in outcome.text
    assert "Traceback" not in outcome.text


def test_recorded_slug_of_cwd_reaches_the_agent_as_a_live_one(recorded: Scenario) -> None:
    log = recorded.fixture / "session.jsonl"
    log.write_text(log.read_text().replace("there.", "{{cwd:slug}}."))
    outcome = recorded.refresh("hello")
    assert outcome.code == 0, outcome.text
    frames = recorded.refresh("--outputs", str(recorded.directory / "out"), "hello")
    assert frames.text == "hello: unchanged\n"
    raw = (recorded.directory / "out" / "hello" / "frames.jsonl").read_text()
    assert "{{cwd:slug}}" not in raw
    assert "-agent-replay-" in raw
    assert "{{cwd:slug}}." in log.read_text()


def test_secret_of_the_shell_that_an_agent_says_is_not_written(recorded: Scenario) -> None:
    value = "only-the-shell-knows-5521"
    before = _files(recorded)
    recorded.agent_script = {"session/prompt": [{"say": [f"It is {value}."]}, {"normal": 0}]}
    recorded.environment = {"OPENAI_API_KEY": value}
    outcome = recorded.refresh("hello")
    assert outcome.code == 2
    assert "would hold what looks like a secret: value of OPENAI_API_KEY" in outcome.text
    assert value not in outcome.text
    assert _files(recorded) == before

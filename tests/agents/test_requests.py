"""What an agent asks its model, through real processes: the gateway's log, its surface, and what a refresh may write."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.agents.stage import Outcome, Scenario

_TOOL = {"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters": {}}}
_TALK: dict[str, Any] = {
    "system": "You sit in {cwd} in session {session}. Be kind.",
    "prompt": "say hello",
    "tools": [_TOOL],
    "results": ["the text of a"],
    "more": {"max_tokens": 9, "temperature": 0.5},
}


def _chunks(turn: int, step: int, *chunks: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "assistant/chunk", "data": {"turn": turn, "step": step, "chunk": chunk}} for chunk in chunks
    ]


def _tool_call(step: int) -> list[dict[str, Any]]:
    block = {"type": "tool-call", "id": "c1", "name": "read", "arguments": '{"path":"a"}'}
    return _chunks(
        1,
        step,
        {"type": "block-start", "index": 0, "blockType": "tool-call"},
        {"type": "tool-call-delta", "index": 0, "id": "c1", "name": "read", "argumentsDelta": '{"path":"a"}'},
        {"type": "block-end", "index": 0, "block": block},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
    )


def _words(step: int, text: str) -> list[dict[str, Any]]:
    return _chunks(
        1,
        step,
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": text},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        {"type": "finish", "reason": {"kind": "stop"}},
    )


def _write_log(scenario: Scenario, name: str, rows: list[dict[str, Any]], **header: Any) -> None:
    head = {"type": "session", "version": 0, "id": "x", "createdAt": 0, "provenance": {"kind": "authored"}}
    lines = [{**head, **header}, *rows]
    (scenario.fixture / name).write_text("".join(json.dumps(row) + "\n" for row in lines))


def _talk(scenario: Scenario, **changes: Any) -> None:
    scenario.agent_script = {
        "session/new": [{"new_without_log": 0}],
        "session/prompt": [{"talk_to_model": {**deepcopy(_TALK), **changes}}, {"end_turn": 0}],
    }


def _failed(outcome: Outcome) -> list[str]:
    return [case["surface"] for case in outcome.result["cases"] if case["verdict"] == "FAILED"]


def _log(scenario: Scenario, name: str = "session.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (scenario.fixture / name).read_text().splitlines()]


@pytest.fixture
def asked(scenario: Scenario) -> Scenario:
    """An agent without a log of its own; its fixture was written by hand, chunks only, then refreshed."""
    scenario.agent = {
        "session_log": "gateway", "model_api": "openai_chat", "replay_env": {"MODEL_URL": "{gateway_url}"},
    }  # fmt: skip
    scenario.options["wait_seconds"] = 5
    _talk(scenario)
    _write_log(scenario, "session.jsonl", [*_tool_call(1), *_words(2, "Hello.")])
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    return scenario


def test_refresh_writes_the_agent_s_half_around_the_recorded_one(asked: Scenario) -> None:
    rows = _log(asked)
    assert [row["type"] for row in rows if row["type"] != "assistant/chunk"] == [
        *("session", "turn/start", "user/message", "request/header", "call/start", "call/end"),
        *("tool/result", "call/start", "call/end"),
    ]
    assert [row for row in rows if row["type"] == "assistant/chunk"] == [*_tool_call(1), *_words(2, "Hello.")]
    assert rows[0] == {
        "type": "session", "version": 0, "id": "gateway", "createdAt": 0, "cwd": "{{cwd}}",
        "provenance": {"kind": "authored"},
    }  # fmt: skip
    header = rows[3]["data"]["header"]
    assert (header["system"], header["tools"]) == ("{{system}}", "{{tools}}")
    assert header["config"] == {"model": "m", "stream": False, "max_tokens": 9, "temperature": 0.5}
    assert '"sessionId":"{{sessionId}}"' in (asked.fixture / "stdout.expected.jsonl").read_text()
    assert asked.refresh("hello").text == "hello: unchanged\n"
    outcome = asked.run()
    assert outcome.code == 0, outcome.text
    surfaces = [case["surface"] for case in outcome.result["cases"]]
    assert surfaces == ["stdout", "requests", "consumption"]


@pytest.mark.parametrize(
    ("change", "line", "path"),
    [
        ({"system": _TALK["system"].replace("kind", "curt")}, 4, "$.data.hashes.system"),
        ({"tools": [{**_TOOL, "function": {**_TOOL["function"], "description": "Reads a page."}}]}, 4, "$.data.hashes.tools"),
        ({"tools": [{**_TOOL, "function": dict(reversed(_TOOL["function"].items()))}]}, 4, "$.data.hashes.tools"),
        ({"results": ["the word of a"]}, 11, "$.data.message.content[0].content[0].text"),
        ({"prompt": "say goodbye"}, 3, "$.data.content[0].text"),
        ({"more": {"max_tokens": 10, "temperature": 0.5}}, 4, "$.data.header.config.max_tokens"),
        ({"more": {"temperature": 0.5, "max_tokens": 9}}, 5, "$.data.request"),
    ],
)  # fmt: skip
def test_one_changed_word_of_a_request_fails_that_surface_alone(
    asked: Scenario, change: dict[str, Any], line: int, path: str
) -> None:
    _talk(asked, **change)
    outcome = asked.run()
    assert outcome.code == 1, outcome.text
    assert _failed(outcome) == ["requests"]
    assert outcome.first_line.startswith(f"hello: requests:{line} {path}: expected "), outcome.first_line
    assert asked.refresh("hello").code == 0
    assert asked.run().code == 0


def test_recorded_words_survive_every_refresh(asked: Scenario) -> None:
    log = asked.fixture / "session.jsonl"
    kept = [line for line in log.read_text().splitlines() if '"assistant/chunk"' in line]
    _talk(asked, system="Another {cwd}", results=["other"], more={"max_tokens": 1})
    assert asked.refresh("hello").code == 0
    assert [line for line in log.read_text().splitlines() if '"assistant/chunk"' in line] == kept


def test_override_is_served_and_leaves_the_recording_alone(asked: Scenario) -> None:
    recorded = (asked.fixture / "session.jsonl").read_bytes()
    entry = {"kind": "throw", "chunks": [], "message": "too much", "code": "529"}
    (asked.fixture / "replay.override.json").write_text(json.dumps({"patches": [{"at": 1, "entry": entry}]}))
    assert asked.refresh("hello").text == "hello: wrote stdout.expected.jsonl (+1 -1)\n"
    assert "HTTP 529" in (asked.fixture / "stdout.expected.jsonl").read_text()
    assert (asked.fixture / "session.jsonl").read_bytes() == recorded
    assert asked.run().code == 0


def test_prompt_and_tools_are_pinned_where_the_scenario_says_so(asked: Scenario) -> None:
    write = asked.write

    def with_pins() -> Path:
        path = write()
        manifest = json.loads(path.read_text())
        manifest["scenarios"][0]["pins"] = True
        path.write_text(json.dumps(manifest))
        return path

    asked.write = with_pins  # type: ignore[method-assign]
    assert asked.refresh("hello").code == 0
    text = (asked.fixture / "system-prompt.expected.md").read_text()
    assert text == "You sit in {{cwd}} in session {{sessionId}}. Be kind.\n"
    assert json.loads((asked.fixture / "tool-schemas.expected.json").read_text())["initial"] == [_TOOL]
    assert asked.run().code == 0
    _talk(asked, system=_TALK["system"].replace("kind", "curt"))
    outcome = asked.run()
    assert _failed(outcome) == ["requests", "pins"]
    assert "Be kind." in outcome.text and "Be curt." in outcome.text


def test_extra_call_is_a_log_of_its_own_and_stale_ones_are_deleted(asked: Scenario) -> None:
    title = {"talk_to_model": {"system": "Name it.", "prompt": "a title for: say hello"}}
    asked.agent_script["session/prompt"].insert(0, title)
    _write_log(asked, "session.1.jsonl", _words(1, "Greeting"), parentSession="gateway", id="y")
    outcome = asked.refresh("hello")
    assert outcome.code == 0, outcome.text
    header, *rows = _log(asked, "session.1.jsonl")
    assert (header["id"], header["parentSession"], header["origin"]) == ("gateway-1", "gateway", "side-call")
    assert [row["data"]["content"][0]["text"] for row in rows if row["type"] == "user/message"] == [
        "a title for: say hello"
    ]
    outcome = asked.run()
    assert outcome.code == 0, outcome.text
    assert "requests.1" in [case["surface"] for case in outcome.result["cases"]]
    # Recorded by nobody any more, the call is one too many; and its log goes when the recording has no such call.
    del asked.agent_script["session/prompt"][0]
    assert "were never made" in asked.run().text
    lines = (asked.fixture / "session.1.jsonl").read_text().splitlines()
    (asked.fixture / "session.1.jsonl").write_text(lines[0] + "\n")
    said = "hello: wrote stdout.expected.jsonl (+0 -1), deleted session.1.jsonl (+0 -1)\n"
    assert asked.refresh("hello").text == said


def test_extra_call_that_nobody_recorded_names_what_it_asks(asked: Scenario) -> None:
    talk = {"talk_to_model": {**_TALK, "results": ["the text of a", "again"]}}
    asked.agent_script["session/prompt"][0] = talk
    outcome = asked.run()
    assert outcome.code == 1
    assert (
        'lane "parent" is exhausted: the agent made a 3rd model call, the recording has 2'
        in outcome.first_line
    )
    assert "first difference $.messages[4]: absent -> " in outcome.first_line


def test_changed_turn_of_a_recording_is_no_refresh(asked: Scenario) -> None:
    log = asked.fixture / "session.jsonl"
    log.write_text(log.read_text().replace('"kind":"authored"', '"kind":"recorded"'))
    before = {path.name: path.read_bytes() for path in asked.fixture.iterdir()}
    _talk(asked, results_as="user")
    assert _failed(asked.run()) == ["requests"]
    outcome = asked.refresh("hello")
    assert outcome.code == 1
    assert "the agent makes the 2nd model call (turn 1, step 2) in turn 2, step 1 now" in outcome.text
    assert {path.name: path.read_bytes() for path in asked.fixture.iterdir()} == before
    log.write_text(log.read_text().replace('"kind":"recorded"', '"kind":"authored"'))
    chunks = [row["data"]["chunk"] for row in _log(asked) if row["type"] == "assistant/chunk"]
    assert asked.refresh("hello").code == 0
    assert [row["data"]["chunk"] for row in _log(asked) if row["type"] == "assistant/chunk"] == chunks
    assert asked.run().code == 0


def test_log_of_a_run_that_left_its_recording_is_not_written(asked: Scenario) -> None:
    before = {path.name: path.read_bytes() for path in asked.fixture.iterdir()}
    asked.agent_script["session/prompt"][0]["talk_to_model"]["results"] = ["the text of a", "more"]
    assert asked.refresh("hello").code == 1
    assert {name: (asked.fixture / name).read_bytes() for name in before} == before


@pytest.fixture
def logging(scenario: Scenario) -> Scenario:
    """An agent that logs itself and asks the gateway."""
    scenario.agent = {
        "session_log": "self", "model_api": "openai_chat", "replay_env": {"MODEL_URL": "{gateway_url}"},
    }  # fmt: skip
    scenario.options["wait_seconds"] = 5
    scenario.surfaces = ["requests", "workspace"]
    _talk(scenario, tools=None, results=[])
    del scenario.agent_script["session/new"]
    scenario.agent_script["session/prompt"].insert(1, {"log_words": "Hello there."})
    return scenario


def test_requests_of_an_agent_that_logs_itself_have_a_file_of_their_own(logging: Scenario) -> None:
    logging.write()
    outcome = logging.run()
    assert outcome.code == 1
    assert "requests: hello/requests.expected.jsonl is missing" in outcome.text
    outcome = logging.refresh("hello")
    assert outcome.code == 0, outcome.text
    assert "wrote requests.expected.jsonl (+1 -0)" in outcome.text
    (row,) = [
        json.loads(line) for line in (logging.fixture / "requests.expected.jsonl").read_text().splitlines()
    ]
    assert (row["lane"], row["ordinal"], row["header"]["system"]) == ("parent", 1, "{{system}}")
    assert row["messages"] == [{"role": "user", "content": [{"type": "text", "text": "say hello"}]}]
    outcome = logging.run()
    assert outcome.code == 0, outcome.text
    surfaces = [case["surface"] for case in outcome.result["cases"]]
    assert surfaces == ["stdout", "session", "requests", "workspace", "consumption"]
    logging.agent_script["session/prompt"][0]["talk_to_model"]["prompt"] = "say goodbye"
    outcome = logging.run()
    assert _failed(outcome) == ["requests"]
    assert outcome.first_line.startswith("hello: requests:1 $.messages[0].content[0].text: expected ")


def test_workspace_that_a_suite_asks_for_has_to_be_there(logging: Scenario) -> None:
    (logging.fixture / "workspace").mkdir()
    (logging.fixture / "workspace" / "kept.txt").write_text("kept\n")
    logging.refresh("hello")
    (logging.fixture / "workspace.expected" / "kept.txt").unlink()
    outcome = logging.run()
    assert _failed(outcome) == ["workspace"]
    assert "hello/workspace.expected/ is missing; to write it: " in outcome.text
    assert "wrote workspace.expected/kept.txt (+1 -0)" in logging.refresh("hello").text
    assert logging.run().code == 0


def test_log_that_shows_other_words_than_were_served_is_not_written(logging: Scenario) -> None:
    assert logging.refresh("hello").code == 0
    before = {path.name: path.read_bytes() for path in logging.fixture.iterdir() if path.is_file()}
    logging.agent_script["session/prompt"][1] = {"log_words": "Hello here."}
    outcome = logging.refresh("hello")
    assert outcome.code == 1
    assert "the agent logs another model stream than it was served" in outcome.text
    assert {name: (logging.fixture / name).read_bytes() for name in before} == before

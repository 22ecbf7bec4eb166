"""A session log and the frames of an ACP run are traces; no bytes are a traceback."""

import random

import orjson
import pytest

from replay.errors import FixtureError
from replay.trace.importers.acp_run import import_acp_run
from replay.trace.importers.otel import import_otel
from replay.trace.importers.session_log import import_session_log
from replay.trace.model import ABSENT, StepError
from tests.trace.imported import LOGS, RUNS, SCENARIOS, in_short, is_sound
from tests.trace.spans import SPANS, export


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_session_log_of_the_scenarios_is_a_trace(path):
    data = path.read_bytes()
    trace = import_session_log(data, path.name, category="c")
    assert is_sound(trace) and trace.category == "c"
    if b'"seedLength"' in data:
        data = data[data.rindex(b'"type":"turn/start"') :]
    kinds = [step.step_type for step in trace.steps]
    assert kinds.count("tool_call") == data.count(b'"type":"tool/call"')
    assert kinds.count("reasoning") == data.count(b'"type":"call/start"')


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name)
def test_every_acp_run_of_the_scenarios_is_a_trace(path):
    trace = import_acp_run(path.read_bytes(), path.name, (path.parent / "input.json").read_bytes())
    assert is_sound(trace)


def test_there_are_scenarios_to_import():
    assert len(LOGS) > 30 and len(RUNS) > 30


def test_session_log_says_what_was_sent_and_what_came_back():
    data = (SCENARIOS / "bash-turn" / "session.jsonl").read_bytes()
    trace = import_session_log(data, "session.jsonl")
    first, bash, second, last = trace.steps
    assert trace.task == "How many lines do the text files here have together?"
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert (first.model_name, first.options) == (
        "smollm2-135m-instruct",
        {"provider": "local", "maxOutputTokens": 64},
    )
    assert (first.prompt_tokens, first.completion_tokens) == (110, 3)
    assert (bash.tool_name, bash.tool_input, bash.tool_output) == (
        "bash",
        {"command": "cat *.txt | wc -l"},
        "5\n",
    )
    assert second.response["finish"] == {"kind": "stop"}
    assert last.response == trace.final_answer == second.reasoning == "The text files have 5 lines together."
    assert (trace.total_tokens, trace.success) == (230, None)


def test_conversation_of_a_gateways_log_is_the_same_as_the_agents_own():
    gateway = import_session_log((SCENARIOS / "requests-tool-call" / "session.jsonl").read_bytes(), "s")
    roles = [
        [message["role"] for message in step.messages]
        for step in gateway.steps
        if step.step_type == "reasoning"
    ]
    assert roles[:2] == [["system", "user"], ["system", "user", "assistant", "tool"]]
    assert roles[2] == [*roles[1], "assistant", "user"]
    assert ("observation", "user") in in_short(gateway)


def test_session_log_that_failed_says_so():
    trace = import_session_log((SCENARIOS / "error-mid-stream" / "session.jsonl").read_bytes(), "s")
    assert trace.steps[0].error == StepError("INVALID_STREAM", "the stream broke off")
    assert (trace.steps[-1].step_type, trace.success, trace.final_answer) == ("final_answer", False, None)
    denied = import_session_log((SCENARIOS / "hook-deny" / "session.jsonl").read_bytes(), "s")
    assert denied.steps[1].error == StepError("ToolError", "Error: rm is not allowed in this project")


def test_fork_does_what_it_was_asked_and_knows_what_was_said_before():
    trace = import_session_log((SCENARIOS / "subagent-fork" / "session.1.jsonl").read_bytes(), "s")
    assert trace.task == "Repeat the codeword in one word." and trace.metadata["provenance"]["parent_session"]
    assert [step.step_type for step in trace.steps] == ["reasoning", "final_answer"]
    said = [message["content"][0]["text"] for message in trace.steps[0].messages[1:]]
    assert said == ["Remember the codeword: marmalade.", "I remember it.", trace.task]


def test_session_log_with_times_has_durations():
    rows = [
        orjson.loads(line) for line in (SCENARIOS / "bash-turn" / "session.jsonl").read_bytes().splitlines()
    ]
    for at, row in enumerate(rows[1:]):
        row["time"] = 1_700_000_000_000 + at * 10
    trace = import_session_log(b"".join(orjson.dumps(row) + b"\n" for row in rows), "s")
    assert trace.metadata["started_at"] == 1_700_000_000_000
    assert (trace.steps[0].timestamp, trace.steps[0].model_duration_ms) == (50, 80)
    assert trace.steps[1].tool_duration_ms == 10 and trace.total_duration_ms == 280


def test_acp_run_is_what_the_agent_said_and_did():
    directory = SCENARIOS / "bash-turn"
    frames = (directory / "stdout.expected.jsonl").read_bytes()
    trace = import_acp_run(frames, "stdout", (directory / "input.json").read_bytes())
    assert in_short(trace) == [
        ("tool_call", "execute"),
        ("reasoning", "The text files have 5 lines together."),
        ("final_answer", "The text files have 5 lines together."),
    ]
    assert trace.task == "How many lines do the text files here have together?"
    assert (trace.steps[0].tool_input, trace.steps[0].tool_output) == (
        {"command": "cat *.txt | wc -l"},
        "5\n",
    )
    assert trace.steps[0].extra == {"title": "Run cat *.txt | wc -l"}
    assert (
        trace.agent_version == "1.0.0"
        and trace.steps[1].messages is None
        and trace.steps[1].response is ABSENT
    )
    # Frames of both sides hold the prompt themselves.
    prompt = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "session/prompt",
        "params": {"prompt": [{"type": "text", "text": "hi"}]},
    }
    both = frames.split(b"\n", 2)
    both.insert(2, orjson.dumps(prompt))
    assert import_acp_run(b"\r\n".join(both), "stdout", (directory / "input.json").read_bytes()).task == "hi"


def test_second_prompt_of_an_acp_run_is_an_observation():
    directory = SCENARIOS / "multi-turn"
    trace = import_acp_run(
        (directory / "stdout.expected.jsonl").read_bytes(), "s", (directory / "input.json").read_bytes()
    )
    assert [step.step_type for step in trace.steps] == [
        "reasoning",
        "observation",
        "reasoning",
        "final_answer",
    ]
    assert trace.steps[1].tool_output == "What is my name? Answer in one short sentence."


def test_failed_tool_of_an_acp_run_and_a_turn_that_was_refused_are_errors():
    def update(**fields):
        return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": fields}}

    said = [{"type": "content", "content": {"type": "text", "text": "no such file"}}]
    frames = [
        # An update may come before its call, and a call twice.
        update(sessionUpdate="tool_call_update", toolCallId="c", status="failed", content=said),
        update(sessionUpdate="tool_call", toolCallId="c", kind="read", rawInput={"path": "a"}),
        update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "hm"}),
        {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "refusal"}},
    ]
    trace = import_acp_run(b"".join(orjson.dumps(frame) + b"\n" for frame in frames), "s")
    tool, thought, last = trace.steps
    assert (tool.tool_name, tool.tool_input, tool.error) == (
        "read",
        {"path": "a"},
        StepError("ToolError", "no such file"),
    )
    assert (thought.reasoning, thought.extra) == ("", {"thought": "hm"})
    assert (last.error, trace.success) == (StepError("Refusal", "the turn ended: refusal"), False)
    failed = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "broke"}}
    assert import_acp_run(orjson.dumps(failed), "s").steps[-1].error == StepError("acp.-32603", "broke")


def mutated(data, chance):
    """A document with some value in it replaced by another."""
    document = orjson.loads(data)
    at = document
    for _ in range(chance.randrange(1, 12)):
        keys = list(at) if isinstance(at, dict) else list(range(len(at))) if isinstance(at, list) else []
        if not keys:
            break
        key = chance.choice(keys)
        if not isinstance(at[key], dict | list) or chance.random() < 0.15:
            at[key] = chance.choice([None, -1, "x", [], {}, [1], {"a": 1}, True, 1.5, "\0", "9" * 30])
            break
        at = at[key]
    return orjson.dumps(document)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_bytes_are_an_importer_makes_a_sound_trace_or_one_sentence(seed):
    chance = random.Random(seed)
    sources = [
        (orjson.dumps(export(SPANS)), lambda data: import_otel(data, "f")),
        *((path.read_bytes(), lambda data: [import_session_log(data, "f")]) for path in LOGS[::9]),
        *((path.read_bytes(), lambda data: [import_acp_run(data, "f")]) for path in RUNS[::9]),
    ]
    refused = made = 0
    for data, use in sources:
        for _ in range(60):
            lines = data.split(b"\n")
            at = chance.randrange(len(lines))
            if lines[at]:
                lines[at] = mutated(lines[at], chance)
            try:
                traces = use(b"\n".join(lines))
            except FixtureError as error:
                refused += 1
                assert str(error).startswith("f") and "\n" not in str(error)
            else:
                made += 1
                assert all(is_sound(trace) for trace in traces)
    assert refused > 20 and made > 20

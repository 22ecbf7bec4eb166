"""Importers make of other recordings the trace that they hold, and of no bytes a traceback."""

import base64
import copy
import json
import random
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.trace.codec import read_trace, write_trace
from replay.trace.importers.acp_run import import_acp_run
from replay.trace.importers.otel import import_otel
from replay.trace.importers.session_log import import_session_log
from replay.trace.model import ABSENT, StepError

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "acp"
LOGS = sorted(SCENARIOS.glob("*/session*.jsonl"))
RUNS = sorted(SCENARIOS.glob("*/stdout.expected.jsonl"))


def is_sound(trace):
    return read_trace(write_trace(trace), "t.json") == trace


def in_short(trace):
    return [
        (step.step_type, step.tool_name or (step.response if step.reasoning is None else step.reasoning))
        for step in trace.steps
    ]


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


def attribute(key, value):
    return {"key": key, "value": any_value(value)}


def any_value(value):
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(inner) for inner in value]}}
        case dict():
            return {"kvlistValue": {"values": [attribute(key, inner) for key, inner in value.items()]}}
    return {}


TRACE = "5b8efff798038103d269b633813fc60c"


def span(number, parent=0, start=0, end=0, name="", events=(), status=None, **attributes):
    own = {key.replace("__", "."): value for key, value in attributes.items()}
    made = {
        "traceId": TRACE, "spanId": f"{number:016x}", "parentSpanId": f"{parent:016x}" if parent else "", "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + start * 1_000_000),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + end * 1_000_000),
        "attributes": [attribute("gen_ai." + key if key != "error.type" else key, value) for key, value in own.items()],
        "events": list(events),
    }  # fmt: skip
    return made | ({"status": status} if status else {})


def text(role, content):
    return {"role": role, "parts": [{"type": "text", "content": content}]}


CALL = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"in": "Paris"}}],
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rainy"}]}
QUESTION, ANSWER = text("user", "Weather?"), {**text("assistant", "It rains."), "finish_reason": "stop"}
SPANS = [
    span(1, 0, 0, 100, "invoke_agent", operation__name="invoke_agent", agent__name="w", conversation__id="k"),
    span(2, 1, 1, 20, operation__name="chat", request__model="m", request__temperature=0.5, request__max_tokens=9,
         usage__input_tokens=5, usage__output_tokens=2, input__messages=[QUESTION], output__messages=[CALL],
         system_instructions=[{"type": "text", "content": "Be brief."}], tool__definitions=[{"name": "weather"}]),
    span(3, 1, 21, 40, "execute_tool weather", operation__name="execute_tool", tool__name="weather", tool__call__id="c1"),
    span(4, 3, 22, 23, operation__name="chat", request__model="small", output__messages=json.dumps([text("assistant", "x")])),
    span(5, 1, 41, 60, operation__name="chat", request__model="m", response__model="m-1", usage__input_tokens=9,
         usage__output_tokens=3, input__messages=json.dumps([QUESTION, CALL, RESULT]), output__messages=json.dumps([ANSWER])),
    span(6, 1, 61, 62, operation__name="embeddings", request__model="e"),
]  # fmt: skip


def export(spans, groups=1, **more):
    resource = {"attributes": [attribute("service.name", "svc"), attribute("service.version", "7")]}
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"scope": {"name": "lib"}, "spans": spans[at::groups]}]}
            for at in range(groups)
        ],
        **more,
    }


def imported(document):
    [trace] = import_otel(orjson.dumps(document), "spans.json")
    assert is_sound(trace)
    return trace


def test_spans_of_an_agent_are_a_trace():
    trace = imported(export(SPANS))
    assert in_short(trace) == [
        ("reasoning", ""), ("tool_call", "weather"), ("reasoning", "x"), ("reasoning", "It rains."), ("final_answer", "It rains."),
    ]  # fmt: skip
    ask, tool, inner, answer, _ = trace.steps
    assert (ask.timestamp, ask.model_duration_ms, ask.temperature, ask.options) == (
        1,
        19,
        0.5,
        {"max_tokens": 9},
    )
    assert (ask.prompt_tokens, ask.completion_tokens, trace.total_tokens) == (5, 2, 19)
    assert ask.messages == [{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}, QUESTION]
    assert (ask.tools, ask.response, answer.response) == ([{"name": "weather"}], CALL, ANSWER)
    # The tool's span holds neither; the messages do.
    assert (tool.tool_input, tool.tool_output, tool.tool_duration_ms) == ({"in": "Paris"}, "rainy", 19)
    assert (inner.parent_id, tool.parent_id) == (tool.step_id, "")
    assert (trace.task, trace.agent_version, trace.trace_id, trace.success) == ("Weather?", "7", TRACE, None)
    assert trace.metadata == {
        "started_at": 1_700_000_000_000, "agent_name": "w", "conversation_id": "k", "left_out": {"embeddings": 1},
        "provenance": {"kind": "imported", "from": "opentelemetry", "service": "svc", "scopes": ["lib"]},
    }  # fmt: skip


def as_base64(document):
    again = orjson.loads(orjson.dumps(document))
    for resource in again["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for each in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    each[key] = base64.b64encode(bytes.fromhex(each[key])).decode()
    return again


def in_snake_case(value):
    if isinstance(value, dict):
        return {
            "".join("_" + char.lower() if char.isupper() else char for char in key): in_snake_case(inner)
            for key, inner in value.items()
        }
    return [in_snake_case(inner) for inner in value] if isinstance(value, list) else value


@given(st.randoms(use_true_random=False), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_order_groups_encodings_and_repeats_of_spans_do_not_matter(chance, groups):
    spans = [*SPANS, *chance.sample(SPANS, 2)]
    chance.shuffle(spans)
    document = export(spans, groups)
    assert imported(document) == imported(export(SPANS))
    assert imported(as_base64(document)) == imported(export(SPANS))
    assert imported(in_snake_case(document)) == imported(export(SPANS))
    lines = b"".join(orjson.dumps(export([each])) + b"\n" for each in spans)
    assert import_otel(lines, "spans.jsonl") == [imported(export(SPANS))]
    assert import_otel(json.dumps(document, indent=1).encode(), "spans.json") == [imported(export(SPANS))]


def test_span_whose_parent_is_missing_has_none():
    trace = imported(export([SPANS[3], SPANS[4], SPANS[1]]))
    assert [step.parent_id for step in trace.steps] == ["", "", "", ""]
    assert [step.timestamp for step in trace.steps] == [0, 21, 40, 59]


def test_child_whose_clock_is_behind_stands_after_its_parent():
    early = copy.deepcopy(SPANS)
    early[3]["startTimeUnixNano"] = "1600000000000000000"
    names = [step.tool_name or step.model_name for step in imported(export(early)).steps]
    assert names == ["m", "weather", "small", "m", ""]


def test_several_traces_come_by_their_start():
    other = [{**each, "traceId": "ab" * 16} for each in SPANS]
    later = [
        {**each, "startTimeUnixNano": "1800000000000000000", "endTimeUnixNano": "1800000000000000001"}
        for each in other
    ]
    plain = {**span(9), "traceId": "cd" * 16}
    traces = import_otel(orjson.dumps(export([*later, *SPANS, plain])), "s")
    assert [trace.trace_id for trace in traces] == [TRACE, "ab" * 16]


def event(name, body=None, **attributes):
    made = {"timeUnixNano": "1700000000000000000", "name": name}
    made["attributes"] = [attribute(key.replace("__", "."), value) for key, value in attributes.items()]
    return made | ({"body": any_value(body)} if body is not None else {})


USER = {"role": "user", "content": "Hi?"}
OLD = [
    # Events of the span, a message each.
    ([event("gen_ai.system.message", content="S"), event("gen_ai.user.message", content="Hi?"),
      event("gen_ai.choice", index=0, finish_reason="stop", message='{"content":"Hi."}')], {}),
    # One event with everything.
    ([event("gen_ai.client.inference.operation.details", gen_ai__input__messages=[text("system", "S"), text("user", "Hi?")],
            gen_ai__output__messages=[text("assistant", "Hi.")])], {}),
    # Older still.
    ([event("gen_ai.content.prompt", gen_ai__prompt=json.dumps([{"role": "system", "content": "S"}, USER])),
      event("gen_ai.content.completion", gen_ai__completion=json.dumps([{"role": "assistant", "content": "Hi."}]))], {}),
    # Numbered attributes.
    ([], {"prompt__0__role": "system", "prompt__0__content": "S", "prompt__1__role": "user", "prompt__1__content": "Hi?",
          "completion__0__role": "assistant", "completion__0__content": "Hi."}),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(OLD)))
def test_older_ways_of_saying_the_same_are_read(at):
    events, attributes = OLD[at]
    trace = imported(
        export([span(1, request__model="m", events=events, usage__prompt_tokens=3, **attributes)])
    )
    step = trace.steps[0]
    assert [message["role"] for message in step.messages] == ["system", "user"]
    assert (trace.task, step.reasoning, trace.final_answer, step.prompt_tokens) == ("Hi?", "Hi.", "Hi.", 3)


def test_messages_in_log_records_belong_to_their_span():
    ids = {"traceId": TRACE, "spanId": f"{1:016x}"}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    records = [
        {**event("", USER, event__name="gen_ai.user.message"), **ids},
        {**event("", {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}), **ids, "eventName": "gen_ai.choice"},
        {**event("", {"content": "2", "id": "c1"}), "traceId": TRACE, "spanId": f"{3:016x}", "eventName": "gen_ai.tool.message"},
        event("elsewhere"),
    ]  # fmt: skip
    logs = [{"scopeLogs": [{"logRecords": records}]}]
    spans = [
        span(1, request__model="m"),
        span(2, 0, 1, 2, tool__name="f", tool__call__id="c1"),
        span(3, 0, 3, 4, request__model="m"),
    ]
    trace = imported(export(spans, resourceLogs=logs))
    assert trace.task == "Hi?"
    assert (trace.steps[1].tool_input, trace.steps[1].tool_output) == ({"x": 1}, "2")


def test_failed_spans_are_errors_and_a_failed_root_a_failed_run():
    raised = event("exception", exception__type="ValueError", exception__message="bad")
    failed = {"code": 2, "message": "said"}
    trace = imported(export([
        span(1, 0, 0, 9, operation__name="invoke_agent", status={"code": "STATUS_CODE_ERROR"}, events=[raised]),
        span(2, 1, 1, 2, operation__name="execute_tool", tool__name="t", status=failed, **{"error.type": "timeout"}),
        span(3, 1, 3, 4, operation__name="execute_tool", name="execute_tool u", tool__call__arguments='{"a":1}', tool__call__result="ok"),
    ]))  # fmt: skip
    assert trace.steps[0].error == StepError("timeout", "said")
    assert (trace.steps[1].tool_name, trace.steps[1].tool_input, trace.steps[1].tool_output) == (
        "u",
        {"a": 1},
        "ok",
    )
    assert (trace.success, trace.final_answer, trace.steps[-1].error) == (
        False,
        None,
        StepError("ValueError", "bad"),
    )


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

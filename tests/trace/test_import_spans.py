"""Spans of OpenTelemetry are a trace, wherever instrumentations put what was said."""

import base64
import copy
import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.trace.importers.otel import import_otel
from replay.trace.model import StepError
from tests.trace.imported import in_short, is_sound
from tests.trace.spans import (
    ANSWER,
    CALL,
    QUESTION,
    SPANS,
    TRACE,
    any_value,
    attribute,
    export,
    span,
    text,
)


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

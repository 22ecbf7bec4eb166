"""Spans of OpenTelemetry as OTLP JSON, and those of a small agent."""

import json


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

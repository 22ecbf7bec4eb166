"""The Responses codec: replies that fail, foreign ones, and what is asked beside the calls."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models import openai_responses
from replay.models.blocks import fold
from tests.models.codec_conformance import REQUEST
from tests.models.openai_responses_frames import (
    PATH,
    decode,
    ended,
    events,
    survives,
    wire,
)
from tests.models.recording import said

# Failures


def failed(**failure):
    return [{"type": "finish", "reason": {"kind": "error", "failure": failure}}]


def test_failure_inside_a_reply_is_a_failed_response():
    chunks = failed(message="overheated", code="server_error")
    last = events(chunks)[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"] == {"code": "server_error", "message": "overheated"}
    survives(chunks)
    survives(failed(message="no code"))
    survives(failed(message="m", code="c", extras={"param": "p"}))


def test_failure_keeps_what_was_said_before_it():
    chunks = decode(*events([*said("par", "tial")[:-2], *failed(message="m", code="c")]))
    assert fold(chunks).blocks == [{"type": "text", "text": "partial"}]
    assert chunks[-1] == failed(message="m", code="c")[0]


def test_error_event_before_the_failed_response_is_told_again():
    error = {"type": "insufficient_quota", "code": "insufficient_quota", "message": "pay", "param": None}
    told = [
        {"type": "error", "error": error},
        {
            "type": "response.failed",
            "response": {"status": "failed", "error": {"code": "q", "message": "pay"}},
        },
    ]
    chunks = decode(*told)
    assert chunks == failed(message="pay", code="q", extras={"event": {"error": error}})
    again = events(chunks)[2:]
    assert again[0] == told[0] and again[1]["response"]["error"] == told[1]["response"]["error"]
    assert decode(*events(chunks)) == chunks


@pytest.mark.parametrize(
    "error",
    [{"type": "error", "code": "c", "message": "m", "param": None}, {"type": "error", "error": {"code": "c", "message": "m"}}],
)  # fmt: skip
def test_error_event_may_be_the_end(error):
    chunks = decode(error)
    assert (
        chunks[-1]["reason"]["failure"]["message"] == "m" and chunks[-1]["reason"]["failure"]["code"] == "c"
    )
    assert events(chunks)[2:] == [error]
    assert decode(*events(chunks)) == chunks


def test_error_without_a_type_is_an_error_event():
    chunks = decode({"error": {"message": "hot", "code": 429}})
    assert chunks[-1]["reason"]["failure"]["message"] == "hot"
    assert openai_responses.decode_response(b'{"error":{"message":"hot"}}')[-1]["reason"]["kind"] == "error"


@pytest.mark.parametrize(
    "event",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"type":7}',
        b'{"type":"response.output_text.delta","output_index":0,"delta":[1]}',
        b'{"type":"response.output_text.delta","output_index":0,"content_index":"x","delta":"a"}',
        b'{"type":"response.output_item.added","item":7}',
        b'{"type":"response.output_item.added","item":{"type":[]}}',
        b'{"type":"response.output_item.done","item":{"type":"message","content":7}}',
        b'{"type":"response.output_item.done","item":{"type":"reasoning","summary":[7]}}',
        b'{"type":"response.output_item.done","item":{"type":"function_call","name":7}}',
        b'{"type":"response.output_item.done"}',
        b'{"type":"response.completed","response":{"usage":{"input_tokens_details":7}}}',
        b'{"type":"response.completed","response":{"output":[7]}}',
        b'{"type":"response.completed","response":7}',
        b'{"type":"response.created","response":7}',
    ],
)
def test_foreign_events_are_named(event):
    with pytest.raises(FixtureError, match="provider"):
        openai_responses.StreamDecoder().feed(b"data: " + event + b"\n\n")


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"{}", b'{"output":7}', b'{"output":[7]}', b'{"output":[{"type":7}]}']
)
def test_foreign_replies_are_named(body):
    with pytest.raises(FixtureError, match="provider"):
        openai_responses.decode_response(body)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "x", "extras": {"item": 7}},
        {"type": "text", "text": "x", "extras": {"part": [1]}},
        {
            "type": "tool-call",
            "id": "a",
            "name": "n",
            "arguments": "[]",
            "extras": {"item": {"type": "x_call"}},
        },
        {
            "type": "tool-call",
            "id": "a",
            "name": "n",
            "arguments": "{",
            "extras": {"item": {"type": "x_call"}},
        },
    ],
)
def test_extras_that_are_wrong_are_the_fixture_s_error(block):
    with pytest.raises(FixtureError):
        wire([ended(0, block)])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "id",
                    "item",
                    "item_id",
                    "call_id",
                    "name",
                    "arguments",
                    "input",
                    "output",
                    "content",
                    "summary",
                    "role",
                    "status",
                    "text",
                    "delta",
                    "part",
                    "response",
                    "usage",
                    "error",
                    "code",
                    "message",
                    "output_index",
                    "content_index",
                    "summary_index",
                    "annotation",
                ]
            ),
            inner
            | st.sampled_from(["message", "reasoning", "function_call", "x_call", "output_text", "refusal"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)
_KINDS = [
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.reasoning_summary_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.done",
    "response.web_search_call.searching",
    "response.completed",
    "response.failed",
    "error",
]


@given(st.lists(st.tuples(st.sampled_from(_KINDS), st.dictionaries(st.sampled_from(
    ["item", "item_id", "output_index", "content_index", "delta", "text", "part", "response", "error", "annotation", "arguments"]
), _JSON)), max_size=5))  # fmt: skip
def test_nothing_but_a_fixture_error_escapes(told):
    """And what is read can be sent, and is read again as it was."""
    try:
        chunks = decode(*({**members, "type": kind} for kind, members in told))
        frames = wire(chunks, complete=bool(chunks) and chunks[-1]["type"] == "finish")
    except FixtureError:
        return
    decoder = openai_responses.StreamDecoder()
    decoder.feed(frames)


def test_models_are_listed_with_and_without_the_version():
    assert orjson.loads(openai_responses.probe("GET", "/v1/models", ["a"]))["data"][0]["id"] == "a"
    assert orjson.loads(openai_responses.probe("GET", "/models/org/any", []))["id"] == "org/any"
    assert openai_responses.probe("GET", "/v1/models/b", ["a"]) is None
    assert openai_responses.probe("GET", "/v1/responses/resp_1", ["a"]) is None
    assert openai_responses.is_call("/responses") and not openai_responses.is_call("/v1/responses/compact")
    assert openai_responses.with_model("/responses?x=1", b'{"model":"a"}', "b") == (
        "/v1/responses?x=1",
        b'{"model":"b"}',
    )


def test_reply_that_comes_back_in_a_request_is_the_recorded_one():
    items = [
        {"id": "rs_9", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "z"},
        {"id": "msg_9", "type": "message", "status": "completed", "role": "assistant", "phase": "commentary",
         "content": [{"type": "output_text", "text": "ok", "annotations": [{"type": "x"}]}]},
        {"id": "fc_9", "type": "function_call", "status": "completed", "call_id": "a", "name": "f", "arguments": "{}"},
        {"id": "ctc_9", "type": "custom_tool_call", "status": "completed", "call_id": "b", "name": "p", "input": "raw"},
        {"id": "lsh_9", "type": "local_shell_call", "status": "completed", "call_id": "c", "action": {"command": ["ls"]}},
        {"id": "ws_9", "type": "web_search_call", "status": "completed", "action": None},
    ]  # fmt: skip
    recorded = openai_responses.decode_response(orjson.dumps({"id": "resp_9", "output": items}))
    served = orjson.loads(openai_responses.encode_response(recorded, REQUEST, "1"))["output"]
    seen = openai_responses.decode_request(PATH, orjson.dumps({"model": "m", "input": served}))
    assert seen.messages == [{"role": "assistant", "content": fold(recorded).blocks}]

"""The Messages codec: errors, servers that say less, foreign replies, and what is asked beside the calls."""

import orjson
import pytest

from replay.errors import FixtureError
from replay.models import anthropic_messages
from replay.models.blocks import fold
from tests.models.anthropic_messages_frames import (
    PATH,
    closed,
    decode,
    delta,
    ended,
    frames,
    opened,
    started,
    unwhole,
    whole,
    wire,
)
from tests.models.recording import said, tool_call


def test_error_inside_a_reply_is_an_error_event():
    failure = {"message": "overheated", "code": "EMPTY_RESPONSE"}
    chunks = [{"type": "finish", "reason": {"kind": "error", "failure": failure}}]
    error = {"type": "api_error", "message": "overheated", "details": {"error_code": "EMPTY_RESPONSE"}}
    assert frames(chunks)[1:] == [{"type": "error", "error": error}]
    assert decode(*frames(chunks)) == chunks == unwhole(whole(chunks))


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ({"type": "overloaded_error", "message": "m"}, {"message": "m", "code": "OVERLOADED"}),
        ({"type": "api_error", "message": "m"}, {"message": "m"}),
        ({"type": "new_error", "message": "m"}, {"message": "m", "extras": {"type": "new_error"}}),
        (
            {"type": "rate_limit_error", "message": "m", "details": {"error_code": "x", "y": 1}},
            {
                **{"message": "m", "code": "x"},
                "extras": {"type": "rate_limit_error", "details": {"error_code": "x", "y": 1}},
            },
        ),
        (
            {"type": "overloaded_error", "message": "m", "details": {"error_code": "529"}},
            {"message": "m", "code": "529"},
        ),
    ],
)
def test_error_event_ends_the_reply_and_comes_back_as_sent(error, failure):
    event = {"type": "error", "error": error, "request_id": "req_1"}
    chunks = decode(started(), opened(text=""), delta("text", text="x"), event, {"type": "junk"})
    assert [chunk["type"] for chunk in chunks[-3:]] == ["block-end", "usage", "finish"]
    assert chunks[-1] == {"type": "finish", "reason": {"kind": "error", "failure": failure}}
    assert frames(chunks)[-1] == {"type": "error", "error": error}
    assert decode(*frames(chunks)) == chunks


def test_error_after_the_stop_reason_is_sent_after_it_again():
    chunks = decode(started(), ended("pause_turn")[0], {"type": "error", "error": {"type": "api_error"}})
    assert chunks[-1]["reason"]["kind"] == "error"
    assert [frame["type"] for frame in frames(chunks)] == ["message_start", "message_delta", "error"]
    assert decode(*frames(chunks)) == chunks


def test_members_of_a_delta_replace_nothing_of_a_whole_reply():
    chunks = decode(started(), *ended(content=[1], role="x", kind="y"))
    assert frames(chunks)[-2]["delta"]["content"] == [1]
    assert (whole(chunks)["content"], whole(chunks)["role"], whole(chunks)["kind"]) == ([], "assistant", "y")


def test_pings_say_nothing():
    chunks = decode(started(), {"type": "ping"}, opened(text=""), {"type": "ping"}, closed(), *ended())
    assert chunks == decode(started(), opened(text=""), closed(), *ended())


def test_input_told_at_the_start_is_one_piece_unless_deltas_follow():
    opening = opened(0, "tool_use", id="a", name="n", input={"x": 1})
    chunks = decode(started(), opening, closed(), *ended("tool_use"))
    assert fold(chunks).blocks[0]["arguments"] == '{"x":1}' and chunks[1]["argumentsDelta"] == '{"x":1}'
    chunks = decode(started(), opening, delta("input_json", partial_json='{"x":2}'), closed(), *ended())
    assert fold(chunks).blocks[0]["arguments"] == '{"x":2}'
    chunks = decode(started(), opened(0, "tool_use", id="a", name="n", input={}), closed(), *ended())
    assert fold(chunks).blocks[0]["arguments"] == "{}"


def test_text_told_at_the_start_is_its_first_piece():
    chunks = decode(started(), opened(text="a"), delta("text", text="b"), closed(), *ended())
    assert [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"] == ["a", "b"]


def test_servers_may_leave_out_what_is_empty():
    events = [opened(), delta("text", text="x"), closed(), opened(1, "tool_use", id="a", name="n")]
    chunks = decode(started(), *events, delta("input_json", 1), closed(1), *ended())
    assert [chunk.get("argumentsDelta") for chunk in chunks if chunk["type"] == "tool-call-delta"] == [""]


def test_server_that_numbers_all_blocks_alike_is_understood():
    events = [opened(text=""), delta("text", text="a"), opened(text=""), delta("text", text="b"), closed()]
    chunks = decode(started(), *events, *ended())
    assert [chunk["block"]["text"] for chunk in chunks if chunk["type"] == "block-end"] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "sent", "back"),
    [
        ('{"x":1}', {"x": 1}, '{"x":1}'),
        ('{"x": 1}', {"x": 1}, '{"x":1}'),
        ("", {}, "{}"),
        ('{"x": ', {"INVALID_JSON": '{"x": '}, '{"x": '),
        ("[1]", {"INVALID_JSON": "[1]"}, "[1]"),
    ],
)
def test_arguments_become_an_object_where_they_can(arguments, sent, back):
    body = whole(tool_call(("a", "n", arguments)))
    assert body["content"] == [{"type": "tool_use", "id": "a", "name": "n", "input": sent}]
    assert fold(unwhole(body)).blocks[0]["arguments"] == back


def test_stream_without_message_stop_is_complete_once_a_reason_came():
    assert decode(started(), ended()[0])[-1]["type"] == "finish"
    decoder = anthropic_messages.StreamDecoder()
    decoder.feed(wire(said("x")[:2], complete=False))
    assert decoder.close() == [] and not decoder.complete


def test_what_follows_the_stop_is_ignored():
    decoder = anthropic_messages.StreamDecoder()
    decoder.feed(wire(said("x")))
    assert decoder.complete
    assert decoder.feed(b"data: rubbish\n\n") == [] and decoder.close() == []


@pytest.mark.parametrize(
    "event",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"type":7}',
        b'{"type":"message_start"}',
        b'{"type":"message_start","message":{"usage":7}}',
        b'{"type":"message_start","message":{"usage":{"input_tokens":"x"}}}',
        b'{"type":"content_block_start","index":0,"content_block":{}}',
        b'{"type":"content_block_start","index":[],"content_block":{"type":"text"}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":7}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","input":[]}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
        b'{"type":"content_block_stop","index":0}',
        b'{"type":"message_delta","delta":{"stop_reason":[]}}',
        b'{"type":"x","y":' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
def test_foreign_events_are_named(event):
    with pytest.raises(FixtureError, match="provider"):
        anthropic_messages.StreamDecoder().feed(b"data: " + event + b"\n\n")


@pytest.mark.parametrize("change", [{"text": 7}, {"type": 7}, {"type": []}])
def test_foreign_deltas_are_named(change):
    event = delta("text", text="x")
    event["delta"] |= change
    with pytest.raises(FixtureError, match="content_block_delta"):
        decode(opened(text=""), event)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"content":7}', b'{"content":[7]}', b'{"content":[],"usage":7}']
)
def test_foreign_replies_are_named(body):
    with pytest.raises(FixtureError, match="provider"):
        anthropic_messages.decode_response(body)


def test_questions_beside_the_calls_are_answered():
    listed = orjson.loads(anthropic_messages.probe("GET", "/v1/models", ["a", "b"]))
    assert [model["id"] for model in listed["data"]] == ["a", "b"]
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("a", "b", False)
    assert orjson.loads(anthropic_messages.probe("GET", "/v1/models", []))["first_id"] is None
    assert orjson.loads(anthropic_messages.probe("GET", "/v1/models/org/any", []))["id"] == "org/any"
    assert anthropic_messages.probe("GET", "/v1/models/b", ["a"]) is None
    assert anthropic_messages.probe("DELETE", "/v1/models/a", ["a"]) is None
    assert anthropic_messages.probe("POST", "/v1/messages/count_tokens", []) == b'{"input_tokens":1}'
    assert anthropic_messages.probe("GET", "/v1/messages/count_tokens", []) is None
    assert anthropic_messages.probe("HEAD", "/", []) is None


def test_error_bodies_have_the_provider_s_shape():
    def error(status, code):
        return orjson.loads(anthropic_messages.encode_error(status, "m", code))

    assert error(429, "RATE_LIMIT") == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "m"},
    }
    assert error(529, "529")["error"] == {"type": "overloaded_error", "message": "m"}
    assert error(418, "")["error"] == {"type": "invalid_request_error", "message": "m"}
    assert error(599, "599")["error"] == {"type": "api_error", "message": "m"}
    details = {"details": {"error_code": "BOOM"}}
    assert error(500, "BOOM")["error"] == {"type": "api_error", "message": "m", **details}


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, {"message": "prompt is too long: 9 tokens > 8 maximum"}, "CONTEXT"),
        (400, {"message": "m", "details": {"error_code": "already_member"}}, "400"),
        (400, {"message": "m", "details": None}, "400"),
        (500, {"message": "m", "details": {"error_code": 7}}, "500"),
        (529, {"message": "Overloaded"}, "529"),
    ],
)
def test_errors_of_the_provider_have_a_code(status, error, code):
    body = {"type": "error", "error": {"type": "x", **error}, "request_id": "req_1"}
    assert anthropic_messages.decode_error(status, orjson.dumps(body)) == (error["message"], code)


@pytest.mark.parametrize("body", [b'{"error":"x"}', b'{"error":[]}', b"[]", b'"x"', b"\xff"])
def test_errors_of_another_shape_are_their_body(body):
    assert anthropic_messages.decode_error(502, body) == (body.decode("utf-8", "replace"), "502")


def test_reply_that_comes_back_in_a_request_is_the_recorded_one():
    recorded = decode(
        started(),
        *(opened(0, "thinking", thinking="", signature=""), delta("thinking", thinking="hm")),
        *(delta("signature", signature="s"), closed(0)),
        *(opened(1, "redacted_thinking", data="zz"), closed(1)),
        *(
            opened(2, text=""),
            delta("text", 2, text="ok"),
            delta("citations", 2, citation={"type": "c"}),
            closed(2),
        ),
        *(opened(3, "server_tool_use", id="s", name="web_search", input={"q": 1}), closed(3)),
        *(opened(4, "web_search_tool_result", tool_use_id="s", content=[{"type": "r"}]), closed(4)),
        *(
            opened(5, "tool_use", id="a", name="n", input={}),
            delta("input_json", 5, partial_json="{"),
            closed(5),
        ),
        *ended("tool_use"),
    )
    for content in (whole(recorded)["content"], whole(decode(*frames(recorded)))["content"]):
        asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": content}]}
        seen = anthropic_messages.decode_request(PATH, orjson.dumps(asked))
        assert seen.messages == [{"role": "assistant", "content": fold(recorded).blocks}]

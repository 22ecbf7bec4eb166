"""The Messages codec: conformance, then what only this wire has."""

import orjson
import pytest
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models import anthropic_messages
from replay.models.blocks import fold
from tests.models.codec_conformance import REQUEST, check_codec
from tests.models.recording import said, tool_call

PATH = "/v1/messages"
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(1, 9), st.text("abc", min_size=1, max_size=5)),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, min_size=1)
    ),
    max_leaves=4,
)
_DELTAS = st.lists(st.builds(lambda value: {"type": "new_delta", "x": value}, _VALUE), min_size=1, max_size=2)
EXTRAS = {
    "text": st.one_of(
        st.builds(lambda value: {"citations": [{"type": "page_location", "x": value}]}, _VALUE),
        st.builds(lambda deltas: {"deltas": deltas}, _DELTAS),
    ),
    "reasoning": st.one_of(
        st.builds(lambda text: {"signature": text}, st.text("abc", min_size=1)),
        st.builds(
            lambda text: {"signature": text, "delta": {"estimated_tokens": 5}}, st.text("abc", min_size=1)
        ),
    ),
    "tool-call": st.one_of(
        st.just({"type": "server_tool_use"}),
        st.builds(lambda value: {"caller": value}, _VALUE),
        st.builds(lambda deltas: {"deltas": deltas}, _DELTAS),
    ),
}


def wire(chunks, complete=True):
    return b"".join(anthropic_messages.encode_stream(chunks, REQUEST, "1", complete))


def frames(chunks, complete=True):
    """The events of a reply; proves that each is named by its type."""
    parsed = []
    for frame in wire(chunks, complete).split(b"\n\n")[:-1]:
        name, data = frame.split(b"\n")
        event = orjson.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        parsed.append(event)
    return parsed


def decode(*events):
    decoder = anthropic_messages.StreamDecoder()
    chunks = []
    for event in events:
        chunks += decoder.feed(b"event: x\ndata: " + orjson.dumps(event) + b"\n\n")
    return chunks + decoder.close()


def whole(chunks):
    return orjson.loads(anthropic_messages.encode_response(chunks, REQUEST, "1"))


def unwhole(body):
    return anthropic_messages.decode_response(orjson.dumps(body))


def opened(index=0, kind="text", **members):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


def delta(kind, index=0, **members):
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **members}}


def closed(index=0):
    return {"type": "content_block_stop", "index": index}


def started(**members):
    usage = {"input_tokens": 25, "output_tokens": 1}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    return {"type": "message_start", "message": message | members}


def ended(reason="end_turn", **members):
    last = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None} | members}
    return {**last, "usage": {"output_tokens": 15}}, {"type": "message_stop"}


def test_codec_passes_the_conformance_suite():
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": True}
    check_codec(anthropic_messages, EXTRAS, PATH, orjson.dumps(body))


def test_stream_has_the_frames_of_the_provider():
    usage = {"cache_creation_input_tokens": None, "cache_read_input_tokens": 4}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "some-model", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None}
    assert frames(said("Hel", "lo", reasoning=["hm"])) == [
        {
            "type": "message_start",
            "message": {**message, "usage": {"input_tokens": 12, **usage, "output_tokens": 0}},
        },
        opened(0, "thinking", thinking="", signature=""),
        delta("thinking", 0, thinking="hm"),
        closed(0),
        opened(1, "text", text=""),
        delta("text", 1, text="Hel"),
        delta("text", 1, text="lo"),
        closed(1),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {
                "input_tokens": 12,
                **usage,
                "output_tokens": 3,
                "output_tokens_details": {"thinking_tokens": 1},
            },
        },
        {"type": "message_stop"},
    ]


def test_whole_reply_has_the_shape_of_the_provider():
    assert whole(said("Hello", reasoning=["hm"])) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "some-model",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "Hello"},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 12,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": 4,
            "output_tokens": 3,
            "output_tokens_details": {"thinking_tokens": 1},
        },
    }


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("stop", "end_turn"),
        ("max-tokens", "max_tokens"),
        ("tool-calls", "tool_use"),
        ("content-filter", "refusal"),
        ("something-new", "something-new"),
    ],
)
def test_stop_reasons_are_mapped(kind, reason):
    assert frames(said("x", reason=kind))[-2]["delta"]["stop_reason"] == reason
    assert decode(started(), *ended(reason))[-1] == {"type": "finish", "reason": {"kind": kind}}


@pytest.mark.parametrize(
    ("kind", "reason", "more"),
    [
        ("stop", "stop_sequence", {"stop_sequence": "END"}),
        ("stop", "pause_turn", {}),
        ("max-tokens", "model_context_window_exceeded", {}),
        ("stop", "stop", {}),
        ("stop", "error", {}),
    ],
)
def test_stop_reason_that_shares_a_word_is_kept(kind, reason, more):
    chunks = decode(started(), *ended(reason, **more))
    assert chunks[-1]["reason"] == {"kind": kind}
    assert chunks[-1]["extras"] == {"delta": {"stop_reason": reason, **more}}
    assert frames(chunks)[-2]["delta"] == {"stop_reason": reason, "stop_sequence": None, **more}
    assert whole(chunks)["stop_reason"] == reason and unwhole(whole(chunks)) == chunks


def test_parallel_tool_calls_stand_one_after_the_other():
    assert frames(tool_call(("a", "bash", '{"x":1}'), ("b", "read", "{}")))[1:-2] == [
        opened(0, "tool_use", id="a", name="bash", input={}),
        delta("input_json", 0, partial_json='{"x'),
        delta("input_json", 0, partial_json='":1}'),
        closed(0),
        opened(1, "tool_use", id="b", name="read", input={}),
        delta("input_json", 1, partial_json="{"),
        delta("input_json", 1, partial_json="}"),
        closed(1),
    ]


def test_calls_recorded_interleaved_stay_interleaved_and_those_ended_late_do_not():
    calls = [{"type": "tool-call-delta", "index": index, "id": "ab"[index], "name": "n"} for index in (0, 1)]
    starts = [{"type": "block-start", "index": index, "blockType": "tool-call"} for index in (0, 1)]
    ends = [
        {"type": "block-end", "index": index, "block": {"type": "tool-call", "id": "ab"[index], "name": "n"}}
        for index in (0, 1)
    ]
    late = [starts[0], {**calls[0], "argumentsDelta": "{}"}, starts[1], {**calls[1], "argumentsDelta": "{}"}]
    assert [frame["type"][14:] for frame in frames([*late, *ends])[1:-2]] == [
        *("start", "delta", "stop"),
        *("start", "delta", "stop"),
    ]
    mixed = [late[0], {**calls[0], "argumentsDelta": "{"}, *late[2:], {**calls[0], "argumentsDelta": "}"}]
    sent = frames([*mixed, *ends])[1:-2]
    assert [(frame["type"][14:], frame["index"]) for frame in sent] == [
        *(("start", 0), ("delta", 0), ("start", 1), ("delta", 1), ("delta", 0)),
        *(("stop", 0), ("stop", 1)),
    ]
    assert [block["arguments"] for block in fold(decode(*frames([*mixed, *ends]))).blocks] == ["{}", "{}"]


def test_blocks_without_deltas_are_sent_whole():
    call = {"type": "tool-call", "id": "a", "name": "n", "arguments": "{}"}
    text = {"type": "text", "text": "all"}
    ends = [
        {"type": "block-end", "index": 0, "block": text},
        {"type": "block-end", "index": 1, "block": call},
    ]
    starts = [
        {"type": "block-start", "index": index, "blockType": each["block"]["type"]}
        for index, each in enumerate(ends)
    ]
    expected = [
        opened(0, "text", text=""),
        delta("text", 0, text="all"),
        closed(0),
        opened(1, "tool_use", id="a", name="n", input={}),
        delta("input_json", 1, partial_json="{}"),
        closed(1),
    ]
    assert frames(ends)[1:-2] == frames([*starts, *ends])[1:-2] == expected


def test_extras_of_another_wire_replace_nothing():
    foreign = {"id": "item_1", "type": "function_call", "text": "no", "status": "completed"}
    spoken = {"type": "text", "text": "yes", "extras": foreign}
    call = {"type": "tool-call", "id": "a", "name": "n", "arguments": "{}", "extras": foreign}
    ends = [
        {"type": "block-end", "index": index, "block": block} for index, block in enumerate([spoken, call])
    ]
    text, tool = whole(ends)["content"]
    assert (text["type"], text["text"], tool["type"], tool["id"]) == ("text", "yes", "tool_use", "a")
    sent = frames(ends)
    assert (sent[1]["content_block"]["type"], sent[1]["content_block"]["text"]) == ("text", "")
    assert sent[2] == delta("text", 0, text="yes")
    assert (sent[4]["content_block"]["type"], sent[4]["content_block"]["id"]) == ("tool_use", "a")


def test_prefix_has_no_end_and_no_counts():
    sent = frames(said("a", "b")[:3], complete=False)
    assert sent[-1] == delta("text", 0, text="b")
    assert sent[0]["message"]["usage"]["input_tokens"] == 0
    start = {"type": "block-start", "index": 0, "blockType": "tool-call"}
    assert len(frames([start], complete=False)) == 1


def test_signature_comes_as_a_delta_and_belongs_to_the_thinking():
    events = [
        started(),
        opened(0, "thinking", thinking="", signature=""),
        delta("thinking", thinking="h"),
        delta("thinking", thinking="m", estimated_tokens=50),
        delta("signature", signature="EqQB"),
        closed(),
        *ended(),
    ]
    chunks = decode(*events)
    block = {"type": "reasoning", "text": "hm"}
    assert fold(chunks).blocks == [
        {**block, "extras": {"delta": {"estimated_tokens": 50}, "signature": "EqQB"}}
    ]
    assert frames(chunks)[1:-2] == [
        events[1],
        delta("thinking", thinking="h", estimated_tokens=50),
        delta("thinking", thinking="m"),
        *events[4:6],
    ]
    assert decode(*frames(chunks)) == chunks


def test_thinking_without_text_keeps_its_signature():
    events = [opened(0, "thinking", thinking="", signature=""), delta("signature", signature="s"), closed()]
    chunks = decode(started(), *events, *ended())
    assert fold(chunks).blocks == [{"type": "reasoning", "text": "", "extras": {"signature": "s"}}]
    assert frames(chunks)[1:-2] == events


def test_redacted_thinking_survives_both_ways():
    events = [opened(0, "redacted_thinking", data="zz"), closed()]
    chunks = decode(started(), *events, *ended())
    assert fold(chunks).blocks == [
        {"type": "reasoning", "text": "", "extras": {"type": "redacted_thinking", "data": "zz"}}
    ]
    assert frames(chunks)[1:-2] == events
    assert whole(chunks)["content"] == [events[0]["content_block"]]
    assert fold(unwhole(whole(chunks))) == fold(chunks)


def test_server_tools_their_results_and_citations_survive_both_ways():
    results = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "zz"}]
    citations = [{"type": "web_search_result_location", "url": "u", "cited_text": c} for c in "ab"]
    events = [
        opened(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        delta("input_json", 0, partial_json=""),
        delta("input_json", 0, partial_json='{"query": "x"}'),
        closed(0),
        opened(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=results),
        closed(1),
        opened(2, "text", text=""),
        delta("text", 2, text="see"),
        *(delta("citations", 2, citation=citation) for citation in citations),
        closed(2),
    ]
    chunks = decode(started(), *events, *ended())
    call, found, text = fold(chunks).blocks
    assert call == {
        **{"type": "tool-call", "id": "srvtoolu_1", "name": "web_search", "arguments": '{"query": "x"}'},
        "extras": {"type": "server_tool_use"},
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": results}
    assert found == {"type": "text", "text": "", "extras": result}
    assert text == {"type": "text", "text": "see", "extras": {"citations": citations}}
    assert frames(chunks)[1:-2] == events
    assert decode(*frames(chunks)) == chunks
    again = fold(unwhole(whole(chunks)))
    assert again.blocks == [{**call, "arguments": '{"query":"x"}'}, found, text]


def test_block_of_a_type_that_nobody_knows_is_kept_with_its_deltas():
    events = [
        opened(0, "compaction", signature="s", citations=[1]),
        delta("compaction", content="first", encrypted_content="zz"),
        delta("compaction", content="last", encrypted_content=None),
        closed(),
    ]
    chunks = decode(started(), *events, *ended())
    kept = {"type": "compaction", "signature": "s", "citations": [1]}
    deltas = [event["delta"] for event in events[1:3]]
    assert fold(chunks).blocks == [{"type": "text", "text": "", "extras": {**kept, "deltas": deltas}}]
    assert frames(chunks)[1:-2] == events
    assert whole(chunks)["content"] == [{**kept, "content": "last", "encrypted_content": None}]


def test_delta_of_a_type_that_nobody_knows_follows_the_text():
    events = [opened(text=""), delta("text", text="x"), delta("new", y=1), closed()]
    chunks = decode(started(), *events, *ended())
    assert fold(chunks).blocks == [
        {"type": "text", "text": "x", "extras": {"deltas": [{"type": "new_delta", "y": 1}]}}
    ]
    assert frames(chunks)[1:-2] == events


def test_members_and_events_without_a_word_survive_on_the_finish():
    end, stop = ended(stop_details={"type": "refusal"}, container=None)
    end["context_management"] = {"applied_edits": []}
    chunks = decode(started(diagnostics={"a": 1}), {"type": "news", "n": 1}, end, stop)
    assert chunks[-1]["extras"] == {
        "message": {"diagnostics": {"a": 1}},
        "events": [{"type": "news", "n": 1}],
        "delta": {"stop_details": {"type": "refusal"}},
        "event": {"context_management": {"applied_edits": []}},
    }
    assert decode(*frames(chunks)) == chunks
    del chunks[-1]["extras"]["events"]
    assert unwhole(whole(chunks)) == chunks


def test_counts_of_the_cache_survive_and_later_counts_replace_earlier_ones():
    first = {"input_tokens": 9, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 5}
    first |= {"output_tokens": 1, "service_tier": "standard", "server_tool_use": None}
    last = {"input_tokens": 10, "output_tokens": 20, "server_tool_use": {"web_search_requests": 1}}
    last |= {"output_tokens_details": {"thinking_tokens": 3, "other_tokens": 4}}
    end, stop = ended()
    chunks = decode(started(usage=first), {**end, "usage": last}, stop)
    assert chunks[0]["usage"] == {
        "inputTokens": 10,
        "outputTokens": 20,
        "cacheReadTokens": 5,
        "reasoningTokens": 3,
        "extras": {
            "cache_creation_input_tokens": 7,
            "service_tier": "standard",
            "server_tool_use": {"web_search_requests": 1},
            "output_tokens_details": {"other_tokens": 4},
        },
    }
    start, end, _ = frames(chunks)
    cached = {"input_tokens": 10, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 5}
    assert start["message"]["usage"] == {**cached, "output_tokens": 0, "service_tier": "standard"}
    assert end["usage"] == cached | last
    assert decode(*frames(chunks)) == chunks == unwhole(whole(chunks))


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

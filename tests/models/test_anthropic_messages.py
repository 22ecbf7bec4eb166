"""The Messages codec: conformance, then what only this wire has."""

import orjson
import pytest

from replay.models import anthropic_messages
from replay.models.blocks import fold
from tests.models.anthropic_messages_frames import (
    EXTRAS,
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
)
from tests.models.codec_conformance import check_codec
from tests.models.recording import said, tool_call


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

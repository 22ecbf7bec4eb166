"""The Responses codec: conformance, and the frames of the provider."""

import orjson
import pytest

from replay.models import openai_responses
from replay.models.wire import WireRequest
from tests.models.codec_conformance import check_codec
from tests.models.openai_responses_frames import (
    BODY,
    EXTRAS,
    PATH,
    added,
    decode,
    done,
    ended,
    events,
    heard,
    survives,
    wire,
)
from tests.models.recording import said, tool_call


def test_codec_passes_the_conformance_suite():
    check_codec(openai_responses, EXTRAS, PATH, BODY, heard)


# The provider's frames


def test_stream_of_reasoning_and_text_has_the_frames_of_the_provider():
    told = events(said("Hel", "lo", reasoning=["hm"]))
    created, in_progress, *middle, last = told
    assert created["response"]["status"] == "in_progress" and created["response"]["output"] == []
    assert in_progress == {**created, "type": "response.in_progress"}
    rs, msg = {"item_id": "rs_1_0", "output_index": 0}, {"item_id": "msg_1_1", "output_index": 1}
    summary, content = {**rs, "summary_index": 0}, {**msg, "content_index": 0}
    reasoning = {"id": "rs_1_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": "Hello"}
    message = {
        "id": "msg_1_1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }
    assert middle == [
        added(0, **reasoning | {"summary": []}),
        {
            "type": "response.reasoning_summary_part.added",
            **summary,
            "part": {"type": "summary_text", "text": ""},
        },
        {"type": "response.reasoning_summary_text.delta", **summary, "delta": "hm"},
        {"type": "response.reasoning_summary_text.done", **summary, "text": "hm"},
        {
            "type": "response.reasoning_summary_part.done",
            **summary,
            "part": {"type": "summary_text", "text": "hm"},
        },
        done(0, **reasoning),
        added(1, **message | {"status": "in_progress", "content": []}),
        {"type": "response.content_part.added", **content, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **content, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **content, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **content, "text": "Hello", "logprobs": []},
        {"type": "response.content_part.done", **content, "part": part},
        done(1, **message),
    ]
    assert last["type"] == "response.completed"
    assert last["response"]["output"] == [reasoning, message]
    assert last["response"]["usage"] == {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": 15,
    }


def test_parallel_calls_come_one_after_the_other():
    told = events(tool_call(("a", "bash", "{}"), ("b", "read", "[]")))[2:-1]
    first, second = {"item_id": "fc_1_0", "output_index": 0}, {"item_id": "fc_1_1", "output_index": 1}
    call = {"id": "fc_1_0", "type": "function_call", "status": "completed", "arguments": "{}"}
    call |= {"call_id": "a", "name": "bash"}
    kind = "response.function_call_arguments"
    assert told[:5] == [
        added(0, **call | {"status": "in_progress", "arguments": ""}),
        {"type": f"{kind}.delta", **first, "delta": "{"},
        {"type": f"{kind}.delta", **first, "delta": "}"},
        {"type": f"{kind}.done", **first, "arguments": "{}"},
        done(0, **call),
    ]
    assert [event.get("delta") for event in told[5:]] == [None, "[", "]", None, None]
    assert all(second.items() <= event.items() for event in told[6:9])


def test_items_end_before_the_next_begins_even_where_blocks_all_end_last():
    chunks = said("x", reasoning=["hm"])
    late = [chunk for chunk in chunks if chunk["type"] != "block-end"]
    late[-2:-2] = [chunk for chunk in chunks if chunk["type"] == "block-end"]
    assert wire(late) == wire(chunks)


def test_custom_call_is_raw_text():
    extras = {"item": {"type": "custom_tool_call"}}
    patch = {
        "type": "tool-call",
        "id": "a",
        "name": "apply_patch",
        "arguments": "*** Begin\n",
        "extras": extras,
    }
    told = events([ended(0, patch), *said()])[2:-1]
    where = {"item_id": "ctc_1_0", "output_index": 0}
    item = {"id": "ctc_1_0", "type": "custom_tool_call", "status": "completed", "input": "*** Begin\n"}
    item |= {"call_id": "a", "name": "apply_patch"}
    assert told == [
        added(0, **item | {"status": "in_progress", "input": ""}),
        {"type": "response.custom_tool_call_input.delta", **where, "delta": "*** Begin\n"},
        {"type": "response.custom_tool_call_input.done", **where, "input": "*** Begin\n"},
        done(0, **item),
    ]


def test_refusal_and_raw_reasoning_have_events_of_their_own():
    chunks = said("no", reasoning=["hm"])
    for chunk in chunks:
        if chunk["type"] == "block-end":
            kind = "refusal" if chunk["block"]["type"] == "text" else "reasoning_text"
            chunk["block"]["extras"] = {"part": {"type": kind}}
    told = events(chunks)
    assert [event["type"] for event in told[2:8]] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    assert told[9]["part"] == {"type": "refusal", "refusal": ""}
    assert told[11] == {
        "type": "response.refusal.done",
        "item_id": "msg_1_1",
        "output_index": 1,
        "content_index": 0,
        "refusal": "no",
    }
    assert told[7]["item"]["content"] == [{"type": "reasoning_text", "text": "hm"}]
    survives(chunks)


def test_settings_of_the_request_are_repeated_but_neither_prompt_nor_tools():
    options = {"temperature": 0.5, "metadata": {"a": "b"}, "store": False, "reasoning": None}
    request = WireRequest(
        "m", [], [{"type": "function", "name": "f"}], options, stream=True, wants_usage=True
    )
    reply = events(said("x"), request)[0]["response"]
    assert (reply["temperature"], reply["metadata"], reply["store"]) == (0.5, {"a": "b"}, False)
    assert reply["reasoning"] == {"effort": None, "summary": None}
    assert (reply["instructions"], reply["tools"]) == (None, [])


@pytest.mark.parametrize(
    ("kind", "status", "details"),
    [
        ("stop", "completed", None),
        ("max-tokens", "incomplete", {"reason": "max_output_tokens"}),
        ("content-filter", "incomplete", {"reason": "content_filter"}),
        ("something-new", "incomplete", {"reason": "something-new"}),
        ("incomplete", "incomplete", None),
        ("cancelled", "cancelled", None),
    ],
)
def test_finish_reasons_are_mapped(kind, status, details):
    last = events(said("x", reason=kind))[-1]
    assert last["type"] == f"response.{status}"
    assert (last["response"]["status"], last["response"]["incomplete_details"]) == (status, details)
    survives(decode(*events(said("x", reason=kind))))
    assert decode(last)[-1]["reason"] == {"kind": kind}


def test_prefix_leaves_its_last_item_open():
    kinds = [event["type"] for event in events(said("a", "b", reasoning=["hm"])[:6], complete=False)]
    assert kinds.count("response.output_item.done") == 1
    assert kinds[-4:] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
    ]


def test_call_that_broke_off_before_its_arguments_keeps_its_name():
    call = {"type": "function_call", "id": "fc_9", "call_id": "a", "name": "bash", "arguments": ""}
    decoder = openai_responses.StreamDecoder()
    chunks = decoder.feed(b"data: " + orjson.dumps(added(0, **call)) + b"\n\n") + decoder.close()
    assert not decoder.complete
    assert chunks == [
        {"type": "block-start", "index": 0, "blockType": "tool-call"},
        {"type": "tool-call-delta", "index": 0, "id": "a", "name": "bash", "argumentsDelta": ""},
    ]
    told = events(chunks, complete=False)
    assert [event["type"] for event in told[2:]] == ["response.output_item.added"]
    assert (told[2]["item"]["call_id"], told[2]["item"]["name"]) == ("a", "bash")

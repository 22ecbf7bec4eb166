"""The Responses codec: conformance, the frames of the provider, and what only this wire has."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models import openai_responses
from replay.models.blocks import Reply, fold
from replay.models.wire import WireRequest
from tests.models.codec_conformance import REQUEST, check_codec
from tests.models.recording import said, tool_call

PATH = "/v1/responses"
BODY = b'{"model":"m","input":"hi","stream":true,"temperature":0}'
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(1, 9), st.text("abc", min_size=1, max_size=5)),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, min_size=1)
    ),
    max_leaves=4,
)
_ITEM = st.builds(lambda value: {"item": {"id": "kept", "whatever": value}}, _VALUE)
EXTRAS = {
    "text": st.one_of(
        st.just({"part": {"type": "refusal"}}),
        st.just({"item": {"phase": "commentary"}}),
        st.builds(lambda value: {"part": {"annotations": [value], "logprobs": [value]}}, _VALUE),
        _ITEM,
    ),
    "reasoning": st.one_of(
        st.just({"part": {"type": "reasoning_text"}}), st.just({"item": {"encrypted_content": "zz"}}), _ITEM
    ),
    "tool-call": st.one_of(st.just({"item": {"type": "custom_tool_call"}}), _ITEM),
}


def heard(reply):
    """What this wire says of a reply: it always counts, and a call is reason enough to stop."""
    usage = reply.usage and {"cacheReadTokens": 0, "reasoningTokens": 0, **reply.usage}
    finish = reply.finish
    if finish and finish["reason"]["kind"] in ("stop", "tool-calls"):
        has_call = any(block["type"] == "tool-call" for block in reply.blocks)
        finish = {"type": "finish", "reason": {"kind": "tool-calls" if has_call else "stop"}}
    return Reply(reply.blocks, usage, finish)


def wire(chunks, request=REQUEST, complete=True):
    return b"".join(openai_responses.encode_stream(chunks, request, "1", complete))


def events(chunks, request=REQUEST, complete=True):
    """The events of a reply; each is named in its frame and numbered."""
    frames = wire(chunks, request, complete).split(b"\n\n")
    assert frames.pop() == b""
    told = []
    for number, frame in enumerate(frames):
        name, data = frame.split(b"\n")
        event = orjson.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        assert event.pop("sequence_number") == number
        told.append(event)
    return told


def decode(*told, close=True):
    decoder = openai_responses.StreamDecoder()
    chunks = []
    for event in told:
        chunks += decoder.feed(b"data: " + orjson.dumps(event) + b"\n\n")
    return chunks + (decoder.close() if close else [])


def added(number, **item):
    return {"type": "response.output_item.added", "output_index": number, "item": item}


def done(number, **item):
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def completed(**response):
    return {"type": "response.completed", "response": {"status": "completed", **response}}


def ended(index, block):
    return {"type": "block-end", "index": index, "block": block}


def survives(chunks):
    """Both ways of sending them give them back."""
    assert decode(*events(chunks)) == chunks
    body = openai_responses.encode_response(chunks, REQUEST, "1")
    assert fold(openai_responses.decode_response(body)) == fold(chunks)


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


# What is kept


def test_ids_of_items_come_back_except_those_made_here():
    item = {"id": "rs_68d", "type": "reasoning", "encrypted_content": "zz", "summary": []}
    chunks = decode(added(0, **item), done(0, **item), completed())
    extras = {"item": {"id": "rs_68d", "encrypted_content": "zz"}}
    assert fold(chunks).blocks == [{"type": "reasoning", "text": "", "extras": extras}]
    told = events(chunks)
    assert told[2]["item"] == {"id": "rs_68d", "type": "reasoning", "summary": []}
    assert told[3]["item"] == item
    survives(chunks)
    assert "extras" not in fold(decode(*events(said("x")))).blocks[0]


def test_parts_of_one_item_stay_together():
    item = {"id": "rs_9", "type": "reasoning", "summary": [{"type": "summary_text", "text": t} for t in "ab"]}
    item["content"] = [{"type": "text", "text": "raw"}]
    message = {
        "id": "msg_9",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
    }
    message["content"] = [
        {"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", "url": "u"}]},
        {"type": "refusal", "refusal": "no"},
        {"type": "output_audio", "data": "QQ"},
    ]
    body = {"id": "resp_9", "object": "response", "status": "completed", "output": [item, message]}
    chunks = openai_responses.decode_response(orjson.dumps(body))
    assert fold(chunks).blocks == [
        {"type": "reasoning", "text": "a", "extras": {"item": {"id": "rs_9"}}},
        {"type": "reasoning", "text": "b", "extras": {"continues": True}},
        {"type": "reasoning", "text": "raw", "extras": {"continues": True, "part": {"type": "text"}}},
        {
            "type": "text",
            "text": "x",
            "extras": {
                "item": {"id": "msg_9", "phase": "final_answer"},
                "part": {"annotations": [{"type": "url_citation", "url": "u"}]},
            },
        },
        {"type": "text", "text": "no", "extras": {"continues": True, "part": {"type": "refusal"}}},
        {
            "type": "text",
            "text": "",
            "extras": {"continues": True, "part": {"type": "output_audio", "data": "QQ"}},
        },
    ]
    survives(chunks)
    places = [
        event["content_index"] for event in events(chunks) if event["type"] == "response.content_part.done"
    ]
    assert places == [0, 0, 1, 2]
    assert sum(event["type"] == "response.output_item.done" for event in events(chunks)) == 2
    again = orjson.loads(openai_responses.encode_response(chunks, REQUEST, "1"))["output"]
    message["content"][0]["logprobs"] = []
    assert again == [item, message]


@pytest.mark.parametrize(
    "item",
    [
        {"id": "msg_9", "type": "message", "status": "incomplete", "role": "assistant", "content": []},
        {"id": "msg_9", "type": "message", "status": "completed", "role": "critic", "content": []},
        {"id": "rs_9", "type": "reasoning", "summary": [{"type": "summary_text", "text": ""}]},
        {"id": "fc_9", "type": "function_call", "arguments": "{}", "call_id": "a", "name": "f", "namespace": "n", "status": "completed"},
        {"id": "ws_9", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": None}},
        {"id": "cmp_9", "type": "compaction", "encrypted_content": "zz"},
        {"id": "lsh_9", "type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}, "status": "completed"},
    ],
)  # fmt: skip
def test_any_item_comes_back_as_it_was(item):
    chunks = decode(done(0, **item), completed())
    told = events(chunks)
    assert told[-2] == done(0, **item) and told[-1]["response"]["output"] == [item]
    assert decode(*told) == chunks
    body = orjson.loads(openai_responses.encode_response(chunks, REQUEST, "1"))
    assert body["output"] == [item]
    assert fold(openai_responses.decode_response(orjson.dumps(body))).blocks == fold(chunks).blocks


def test_call_of_an_unknown_type_is_a_tool_call():
    action = {"type": "exec", "command": ["ls"]}
    shell = {
        "id": "lsh_9",
        "type": "local_shell_call",
        "call_id": "a",
        "status": "completed",
        "action": action,
    }
    begun = shell | {"status": "in_progress", "action": {"type": "exec", "command": []}}
    chunks = decode(added(0, **begun), done(0, **shell), completed())
    block = fold(chunks).blocks[0]
    assert (block["type"], block["id"], block["name"]) == ("tool-call", "a", "local_shell")
    assert orjson.loads(block["arguments"]) == {"action": action}
    assert chunks[-1]["reason"] == {"kind": "tool-calls"}
    assert events(chunks)[2]["item"] == begun


def test_course_of_an_unknown_item_is_told_again():
    begun = {"id": "ws_9", "type": "web_search_call", "status": "in_progress"}
    ended_item = begun | {"status": "completed", "action": {"type": "search", "query": "q"}}
    steps = [
        {"type": f"response.web_search_call.{step}", "output_index": 0, "item_id": "ws_9"}
        for step in ("in_progress", "searching", "completed")
    ]
    told = [added(0, **begun), *steps, done(0, **ended_item)]
    assert events(decode(*told, completed()))[2:-1] == told


def test_members_of_the_reply_without_a_word_survive_on_the_finish():
    last = completed(service_tier="default", model="x", temperature=0.3) | {"copilot_usage": {"n": 1}}
    chunks = decode({"type": "keepalive"}, {"type": "codex.rate_limits", "limits": [1]}, last)
    assert chunks[-1]["extras"] == {
        "reply": {"service_tier": "default"},
        "event": {"copilot_usage": {"n": 1}},
        "events": [{"type": "codex.rate_limits", "limits": [1]}],
    }
    assert decode(*events(chunks)) == chunks
    assert events(chunks)[-1]["response"]["service_tier"] == "default"


def test_annotations_and_logprobs_of_events_count_where_the_item_has_none():
    where = {"output_index": 0, "content_index": 0}
    note, odds = {"type": "file_path", "file_id": "f"}, {"token": "x", "logprob": -1}
    part = {"type": "output_text", "text": "x"}
    chunks = decode(
        added(0, type="message", role="assistant", content=[]),
        {"type": "response.output_text.delta", **where, "delta": "x", "logprobs": [odds]},
        {"type": "response.output_text.annotation.added", **where, "annotation_index": 0, "annotation": note},
        done(0, type="message", role="assistant", content=[part]),
        completed(),
    )
    assert fold(chunks).blocks[0]["extras"] == {"part": {"logprobs": [odds], "annotations": [note]}}
    told = events(chunks)
    assert told[5] == {
        "type": "response.output_text.annotation.added",
        "item_id": "msg_1_0",
        **where,
        "annotation_index": 0,
        "annotation": note,
    }
    survives(chunks)


def test_usage_details_without_a_word_survive():
    counts = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 9,
    }
    chunks = decode(completed(usage=counts))
    assert chunks[0]["usage"] == {
        "inputTokens": 1,
        "outputTokens": 2,
        "cacheReadTokens": 1,
        "reasoningTokens": 0,
        "extras": {"total_tokens": 9, "input_tokens_details": {"cache_write_tokens": 0}},
    }
    assert events(chunks)[-1]["response"]["usage"] == counts


# Servers that say less


def test_whole_texts_without_deltas_become_one_piece():
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x":1}'}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    for told in (
        [done(0, **message), done(1, **call), completed()],
        [added(0, **message), done(0, **message), added(1, **call), done(1, **call), completed()],
        [completed(output=[message, call])],
    ):
        chunks = decode(*told)
        assert [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"] == ["hi"]
        assert [chunk["argumentsDelta"] for chunk in chunks if chunk["type"] == "tool-call-delta"] == [
            '{"x":1}'
        ]
        assert [block["type"] for block in fold(chunks).blocks] == ["text", "tool-call"]


def test_rest_of_a_text_comes_with_its_end():
    call = {"type": "function_call", "id": "fc_9", "call_id": "a", "name": "f", "arguments": ""}
    kind = "response.function_call_arguments"
    where = {"output_index": 0, "item_id": "fc_9"}
    chunks = decode(
        added(0, **call),
        {"type": f"{kind}.delta", **where, "delta": "{"},
        {"type": f"{kind}.done", **where, "arguments": "{}"},
        done(0, **call | {"arguments": "{} "}),
        completed(),
    )
    assert [chunk["argumentsDelta"] for chunk in chunks if chunk["type"] == "tool-call-delta"] == [
        "{",
        "}",
        " ",
    ]


def test_text_that_its_end_contradicts_is_kept_both_ways():
    message = {"id": "m9", "type": "message", "status": "completed", "role": "assistant"}
    message["content"] = [{"type": "output_text", "annotations": [], "logprobs": [], "text": "masked text"}]
    call = {
        "id": "c9",
        "type": "function_call",
        "status": "completed",
        "arguments": "{ }",
        "call_id": "a",
        "name": "f",
    }
    chunks = decode(
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "secret"},
        done(0, **message),
        added(1, **call | {"arguments": ""}),
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "[]"},
        done(1, **call),
        completed(),
    )
    blocks = fold(chunks).blocks
    assert (blocks[0]["text"], blocks[0]["extras"]["part"]) == ("secret", {"text": "masked text"})
    assert (blocks[1]["arguments"], blocks[1]["extras"]["item"]["arguments"]) == ("[]", "{ }")
    told = events(chunks)
    assert [event["delta"] for event in told if "delta" in event] == ["secret", "[]"]
    assert told[-1]["response"]["output"] == [message, call]
    assert decode(*told) == chunks


def test_server_without_places_ends_all_items_at_the_end():
    """As llama.cpp does: neither output_index nor sequence_number, no content_index, all ends last."""

    def piece(kind, item_id, delta):
        return {"type": f"response.{kind}.delta", "item_id": item_id, "delta": delta}

    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    call = {"type": "function_call", "call_id": "fc_a", "name": "f", "arguments": "", "status": "in_progress"}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "status": "in_progress"}
    reasoning = {"id": "r", "type": "reasoning", "summary": [], "content": [], "encrypted_content": ""}
    told = [
        added(0, **reasoning),
        piece("reasoning_text", "r", "h"),
        piece("reasoning_text", "r", "m"),
        added(0, **message),
        {"type": "response.content_part.added", "item_id": "m", "part": part},
        piece("output_text", "m", "hi"),
        added(0, **call),
        piece("function_call_arguments", "fc_a", "{}"),
        added(0, **call | {"call_id": "fc_b"}),
        piece("function_call_arguments", "fc_b", "[]"),
        done(0, **reasoning | {"content": [{"type": "reasoning_text", "text": "hm"}]}),
        {"type": "response.output_text.done", "item_id": "m", "text": "hi"},
        {"type": "response.content_part.done", "item_id": "m", "part": part | {"text": "hi"}},
        done(0, **message | {"content": [part | {"text": "hi"}], "status": "completed"}),
        done(0, **call | {"arguments": "{}", "status": "completed"}),
        done(0, **call | {"call_id": "fc_b", "arguments": "[]", "status": "completed"}),
        completed(usage={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}),
    ]
    for event in told:
        event.pop("output_index", None)
    chunks = decode(*told)
    assert fold(chunks).blocks == [
        {
            "type": "reasoning",
            "text": "hm",
            "extras": {"item": {"id": "r", "encrypted_content": ""}, "part": {"type": "reasoning_text"}},
        },
        {"type": "text", "text": "hi", "extras": {"item": {"id": "m"}}},
        {"type": "tool-call", "id": "fc_a", "name": "f", "arguments": "{}"},
        {"type": "tool-call", "id": "fc_b", "name": "f", "arguments": "[]"},
    ]
    assert fold(decode(*events(chunks))) == fold(chunks)


def test_ids_that_change_on_the_way_do_not_matter_where_places_are_given():
    where = {"output_index": 0, "content_index": 0}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ab"}]}
    chunks = decode(
        added(0, id="1", type="message", role="assistant", content=[]),
        {"type": "response.output_text.delta", "item_id": "2", **where, "delta": "a"},
        {"type": "response.output_text.delta", "item_id": "3", **where, "delta": "b"},
        done(0, id="4", **message),
        completed(output=[message]),
    )
    assert fold(chunks).blocks == [{"type": "text", "text": "ab", "extras": {"item": {"id": "4"}}}]


def test_done_mark_of_other_wires_and_what_follows_the_end_are_ignored():
    decoder = openai_responses.StreamDecoder()
    assert decoder.feed(b"data: [DONE]\n\n") == [] and not decoder.complete
    decoder.feed(wire(said("x")))
    assert decoder.complete
    assert decoder.feed(b"data: rubbish\n\n") == [] and decoder.close() == []


def test_event_may_be_named_by_its_frame_alone():
    decoder = openai_responses.StreamDecoder()
    chunks = decoder.feed(b'event: response.completed\ndata: {"response":{}}\n\n')
    assert chunks == [{"type": "finish", "reason": {"kind": "stop"}}]


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

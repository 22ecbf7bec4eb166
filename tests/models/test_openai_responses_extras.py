"""The Responses codec: what only this wire has is kept, and servers that say less are understood."""

import orjson
import pytest

from replay.models import openai_responses
from replay.models.blocks import fold
from tests.models.codec_conformance import REQUEST
from tests.models.openai_responses_frames import (
    added,
    completed,
    decode,
    done,
    events,
    survives,
    wire,
)
from tests.models.recording import said

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

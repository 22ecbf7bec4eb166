"""The Chat Completions codec: conformance, then what only this wire has."""

import orjson
import pytest
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models import openai_chat
from replay.models.blocks import fold
from tests.models.codec_conformance import REQUEST, check_codec
from tests.models.recording import said, tool_call

PATH = "/v1/chat/completions"
QUIET = REQUEST._replace(wants_usage=False)
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(1, 9), st.text("abc", min_size=1, max_size=5)),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, min_size=1)
    ),
    max_leaves=4,
)
EXTRAS = {
    # Annotations of several text blocks end at the last one, so only the usual place is generated.
    "text": st.just({"field": "refusal"}),
    "reasoning": st.just({"field": "reasoning"}),
    "tool-call": st.one_of(
        st.just({"field": "custom"}), st.builds(lambda value: {"extra_content": value}, _VALUE)
    ),
}


def wire(chunks, request=REQUEST, complete=True):
    return b"".join(openai_chat.encode_stream(chunks, request, "1", complete))


def frames(chunks, request=REQUEST):
    lines = wire(chunks, request).split(b"\n\n")
    assert lines[-2:] == [b"data: [DONE]", b""]
    return [orjson.loads(line.removeprefix(b"data: ")) for line in lines[:-2]]


def decode(*events, done=True):
    decoder = openai_chat.StreamDecoder()
    chunks = []
    for event in events:
        chunks += decoder.feed(b"data: " + orjson.dumps(event) + b"\n\n")
    if done:
        chunks += decoder.feed(b"data: [DONE]\n\n")
    return chunks + decoder.close()


def delta(finish=None, **members):
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def test_codec_passes_the_conformance_suite():
    body = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"temperature":0}'
    check_codec(openai_chat, EXTRAS, PATH, body)


def test_stream_has_the_frames_of_the_provider():
    first, *deltas, finish, usage = frames(said("Hel", "lo", reasoning=["hm"]))
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "some-model"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    assert first == {**envelope, "choices": [choice]}
    assert [each["choices"][0]["delta"] for each in deltas] == [
        {"reasoning_content": "hm"},
        {"content": "Hel"},
        {"content": "lo"},
    ]
    assert finish["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert usage == {
        **envelope,
        "choices": [],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
    }


def test_usage_is_sent_only_to_who_asked():
    assert all("usage" not in frame for frame in frames(said("x"), QUIET))


def test_usage_recorded_with_the_finish_is_sent_with_it_again():
    recorded = decode(
        delta(content="x"), delta("stop") | {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}
    )
    assert recorded[-2] == {
        "type": "usage",
        "usage": {"inputTokens": 1, "outputTokens": 2, "extras": {"with_finish": True}},
    }
    last = frames(recorded, QUIET)[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("stop", "stop"),
        ("max-tokens", "length"),
        ("tool-calls", "tool_calls"),
        ("content-filter", "content_filter"),
        ("something-new", "something-new"),
    ],
)
def test_finish_reasons_are_mapped(kind, reason):
    assert frames(said("x", reason=kind), QUIET)[-1]["choices"][0]["finish_reason"] == reason
    assert decode(delta(reason))[-1]["reason"] == {"kind": kind}


def test_parallel_tool_calls_are_numbered_among_themselves_and_named_once():
    chunks = said("go")[:3] + [
        {**chunk, "index": chunk["index"] + 1}
        for chunk in tool_call(("a", "bash", "{}"), ("b", "read", "[]"))
        if "index" in chunk
    ]
    calls = [call for frame in frames(chunks)[2:] for call in frame["choices"][0]["delta"]["tool_calls"]]
    assert calls == [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "bash", "arguments": "{"}},
        {"index": 0, "function": {"arguments": "}"}},
        {"index": 1, "id": "b", "type": "function", "function": {"name": "read", "arguments": "["}},
        {"index": 1, "function": {"arguments": "]"}},
    ]


def test_name_repeated_in_each_delta_is_sent_once():
    call = {"type": "tool-call-delta", "index": 0, "id": "a", "name": "bash"}
    sent = frames([{**call, "argumentsDelta": "{"}, {**call, "argumentsDelta": "}"}])
    assert sent[2]["choices"][0]["delta"] == {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}


def test_name_that_comes_in_pieces_is_put_together_and_sent_in_pieces():
    pieces = [{"id": "a", "function": {"name": "ba", "arguments": ""}}, {"function": {"name": "sh"}}]
    pieces += [{"function": {"name": "bash", "arguments": "{}"}}]
    chunks = decode(*(delta(tool_calls=[{"index": 0, **piece}]) for piece in pieces), delta("tool_calls"))
    assert [chunk.get("name") for chunk in chunks if chunk["type"] == "tool-call-delta"] == [
        "ba",
        "bash",
        "bash",
    ]
    assert fold(chunks).blocks == [{"type": "tool-call", "id": "a", "name": "bash", "arguments": "{}"}]
    sent = [frame["choices"][0]["delta"]["tool_calls"][0]["function"] for frame in frames(chunks)[1:-1]]
    assert [piece.get("name") for piece in sent] == ["ba", "sh", None]


def test_block_without_deltas_is_sent_whole():
    ends = [
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "all"}},
        {
            "type": "block-end",
            "index": 1,
            "block": {"type": "tool-call", "id": "a", "name": "n", "arguments": "{}"},
        },
    ]
    assert [frame["choices"][0]["delta"] for frame in frames(ends)[1:]] == [
        {"content": "all"},
        {
            "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "function": {"name": "n", "arguments": "{}"}}
            ]
        },
    ]


def test_prefix_has_no_end():
    sent = wire(said("a", "b")[:3], complete=False)
    assert sent.endswith(b'"content":"b"},"finish_reason":null}]}\n\n')


def test_error_inside_a_reply_is_an_error_event():
    failure = {"message": "overheated", "code": "EMPTY_RESPONSE"}
    chunks = [{"type": "finish", "reason": {"kind": "error", "failure": failure}}]
    assert frames(chunks)[-1] == {
        "error": {"message": "overheated", "type": "server_error", "code": "EMPTY_RESPONSE"}
    }
    assert decode(*frames(chunks)) == chunks
    body = openai_chat.encode_response(chunks, REQUEST, "1")
    assert openai_chat.decode_response(body) == chunks


def test_error_with_a_number_for_its_code_comes_back_as_sent():
    error = {"message": "slow down", "code": 429, "metadata": {"provider": "x"}}
    chunks = decode({"error": error})
    assert frames(chunks)[-1]["error"] == {"type": "server_error", **error}


def test_refusal_and_reasoning_spelling_survive():
    chunks = decode(
        delta(role="assistant", content=""), delta(reasoning="hm"), delta(refusal="no"), delta("stop")
    )
    assert [chunk["block"] for chunk in chunks if chunk["type"] == "block-end"] == [
        {"type": "reasoning", "text": "hm", "extras": {"field": "reasoning"}},
        {"type": "text", "text": "no", "extras": {"field": "refusal"}},
    ]
    assert [frame["choices"][0]["delta"] for frame in frames(chunks)[1:3]] == [
        {"reasoning": "hm"},
        {"refusal": "no"},
    ]


def test_same_reasoning_under_both_spellings_is_one_piece():
    chunks = decode(delta(reasoning="hm", reasoning_content="hm"), delta("stop"))
    assert fold(chunks).blocks == [{"type": "reasoning", "text": "hm"}]


def test_reasoning_details_are_joined_and_sent_with_the_reasoning():
    pieces = [
        delta(reasoning="a", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}]),
        delta(
            reasoning="b",
            reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}],
        ),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "zz"}]),
        delta("stop"),
    ]
    details = [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "zz"},
    ]
    chunks = decode(*pieces)
    assert fold(chunks).blocks[0]["extras"] == {"field": "reasoning", "reasoning_details": details}
    assert frames(chunks)[1]["choices"][0]["delta"] == {"reasoning": "a", "reasoning_details": details}
    assert decode(*frames(chunks)) == chunks


def test_encrypted_reasoning_without_text_is_a_block():
    chunks = decode(delta(reasoning_details=[{"data": "zz"}]), delta(content="x"), delta("stop"))
    assert fold(chunks).blocks[0] == {
        "type": "reasoning",
        "text": "",
        "extras": {"reasoning_details": [{"data": "zz"}]},
    }
    assert decode(*frames(chunks)) == chunks


def test_annotations_belong_to_the_text_and_survive_both_ways():
    notes = [{"type": "url_citation", "url_citation": {"url": "u"}}]
    chunks = decode(delta(content="see"), delta(annotations=notes), delta("stop"))
    assert fold(chunks).blocks == [{"type": "text", "text": "see", "extras": {"annotations": notes}}]
    assert decode(*frames(chunks)) == chunks
    assert fold(openai_chat.decode_response(openai_chat.encode_response(chunks, REQUEST, "1"))) == fold(
        chunks
    )


def test_members_without_a_word_survive_on_the_finish():
    events = [
        {"system_fingerprint": "fp", **delta(content="x")},
        delta(audio={"id": "a1", "data": "QU"}),
        delta(audio={"data": "JD"}),
        {
            "system_fingerprint": "fp",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": {"content": [1]}}],
        },
    ]
    chunks = decode(*events)
    assert chunks[-1]["extras"] == {
        "reply": {"system_fingerprint": "fp"},
        "delta": {"audio": {"id": "a1", "data": "QUJD"}},
        "choice": {"logprobs": {"content": [1]}},
    }
    assert decode(*frames(chunks)) == chunks
    assert openai_chat.decode_response(openai_chat.encode_response(chunks, REQUEST, "1")) == chunks


def test_random_padding_is_dropped():
    assert "extras" not in decode({"obfuscation": "xyz", **delta(content="x")}, delta("stop"))[-1]


def test_usage_details_without_a_word_survive():
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9}
    counts["prompt_tokens_details"] = {"cached_tokens": 1, "audio_tokens": 5}
    chunks = decode(delta("stop"), {"choices": [], "usage": counts})
    assert chunks[0]["usage"] == {
        "inputTokens": 1,
        "outputTokens": 2,
        "cacheReadTokens": 1,
        "extras": {"total_tokens": 9, "prompt_tokens_details": {"audio_tokens": 5}},
    }
    assert frames(chunks)[-1]["usage"] == counts


def test_calls_that_share_index_0_are_told_apart_by_id():
    def entry(call_id):
        return {"index": 0, "id": call_id, "function": {"name": "n", "arguments": "{}"}}

    chunks = decode(delta(tool_calls=[entry("a")]), delta(tool_calls=[entry("b")]), delta("tool_calls"))
    assert [block["id"] for block in fold(chunks).blocks] == ["a", "b"]


def test_call_without_index_continues_the_last_one():
    pieces = [{"id": "a", "function": {"name": "n", "arguments": "{"}}, {"function": {"arguments": "}"}}]
    chunks = decode(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls"))
    assert fold(chunks).blocks == [{"type": "tool-call", "id": "a", "name": "n", "arguments": "{}"}]


def test_calls_of_a_whole_reply_without_ids_stay_apart():
    calls = [{"function": {"name": name, "arguments": {"x": 1}}} for name in "ab"]
    body = orjson.dumps(
        {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    )
    chunks = openai_chat.decode_response(body)
    assert [(block["name"], block["arguments"]) for block in fold(chunks).blocks] == [
        ("a", '{"x":1}'),
        ("b", '{"x":1}'),
    ]
    again = orjson.loads(openai_chat.encode_response(chunks, REQUEST, "1"))
    assert "id" not in again["choices"][0]["message"]["tool_calls"][0]


def test_empty_pieces_open_no_block_but_survive_inside_one():
    events = [delta(content=""), delta(content="a"), delta(content=""), delta("stop", content="")]
    chunks = decode(*events)
    assert [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"] == ["a", ""]


def test_finish_repeated_or_before_usage_comes_once_and_last():
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    chunks = decode(delta(content="x"), delta("stop"), delta("stop"), usage)
    assert [chunk["type"] for chunk in chunks][-2:] == ["usage", "finish"]
    assert sum(chunk["type"] == "finish" for chunk in chunks) == 1


def test_stream_without_done_is_complete_once_finished():
    assert decode(delta(content="x"), delta("stop"), done=False)[-1]["type"] == "finish"
    decoder = openai_chat.StreamDecoder()
    decoder.feed(wire(said("x")[:2], complete=False))
    assert decoder.close() == [] and not decoder.complete


def test_what_follows_done_is_ignored():
    decoder = openai_chat.StreamDecoder()
    decoder.feed(wire(said("x")))
    assert decoder.feed(b"data: rubbish\n\n") == [] and decoder.close() == []


@pytest.mark.parametrize(
    "event", [b"{", b"[]", b'{"choices":[1]}', b'{"choices":[{"delta":{"content":[1]}}]}', b'{"choices":7}']
)
def test_foreign_events_are_named(event):
    with pytest.raises(FixtureError, match="provider"):
        openai_chat.StreamDecoder().feed(b"data: " + event + b"\n\n")


def test_models_are_listed_and_echoed():
    assert orjson.loads(openai_chat.probe("GET", "/v1/models", ["a"]))["data"][0]["id"] == "a"
    assert orjson.loads(openai_chat.probe("GET", "/v1/models/org/any", []))["id"] == "org/any"
    assert openai_chat.probe("GET", "/v1/models/b", ["a"]) is None
    assert openai_chat.probe("DELETE", "/v1/models/a", ["a"]) is None


def test_error_bodies_have_the_provider_s_shape():
    assert orjson.loads(openai_chat.encode_error(429, "slow", "RATE_LIMIT")) == {
        "error": {"message": "slow", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}
    }
    assert orjson.loads(openai_chat.encode_error(500, "boom", ""))["error"]["code"] is None


def test_reply_that_comes_back_in_a_request_is_the_recorded_one():
    details = [{"type": "reasoning.encrypted", "data": "zz"}]
    recorded = decode(
        delta(reasoning="hm", reasoning_details=details),
        delta(content="ok", annotations=[{"type": "url_citation"}]),
        delta(
            tool_calls=[
                {
                    "index": 0,
                    "id": "a",
                    "function": {"name": "n", "arguments": "{}"},
                    "extra_content": {"s": 1},
                }
            ]
        ),
        delta("tool_calls"),
    )
    body = orjson.loads(openai_chat.encode_response(recorded, REQUEST, "1"))
    asked = {"model": "m", "messages": [body["choices"][0]["message"]]}
    seen = openai_chat.decode_request(PATH, orjson.dumps(asked))
    assert seen.messages == [{"role": "assistant", "content": fold(recorded).blocks}]

"""The Gemini codec: conformance, then what only this wire has."""

from types import SimpleNamespace

import orjson
import pytest

from replay.errors import FixtureError
from replay.models import gemini
from replay.models.blocks import fold
from tests.models.codec_conformance import REQUEST, check_codec
from tests.models.gemini_documents import (
    ARGUMENTS,
    AS_ARRAY,
    BODY,
    ENVELOPE,
    EVENTS,
    EXTRAS,
    PATH,
    body,
    decode,
    frames,
    heard,
    parts_of,
    read,
    survives,
    wire,
)
from tests.models.recording import said, tool_call


def test_codec_passes_the_conformance_suite():
    check_codec(gemini, EXTRAS, EVENTS, BODY, heard, ARGUMENTS)


def test_streams_in_an_array_pass_the_conformance_suite():
    array = SimpleNamespace(**{name: getattr(gemini, name) for name in gemini.__all__})
    array.__all__ = gemini.__all__
    array.encode_stream = lambda chunks, _, *rest: gemini.encode_stream(chunks, AS_ARRAY, *rest)
    check_codec(array, EXTRAS, PATH, BODY, heard, ARGUMENTS)


def test_stream_has_the_frames_of_the_provider():
    thought, text, last = frames(said("Hel", "lo", reasoning=["hm"]))
    content = {"parts": [{"text": "hm", "thought": True}], "role": "model"}
    assert thought == {"candidates": [{"content": content, "index": 0}], **ENVELOPE}
    assert parts_of(text) == [{"text": "Hel"}]
    content = {"parts": [{"text": "lo"}], "role": "model"}
    assert last == {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 12,
            "candidatesTokenCount": 3,
            "cachedContentTokenCount": 4,
            "thoughtsTokenCount": 1,
            "totalTokenCount": 16,
        },
        **ENVELOPE,
    }


def test_array_holds_the_same_documents():
    chunks = said("Hel", "lo", reasoning=["hm"])
    data = wire(chunks, AS_ARRAY)
    assert data.startswith(b'[{"candidates"') and data.endswith(b"]")
    assert orjson.loads(data) == frames(chunks)
    assert wire(chunks[:2], AS_ARRAY, complete=False).endswith(b"}")


def test_prefix_has_no_end():
    sent = wire(said("a", "b")[:3], complete=False)
    assert sent.endswith(
        b'"parts":[{"text":"b"}],"role":"model"},"index":0}],'
        b'"modelVersion":"some-model","responseId":"response-1"}\n\n'
    )


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("stop", "STOP"),
        ("max-tokens", "MAX_TOKENS"),
        ("content-filter", "SAFETY"),
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
        ("SOMETHING_NEW", "SOMETHING_NEW"),
    ],
)
def test_finish_reasons_are_mapped(kind, word):
    assert frames(said("x", reason=kind))[-1]["candidates"][0]["finishReason"] == word
    assert decode(body(finish=word)) == [{"type": "finish", "reason": {"kind": kind}}]


@pytest.mark.parametrize("word", ["RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"])
def test_words_that_mean_one_thing_to_us_are_kept(word):
    chunks = decode(body(finish=word, usageMetadata={"promptTokenCount": 1}))
    assert chunks[-1]["reason"] == {"kind": "content-filter"}
    assert chunks[-1]["extras"] == {"finishReason": word}
    assert survives(chunks)


def test_last_word_counts():
    assert decode(body(finish="RECITATION"), body(finish="STOP")) == [
        {"type": "finish", "reason": {"kind": "stop"}}
    ]


def test_stop_after_a_call_is_tool_calls():
    call = {"functionCall": {"name": "bash", "args": {}}}
    assert decode(body(call), body(finish="STOP"))[-1]["reason"] == {"kind": "tool-calls"}
    assert decode(body(call, finish="MAX_TOKENS"))[-1]["reason"] == {"kind": "max-tokens"}
    assert frames(tool_call(("a", "bash", "{}")))[-1]["candidates"][0]["finishReason"] == "STOP"


def test_parallel_calls_that_came_in_pieces_are_sent_whole_as_each_ends():
    chunks = tool_call(("a", "bash", '{"x":1}'), ("b", "read", "{}"))
    # The pieces of the two calls alternate.
    order = [0, 4, 1, 5, 2, 6, 3, 7, 8, 9]
    assert [parts_of(frame) for frame in frames([chunks[place] for place in order])] == [
        [{"functionCall": {"id": "a", "name": "bash", "args": {"x": 1}}}],
        [{"functionCall": {"id": "b", "name": "read", "args": {}}}],
    ]


def test_call_without_id_or_arguments_gets_none():
    chunks = decode(body({"functionCall": {"name": "now"}}, finish="STOP"))
    assert fold(chunks).blocks == [{"type": "tool-call", "id": "", "name": "now", "arguments": ""}]
    assert parts_of(frames(chunks)[0]) == [{"functionCall": {"name": "now"}}]
    assert survives(chunks)


def test_arguments_that_are_no_object_are_the_fixture_s_error():
    chunks = tool_call(("a", "bash", "[1]"))
    for encode in (wire, lambda chunks: gemini.encode_response(chunks, REQUEST, "1")):
        with pytest.raises(FixtureError, match="tool call 'a'"):
            encode(chunks)


def test_call_that_broke_off_in_its_arguments_is_not_sent():
    chunks = [*said("x")[:2], {**tool_call(("a", "bash", '{"x":1}'))[1], "index": 1}]
    assert chunks[-1]["argumentsDelta"] == '{"x'
    assert parts_of(orjson.loads(wire(chunks, complete=False).removeprefix(b"data: "))) == [{"text": "x"}]


def test_block_without_deltas_is_sent_whole():
    call = {"type": "tool-call", "id": "a", "name": "n", "arguments": "{}"}
    ends = [
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "all"}},
        {"type": "block-end", "index": 1, "block": call},
        {"type": "block-end", "index": 2, "block": {"type": "text", "text": ""}},
    ]
    assert [parts_of(frame) for frame in frames(ends)] == [
        [{"text": "all"}],
        [{"functionCall": {"id": "a", "name": "n", "args": {}}}],
    ]


def test_signature_ends_its_block_and_goes_back_with_its_last_piece():
    chunks = decode(
        body({"text": "why", "thought": True}),
        body({"text": "Hel"}),
        body({"text": "lo", "thoughtSignature": "c2ln"}),
        body({"text": "!"}, finish="STOP"),
    )
    assert fold(chunks).blocks == [
        {"type": "reasoning", "text": "why"},
        {"type": "text", "text": "Hello", "extras": {"thoughtSignature": "c2ln"}},
        {"type": "text", "text": "!"},
    ]
    assert [parts_of(frame)[0] for frame in frames(chunks)][1:] == [
        {"text": "Hel"},
        {"text": "lo", "thoughtSignature": "c2ln"},
        {"text": "!"},
    ]
    # The thought is still open when its neighbour ends.
    assert fold(read(wire(chunks))) == fold(chunks)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"text": "", "thoughtSignature": "s"}, "text"),
        ({"thoughtSignature": "s"}, "text"),
        ({"thought": True, "thoughtSignature": "s"}, "reasoning"),
    ],
)
def test_signature_without_text_is_a_block(part, kind):
    chunks = decode(body({"functionCall": {"name": "n", "args": {}}}), body(part, finish="STOP"))
    assert fold(chunks).blocks[1] == {"type": kind, "text": "", "extras": {"thoughtSignature": "s"}}
    assert parts_of(frames(chunks)[1]) == [part]
    assert survives(chunks)


def test_signature_alone_belongs_to_the_open_text():
    chunks = decode(body({"text": "a"}), body({"thoughtSignature": "s"}, finish="STOP"))
    assert fold(chunks).blocks == [{"type": "text", "text": "a", "extras": {"thoughtSignature": "s"}}]
    assert survives(chunks)


def test_empty_texts_open_no_block_but_survive_inside_one():
    chunks = decode(
        body({"text": ""}), body({"text": "a"}), body({"text": ""}), body({"text": ""}, finish="STOP")
    )
    assert [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"] == ["a", "", ""]
    assert survives(chunks)


def test_text_that_says_it_is_no_thought_is_text():
    chunks = decode(body({"text": "a", "thought": False}), body({"text": "b"}, finish="STOP"))
    assert fold(chunks).blocks == [{"type": "text", "text": "ab"}]


def test_parts_without_a_word_are_kept_in_their_place():
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "s"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True},
        {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.x"}], "willContinue": True}},
    ]
    chunks = decode(body({"text": "a"}, *parts, {"text": "b"}, finish="STOP"))
    assert [parts_of(frame)[0] for frame in frames(chunks)] == [{"text": "a"}, *parts, {"text": "b"}]
    assert fold(read(wire(chunks))) == fold(chunks)
    assert (
        orjson.loads(gemini.encode_response(chunks, REQUEST, "1"))["candidates"][0]["content"]["parts"][1:5]
        == parts
    )


def test_members_without_a_word_survive_on_the_finish():
    ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]
    first, second = body({"text": "a"}), body({"text": "b"}, finish="STOP", modelStatus={"stage": "STABLE"})
    first["candidates"][0] |= {
        "safetyRatings": ratings,
        "logprobsResult": {"chosenCandidates": [{"token": "a"}]},
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "u"}}]},
    }
    second["candidates"][0] |= {
        "safetyRatings": ratings,
        "logprobsResult": {"chosenCandidates": [{"token": "a"}]},
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "u"}}, {"web": {"uri": "v"}}]},
        "avgLogprobs": -0.5,
    }
    second["candidates"][0]["content"]["later"] = 1
    chunks = decode(first, second)
    assert chunks[-1]["extras"] == {
        "reply": {"modelStatus": {"stage": "STABLE"}},
        "content": {"later": 1},
        "candidate": {
            "safetyRatings": ratings,
            "logprobsResult": {"chosenCandidates": [{"token": "a"}, {"token": "a"}]},
            "groundingMetadata": {"groundingChunks": [{"web": {"uri": "u"}}, {"web": {"uri": "v"}}]},
            "avgLogprobs": -0.5,
        },
    }
    assert survives(chunks)


def test_blocked_prompt_is_content_filter_without_a_candidate():
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    chunks = decode({**blocked, "usageMetadata": {"promptTokenCount": 8, "totalTokenCount": 8}})
    assert chunks[-1]["reason"] == {"kind": "content-filter"}
    sent = frames(chunks)
    assert [sorted(frame) for frame in sent] == [
        ["modelVersion", "promptFeedback", "responseId", "usageMetadata"]
    ]
    assert survives(chunks)
    assert survives(decode(body({"text": "a"}), blocked))
    both = decode(body({"text": "a"}, finish="SAFETY", **blocked))
    assert frames(both)[-1]["candidates"][0]["finishReason"] == "SAFETY"
    assert survives(both)
    assert survives(decode(body({"text": "a"}, finish="STOP", **blocked)))


def test_usage_counts_up_and_keeps_what_has_no_word():
    counts = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "toolUsePromptTokenCount": 3,
        "totalTokenCount": 25,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
    }
    early = {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11, "trafficType": "X"}
    chunks = decode(body({"text": "a"}, usageMetadata=early), body(finish="STOP", usageMetadata=counts))
    details = counts["promptTokensDetails"]
    assert chunks[-2]["usage"] == {
        "inputTokens": 10,
        "outputTokens": 5,
        "reasoningTokens": 7,
        "extras": {"trafficType": "X", "toolUsePromptTokenCount": 3, "promptTokensDetails": details},
    }
    assert frames(chunks)[-1]["usageMetadata"] == {**counts, "trafficType": "X"}
    assert survives(chunks)
    odd = decode(body(finish="STOP", usageMetadata={"promptTokenCount": 1, "totalTokenCount": 9}))
    assert odd[0]["usage"] == {"inputTokens": 1, "outputTokens": 0, "extras": {"totalTokenCount": 9}}
    assert survives(odd)

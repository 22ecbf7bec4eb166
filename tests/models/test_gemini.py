"""The Gemini codec: conformance, then what only this wire has."""

from types import SimpleNamespace

import orjson
import pytest
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models import gemini
from replay.models.blocks import Reply, fold
from replay.models.gemini_documents import DocumentDecoder
from tests.models.codec_conformance import REQUEST, check_codec
from tests.models.recording import said, tool_call

PATH = "/v1beta/models/some-model:streamGenerateContent"
EVENTS = PATH + "?alt=sse"
BODY = b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"temperature":0}}'
AS_ARRAY = REQUEST._replace(options={"query": {"alt": "json"}})
ENVELOPE = {"modelVersion": "some-model", "responseId": "response-1"}
_VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 1 << 60), st.floats(-1, 1), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_SIGNATURE = st.builds(lambda text: {"thoughtSignature": text}, st.text("abc+/=", min_size=1, max_size=9))
EXTRAS = {
    "text": _SIGNATURE,
    "reasoning": _SIGNATURE,
    "tool-call": st.one_of(_SIGNATURE, st.just({"thought": True, "functionCall": {"willContinue": True}})),
}
ARGUMENTS = st.dictionaries(st.text(max_size=5), _VALUE, max_size=3).map(
    lambda arguments: [orjson.dumps(arguments).decode()]
)


def heard(reply: Reply) -> Reply:
    """This wire says STOP in both cases; a call in the reply tells them apart."""
    if reply.finish is None or reply.finish["reason"]["kind"] not in ("stop", "tool-calls"):
        return reply
    calls = any(block["type"] == "tool-call" for block in reply.blocks)
    return reply._replace(finish={"type": "finish", "reason": {"kind": "tool-calls" if calls else "stop"}})


def wire(chunks, request=REQUEST, complete=True):
    return b"".join(gemini.encode_stream(chunks, request, "1", complete))


def frames(chunks):
    events = wire(chunks).split(b"\n\n")
    assert events.pop() == b""
    return [orjson.loads(event.removeprefix(b"data: ")) for event in events]


def parts_of(frame):
    return frame["candidates"][0]["content"].get("parts", [])


def read(data):
    decoder = gemini.StreamDecoder()
    return decoder.feed(data) + decoder.close()


def decode(*bodies):
    return read(b"".join(b"data: " + orjson.dumps(body) + b"\r\n\r\n" for body in bodies))


def body(*parts, finish=None, **members):
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **members}


def survives(chunks):
    """Both framings and the whole reply give the same chunks again."""
    whole = gemini.decode_response(gemini.encode_response(chunks, REQUEST, "1"))
    return read(wire(chunks)) == chunks == read(wire(chunks, AS_ARRAY)) and fold(whole) == fold(chunks)


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


# Errors


def test_error_inside_a_stream_is_sent_bare_and_read_in_every_framing():
    failure = {"message": "overheated", "code": "EMPTY_RESPONSE"}
    finish = {"type": "finish", "reason": {"kind": "error", "failure": failure}}
    start, *_ = said("a")
    chunks = [start, {"type": "text-delta", "index": 0, "text": "a"}]
    chunks += [{"type": "block-end", "index": 0, "block": {"type": "text", "text": "a"}}, finish]
    [frame] = gemini.encode_stream(chunks, REQUEST, "1", True)
    part, error = frame.split(b"\n\n")
    assert part.startswith(b"data: ") and b"finishReason" not in part
    assert orjson.loads(error)["error"] == {
        "code": 500,
        "message": "overheated",
        "status": "INTERNAL",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "EMPTY_RESPONSE",
                "domain": "agent_replay",
            }
        ],
    }
    assert read(wire(chunks)) == chunks == read(wire(chunks, AS_ARRAY))
    assert gemini.decode_response(gemini.encode_response([finish], REQUEST, "1")) == [finish]


def test_provider_s_own_error_inside_a_stream_comes_back_as_sent():
    error = {"code": 503, "message": "high demand\n}", "status": "UNAVAILABLE", "details": [{"@type": "x"}]}
    printed = orjson.dumps({"error": error}, option=orjson.OPT_INDENT_2).replace(b"\n", b"\r\n")
    sent = b"data: " + orjson.dumps(body({"text": "a"})) + b"\r\n\r\n" + printed + b"\r\n"
    chunks = read(sent)
    assert byte_by_byte(gemini.StreamDecoder(), sent) == chunks
    assert chunks[-1]["reason"]["failure"]["message"] == "high demand\n}"
    assert chunks[-1]["reason"]["failure"]["code"] == "OVERLOADED"
    assert orjson.loads(wire(chunks).split(b"\n\n")[-1]) == {"error": error}
    assert orjson.loads(wire(chunks, AS_ARRAY))[-1] == {"error": error}
    assert decode({"error": error}) == chunks[-1:]


def byte_by_byte(decoder, data):
    chunks = []
    for place in range(len(data)):
        chunks += decoder.feed(data[place : place + 1])
    return chunks + decoder.close()


@pytest.mark.parametrize(
    ("status", "code", "word"),
    [
        (400, "CONTEXT", "INVALID_ARGUMENT"),
        (401, "AUTH", "UNAUTHENTICATED"),
        (403, "403", "PERMISSION_DENIED"),
        (404, "unknown_url", "NOT_FOUND"),
        (429, "RATE_LIMIT", "RESOURCE_EXHAUSTED"),
        (500, "", "INTERNAL"),
        (503, "OVERLOADED", "UNAVAILABLE"),
        (504, "504", "DEADLINE_EXCEEDED"),
        (418, "418", "UNKNOWN"),
    ],
)
def test_error_bodies_have_the_provider_s_shape(status, code, word):
    retry_after_ms = 10 if status == 429 else None
    error = orjson.loads(gemini.encode_error(status, "no", code, retry_after_ms))["error"]
    assert (error["code"], error["message"], error["status"]) == (status, "no", word)
    kinds = [detail["@type"].rpartition(".")[2] for detail in error.get("details", [])]
    told = ["ErrorInfo"] if code in ("CONTEXT", "unknown_url") else []
    assert kinds == told + (["RetryInfo"] if status == 429 else [])


def test_provider_s_errors_are_read():
    message = "The input token count (9) exceeds the maximum number of tokens allowed (5)."
    error = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    assert gemini.decode_error(400, orjson.dumps(error)) == (message, "CONTEXT")
    wrapped = [{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}]
    assert gemini.decode_error(429, orjson.dumps(wrapped)) == ("slow", "RATE_LIMIT")
    for odd in (b"[]", b"{}", b"3", b'{"error":3}', b'{"error":{}}'):
        assert gemini.decode_error(403, odd) == (odd.decode(), "403")


# Framing, streams that end in other ways, junk


def test_line_ends_of_any_kind_and_cut_anywhere_frame_the_same():
    chunks = said("a\u2028b", "c")
    for end in (b"\r\n", b"\r"):
        data = wire(chunks).replace(b"\n", end)
        assert byte_by_byte(gemini.StreamDecoder(), data) == read(data) == chunks


def test_event_of_several_lines_is_one_document_wherever_it_is_cut():
    for end in (b"\n", b"\r\n", b"\r"):
        data = b': hello\ndata: {"a":\ndata: 1}\n\n'.replace(b"\n", end)
        for cut in range(len(data)):
            decoder = DocumentDecoder()
            assert decoder.feed(data[:cut]) + decoder.feed(b"") + decoder.feed(data[cut:]) == [b'{"a":\n1}']


def test_document_beyond_the_bound_is_refused():
    for data in (b'{"a":"' + b"x" * 50, b"data: " + b"x" * 50):
        with pytest.raises(FixtureError, match="larger than 40 bytes"):
            DocumentDecoder(40).feed(data)
    small = DocumentDecoder(40)
    assert small.feed(b'[{"a":"}\\""}\n,\n' * 20) == [b'{"a":"}\\""}'] * 20


def test_stream_is_complete_once_finished():
    decoder = gemini.StreamDecoder()
    decoder.feed(wire(said("x")[:2], complete=False))
    assert decoder.close() == [] and not decoder.complete
    decoder.feed(wire(said("x")))
    assert decoder.close()[-1]["type"] == "finish" and decoder.complete
    assert decoder.feed(b"data: rubbish\n\n") == [] and decoder.close() == []


DEEP = b'{"functionCall":{"name":"n","args":{"a":' + b"[" * 500 + b"]" * 500 + b"}}}"


@pytest.mark.parametrize(
    "document",
    [
        b"{",
        b"[1]",
        b'{"candidates":7}',
        b'{"candidates":[1]}',
        b'{"candidates":[{"index":1}]}',
        b'{"candidates":[{"content":[1]}]}',
        b'{"candidates":[{"content":{"parts":[1]}}]}',
        b'{"candidates":[{"content":{"parts":[{"text":1}]}}]}',
        b'{"candidates":[{"content":{"parts":[{"functionCall":1}]}}]}',
        b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":1}}]}}]}',
        b'{"candidates":[{"content":{"parts":[{"functionCall":{"args":[]}}]}}]}',
        b'{"candidates":[{"finishReason":1}]}',
        b'{"usageMetadata":7}',
        b'{"candidates":[{"content":{"parts":[' + DEEP + b"]}}]}",
        b'{"candidates":[{"groundingMetadata":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}]}",
    ],
)
def test_foreign_documents_are_named(document):
    with pytest.raises(FixtureError, match="provider"):
        gemini.StreamDecoder().feed(b"data: " + document + b"\n\n")
    with pytest.raises(FixtureError, match="provider"):
        gemini.decode_response(document)


# Routes


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1beta/models/m:generateContent", True),
        ("/v1/models/m:streamGenerateContent", True),
        ("/v1beta/tunedModels/m:generateContent", True),
        ("/v1beta/models/org/m:7b:generateContent", True),
        ("/v1beta/models/m%3AgenerateContent", True),
        ("/v1beta/models/m:countTokens", False),
        ("/v1beta/models/m:embedContent", False),
        ("/v1beta/models/:generateContent", False),
        ("/v1beta/models/m", False),
        ("/v2/models/m:generateContent", False),
        ("/v1beta/files/m:generateContent", False),
        ("/v1beta/models/m:generateContent/x", False),
    ],
)
def test_calls_are_told_from_other_routes(path, expected):
    assert gemini.is_call(path) is expected


def test_models_are_listed_and_echoed():
    listed = orjson.loads(gemini.probe("GET", "/v1beta/models", ["a", "models/b", "tunedModels/c"]))["models"]
    assert [model["name"] for model in listed] == ["models/a", "models/b", "tunedModels/c"]
    assert orjson.loads(gemini.probe("GET", "/v1/models/org/any", []))["name"] == "models/org/any"
    assert gemini.probe("HEAD", "/v1beta/models/b", ["models/b"])
    assert gemini.probe("GET", "/v1beta/models/b", ["a"]) is None
    assert gemini.probe("DELETE", "/v1beta/models/a", ["a"]) is None


def test_tokens_are_counted_and_nothing_is_embedded():
    assert gemini.probe("POST", "/v1beta/models/m:countTokens", []) == b'{"totalTokens":1}'
    assert gemini.probe("POST", "/v1beta/models/m:countTokens", ["n"]) is None
    assert gemini.probe("GET", "/v1beta/models/m:countTokens", []) is None
    assert gemini.probe("POST", "/v1beta/models/m:embedContent", []) is None


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("n", "/v1beta/models/n:streamGenerateContent?alt=sse&fields=a%2Cb"),
        ("models/n", "/v1beta/models/n:streamGenerateContent?alt=sse&fields=a%2Cb"),
        ("tunedModels/n", "/v1beta/tunedModels/n:streamGenerateContent?alt=sse&fields=a%2Cb"),
        ("org/a?b:c", "/v1beta/models/org/a%3Fb%3Ac:streamGenerateContent?alt=sse&fields=a%2Cb"),
    ],
)
def test_other_model_stands_in_path_and_body(model, path):
    before = EVENTS + "&fields=a%2Cb"
    there, data = gemini.with_model(before, b'{"model":"models/m",' + BODY[1:], model)
    assert there == path
    seen = gemini.decode_request(there, data)
    assert seen.model == model.removeprefix("models/")
    assert seen == gemini.decode_request(before, BODY)._replace(model=seen.model)
    assert orjson.loads(data)["model"].endswith(model)

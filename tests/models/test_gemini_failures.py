"""The Gemini codec: errors, framing, streams that end in other ways, and routes."""

import orjson
import pytest

from replay.errors import FixtureError
from replay.models import gemini
from replay.models.gemini_documents import DocumentDecoder
from tests.models.codec_conformance import REQUEST
from tests.models.gemini_documents import AS_ARRAY, BODY, EVENTS, body, decode, read, wire
from tests.models.recording import said

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

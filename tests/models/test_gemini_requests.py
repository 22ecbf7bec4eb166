"""The Gemini codec reading what an agent asks."""

import orjson
import pytest

from replay.models import gemini
from replay.models.blocks import fold
from replay.models.wire import RequestRefused, WireRequest, model_request
from tests.models.codec_conformance import REQUEST
from tests.models.test_gemini import body, decode

PATH = "/v1beta/models/m:generateContent"
STREAM = "/v1beta/models/m:streamGenerateContent"
HI = [{"role": "user", "parts": [{"text": "hi"}]}]


def request(path=PATH, **fields) -> WireRequest:
    return gemini.decode_request(path, orjson.dumps({"contents": HI, **fields}))


def spoken(*contents, **fields):
    return request(contents=list(contents), **fields).messages


def call(name, **members):
    return {"functionCall": {"name": name, **members}}


def result(name, response, **members):
    return {"functionResponse": {"name": name, "response": response, **members}}


def test_request_options_are_kept():
    tools = [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": {"type": "object"}}]}]
    options = {
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {"temperature": 0, "thinkingConfig": {"includeThoughts": True}},
        "safetySettings": [{"category": "C", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/c",
    }
    seen = request(STREAM + "?alt=sse", model="models/m", tools=tools, **options)
    assert (seen.model, seen.stream, seen.wants_usage, seen.tools) == ("m", True, True, tools)
    assert seen.options == {**options, "query": {"alt": "sse"}}
    assert not request().stream and request().options == {}


def test_stream_without_alt_is_an_array_and_the_key_of_a_query_is_not_kept():
    assert request(STREAM).options == {"query": {"alt": "json"}}
    path = (
        STREAM + "?key=secret&%24alt=json%3Benum-encoding=int&access_token=secret&x=secret&fields=candidates"
    )
    seen = request(path)
    assert seen.options["query"] == {
        "$alt": "json;enum-encoding=int",
        "alt": "json",
        "fields": "candidates",
    }
    assert "secret" not in repr(seen)


def test_model_of_any_collection_is_named():
    for path, model in (
        ("/v1/models/m:generateContent", "m"),
        ("/v1beta/models/org/m:7b:generateContent", "org/m:7b"),
        ("/v1beta/models/org%2Fm:generateContent", "org/m"),
        ("/v1beta/tunedModels/m:generateContent", "tunedModels/m"),
    ):
        assert request(path).model == model


def test_conversation_becomes_neutral_messages():
    media = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "mediaResolution": {"level": "LOW"}}
    audio = {"inlineData": {"mimeType": "audio/wav", "data": "AA"}}
    messages = spoken(
        {
            "role": "user",
            "parts": [
                {"text": "look"},
                media,
                {"fileData": {"mimeType": "image/jpeg", "fileUri": "files/x"}},
                audio,
                {"text": "here", "partMetadata": {"a": 1}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "o"},
                {"text": "k"},
                call("bash", id="a", args={"x": [1]}) | {"thoughtSignature": "s"},
            ],
        },
        {"role": "user", "parts": [result("bash", {"output": "out"}, id="a"), {"text": "and?"}]},
        systemInstruction={"role": "user", "parts": [{"text": "be good"}]},
    )
    block = {"type": "tool-call", "id": "a", "name": "bash", "arguments": '{"x":[1]}'}
    answer = {"type": "tool-result", "toolCallId": "a", "content": [{"type": "text", "text": "out"}]}
    assert messages == [
        {
            "role": "system",
            "content": [{"type": "text", "text": "be good"}],
            "extras": {"role": "user"},
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {
                    "type": "image",
                    "mediaType": "image/png",
                    "data": "AAAA",
                    "extras": {"mediaResolution": {"level": "LOW"}},
                },
                {"type": "image", "mediaType": "image/jpeg", "url": "files/x"},
                {"type": "text", "text": "", "extras": {"part": audio}},
                {"type": "text", "text": "here", "extras": {"partMetadata": {"a": 1}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "ok"},
                {**block, "extras": {"thoughtSignature": "s"}},
            ],
        },
        {"role": "tool", "content": [{**answer, "extras": {"name": "bash"}}]},
        {"role": "user", "content": [{"type": "text", "text": "and?"}]},
    ]


def test_both_spellings_of_names_mean_the_same():
    camel = {
        "contents": [
            {"parts": [{"inlineData": {"mimeType": "image/png", "data": "A"}}]},
            {"role": "model", "parts": [call("f", args={"snake_case": 1}) | {"thoughtSignature": "s"}]},
            {"parts": [{"functionResponse": {"name": "f", "response": {"a_b": "x"}, "willContinue": True}}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}]},
        "generationConfig": {"topK": 1},
    }
    snake = {
        "contents": [
            {"parts": [{"inline_data": {"mime_type": "image/png", "data": "A"}}]},
            {
                "role": "model",
                "parts": [
                    {"function_call": {"name": "f", "args": {"snake_case": 1}}, "thought_signature": "s"}
                ],
            },
            {"parts": {"function_response": {"name": "f", "response": {"a_b": "x"}, "will_continue": True}}},
        ],
        "system_instruction": {"parts": {"text": "s"}},
        "generation_config": {"topK": 1},
    }
    seen = gemini.decode_request(PATH, orjson.dumps(camel))
    assert seen == gemini.decode_request(PATH, orjson.dumps(snake))
    assert seen.messages[2]["content"][0]["arguments"] == '{"snake_case":1}'
    assert seen.messages[3]["content"][0]["extras"] == {"name": "f", "willContinue": True, "field": "a_b"}


def ids(messages):
    return [
        block.get("id") or block["toolCallId"]
        for message in messages
        for block in message["content"]
        if block["type"].startswith("tool")
    ]


def test_calls_without_ids_are_named_by_their_place_and_found_by_their_results():
    messages = spoken(
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call("read"), call("bash"), call("read")]},
        {"role": "function", "parts": [result("bash", {}), result("read", {}), result("read", {})]},
        {"role": "model", "parts": [call("read")]},
        {"role": "tool", "parts": [result("read", {}, id="own")]},
    )
    assert ids(messages) == ["call-1", "call-2", "call-3", "call-2", "call-1", "call-3", "call-4", "call-4"]
    assert [message["role"] for message in messages[2:5]] == ["tool"] * 3
    assert messages[2]["extras"] == {"role": "function"}
    assert messages[-1]["content"][0]["extras"] == {"name": "read", "id": "own"}


def test_results_follow_ids_where_there_are_some():
    messages = spoken(
        {"role": "model", "parts": [call("f", id="a"), call("f", id="b"), call("f", id="c")]},
        {"parts": [result("f", {}, id="a"), result("f", {}), result("f", {}, id="z"), result("g", {})]},
    )
    assert ids(messages) == ["a", "b", "c", "a", "b", "z", ""]


def test_unanswered_call_of_an_earlier_turn_is_not_taken_for_a_later_one():
    messages = spoken(
        {"role": "model", "parts": [call("f")]},
        {"parts": [{"text": "stop"}]},
        {"role": "model", "parts": [call("f")]},
        {"parts": [result("f", {})]},
    )
    assert ids(messages) == ["call-1", "call-2", "call-2"]


@pytest.mark.parametrize(
    ("response", "texts", "extras"),
    [
        ({"output": "o"}, ["o"], {}),
        ({"error": "e"}, ["e"], {"field": "error"}),
        ({"result": {"a": ["x", 1]}, "n": "y"}, ["x", "y"], {"response": ...}),
        ({"output": 3}, [], {"response": ...}),
        ({}, [], {}),
    ],
)
def test_texts_of_a_result_are_its_content(response, texts, extras):
    block = spoken({"parts": [result("f", response)]})[0]["content"][0]
    assert [each["text"] for each in block["content"]] == texts
    whole = {name: response if value is ... else value for name, value in extras.items()}
    assert block["extras"] == {"name": "f", **whole}


def test_what_stands_between_results_is_said_by_the_user():
    messages = spoken(
        {"parts": [{"text": "a"}, result("f", {}), {"text": "b"}, {"text": "c"}]}, {"parts": []}
    )
    assert [(message["role"], len(message["content"])) for message in messages] == [
        ("user", 1),
        ("tool", 1),
        ("user", 2),
        ("user", 0),
    ]


def test_images_of_a_result_are_part_of_its_content():
    image = {"inlineData": {"mimeType": "image/png", "data": "A", "displayName": "x.png"}}
    block = spoken({"parts": [result("f", {"output": "see"}, parts=[image])]})[0]["content"][0]
    assert block["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "mediaType": "image/png", "data": "A", "extras": {"displayName": "x.png"}},
    ]


def test_reply_kept_in_pieces_is_one_message():
    """As a chat client keeps a stream: one content for each piece."""
    pieces = [{"role": "model", "parts": [{"text": text}]} for text in ("Hel", "lo")]
    messages = spoken(*HI, *pieces, *HI)
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    turns = [turn["text"] for turn in model_request(messages, None, None).messages]
    assert turns == ["hi", "Hello", "hi"]


def test_reply_that_comes_back_in_a_request_is_the_recorded_one():
    recorded = decode(
        body({"text": "why", "thought": True}),
        body({"thought": True, "thoughtSignature": "t"}),
        body({"text": "o"}),
        body({"text": "k", "thoughtSignature": "s"}),
        body({"executableCode": {"code": "1"}}, call("f", id="a", args={"x": 1}) | {"thoughtSignature": "u"}),
        body(finish="STOP"),
    )
    content = orjson.loads(gemini.encode_response(recorded, REQUEST, "1"))["candidates"][0]["content"]
    assert spoken(content) == [{"role": "assistant", "content": fold(recorded).blocks}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"contents": []}, "contents is not specified"),
        ({"contents": None}, "contents is not specified"),
        ({"contents": 3}, "contents is not a list"),
        ({"contents": [3]}, r"contents\[0\] is not an object"),
        ({"contents": [{"role": "king", "parts": []}]}, r"contents\[0\]\.role"),
        ({"contents": [{"role": ["x"], "parts": []}]}, r"contents\[0\]\.role"),
        ({"contents": [{"parts": 3}]}, r"contents\[0\]\.parts is not a list"),
        ({"contents": [{"parts": [3]}]}, r"parts\[0\] is not an object"),
        ({"contents": [{"parts": [{"text": 3}]}]}, r"parts\[0\]\.text"),
        ({"contents": [{"parts": [{"inlineData": 3}]}]}, r"parts\[0\]\.inlineData is not an object"),
        ({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png"}}]}]}, "inlineData has no"),
        ({"contents": [{"parts": [{"fileData": {"mimeType": 3, "fileUri": "x"}}]}]}, "fileData has no"),
        ({"contents": [{"parts": [result(3, {})]}]}, "functionResponse has an id or a name"),
        ({"contents": [{"parts": [result("f", 3)]}]}, "response is not an object"),
        ({"contents": [{"parts": [result("f", {}, parts=3)]}]}, "parts is not a list"),
        ({"contents": [{"parts": [result("f", {}, parts=[{"text": 3}])]}]}, "text is not a string"),
        ({"contents": [{"role": "model", "parts": [{"text": 3}]}]}, "no content of the model"),
        ({"contents": [{"role": "model", "parts": [call("f", args=3)]}]}, "functionCall.args"),
        ({"contents": [{"role": "model", "parts": [call(3)]}]}, "an id or a name"),
        ({"system_instruction": "be good"}, "systemInstruction is not an object"),
        ({"systemInstruction": {}, "system_instruction": {}}, "the body has systemInstruction twice"),
        ({"tools": 3}, "tools is not a list"),
        ({"generationConfig": 3}, "generationConfig is not an object"),
        ({"generationConfig": {"candidateCount": 2}}, "candidateCount: one candidate"),
        ({"generation_config": {"candidate_count": 2}}, "candidateCount: one candidate"),
        ({"query": {"alt": "sse"}}, 'unknown name "query"'),
    ],
)
def test_requests_that_the_provider_refuses_are_refused(fields, message):
    with pytest.raises(RequestRefused, match=message) as refused:
        request(**fields)
    assert refused.value.status == 400


DEEP = b'{"contents":{"parts":{"functionResponse":{"response":{"a":' + b"[" * 500 + b"]" * 500 + b"}}}}}"


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b'{"a": "m\xff"}', b"[" * 5000, b'{"a":"\\ud800"}', DEEP])
def test_bodies_that_are_no_json_object_are_refused(sent):
    with pytest.raises(RequestRefused, match="the body is not"):
        gemini.decode_request(PATH, sent)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (STREAM + "?alt=proto", 400),
        (PATH + "?alt=sse", 400),
        (STREAM + "?%24alt=media", 400),
        ("/v1beta/models/m:countTokens", 404),
        ("/v1beta/models", 404),
    ],
)
def test_paths_that_ask_for_no_such_call_are_refused(path, status):
    with pytest.raises(RequestRefused) as refused:
        request(path)
    assert refused.value.status == status

"""The Messages codec reading what an agent asks."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.models import anthropic_messages
from replay.models.wire import RequestRefused, WireRequest, model_request

PATH = "/v1/messages?beta=true"
HELLO = [{"role": "user", "content": "hi"}]
CACHED = {"cache_control": {"type": "ephemeral"}}


def request(**fields) -> WireRequest:
    body = {"model": "m", "max_tokens": 9, "messages": HELLO, **fields}
    return anthropic_messages.decode_request(PATH, orjson.dumps(body))


def content(*blocks, role="user"):
    return request(messages=[{"role": role, "content": list(blocks)}]).messages[0]["content"]


def test_request_options_are_kept():
    tool = {"name": "bash", "input_schema": {"type": "object"}, **CACHED}
    seen = request(stream=True, tools=[tool], metadata={"user_id": "u"}, thinking={"type": "adaptive"})
    assert (seen.model, seen.stream, seen.wants_usage, seen.tools) == ("m", True, True, [tool])
    assert seen.options == {"max_tokens": 9, "metadata": {"user_id": "u"}, "thinking": {"type": "adaptive"}}
    assert not request().stream and request().wants_usage


def test_system_is_the_first_message():
    text = {"type": "text", "text": "be good"}
    assert [request(system=system).messages for system in ("be good", [text | CACHED], [])] == [
        [
            {"role": "system", "content": [*blocks]},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        ]
        for blocks in ([text], [text | {"extras": CACHED}], [])
    ]


def test_conversation_becomes_neutral_messages():
    image = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    document = {"type": "document", "source": {"type": "text", "data": "d"}, "title": "t"}
    seen = request(
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look", **CACHED, "citations": None},
                    {"type": "image", "source": image, **CACHED},
                    {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}},
                    {"type": "image", "source": {"type": "file", "file_id": "f"}},
                    document,
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "zz"},
                    {"type": "text", "text": "ok"},
                    {"type": "tool_use", "id": "a", "name": "bash", "input": {"x": 1}, **CACHED},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "out", "is_error": True, **CACHED},
                    {
                        "type": "tool_result",
                        "tool_use_id": "b",
                        "content": [
                            {"type": "text", "text": "seen"},
                            {"type": "image", "source": image},
                            document,
                        ],
                    },
                    {"type": "tool_result", "tool_use_id": "c"},
                    {"type": "text", "text": "go on"},
                ],
            },
            {"role": "system", "content": "new rules", "name": "x"},
        ]
    )
    neutral = {"type": "image", "mediaType": "image/png", "data": "AAAA"}
    assert seen.messages == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look", "extras": CACHED},
                neutral | {"extras": CACHED},
                {"type": "image", "url": "http://x/y.png"},
                {"type": "image", "extras": {"source": {"type": "file", "file_id": "f"}}},
                document,
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm", "extras": {"signature": "s"}},
                {"type": "reasoning", "text": "", "extras": {"type": "redacted_thinking", "data": "zz"}},
                {"type": "text", "text": "ok"},
                {"type": "tool-call", "id": "a", "name": "bash", "arguments": '{"x":1}', "extras": CACHED},
                {"type": "tool-call", "id": "b", "name": "read", "arguments": "{}"},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "a",
                    "content": [{"type": "text", "text": "out"}],
                    "extras": {"is_error": True, **CACHED},
                },
                {
                    "type": "tool-result",
                    "toolCallId": "b",
                    "content": [{"type": "text", "text": "seen"}, neutral, document],
                },
                {"type": "tool-result", "toolCallId": "c", "content": []},
                {"type": "text", "text": "go on"},
            ],
        },
        {"role": "system", "content": [{"type": "text", "text": "new rules"}], "extras": {"name": "x"}},
    ]
    assert model_request(seen.messages, None, None).messages == [
        {"role": "user", "text": "look"},
        {"role": "assistant", "text": 'ok{"x":1}{}'},
        {"role": "tool", "text": "out"},
        {"role": "tool", "text": "seen"},
        {"role": "tool", "text": ""},
        {"role": "user", "text": "go on"},
        {"role": "system", "text": "new rules"},
    ]


def test_result_inside_a_result_stays_untouched():
    inner = {"type": "tool_result", "tool_use_id": "b", "content": "x"}
    outer = {"type": "tool_result", "tool_use_id": "a", "content": [inner]}
    assert content(outer) == [{"type": "tool-result", "toolCallId": "a", "content": [inner]}]


def test_members_that_are_null_say_nothing():
    result = {"type": "tool_result", "tool_use_id": "a", "content": None, "cache_control": None}
    message = {"role": "user", "content": [result], "name": None}
    assert request(messages=[message]).messages == [
        {"role": "user", "content": [{"type": "tool-result", "toolCallId": "a", "content": []}]}
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": 3}, "model"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"messages": []}, "messages"),
        ({"messages": [3]}, r"messages\[0\] is not an object"),
        ({"messages": [{"role": "tool", "content": ""}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": ["x"], "content": ""}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]\.content is neither"),
        ({"system": 3}, "system is neither"),
        ({"system": ["x"]}, r"system\[0\] is not a block"),
        ({"tools": 3}, "tools"),
        ({"tools": [3]}, "tools"),
    ],
)
def test_requests_that_the_provider_refuses_are_refused(fields, message):
    with pytest.raises(RequestRefused, match=message) as refused:
        request(**fields)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("role", "block", "message"),
    [
        ("user", {"text": "x"}, "not a block with a type"),
        ("user", {"type": []}, "not a block with a type"),
        ("user", {"type": "text"}, "text is not a string"),
        ("assistant", {"type": "text", "text": None}, "text is not a string"),
        ("assistant", {"type": "thinking", "thinking": 3}, "thinking is not a string"),
        ("assistant", {"type": "tool_use", "id": 3, "name": "n"}, "id is not a string"),
        ("assistant", {"type": "tool_use", "id": "a", "name": "n", "input": "{}"}, "input is not an object"),
        ("user", {"type": "image"}, "source is not an object"),
        ("user", {"type": "image", "source": {"type": "base64", "data": "A"}}, "source is not an image"),
        ("user", {"type": "image", "source": {"type": "url"}}, "source is not an image"),
        ("user", {"type": "tool_result", "content": "x"}, "tool_use_id is not a string"),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "a", "content": 3},
            r"content\[0\]\.content is neither",
        ),
        ("user", {"type": "tool_result", "tool_use_id": "a", "content": [3]}, r"content\[0\]\.content\[0\]"),
        ("user", {"type": "search_result", "content": [{"content": ["x"]}]}, "not a list of objects"),
        ("user", {"type": "tool-result"}, "no block type of this API"),
    ],
)
def test_blocks_that_the_provider_refuses_are_refused(role, block, message):
    with pytest.raises(RequestRefused, match=message) as refused:
        content(block, role=role)
    assert refused.value.status == 400 and "messages[0].content[0]" in refused.value.message


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"model": "m\xff"}', b"[" * 5000, b'{"a":"\\ud800"}', b"[" * 300 + b"]" * 300],
)
def test_bodies_that_are_no_json_object_are_refused(body):
    with pytest.raises(RequestRefused, match="the body is not"):
        anthropic_messages.decode_request(PATH, body)


@pytest.mark.parametrize("depth", [50, 110, 130, 400])
def test_results_inside_results_end_in_no_recursion(depth):
    block = '{"type":"tool_result","tool_use_id":"a","content":[' * depth + "]}" * depth
    body = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[%b]}]}' % block.encode()
    try:
        seen = anthropic_messages.decode_request(PATH, body)
    except RequestRefused as refused:
        assert refused.status == 400 and depth > 100
    else:
        model_request(seen.messages, None, None)
        anthropic_messages.with_model(PATH, body, "n")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["", "x", "a-type"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "input", "id", "name", "source", "tool_use_id"]),
            inner,
        )
    ),
    max_leaves=8,
)
_TYPES = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "image",
    "document",
    "reasoning",
]
_BLOCK = st.builds(
    lambda kind, members: {**members, "type": kind},
    st.sampled_from(_TYPES),
    st.dictionaries(
        st.sampled_from(["text", "thinking", "content", "input", "id", "name", "source", "tool_use_id"]),
        _JSON,
    ),
)


@given(st.sampled_from(["user", "assistant", "system", "x"]), st.lists(_BLOCK | _JSON, max_size=3))
def test_whatever_the_blocks_are_a_request_is_read_or_refused(role, blocks):
    try:
        seen = request(messages=[{"role": role, "content": blocks}])
    except RequestRefused as refused:
        assert refused.status == 400
    else:
        model_request(seen.messages, None, None)

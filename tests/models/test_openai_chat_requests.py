"""The Chat Completions codec reading what an agent asks."""

import orjson
import pytest

from replay.models import openai_chat
from replay.models.wire import RequestRefused, WireRequest

PATH = "/v1/chat/completions"


def request(**fields) -> WireRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    return openai_chat.decode_request(PATH, orjson.dumps(body))


def test_request_options_are_kept():
    seen = request(
        stream=True, stream_options={"include_usage": True}, temperature=0, tools=[{"type": "function"}]
    )
    assert (seen.model, seen.stream, seen.wants_usage, seen.tools) == (
        "m",
        True,
        True,
        [{"type": "function"}],
    )
    assert seen.options == {"stream_options": {"include_usage": True}, "temperature": 0}
    assert not request().stream


def test_conversation_becomes_neutral_messages():
    data = "data:image/png;base64,AAAA"
    seen = request(
        messages=[
            {"role": "developer", "content": "be good", "name": "boss"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": data, "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
                    {"type": "input_audio", "input_audio": {"data": "A"}},
                ],
            },
            {
                "role": "assistant",
                "content": "ok",
                "reasoning_content": "hm",
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "bash", "arguments": "{}"},
                        "extra_content": 1,
                    },
                    {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "raw"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "out"}]},
        ]
    )
    call = {"type": "tool-call", "id": "a", "name": "bash", "arguments": "{}", "extras": {"extra_content": 1}}
    custom = {
        "type": "tool-call",
        "id": "b",
        "name": "patch",
        "arguments": "raw",
        "extras": {"field": "custom"},
    }
    assert seen.messages == [
        {
            "role": "system",
            "content": [{"type": "text", "text": "be good"}],
            "extras": {"name": "boss", "role": "developer"},
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "mediaType": "image/png", "data": "AAAA", "extras": {"detail": "low"}},
                {"type": "image", "url": "http://x/y.png"},
                {"type": "input_audio", "input_audio": {"data": "A"}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "ok"}, call, custom],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "a", "content": [{"type": "text", "text": "out"}]}
            ],
        },
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": 3}, "model"),
        ({"n": 2}, "n: one choice"),
        ({"stream": "yes"}, "stream"),
        ({"messages": []}, "messages"),
        ({"messages": [3]}, r"messages\[0\] is not an object"),
        ({"messages": [{"role": "king", "content": ""}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": ["x"], "content": ""}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user", "content": 3}]}, r"messages\[0\]\.content"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, r"content\[0\]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, r"content\[0\]\.text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}]}, "image_url"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}, r"tool_calls\[0\]"),
        ({"messages": [{"role": "assistant", "tool_calls": {}, "reasoning": 3}]}, "reasoning"),
        ({"messages": [{"role": "tool", "tool_call_id": 3, "content": "x"}]}, "tool_call_id"),
        ({"tools": 3}, "tools"),
        ({"stream_options": [1]}, "stream_options"),
    ],
)
def test_requests_that_the_provider_refuses_are_refused(fields, message):
    with pytest.raises(RequestRefused, match=message) as refused:
        request(**fields)
    assert refused.value.status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": "m\xff"}', b"[" * 5000, b'{"a":"\\ud800"}'])
def test_bodies_that_are_no_json_object_are_refused(body):
    with pytest.raises(RequestRefused, match="the body is not"):
        openai_chat.decode_request(PATH, body)

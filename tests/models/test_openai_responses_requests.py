"""The Responses codec reading what an agent asks."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.models import openai_responses
from replay.models.wire import RequestRefused, WireRequest, model_request
from replay.script import Player
from tests.models.recording import lanes_of, said, tool_call

PATH = "/v1/responses"


def request(**fields) -> WireRequest:
    body = {"model": "m", "input": "hi", **fields}
    return openai_responses.decode_request(PATH, orjson.dumps(body))


def text(content, **extras):
    return {"type": "text", "text": content} | ({"extras": extras} if extras else {})


def test_text_is_a_user_message_after_the_instructions():
    assert request(instructions="be good").messages == [
        {"role": "system", "content": [text("be good")], "extras": {"role": "instructions"}},
        {"role": "user", "content": [text("hi")]},
    ]


def test_request_options_are_kept():
    seen = request(
        stream=True, tools=[{"type": "custom", "name": "f"}], previous_response_id="resp_1", store=False
    )
    assert (seen.model, seen.stream, seen.wants_usage) == ("m", True, True)
    assert seen.tools == [{"type": "custom", "name": "f"}]
    assert seen.options == {"previous_response_id": "resp_1", "store": False}
    assert not request().stream


def test_earlier_reply_makes_input_unnecessary():
    assert request(input=None, previous_response_id="resp_1").messages == []
    assert request(input=[], prompt={"id": "p"}).messages == []


def test_conversation_becomes_neutral_messages():
    seen = request(
        input=[
            {"role": "developer", "content": "be good"},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
                    {"type": "input_image", "image_url": "http://x/y.png"},
                    {"type": "input_image", "file_id": "file_1"},
                    {"type": "input_file", "file_data": "A"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "zz"},
            {"role": "assistant", "content": "ok", "phase": "commentary"},
            {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "raw"},
            {"type": "function_call_output", "call_id": "a", "output": "out", "status": "completed"},
            {
                "type": "custom_tool_call_output",
                "call_id": "b",
                "output": [{"type": "input_text", "text": "done"}],
            },
            {"id": "msg_7"},
            {"type": "item_reference", "id": "fc_7"},
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "screenshot", "file_id": "f"},
            },
            {"type": "local_shell_call_output", "id": "d", "output": "x"},
        ]
    )
    assert seen.messages == [
        {"role": "system", "content": [text("be good")], "extras": {"role": "developer"}},
        {
            "role": "user",
            "content": [
                text("look"),
                {"type": "image", "mediaType": "image/png", "data": "AAAA", "extras": {"detail": "low"}},
                {"type": "image", "url": "http://x/y.png"},
                {"type": "input_image", "file_id": "file_1"},
                {"type": "input_file", "file_data": "A"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "reasoning",
                    "text": "",
                    "extras": {"item": {"id": "rs_1", "encrypted_content": "zz"}},
                },
                text("ok", item={"phase": "commentary"}),
                {"type": "tool-call", "id": "a", "name": "bash", "arguments": "{}"},
                {
                    "type": "tool-call",
                    "id": "b",
                    "name": "patch",
                    "arguments": "raw",
                    "extras": {"item": {"type": "custom_tool_call"}},
                },
            ],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "a", "content": [text("out")]}],
            "extras": {"status": "completed"},
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "b", "content": [text("done")]}],
            "extras": {"type": "custom_tool_call_output"},
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "", "extras": {"item": {"type": "item_reference", "id": name}}}
                for name in ("msg_7", "fc_7")
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "content": [text('{"type":"screenshot","file_id":"f"}', type="json")],
                }
            ],
            "extras": {"type": "computer_call_output"},
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "d", "content": [text("x")]}],
            "extras": {"id": "d", "type": "local_shell_call_output"},
        },
    ]


def test_parts_of_other_types_keep_their_type():
    parts = [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "b"}]
    assert request(input=[{"role": "user", "content": parts}]).messages[0]["content"] == [
        text("a", annotations=[], type="output_text"),
        text("b", type="refusal"),
    ]


def test_nothing_said_makes_no_block():
    seen = request(input=[{"role": "user", "content": ""}, {"role": "assistant", "content": ""}])
    assert [message["content"] for message in seen.messages] == [[], []]


def test_conversation_goes_on_in_its_lane():
    """The first lane that opens so is not the one whose answers the second request repeats."""
    child = [tool_call(("b", "bash", '{"x": 2}')), said("two")]
    lanes = lanes_of(
        tool_call(("a", "bash", '{"x": 1}')), said("one"), opening="do", children=[("do it", child)]
    )
    player = Player(lanes)
    opened = []
    for opening in ("do it", "do"):
        served = player.open(model_request(request(input=opening).messages, None, None))
        blocks = [chunk["block"] for chunk in served.entry.expand() if chunk["type"] == "block-end"]
        items = [
            {"type": "function_call", "call_id": b["id"], "name": b["name"], "arguments": b["arguments"]}
            for b in blocks
        ]
        results = [{"type": "function_call_output", "call_id": b["id"], "output": "out"} for b in blocks]
        opened.append([{"role": "user", "content": opening}, *items, *results])
    places = []
    for conversation in reversed(opened):
        served = player.open(model_request(request(input=conversation).messages, None, None))
        places.append((served.lane, served.ordinal))
    assert places == [("parent", 2), ("child 1", 2)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": 3}, "model"),
        ({"model": ""}, "model"),
        ({"stream": "yes"}, "stream"),
        ({"background": True}, "background"),
        ({"tools": 3}, "tools"),
        ({"instructions": [1]}, "instructions"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": {"role": "user"}}, "input"),
        ({"input": [3]}, r"input\[0\] is not an object"),
        ({"input": [{"type": 3}]}, r"input\[0\]\.type"),
        ({"input": [{"role": "king", "content": ""}]}, r"input\[0\]\.role"),
        ({"input": [{"role": ["x"], "content": ""}]}, r"input\[0\]\.role"),
        ({"input": [{"role": "user"}]}, r"input\[0\]\.content"),
        ({"input": [{"role": "user", "content": [{"text": "x"}]}]}, r"content\[0\]"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, r"content\[0\]\.text"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": 3}]}]}, "image_url"),
        ({"input": [{"role": "assistant", "content": 3}]}, r"input\[0\]\.content"),
        ({"input": [{"role": "assistant", "content": [{"type": "output_text"}]}]}, r"content\[0\]\.text"),
        ({"input": [{"type": "reasoning", "summary": "x"}]}, r"input\[0\]\.summary"),
        ({"input": [{"type": "reasoning", "summary": [3]}]}, r"summary\[0\]"),
        ({"input": [{"type": "function_call", "name": "f", "call_id": 3}]}, "call_id"),
        ({"input": [{"type": "function_call", "arguments": "{}"}]}, r"input\[0\]\.name"),
        ({"input": [{"type": "function_call_output", "call_id": 3, "output": "x"}]}, "call_id"),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": [{"type": 3}]}]}, "output"),
    ],
)
def test_requests_that_the_provider_refuses_are_refused(fields, message):
    with pytest.raises(RequestRefused, match=message) as refused:
        request(**fields)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"model": "m\xff"}', b"[" * 5000, b'{"a":"\\ud800"}', b'{"a":' + b"[" * 400 + b"]" * 400 + b"}"],
)  # fmt: skip
def test_bodies_that_are_no_json_object_are_refused(body):
    with pytest.raises(RequestRefused, match="the body is not"):
        openai_responses.decode_request(PATH, body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "id",
                    "call_id",
                    "name",
                    "arguments",
                    "input",
                    "output",
                    "content",
                    "summary",
                    "role",
                    "text",
                    "image_url",
                    "refusal",
                ]
            ),
            inner
            | st.sampled_from(
                [
                    "message",
                    "reasoning",
                    "function_call",
                    "x_call",
                    "x_output",
                    "input_text",
                    "output_text",
                    "input_image",
                    "user",
                    "assistant",
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(_JSON | st.lists(_JSON, max_size=4))
def test_nothing_but_a_refusal_escapes(given_input):
    try:
        seen = request(input=given_input)
    except RequestRefused as refused:
        assert refused.status == 400 and refused.message
        return
    model_request(seen.messages, None, None)
    orjson.dumps(seen.messages)

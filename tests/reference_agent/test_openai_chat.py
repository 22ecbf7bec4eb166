"""The chat completions adapter below its connection: events to chunks, messages to the wire."""

from typing import Any

import pytest

from scenarios.reference_agent.model import ModelError
from scenarios.reference_agent.model.openai_chat import ChunkDecoder
from scenarios.reference_agent.model.openai_messages import to_wire_messages


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


def decode(*events: dict[str, Any]) -> list[dict[str, Any]]:
    decoder = ChunkDecoder()
    chunks = [chunk for event in events for chunk in decoder.decode(event)]
    return chunks + decoder.flush()


def test_blocks_are_numbered_as_they_appear_and_end_with_the_stream() -> None:
    calls = [{"index": 0, "id": "c1", "function": {"name": "read", "arguments": ""}}]
    more = [{"index": 0, "function": {"arguments": "{}"}}]
    chunks = decode(
        delta(role="assistant", content=""),
        delta(reasoning_content="hm"),
        delta(content="I"),
        delta(tool_calls=calls),
        delta(tool_calls=more),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    )
    assert [(chunk["type"], chunk.get("index")) for chunk in chunks] == [
        ("block-start", 0),
        ("reasoning-delta", 0),
        ("block-start", 1),
        ("text-delta", 1),
        ("block-start", 2),
        ("tool-call-delta", 2),
        ("tool-call-delta", 2),
        ("block-end", 0),
        ("block-end", 1),
        ("block-end", 2),
        ("usage", None),
        ("finish", None),
    ]
    assert chunks[9]["block"] == {"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}
    assert chunks[10]["usage"] == {"inputTokens": 3, "outputTokens": 2}
    assert chunks[11]["reason"] == {"kind": "tool-calls"}


def test_surrogate_pair_over_two_deltas_is_put_together() -> None:
    chunks = decode(delta(content="a\ud83d"), delta(content="\ude00b"), delta(content="\udc00"))
    assert [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"] == [
        "a",
        "\U0001f600b",
        "\ufffd",
    ]


def test_stream_without_an_end_has_no_finish() -> None:
    assert [chunk["type"] for chunk in decode(delta(content="a"))] == ["block-start", "text-delta"]


def test_error_inside_a_stream_is_raised() -> None:
    with pytest.raises(ModelError) as caught:
        decode({"error": {"message": "slow down", "type": "rate_limit_error"}})
    assert (caught.value.message, caught.value.code) == ("slow down", "RATE_LIMIT")


def test_images_of_tools_follow_all_answers_of_their_step() -> None:
    image = {"type": "image", "mediaType": "image/png", "data": "AA=="}

    def result(call_id: str, *content: dict[str, Any]) -> dict[str, Any]:
        block = {"type": "tool-result", "toolCallId": call_id, "content": list(content), "isError": False}
        return {"role": "tool", "content": [block]}

    calls = [{"type": "tool-call", "id": call_id, "name": "x", "arguments": ""} for call_id in ("c1", "c2")]
    reasoning = {"type": "reasoning", "text": "hm"}
    wire = to_wire_messages(
        "be good",
        [
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": [reasoning, *calls]},
            result("c1", {"type": "text", "text": "one"}, image),
            result("c2", {"type": "text", "text": "two"}),
            {"role": "user", "content": [{"type": "text", "text": "next"}]},
        ],
    )
    assert [message["role"] for message in wire] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert wire[1]["content"] == "a\nb"
    assert wire[2]["content"] is None
    assert wire[2]["tool_calls"][0]["function"] == {"name": "x", "arguments": "{}"}
    assert wire[5]["content"][0]["image_url"]["url"] == "data:image/png;base64,AA=="

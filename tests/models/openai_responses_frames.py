"""Frames of the Responses wire, as its tests write and read them."""

import orjson
from hypothesis import strategies as st

from replay.models import openai_responses
from replay.models.blocks import Reply, fold
from tests.models.codec_conformance import REQUEST

PATH = "/v1/responses"
BODY = b'{"model":"m","input":"hi","stream":true,"temperature":0}'
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(1, 9), st.text("abc", min_size=1, max_size=5)),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, min_size=1)
    ),
    max_leaves=4,
)
_ITEM = st.builds(lambda value: {"item": {"id": "kept", "whatever": value}}, _VALUE)
EXTRAS = {
    "text": st.one_of(
        st.just({"part": {"type": "refusal"}}),
        st.just({"item": {"phase": "commentary"}}),
        st.builds(lambda value: {"part": {"annotations": [value], "logprobs": [value]}}, _VALUE),
        _ITEM,
    ),
    "reasoning": st.one_of(
        st.just({"part": {"type": "reasoning_text"}}), st.just({"item": {"encrypted_content": "zz"}}), _ITEM
    ),
    "tool-call": st.one_of(st.just({"item": {"type": "custom_tool_call"}}), _ITEM),
}


def heard(reply):
    """What this wire says of a reply: it always counts, and a call is reason enough to stop."""
    usage = reply.usage and {"cacheReadTokens": 0, "reasoningTokens": 0, **reply.usage}
    finish = reply.finish
    if finish and finish["reason"]["kind"] in ("stop", "tool-calls"):
        has_call = any(block["type"] == "tool-call" for block in reply.blocks)
        finish = {"type": "finish", "reason": {"kind": "tool-calls" if has_call else "stop"}}
    return Reply(reply.blocks, usage, finish)


def wire(chunks, request=REQUEST, complete=True):
    return b"".join(openai_responses.encode_stream(chunks, request, "1", complete))


def events(chunks, request=REQUEST, complete=True):
    """The events of a reply; each is named in its frame and numbered."""
    frames = wire(chunks, request, complete).split(b"\n\n")
    assert frames.pop() == b""
    told = []
    for number, frame in enumerate(frames):
        name, data = frame.split(b"\n")
        event = orjson.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        assert event.pop("sequence_number") == number
        told.append(event)
    return told


def decode(*told, close=True):
    decoder = openai_responses.StreamDecoder()
    chunks = []
    for event in told:
        chunks += decoder.feed(b"data: " + orjson.dumps(event) + b"\n\n")
    return chunks + (decoder.close() if close else [])


def added(number, **item):
    return {"type": "response.output_item.added", "output_index": number, "item": item}


def done(number, **item):
    return {"type": "response.output_item.done", "output_index": number, "item": item}


def completed(**response):
    return {"type": "response.completed", "response": {"status": "completed", **response}}


def ended(index, block):
    return {"type": "block-end", "index": index, "block": block}


def survives(chunks):
    """Both ways of sending them give them back."""
    assert decode(*events(chunks)) == chunks
    body = openai_responses.encode_response(chunks, REQUEST, "1")
    assert fold(openai_responses.decode_response(body)) == fold(chunks)

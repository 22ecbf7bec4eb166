"""Frames of the Messages wire, as its tests write and read them."""

import orjson
from hypothesis import strategies as st

from replay.models import anthropic_messages
from tests.models.codec_conformance import REQUEST

PATH = "/v1/messages"
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(1, 9), st.text("abc", min_size=1, max_size=5)),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, min_size=1)
    ),
    max_leaves=4,
)
_DELTAS = st.lists(st.builds(lambda value: {"type": "new_delta", "x": value}, _VALUE), min_size=1, max_size=2)
EXTRAS = {
    "text": st.one_of(
        st.builds(lambda value: {"citations": [{"type": "page_location", "x": value}]}, _VALUE),
        st.builds(lambda deltas: {"deltas": deltas}, _DELTAS),
    ),
    "reasoning": st.one_of(
        st.builds(lambda text: {"signature": text}, st.text("abc", min_size=1)),
        st.builds(
            lambda text: {"signature": text, "delta": {"estimated_tokens": 5}}, st.text("abc", min_size=1)
        ),
    ),
    "tool-call": st.one_of(
        st.just({"type": "server_tool_use"}),
        st.builds(lambda value: {"caller": value}, _VALUE),
        st.builds(lambda deltas: {"deltas": deltas}, _DELTAS),
    ),
}


def wire(chunks, complete=True):
    return b"".join(anthropic_messages.encode_stream(chunks, REQUEST, "1", complete))


def frames(chunks, complete=True):
    """The events of a reply; proves that each is named by its type."""
    parsed = []
    for frame in wire(chunks, complete).split(b"\n\n")[:-1]:
        name, data = frame.split(b"\n")
        event = orjson.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        parsed.append(event)
    return parsed


def decode(*events):
    decoder = anthropic_messages.StreamDecoder()
    chunks = []
    for event in events:
        chunks += decoder.feed(b"event: x\ndata: " + orjson.dumps(event) + b"\n\n")
    return chunks + decoder.close()


def whole(chunks):
    return orjson.loads(anthropic_messages.encode_response(chunks, REQUEST, "1"))


def unwhole(body):
    return anthropic_messages.decode_response(orjson.dumps(body))


def opened(index=0, kind="text", **members):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


def delta(kind, index=0, **members):
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **members}}


def closed(index=0):
    return {"type": "content_block_stop", "index": index}


def started(**members):
    usage = {"input_tokens": 25, "output_tokens": 1}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    return {"type": "message_start", "message": message | members}


def ended(reason="end_turn", **members):
    last = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None} | members}
    return {**last, "usage": {"output_tokens": 15}}, {"type": "message_stop"}

"""Documents of the Gemini wire, as its tests write and read them."""

import orjson
from hypothesis import strategies as st

from replay.models import gemini
from replay.models.blocks import Reply, fold
from tests.models.codec_conformance import REQUEST

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

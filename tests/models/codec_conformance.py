"""What every wire codec must do: `check_codec(module)` is the definition of done for a new one.

Replies are generated, encoded, cut anywhere and decoded again. Compared is what a reply means: blocks in order, the
pieces in which each came, usage and finish. When a block closes is not part of it, since not every wire says so.
Not generated, since no wire keeps them: two neighbouring blocks of one text type, and a block's first piece empty.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models.blocks import Reply, fold
from replay.models.wire import FAULT_STATUS, RequestRefused, WireRequest, fault_status

type Chunk = dict[str, Any]

NAMES = {
    "BASE_PATH",
    "KEY_VARIABLES",
    "MALFORMED",
    "REQUEST_ID",
    "UPSTREAM",
    "StreamDecoder",
    "authorization",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_response",
    "encode_stream",
    "is_call",
    "probe",
    "with_model",
}
REQUEST = WireRequest("some-model", [], [], {}, stream=True, wants_usage=True)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_PIECES = st.builds(
    lambda first, rest: [first, *rest], _TEXT, st.lists(st.one_of(_TEXT, st.just("")), max_size=3)
)
_COUNT = st.integers(0, 1 << 40)
_KINDS = ("text", "reasoning", "tool-call")
_checked = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check_codec(
    module: ModuleType,
    extras: Mapping[str, st.SearchStrategy[Any]],
    call_path: str,
    call_body: bytes,
    heard: Callable[[Reply], Reply] = lambda reply: reply,
    arguments: st.SearchStrategy[list[str]] = _PIECES,
) -> None:
    """Raises AssertionError where `module` is no codec.

    extras: for each block type the extras that this wire can carry. call_path, call_body: a model call. heard: the
    generated reply as this wire is able to say it; not every wire tells `tool-calls` from `stop`, or no count from 0.
    arguments: pieces in which those of a tool call can come; not every wire cuts them, or takes what is no object.
    """
    assert set(module.__all__) >= NAMES
    replies = _replies(extras, arguments)
    _checked(given(replies, st.data())(lambda reply, data: _streams_survive(module, reply, data, heard)))()
    _checked(given(replies, st.data())(lambda reply, data: _prefixes_survive(module, reply, data)))()
    _checked(given(replies)(lambda reply: _whole_replies_survive(module, reply, heard)))()
    _checked(given(_TEXT)(lambda message: _errors_survive(module, message)))()
    _checked(given(st.binary(max_size=200))(lambda data: _junk_is_refused(module, data, call_path)))()
    _malformed_frames_are_refused(module)
    _depths_are_refused(module, call_path, call_body)
    _routes_are_told_apart(module, call_path)
    _calls_can_be_redirected(module, call_path, call_body)


@st.composite
def _replies(
    draw: st.DrawFn,
    extras: Mapping[str, st.SearchStrategy[Any]],
    arguments: st.SearchStrategy[list[str]],
) -> list[Chunk]:
    """A whole reply as chunks, its blocks closed at its end."""
    chunks: list[Chunk] = []
    ends: list[Chunk] = []
    before = ""
    for index in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from([kind for kind in _KINDS if kind == "tool-call" or kind != before]))
        before = kind
        pieces = draw(arguments if kind == "tool-call" else _PIECES)
        chunks.append({"type": "block-start", "index": index, "blockType": kind})
        if kind == "tool-call":
            call: Chunk = {"type": "tool-call-delta", "index": index, "id": f"call_{index}"}
            name = draw(_TEXT)
            # Both are met in the wild: the name once, and with every piece.
            named = {**call, "name": name}
            chunks.append({**named, "argumentsDelta": pieces[0]})
            later = draw(st.sampled_from([call, named]))
            chunks += [{**later, "argumentsDelta": piece} for piece in pieces[1:]]
            block: Chunk = {"type": kind, "id": call["id"], "name": name, "arguments": "".join(pieces)}
        else:
            chunks += [{"type": f"{kind}-delta", "index": index, "text": piece} for piece in pieces]
            block = {"type": kind, "text": "".join(pieces)}
        if extra := draw(st.one_of(st.none(), extras[kind])):
            block["extras"] = extra
        ends.append({"type": "block-end", "index": index, "block": block})
    usage: Chunk = {"inputTokens": draw(_COUNT), "outputTokens": draw(_COUNT)}
    for name in ("cacheReadTokens", "reasoningTokens"):
        if draw(st.booleans()):
            usage[name] = draw(_COUNT)
    reason = draw(st.sampled_from(["stop", "max-tokens", "tool-calls", "content-filter"]))
    return [*chunks, *ends, {"type": "usage", "usage": usage}, {"type": "finish", "reason": {"kind": reason}}]


def _decoded(module: ModuleType, wire: bytes, cuts: list[int]) -> tuple[list[Chunk], bool]:
    decoder = module.StreamDecoder()
    chunks: list[Chunk] = []
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    for start, end in pairwise(edges):
        chunks += decoder.feed(wire[start:end])
    chunks += decoder.close()
    return chunks, decoder.complete


def _pieces(chunks: list[Chunk]) -> dict[int, list[str]]:
    pieces: dict[int, list[str]] = {}
    for chunk in chunks:
        if chunk["type"].endswith("-delta"):
            text = chunk["argumentsDelta"] if chunk["type"] == "tool-call-delta" else chunk["text"]
            pieces.setdefault(chunk["index"], []).append(text)
    return pieces


def _streams_survive(
    module: ModuleType, reply: list[Chunk], data: st.DataObject, heard: Callable[[Reply], Reply]
) -> None:
    frames = list(module.encode_stream(reply, REQUEST, "1", True))
    wire = b"".join(frames)
    assert wire == b"".join(module.encode_stream(reply, REQUEST, "1", True)), "bytes are not deterministic"
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=8))
    chunks, complete = _decoded(module, wire, cuts)
    assert complete
    assert fold(chunks) == heard(fold(reply))
    assert _pieces(chunks) == _pieces(reply)
    assert chunks[-1]["type"] == "finish", "a log is split at finish, so it comes last"
    assert b"".join(module.encode_stream(chunks, REQUEST, "1", True)) == wire, "encoding is no fixed point"
    assert _decoded(module, wire, list(range(len(wire))))[0] == chunks, "byte by byte differs"
    assert all(chunk in chunks for frame in frames[:1] for chunk in module.StreamDecoder().feed(frame))


def _prefixes_survive(module: ModuleType, reply: list[Chunk], data: st.DataObject) -> None:
    """A reply that broke off decodes to what came before, and never looks complete."""
    whole = [chunk for chunk in reply if chunk["type"] not in ("block-end", "usage", "finish")]
    prefix = whole[: data.draw(st.integers(0, len(whole)))]
    chunks, complete = _decoded(module, b"".join(module.encode_stream(prefix, REQUEST, "1", False)), [])
    assert not complete
    assert _pieces(chunks) == _pieces(prefix)
    assert not any(chunk["type"] in ("usage", "finish") for chunk in chunks)


def _whole_replies_survive(module: ModuleType, reply: list[Chunk], heard: Callable[[Reply], Reply]) -> None:
    """Not streamed, a wire may keep no order between types; within a type it does, and nothing is lost."""
    chunks = module.decode_response(module.encode_response(reply, REQUEST, "1"))
    before, after = heard(fold(reply)), fold(chunks)
    assert (after.usage, after.finish) == (before.usage, before.finish)
    for kind in _KINDS:
        mine = [block for block in before.blocks if block["type"] == kind]
        theirs = [block for block in after.blocks if block["type"] == kind]
        if kind == "tool-call" or len(mine) == 1:
            assert theirs == mine
        else:
            texts = "".join(block["text"] for block in theirs), "".join(block["text"] for block in mine)
            plain = not any("extras" in block for block in mine)
            assert not plain or texts[0] == texts[1]


def _errors_survive(module: ModuleType, message: str) -> None:
    for code in [*FAULT_STATUS, "418", "529", "500"]:
        status = fault_status(code)
        assert module.decode_error(status, module.encode_error(status, message, code)) == (message, code)
    assert module.decode_error(502, b"<html>bad gateway</html>") == ("<html>bad gateway</html>", "502")


def _junk_is_refused(module: ModuleType, data: bytes, call_path: str) -> None:
    for body in (data, b'{"model":"m","messages":' + data + b"}", b'{"model":' + data):
        try:
            module.decode_request(call_path, body)
        except RequestRefused as refused:
            assert 400 <= refused.status < 500 and refused.message
    for wire in (data, b"data: " + data + b"\n\n", b'data: {"choices":[' + data + b"]}\n\n"):
        try:
            _decoded(module, wire, [])
            module.decode_response(data)
        except FixtureError:
            pass


def _malformed_frames_are_refused(module: ModuleType) -> None:
    try:
        _decoded(module, module.MALFORMED, [])
    except FixtureError:
        return
    raise AssertionError("MALFORMED is read without a complaint")


def _depths_are_refused(module: ModuleType, call_path: str, call_body: bytes) -> None:
    """What could be read but never be written into a log, in which it would stand some levels further down."""
    for deep in (b"[" * 230 + b"]" * 230, b'{"a":' * 230 + b"1" + b"}" * 230):
        calls: list[Callable[[], object]] = [
            lambda deep=deep: module.decode_request(call_path, call_body[:-1] + b',"x":' + deep + b"}"),
            lambda deep=deep: module.decode_response(b'{"x":' + deep + b"}"),
            lambda deep=deep: _decoded(module, b'data: {"type":"x","x":' + deep + b"}\n\n", []),
        ]
        for call in calls:
            try:
                call()
            except (FixtureError, RequestRefused) as refused:
                assert "nested too deeply" in str(refused)
                continue
            raise AssertionError("values nested too deeply are read")


def _calls_can_be_redirected(module: ModuleType, call_path: str, call_body: bytes) -> None:
    """What a recording needs: another model, and nothing else changed; the key in a header and nowhere else."""
    before = module.decode_request(call_path, call_body)
    path, body = module.with_model(call_path, call_body, "other-model")
    assert module.is_call(path.partition("?")[0])
    assert module.decode_request(path, body) == before._replace(model="other-model")
    assert module.UPSTREAM.startswith("https://") and not module.UPSTREAM.endswith("/")
    assert module.KEY_VARIABLES
    assert any("a-key" in value for _, value in module.authorization("a-key"))


def _routes_are_told_apart(module: ModuleType, call_path: str) -> None:
    route = call_path.partition("?")[0]
    assert module.is_call(route)
    assert route.startswith(module.BASE_PATH)
    assert module.probe("POST", route, ()) is None
    for path in ("/", "/favicon.ico", module.BASE_PATH + "/no/such/route"):
        assert not module.is_call(path)
        assert module.probe("GET", path, ()) is None

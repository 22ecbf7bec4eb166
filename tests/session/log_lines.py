"""Small logs and events to test with."""

from typing import Any

import orjson
from hypothesis import strategies as st

HEADER = {"type": "session", "version": 0, "id": "s-1", "createdAt": 0}


def header(**fields: Any) -> dict[str, Any]:
    return {**HEADER, **fields}


def chunk(chunk_fields: dict[str, Any], turn: int = 1, step: int = 1, **fields: Any) -> dict[str, Any]:
    data = {"turn": turn, "step": step, "chunk": chunk_fields}
    return {"type": "assistant/chunk", "data": data, **fields}


def begin(index: int = 0, kind: str = "text", **place: Any) -> dict[str, Any]:
    return chunk({"type": "block-start", "index": index, "blockType": kind}, **place)


def delta(text: str, index: int = 0, **place: Any) -> dict[str, Any]:
    return chunk({"type": "text-delta", "index": index, "text": text}, **place)


def end(text: str, index: int = 0, **place: Any) -> dict[str, Any]:
    return chunk({"type": "block-end", "index": index, "block": {"type": "text", "text": text}}, **place)


def finish(kind: str = "stop", **place: Any) -> dict[str, Any]:
    return chunk({"type": "finish", "reason": {"kind": kind}}, **place)


def answer(text: str, **place: Any) -> list[dict[str, Any]]:
    return [begin(**place), delta(text, **place), end(text, **place), finish(**place)]


def user(text: str, **data: Any) -> dict[str, Any]:
    return {
        "type": "user/message",
        "data": {"content": [{"type": "text", "text": text}], "role": "user", **data},
    }


def mark(kind: str, call: int, turn: int = 1, step: int = 1, **data: Any) -> dict[str, Any]:
    return {"type": f"call/{kind}", "data": {"turn": turn, "step": step, "call": call, **data}}


def log_bytes(*events: dict[str, Any], head: dict[str, Any] = HEADER) -> bytes:
    return b"".join(orjson.dumps(event) + b"\n" for event in (head, *events))


# What has broken packers before; drawing from all of Unicode would take a second to begin with.
_TEXTS = st.text('ab \n\0\x7f\x85é\u2028😀"\\', max_size=6)
_SMALL = st.integers(0, 2)


def _delta_chunks() -> st.SearchStrategy[dict[str, Any]]:
    texts = st.fixed_dictionaries(
        {
            "type": st.sampled_from(["text-delta", "reasoning-delta"]),
            "index": st.integers(0, 1),
            "text": _TEXTS,
        },
        optional={"extras": st.just({"signature": "x"})},
    )
    calls = st.fixed_dictionaries(
        {
            "type": st.just("tool-call-delta"),
            "index": st.integers(0, 1),
            "id": st.sampled_from(["a", "b"]),
            "argumentsDelta": _TEXTS,
        },
        optional={"name": st.sampled_from(["read", "bash"])},
    )
    return texts | calls


def _stamps() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({}, optional={"seq": st.integers(0, 5), "time": st.integers(-5, 2**40)})


@st.composite
def event_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events, deltas mostly, in runs that are often long enough to be packed."""
    events: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 6))):
        first = chunk(draw(_delta_chunks()), draw(_SMALL), draw(_SMALL), **draw(_stamps()))
        for at in range(draw(st.integers(1, 5))):
            event = orjson.loads(orjson.dumps(first))
            text = "text" if "text" in event["data"]["chunk"] else "argumentsDelta"
            event["data"]["chunk"][text] = draw(_TEXTS)
            if "seq" in event:
                event["seq"] += at
            if "time" in event:
                event["time"] += draw(st.integers(-3, 50))
            events.append(event)
        if draw(st.booleans()):
            events.append({"type": "other", "data": {"value": draw(_TEXTS)}})
    return events

"""A run that is taken for right brings the agent's rows; whatever it logs, the model's half is the committed one."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.errors import DivergenceError
from replay.scenario.model_half import ALL_CALLS, is_model_row, overridden_calls, with_model_half
from replay.script import apply_override, derive_lanes, parse_override
from replay.session import Row, encode_log, pack, read_log, unpack

_SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_HEADER = {"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 0}
_PROVENANCE = {"kind": "recorded", "checksum": "sha256:00"}


def _chunk(turn: int, step: int, **chunk: Any) -> dict[str, Any]:
    return {"type": "assistant/chunk", "data": {"turn": turn, "step": step, "chunk": chunk}}


def _event(text: str) -> dict[str, Any]:
    return {"type": "agent/note", "data": {"text": text}}


def _call(turn: int, step: int, texts: list[str], number: int = 0) -> list[dict[str, Any]]:
    """The events of one call, with marks where it has a number."""
    place = {"turn": turn, "step": step}
    chunks = [
        _chunk(**place, type="block-start", index=0, blockType="text"),
        *(_chunk(**place, type="text-delta", index=0, text=text) for text in texts),
        _chunk(**place, type="block-end", index=0, block={"type": "text", "text": "".join(texts)}),
        _chunk(**place, type="finish", reason={"kind": "stop"}),
    ]
    if not number:
        return chunks
    start = {"type": "call/start", "data": {**place, "call": number}}
    end = {"type": "call/end", "data": {**place, "call": number, "outcome": {"kind": "completed"}}}
    return [start, *chunks, end]


def _log(*events: dict[str, Any], **header: Any) -> list[Any]:
    return [{**_HEADER, **header}, *pack(Row(line, event) for line, event in enumerate(events, 2))]


def _model(rows: list[Any]) -> list[Any]:
    """The model's half, event by event, with the delays of packed rows."""
    events = unpack(Row(line, row) for line, row in enumerate(rows[1:], 2))
    return [(event.fields, event.gap or 0) for event in events if is_model_row(event.fields)]


def _agent(rows: list[Any]) -> list[Any]:
    return [row for row in rows[1:] if not is_model_row(row)]


_TEXTS = st.lists(st.text("ab{}\n", max_size=3), max_size=6)
_NOTES = st.lists(st.text("xyz", max_size=2), max_size=3)


@st.composite
def _logs(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """A committed log, and what a run may log in its place: other notes anywhere, other texts, fewer or more events."""
    is_marked = draw(st.booleans())
    calls = [
        _call(1, step, draw(_TEXTS), step if is_marked else 0) for step in range(1, draw(st.integers(1, 4)))
    ]
    committed = _log(*_mixed(draw, calls), provenance=_PROVENANCE)
    for row in committed[1:]:
        if "dt" in row["data"]:
            row["data"]["dt"] = [draw(st.integers(0, 9)) for _ in row["data"]["dt"]]
    live = copy.deepcopy(calls)
    for call in live:
        for event in call:
            chunk = event["data"].get("chunk", {})
            if "text" in chunk and draw(st.booleans()):
                chunk["text"] = draw(st.text("ab", max_size=2))
    change = draw(st.sampled_from(("none", "none", "drop an event", "drop a call", "twice", "marks")))
    if change == "drop an event" and live:
        live[-1].pop(draw(st.integers(0, len(live[-1]) - 1)))
    elif change == "drop a call" and live:
        live.pop()
    elif change == "twice" and live:
        live[-1] *= 2
    elif change == "marks":
        live = [[event for event in call if "chunk" in event["data"]] for call in live]
    return committed, _log(*_mixed(draw, live), provenance={"kind": "another"})


def _mixed(draw: st.DrawFn, calls: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    events = []
    for event in (event for call in calls for event in call):
        events += [_event(note) for note in draw(_NOTES)] if draw(st.booleans()) else []
        events.append(event)
    return events


@_SETTINGS
@given(_logs())
def test_no_run_can_change_what_the_model_said(logs: tuple[list[Any], list[Any]]) -> None:
    committed, actual = logs
    try:
        merged = with_model_half(committed, actual)
    except DivergenceError:
        return
    recorded, kept = _model(committed), _model(merged)
    if not any("call/" in row["type"] for row in committed[1:]):
        kept = [event for event in kept if "chunk" in event[0]["data"]]
    assert [fields for fields, _ in kept] == [fields for fields, _ in recorded]
    # A packed run that a new row of the agent's splits has no place for the delay at that point.
    assert all(left[1] in (right[1], 0) for left, right in zip(kept, recorded, strict=True))
    assert merged[0]["provenance"] == _PROVENANCE
    assert _agent(merged) == _agent(actual)


@_SETTINGS
@given(_logs())
def test_a_log_with_its_own_model_half_is_itself_byte_for_byte(logs: tuple[list[Any], list[Any]]) -> None:
    for log in logs:
        merged = with_model_half(log, log)
        assert encode_log(merged[0], merged[1:]) == encode_log(log[0], log[1:])


def test_agents_event_in_the_middle_of_a_stream_comes_in_and_goes_again() -> None:
    plain = _log(*_call(1, 1, ["a", "b", "c", "d"]))
    split = _log(*_call(1, 1, ["a", "b", "c", "d"])[:3], _event("x"), *_call(1, 1, ["a", "b", "c", "d"])[3:])
    assert with_model_half(plain, split) == split
    assert with_model_half(split, plain) == plain


def test_log_that_had_no_marks_takes_the_marks_of_the_run() -> None:
    marked = _log(*_call(1, 1, ["a"], 1))
    assert with_model_half(_log(*_call(1, 1, ["a"])), marked) == marked


def test_key_of_the_request_is_the_agents() -> None:
    def keyed(key: str) -> list[Any]:
        start, *rest = _call(1, 1, ["a"], 1)
        return _log({**start, "data": {**start["data"], **({"request": key} if key else {})}}, *rest)

    for before, after in (("sha256:1", "sha256:2"), ("", "sha256:2"), ("sha256:1", "")):
        assert with_model_half(keyed(before), keyed(after)) == keyed(after)


def test_calls_of_two_steps_that_overlap_are_told_apart() -> None:
    one, two = _call(1, 1, ["a", "b"], 1), _call(1, 2, ["c", "d"], 2)
    committed = _log(*(event for pair in zip(one, two, strict=True) for event in pair))
    live = _log(*one, *two)
    assert _model(with_model_half(committed, live)) == _model(live)


@pytest.mark.parametrize(
    ("live", "sentence"),
    [
        (_call(1, 1, ["a"], 1), "the recording has 2 model calls, the run made 1"),
        (
            [*_call(1, 1, ["a"], 1), *_call(1, 2, ["b"], 2), *_call(1, 3, ["c"], 3)],
            "the run made a 3rd model call, the recording has 2",
        ),
        (
            [*_call(1, 1, ["a"], 1), *_call(2, 1, ["b"], 2)],
            "the 2nd model call is turn 2, step 1 now and was recorded as turn 1, step 2",
        ),
        (
            [*_call(1, 1, ["a"], 1), *_call(1, 2, [], 2)],
            "the 2nd model call (turn 1, step 2) has a block-end as its 3rd event in the run's log, a text-delta",
        ),
        (
            [*_call(1, 1, ["a"], 1), *_call(1, 2, ["b"], 2)[:-1]],
            "the 2nd model call (turn 1, step 2) has 5 events in the run's log, 6 in the recording",
        ),
    ],
)
def test_calls_without_a_counterpart_are_an_error(live: list[dict[str, Any]], sentence: str) -> None:
    committed = _log(*_call(1, 1, ["a"], 1), *_call(1, 2, ["b"], 2))
    with pytest.raises(DivergenceError) as caught:
        with_model_half(committed, _log(*live))
    assert sentence in caught.value.what


def test_log_of_a_new_child_may_hold_no_call() -> None:
    quiet = _log(_event("x"))
    assert with_model_half([], quiet) == quiet
    with pytest.raises(DivergenceError, match="made a 1st model call, the recording has 0"):
        with_model_half([], _log(*_call(1, 1, ["a"])))


def _overridden(text: bytes, *calls: list[dict[str, Any]]) -> Any:
    rows = _log(*(event for call in calls for event in call))
    lanes = derive_lanes([read_log(encode_log(rows[0], rows[1:]), "session.jsonl")])
    [lane] = apply_override(lanes, parse_override(text, "replay.override.json"))
    return overridden_calls(lane)


def test_calls_of_an_override_are_those_of_the_run() -> None:
    one, two = _call(1, 1, ["a"], 1), _call(1, 2, ["b"], 2)
    patch = _overridden(b'{"patches":[{"at":1,"entry":{"kind":"hang"}}]}', one, two)
    assert patch == {2}
    cut = _log(*one, *_call(1, 2, ["other"], 2)[:3])
    assert with_model_half(_log(*one, *two), cut, patch) == cut
    assert with_model_half(_log(*one), cut, patch) == cut
    whole = _overridden(b'[{"kind":"hang"}]', one, two)
    assert whole is ALL_CALLS
    assert with_model_half(_log(*one, *two), _log(*_call(3, 3, ["z"])), whole) == _log(*_call(3, 3, ["z"]))

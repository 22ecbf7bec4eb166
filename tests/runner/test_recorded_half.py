"""No refresh changes what a model said: whatever a run asks or logs, the recorded chunks and outcomes stay."""

from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.acp import parse_script
from replay.errors import DivergenceError
from replay.models.call_log import ModelCall, log_rows, plain_key
from replay.models.wire import WireRequest
from replay.runner.gateway_log import canonical_lines, with_recorded_calls
from replay.runner.manifest import Manifest, decode_manifest
from replay.runner.outputs import Outputs
from replay.runner.recorded_half import as_recorded, other_streams
from replay.scenario.load import Scenario
from replay.script import Lane, derive_lanes
from replay.session import SessionLog, read_log

_SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_TEXT = st.text(max_size=6)
_OUTCOME = st.sampled_from(
    [
        {"kind": "completed"},
        {"kind": "cancelled"},
        {"kind": "failed", "message": "m", "code": "529", "retryAfterMs": 3},
    ]
)
_REFERENCES = ["{{fromRequest:a}}", "{{cwd}}", "{{uuid:3}}", "{{id:2}}"]


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    """Chunks and outcome of one call, fixture placeholders among the texts."""
    pieces = draw(st.lists(_TEXT | st.sampled_from(_REFERENCES), max_size=6))
    chunks: list[Any] = [{"type": "block-start", "index": 0, "blockType": "text"}]
    chunks += [{"type": "text-delta", "index": 0, "text": piece} for piece in pieces]
    chunks.append({"type": "block-end", "index": 0, "block": {"type": "text", "text": "".join(pieces)}})
    return [*chunks, {"type": "finish", "reason": {"kind": "stop"}}], draw(_OUTCOME)


def call(ordinal: int, words: str, chunks: list[Any], outcome: dict[str, Any]) -> ModelCall:
    message = {"role": "user", "content": [{"type": "text", "text": words}]}
    made = ModelCall(WireRequest("m", [message], [], {}, True, False), plain_key)
    made.lane, made.ordinal, made.chunks, made.outcome = "parent", ordinal, chunks, outcome
    return made


def log_of(rows: list[Any]) -> SessionLog:
    return read_log(b"".join(orjson.dumps(row) + b"\n" for row in rows), "session.jsonl")


def lane_of(rows: list[Any]) -> Lane:
    (lane,) = derive_lanes([log_of(rows)])
    return lane


def said(rows: list[Any]) -> list[Any]:
    return [(call.entry.chunks, call.entry.outcome) for call in lane_of(rows).calls]


def scenario_of(rows: list[Any]) -> Scenario:
    log = log_of(rows)
    return Scenario(
        name="s", label="//s", script=parse_script(b'{"steps":[{"op":"initialize"}]}', "input.json"), logs=[log], log_names=["session.jsonl"], override=None,
        lanes=derive_lanes([log]), stdout=[], session_values=[rows], pins=None, workspace=(), recording={},
    )  # fmt: skip


def manifest_of(session_log: str) -> Manifest:
    agent = {"binary": "b", "session_log": session_log, "model_api": "openai_chat"}
    return decode_manifest(
        orjson.dumps({"version": 1, "agent": agent, "scenarios": [{"name": "s", "files": {}}]})
    )


@_SETTINGS
@given(
    st.lists(answers(), min_size=1, max_size=4),
    st.lists(answers(), min_size=4, max_size=4),
    st.lists(_TEXT, min_size=4, max_size=4),
)
def test_gateway_s_log_keeps_the_recorded_words(recorded: Any, other: Any, words: list[str]) -> None:
    calls = [call(at, "asked", *answer) for at, answer in enumerate(recorded, 1)]
    (committed,) = log_rows(calls, "/w")
    committed = canonical_lines(committed)
    live = [call(at, words[at - 1], *other[at - 1]) for at in range(1, len(recorded) + 1)]
    (rows,) = log_rows(live, "/w")
    merged = with_recorded_calls(canonical_lines(rows), lane_of(committed))
    assert said(merged) == said(committed) == [(chunks, outcome) for chunks, outcome in recorded]
    keys = [row["data"]["request"] for row in merged if row["type"] == "call/start"]
    assert keys == [made.key for made in live]
    assert (
        other_streams(
            scenario_of(committed), manifest_of("gateway"), Outputs({"requests": merged}, None, False)
        )
        == []
    )


@_SETTINGS
@given(st.lists(answers(), min_size=1, max_size=3), st.data())
def test_agent_s_log_is_refused_or_says_what_was_recorded(recorded: Any, data: st.DataObject) -> None:
    (committed,) = log_rows([call(at, "asked", *answer) for at, answer in enumerate(recorded, 1)], "/w")
    committed = canonical_lines(committed)
    actual: list[Any] = deepcopy(committed)
    places = [at for at, row in enumerate(actual) if row["type"] in ("assistant/chunk", "call/end")]
    place = data.draw(st.sampled_from(places))
    change = data.draw(st.sampled_from(["nothing", "drop", "text", "outcome", "repeat"]))
    row = actual[place]
    if change == "drop" and row["type"] == "assistant/chunk":
        del actual[place]
    elif change == "text" and "block" in row["data"].get("chunk", {}):
        row["data"]["chunk"]["block"]["text"] += "!"
    elif change == "outcome" and row["type"] == "call/end":
        row["data"]["outcome"] = {"kind": "failed", "message": "other", "code": "1"}
    elif change == "repeat" and row["type"] == "assistant/chunk":
        actual.insert(place, deepcopy(row))
    scenario, manifest = scenario_of(committed), manifest_of("self")
    if other_streams(scenario, manifest, Outputs({"session": actual})):
        assert actual != committed
    else:
        assert said(actual) == said(committed)
        assert said(list(as_recorded(scenario, manifest, "session", actual))) == said(committed)


def test_call_of_a_recording_that_moved_is_refused() -> None:
    answer = [{"type": "finish", "reason": {"kind": "stop"}}], {"kind": "completed"}
    (rows,) = log_rows([call(1, "a", *answer)], "/w")
    recorded = deepcopy(rows)
    recorded[0]["provenance"] = {"kind": "recorded"}
    for row in recorded:
        if row["type"] != "session" and "turn" in row["data"]:
            row["data"]["turn"] = 2
    with pytest.raises(DivergenceError, match=r"1st model call \(turn 2, step 1\) in turn 1, step 1 now"):
        with_recorded_calls(rows, lane_of(recorded))
    recorded[0]["provenance"] = {"kind": "authored"}
    merged = with_recorded_calls(rows, lane_of(recorded))
    assert said(merged) == said(recorded)
    assert merged[0]["provenance"] == {"kind": "authored"}

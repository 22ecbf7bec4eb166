"""Parts of a recording that are pure: stamps, courses, earlier turns, reports. No scenario could show each edge."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import replay
from replay.errors import FixtureError, Location
from replay.runner.course import course_of
from replay.runner.from_turn import earlier_lanes
from replay.runner.record_report import Account, Cost, render_record, render_table
from replay.runner.recording import Asked, Recording
from replay.runner.result import FAILED, WRITTEN, Case, Result
from replay.runner.stamp import Origin, agent_of, stamp
from replay.script import derive_lanes
from replay.session import model_checksum, read_log
from replay.surface.secrets import Scanner

ORIGIN = Origin("m", "a", "1", "2026-01-02")


def log_of(*events: dict[str, Any], **header: Any) -> bytes:
    first = {"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 0, **header}
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in (first, *events))


def call(turn: int, text: str, step: int = 1) -> list[dict[str, Any]]:
    place = {"turn": turn, "step": step}
    chunks = [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]
    return [{"type": "assistant/chunk", "data": {**place, "chunk": chunk}} for chunk in chunks]


def provenance(data: bytes) -> dict[str, Any]:
    return json.loads(data.splitlines()[0])["provenance"]


def test_stamp_says_what_it_is_and_its_checksum_fits() -> None:
    stamped = stamp(read_log(log_of(*call(1, "x")), "f"), ORIGIN, None)
    told = provenance(stamped)
    assert told["checksum"] == model_checksum(read_log(stamped, "f"))
    assert (told["kind"], told["model"], told["agent"]) == ("recorded", "m", {"name": "a", "version": "1"})
    assert told["capturedAt"] == "2026-01-02" and told["tool"] == f"agent_replay {replay.VERSION}"


def test_stamp_of_the_same_recording_stays_and_another_is_new() -> None:
    log = read_log(log_of(*call(1, "x")), "f")
    old = stamp(log, ORIGIN._replace(captured="2020-01-01"), None)
    assert stamp(log, ORIGIN, old) == old
    for other in (ORIGIN._replace(model="n"), ORIGIN._replace(version="2")):
        assert provenance(stamp(log, other, old))["capturedAt"] == "2026-01-02"
    changed = read_log(log_of(*call(1, "y")), "f")
    assert provenance(stamp(changed, ORIGIN, old))["capturedAt"] == "2026-01-02"
    assert provenance(stamp(log, ORIGIN, b"no log"))["capturedAt"] == "2026-01-02"
    authored = log_of(*call(1, "x"), provenance={"kind": "authored"})
    assert provenance(stamp(log, ORIGIN, authored))["kind"] == "recorded"


def test_version_is_that_of_the_module() -> None:
    module = Path(replay.__file__).parent.parent / "MODULE.bazel"
    if module.exists():
        [version] = re.findall(
            r'^module\([^)]*version = "([^"]+)"', module.read_text(), re.DOTALL | re.MULTILINE
        )
        assert version == replay.VERSION


def test_agent_is_what_it_says_at_initialize() -> None:
    frames = [{"id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}}}]
    assert agent_of(frames) == ("a", "2")
    assert agent_of([{"id": 1, "result": {}}]) == ("", "")


def test_course_tells_what_was_done_and_not_how_a_text_was_cut() -> None:
    def update(kind: str, **more: Any) -> dict[str, Any]:
        return {"method": "session/update", "params": {"update": {"sessionUpdate": kind, **more}}}

    one = [{"id": 1, "result": {}}, update("agent_message_chunk", x=1), update("agent_message_chunk", x=2)]
    assert course_of(one) == course_of([{"id": 7, "result": {}}, update("agent_message_chunk")])
    assert course_of(one) != course_of([*one, update("tool_call")])
    assert course_of([{"id": 1, "error": {}}]) != course_of([{"id": 1, "result": {}}])


def test_earlier_turns_hold_the_calls_of_a_child_of_that_turn() -> None:
    said = {"type": "user/message", "data": {"role": "user", "content": [{"type": "text", "text": "go"}]}}

    def turn(number: int) -> dict[str, Any]:
        return {"type": "turn/start", "data": {"turn": number}}

    spawned = {"type": "subagent/start", "data": {"child": "{{sessionId:2}}"}}
    parent = log_of(turn(1), *call(1, "a"), turn(2), *call(2, "b"), spawned, turn(3), *call(3, "c"))
    child = log_of(said, *call(1, "x"), *call(1, "y", 2), id="{{sessionId:2}}", parentSession="{{sessionId}}")
    logs = [read_log(parent, "session.jsonl"), read_log(child, "session.1.jsonl")]
    lanes = derive_lanes(logs)
    kept = {turn: [len(lane.calls) for lane in earlier_lanes(lanes, logs, turn)] for turn in (1, 2, 3, 4)}
    assert kept == {1: [0, 0], 2: [1, 0], 3: [2, 2], 4: [3, 2]}


def test_cost_is_counted_and_crosses_a_pipe() -> None:
    usage = {"type": "usage", "usage": {"inputTokens": 10, "outputTokens": 2}}
    cost = Cost().and_call([usage], 1.0).and_call([], 2.5)
    assert cost == Cost(2, 10, 2, 2.5)
    account = Account.of(Result("s", "", "record", [Case("stdout", WRITTEN, "wrote x")]), cost)
    assert Account.decode(account.encode()) == account and account.outcome == "written"


def test_report_of_a_failure_says_that_nothing_was_written() -> None:
    error = FixtureError("is wrong", Location("f.json", 3), "mend it\nor not")
    lines = render_record(Result("s", "", "record", error=error)).splitlines()
    assert lines == ["f.json:3: is wrong", "  fix: mend it", "       or not", "  nothing was written"]
    lines = render_record(Result("s", "", "record", [Case("session", FAILED, "session: no")])).splitlines()
    assert lines == ["s: session: no", "  nothing was written"]


def test_table_ends_with_totals() -> None:
    accounts = [
        Account("a", "written", 0, "", Cost(1, 10, 5, 1.25)),
        Account("bb", "failed", 3, "", Cost(2, 1, 0, 2.0)),
    ]
    assert render_table(accounts, 1).splitlines() == [
        "scenario     outcome                         calls  tokens in  tokens out  seconds",
        "a            written                             1         10           5      1.2",
        "bb           failed                              2          1           0      2.0",
        "3 scenarios  1 written, 1 failed, 1 not run      3         11           5      3.2",
    ]
    assert render_table([], 2).splitlines()[-1].startswith("2 scenarios  2 not run")


def test_call_that_ends_while_another_is_counted_is_counted_too() -> None:
    spec: Any = None
    asked = Asked("", "", 1, "2026-01-31", {}, {}, Scanner(), False)
    recording = Recording(spec, spec, asked, lambda cost: None)

    def other_call() -> Iterator[dict[str, Any]]:
        thread = Thread(target=recording._count, args=(SimpleNamespace(chunks=[]),))
        thread.start()
        thread.join(5)
        yield {"type": "usage", "usage": {"inputTokens": 3}}

    call: Any = SimpleNamespace(chunks=other_call())
    recording._count(call)
    assert recording.cost[:2] == (2, 3)

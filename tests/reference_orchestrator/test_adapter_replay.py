"""Adapter replay: the raw frames of every transcript of scenarios/transport go through the normaliser of their protocol.

No process, no clock, no orchestrator. What is checked is what normalisers promise, whatever the provider, and how the
turns of each scenario end. Sentences about single frames are in test_normaliser_*.py, whole runs in scenarios/transport.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.transport.profile import profile
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    RuntimeExit,
    Transcript,
    read_transcript,
)
from replay.transport.wires.claude import ClaudeWire
from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.normalisers.acp import AcpNormaliser
from scenarios.reference_orchestrator.normalisers.base import Normaliser
from scenarios.reference_orchestrator.normalisers.claude import ClaudeNormaliser
from scenarios.reference_orchestrator.normalisers.codex import CodexNormaliser
from scenarios.reference_orchestrator.normalisers.cursor import CursorNormaliser
from scenarios.reference_orchestrator.normalisers.opencode import OpencodeNormaliser

ROOT = Path(__file__).parents[2] / "scenarios" / "transport"
FILES = sorted(ROOT.glob("*/*.transcript.ndjson"))
NORMALISERS: dict[str, type[Normaliser]] = {
    "acp.ndjson-jsonrpc": AcpNormaliser,
    "codex.app-server": CodexNormaliser,
    "cursor-agent-sdk.local": CursorNormaliser,
    "opencode-sdk.sse": OpencodeNormaliser,
}
# How the turns end, "cut" for one that the provider's end cuts; provider_switch_return has a part of them in each file.
TURNS = {
    "approval_request": ["completed"],
    "crash_recovery": ["completed", "cut", "completed"],
    "duplicate_command": ["completed"],
    "message_steering": ["completed"],
    "multi_turn": ["completed", "completed"],
    "plan_questions": ["completed"],
    "provider_crash_mid_turn": ["cut", "completed"],
    "queued_message": ["completed", "completed"],
    "resume_after_idle": ["completed", "completed", "completed", "completed"],
    "simple": ["completed"],
    "steering_restart_fallback": ["interrupted", "completed"],
    "subagent": ["completed"],
    "subagent_checkpoint": ["completed", "completed"],
    "thread_rollback": ["completed", "completed", "completed"],
    "turn_interrupt": ["interrupted"],
}

Events = list[p.ProviderEvent]


def events_of(transcript: Transcript) -> list[Events]:
    """What is made of the frames, for each life of the provider."""
    prepare = profile(transcript.start.protocol).prepare
    entries = prepare(transcript.entries, transcript.place)
    if transcript.start.protocol == "claude-agent-sdk.query":
        return list(of_claude(entries))
    return [of_life(NORMALISERS[transcript.start.protocol](), life) for life in lives(entries)]


def lives(entries: tuple[Entry, ...]) -> Iterator[list[ExpectOutbound | EmitInbound]]:
    life: list[ExpectOutbound | EmitInbound] = []
    for entry in entries:
        if isinstance(entry, RuntimeExit):
            yield life
            life = []
        else:
            life.append(entry)
    if life:
        yield life


def of_life(normaliser: Normaliser, life: list[ExpectOutbound | EmitInbound]) -> Events:
    events: Events = []
    for entry in life:
        is_sent = isinstance(entry, ExpectOutbound)
        events += normaliser.sent(entry.frame) if is_sent else normaliser.received(entry.frame)
    return events


def of_claude(entries: tuple[Entry, ...]) -> Iterator[Events]:
    """The CLI's lines, as its peer writes them. Where it goes back, one conversation outlives the process."""
    normaliser = ClaudeNormaliser()
    for life in lives(entries):
        wire = ClaudeWire([])
        options = life[0].frame["options"]
        dropped = 1 if "resumeSessionAt" in options else None
        normaliser.started(session_of(options), resumed="resume" in options, dropped_turns=dropped)
        events: Events = []
        for entry in life:
            if isinstance(entry, ExpectOutbound):
                for line in wire.write_outbound(entry.frame, ref_of(entry.frame)):
                    events += normaliser.sent(line)
            else:
                for line in wire.write_inbound(entry.frame, ref_of(entry.frame)):
                    events += normaliser.received(line)
        yield events


def session_of(options: dict[str, Any]) -> str:
    """The id as later frames spell it: what is captured here, they refer to."""
    captured = re.match(r"\{\{capture:(\w+)", options.get("sessionId", ""))
    return str(options["resume"]) if captured is None else f"{{{{ref:{captured[1]}}}}}"


def ref_of(frame: dict[str, Any]) -> str | None:
    """An id that a request and its answer share."""
    match frame["type"]:
        case "permission.request":
            return str(frame["options"]["toolUseID"])
        case "permission.response":
            return str(frame["result"]["toolUseID"])
        case "query.open" | "query.opened":
            return "open"
        case "control.response":
            return str(frame["operation"])
        case "query.interrupt":
            return "query.interrupt"
    return None


def faults(events: Events) -> list[str]:
    """Where the events of one session break what is promised of them."""
    found: list[str] = []
    turn: str | None = None
    started: dict[str, str] = {}
    requests: set[str] = set()
    children: set[str] = set()
    for event in events:
        match event:
            case p.TurnStarted(turn_id):
                found += ["a turn began in a turn"] if turn is not None else []
                turn = turn_id
            case p.TurnEnded(turn_id):
                found += ["a turn ended that did not run"] if turn_id != turn else []
                turn = None
            case p.ItemStarted(item):
                found += [f"{item.item_id} started twice"] if item.item_id in started else []
                found += (
                    [f"{item.item_id} has no parent"] if item.parent_item_id not in (None, *started) else []
                )
                started[item.item_id] = item.kind
            case p.ItemUpdated(item) | p.ItemCompleted(item):
                found += [f"{item.item_id} was never started"] if item.item_id not in started else []
            case p.ItemDelta(item_id):
                found += [f"{item_id} was never started"] if item_id not in started else []
            case p.RequestOpened(request_id):
                requests.add(request_id)
            case p.RequestResolved(request_id):
                found += [f"request {request_id} was not open"] if request_id not in requests else []
                requests.discard(request_id)
            case p.SubagentStarted(item_id):
                found += [f"{item_id} is no subagent"] if started.get(item_id) != "subagent" else []
                children.add(item_id)
            case p.SubagentEnded(item_id):
                found += [f"child {item_id} did not run"] if item_id not in children else []
                children.discard(item_id)
    return found + [f"request {request_id} stays open" for request_id in requests if turn is None]


def endings(session: Events) -> list[str]:
    """How each turn of a session ended."""
    ends = [event.status for event in session if isinstance(event, p.TurnEnded)]
    begun = sum(isinstance(event, p.TurnStarted) for event in session)
    return [*ends, *["cut"] * (begun - len(ends))]


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name.removesuffix('.transcript.ndjson')}"


def read(file: Path) -> Transcript:
    return read_transcript(file.read_bytes(), name_of(file))


def test_there_is_something_to_replay() -> None:
    assert {read(file).start.protocol for file in FILES} >= {*NORMALISERS, "claude-agent-sdk.query"}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_frames_of_a_transcript_are_events_that_keep_their_promises(file: Path) -> None:
    sessions = events_of(read(file))
    assert [fault for session in sessions for fault in faults(session)] == []
    assert sessions == events_of(read(file))
    expected = TURNS.get(file.parent.name)
    if expected is not None:
        assert [end for session in sessions for end in endings(session)] == expected


ITEM = p.Item("i", "agent_message")


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([p.TurnStarted("1"), p.TurnStarted("2")], "a turn began in a turn"),
        ([p.TurnEnded("1", "completed")], "a turn ended that did not run"),
        ([p.TurnStarted("1"), *[p.TurnEnded("1", "completed")] * 2], "a turn ended that did not run"),
        ([p.ItemStarted(ITEM), p.ItemStarted(ITEM)], "i started twice"),
        ([p.ItemStarted(ITEM._replace(parent_item_id="p"))], "i has no parent"),
        ([p.ItemCompleted(ITEM)], "i was never started"),
        ([p.ItemDelta("i", "x")], "i was never started"),
        ([p.RequestOpened("r", "approval", (), {})], "request r stays open"),
        ([p.RequestResolved("r", "cancelled")], "request r was not open"),
        ([p.ItemStarted(ITEM), p.SubagentStarted("i", "c")], "i is no subagent"),
        ([p.SubagentEnded("i", "completed")], "child i did not run"),
    ],
)
def test_a_broken_promise_is_seen(events: Events, fault: str) -> None:
    assert faults(events) == [fault]

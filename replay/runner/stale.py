"""How old a recording is, and what has changed since: what `replay stale` lists and `record --only-stale` goes by. Pure.

Facts are read from files in fixture layout, so they can be had of a fixture and of what a test left (`actual/`) alike.
Today's facts of an agent are the newest that there is evidence for: outputs of tests and other fixtures. What nobody
knows is empty, and what is empty on either side is no reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from replay.errors import counted
from replay.scenario.layout import STDOUT, log_name
from replay.scenario.load import decode_lines
from replay.session import read_log
from replay.surface.pins import SYSTEM_PROMPT, TOOL_SCHEMAS, header_class

__all__ = [
    "Evidence",
    "Facts",
    "age_days",
    "facts_of",
    "stale_reasons",
    "today_of",
    "with_pins",
]

_AUTHORED: Final = "authored"
_RECORDED: Final = "recorded"
_DIGITS: Final = 12


class Facts(NamedTuple):
    """What a run says about the agent and the model that it is a run of; "" for what it does not say."""

    kind: str = ""
    """`authored` or `recorded`; "" for a fixture without a log, or whose log does not say."""
    captured: str = ""
    """The day of the recording, YYYY-MM-DD."""
    agent: str = ""
    """The agent's name, by the recording or by its reply to `initialize`."""
    version: str = ""
    model: str = ""
    """What answered, by the recording; else what the agent asked for."""
    asked: str = ""
    """The model that the agent asks for, by its first request header; the wire may name it otherwise than people do."""
    protocol: str = ""
    """The protocol version of the reply to `initialize`."""
    prompt: str = ""
    """First digits of the key of the system prompt as the gateway saw it, else of the SHA-256 of the pinned one."""
    tools: str = ""
    """The same of the tool schemas."""
    header_class: str = ""
    """What scenarios share that one pair of pins serves."""


class Evidence(NamedTuple):
    """Facts, and when they were true: seconds since the epoch, or any other number that orders them."""

    facts: Facts
    when: float


_COMPARED: Final = (
    ("version", "agent version"),
    ("asked", "model"),
    ("prompt", "system prompt"),
    ("tools", "tool schemas"),
    ("protocol", "protocol version"),
)


def facts_of(files: Mapping[str, bytes], place: str, *, as_run: bool = False) -> Facts:
    """The facts in the files of one scenario.

    The version is that of the recording; as_run: the one that the outputs show, which is newer where a fixture was
    refreshed. Raises FixtureError for a log or an expected file that is malformed.
    """
    recording: dict[str, str] = {}
    run: dict[str, str] = {}
    if STDOUT in files:
        run |= _of_stdout(decode_lines(files[STDOUT], f"{place}/{STDOUT}"))
    if log_name(0) in files:
        log = read_log(files[log_name(0)], f"{place}/{log_name(0)}")
        rows = [row.fields for row in log.rows]
        run |= _of_requests(rows)
        run["header_class"] = header_class(rows)
        recording = _of_provenance(log.header.fields.get("provenance"))
    said = {**recording, **run} if as_run else {**run, **recording}
    said.setdefault("model", said.get("asked", ""))
    # The name by which its runs and its recordings are told from those of other agents.
    said |= {"agent": run["agent"]} if "agent" in run else {}
    for name, field in ((SYSTEM_PROMPT, "prompt"), (TOOL_SCHEMAS, "tools")):
        if name in files and field not in said:
            said[field] = _digest(files[name])
    return Facts(**said)


def with_pins(facts: Sequence[Facts]) -> list[Facts]:
    """`facts` of one suite, each with the prompt and the tools that a scenario of its header class pins."""
    pinned = {one.header_class: (one.prompt, one.tools) for one in facts if one.prompt or one.tools}
    found = []
    for one in facts:
        prompt, tools = pinned.get(one.header_class, ("", ""))
        found.append(one._replace(prompt=one.prompt or prompt, tools=one.tools or tools))
    return found


def today_of(agent: str, evidence: Iterable[Evidence]) -> Facts:
    """What is known of an agent today: each fact from the newest evidence that has it.

    `asked` stays empty: scenarios of one agent may ask for several models, so that is known of a scenario alone.
    """
    found: dict[str, str] = {}
    for one in sorted(evidence, key=lambda one: one.when):
        if one.facts.agent == agent:
            found |= {name: value for name, value in one.facts._asdict().items() if value and name != "asked"}
    return Facts(**found)


def age_days(facts: Facts, on: date) -> int | None:
    """Days since the recording; None where nobody knows its day."""
    try:
        return (on - date.fromisoformat(facts.captured)).days
    except ValueError:
        return None


def stale_reasons(fixture: Facts, today: Facts, on: date, max_age_days: int | None = None) -> list[str]:
    """Why a fixture should be recorded again; none for one that is fresh, and none for one that is authored.

    today: what `today_of` found; on: today's date; max_age_days: None for a recording that never gets too old.
    """
    if fixture.kind == _AUTHORED:
        return []
    if fixture.kind != _RECORDED:
        return ["never recorded"]
    reasons = []
    age = age_days(fixture, on)
    if max_age_days is not None and age is not None and age > max_age_days:
        reasons.append(f"{counted(age, 'day')} old")
    for field, word in _COMPARED:
        then, now = getattr(fixture, field), getattr(today, field)
        if then and now and then != now:
            reasons.append(f"{word} {then}, now {now}")
    return reasons


def _of_provenance(provenance: Any) -> dict[str, str]:
    if isinstance(provenance, str):
        return {"kind": provenance}
    if not isinstance(provenance, dict):
        return {}
    named = _object(provenance.get("agent"))
    values = {
        "kind": provenance.get("kind"),
        "captured": provenance.get("capturedAt"),
        "model": provenance.get("model"),
        "agent": named.get("name"),
        "version": named.get("version"),
    }
    return {key: value for key, value in values.items() if isinstance(value, str) and value}


def _of_stdout(frames: Iterable[Any]) -> dict[str, str]:
    for frame in frames:
        result = frame.get("result")
        if not isinstance(result, dict) or "protocolVersion" not in result:
            continue
        info = _object(result.get("agentInfo"))
        values = {"agent": info.get("name"), "version": info.get("version")}
        said = {key: value for key, value in values.items() if isinstance(value, str)}
        return {**said, "protocol": str(result["protocolVersion"])}
    return {}


def _of_requests(rows: Iterable[Any]) -> dict[str, str]:
    """What the first request header says: the model, and the keys of prompt and tools where the gateway wrote them."""
    for row in rows:
        if row["type"] == "request/header":
            config, hashes = (
                _object(_object(row["data"].get("header")).get("config")),
                _object(row["data"].get("hashes")),
            )
            values = {
                "asked": config.get("model"),
                "prompt": hashes.get("system"),
                "tools": hashes.get("tools"),
            }
            said = {key: value for key, value in values.items() if isinstance(value, str)}
            return {
                key: value.removeprefix("sha256:")[:_DIGITS] if key != "asked" else value
                for key, value in said.items()
            }
    return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()[:_DIGITS]

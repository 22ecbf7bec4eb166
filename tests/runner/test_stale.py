"""Why a recording is stale: what is known on both sides and differs, and its age where somebody asks for one."""

import json
from datetime import date
from typing import Any

import pytest

from replay.runner.stale import Evidence, Facts, age_days, facts_of, stale_reasons, today_of, with_pins

_ON = date(2026, 3, 31)
_RECORDED = Facts("recorded", "2026-03-01", "coder", "1.0", "Model 1", "m-1", "1", "aaa", "bbb", "class")


def _files(version: str = "1.0", asked: str = "m-1", **provenance: Any) -> dict[str, bytes]:
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 0, "provenance": provenance}
    config = {"config": {"model": asked}, "system": "{{system}}"}
    request = {"type": "request/header", "data": {"header": config, "reason": "initial"}}
    info = {"name": "coder", "version": version}
    frame = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "agentInfo": info}}
    return {
        "session.jsonl": "".join(json.dumps(row) + "\n" for row in (header, request)).encode(),
        "stdout.expected.jsonl": json.dumps(frame).encode() + b"\n",
        "system-prompt.expected.md": b"Be brief.\n",
    }


def test_recording_says_what_it_is_of_and_its_outputs_what_has_become_of_it() -> None:
    files = _files(
        "1.1",
        "m-2",
        kind="recorded",
        model="Model 1",
        agent={"name": "c", "version": "1.0"},
        capturedAt="2026-03-01",
    )
    then, now = facts_of(files, "s"), facts_of(files, "s", as_run=True)
    assert (then.kind, then.captured, then.agent, then.version, then.model) == (
        "recorded", "2026-03-01", "coder", "1.0", "Model 1",
    )  # fmt: skip
    assert (now.agent, now.version, now.asked, now.protocol) == ("coder", "1.1", "m-2", "1")
    assert len(then.prompt) == 12 and then.tools == ""
    assert stale_reasons(then, now, _ON) == ["agent version 1.0, now 1.1"]
    assert stale_reasons(then, now._replace(version="", asked="m-3"), _ON) == ["model m-2, now m-3"]


@pytest.mark.parametrize("files", [{}, {"session.jsonl": _files()["session.jsonl"]}])
def test_fixture_that_says_nothing_was_never_recorded(files: dict[str, bytes]) -> None:
    assert stale_reasons(facts_of(files, "s"), _RECORDED, _ON) == ["never recorded"]


def test_authored_fixture_is_never_stale() -> None:
    authored = facts_of(_files(kind="authored"), "s")
    assert stale_reasons(authored, _RECORDED._replace(version="9"), _ON, 0) == []


def test_each_fact_that_differs_is_a_reason_and_an_unknown_one_is_none() -> None:
    for field, word in (("version", "agent version"), ("asked", "model"), ("prompt", "system prompt"), ("tools", "tool schemas"), ("protocol", "protocol version")):  # fmt: skip
        today = _RECORDED._replace(**{field: "new"})
        assert stale_reasons(_RECORDED, today, _ON) == [f"{word} {getattr(_RECORDED, field)}, now new"]
        assert stale_reasons(_RECORDED, _RECORDED._replace(**{field: ""}), _ON) == []
        assert stale_reasons(_RECORDED._replace(**{field: ""}), today, _ON) == []


def test_age_counts_only_where_there_is_a_limit() -> None:
    assert age_days(_RECORDED, _ON) == 30
    assert age_days(_RECORDED._replace(captured="soon"), _ON) is None
    assert stale_reasons(_RECORDED, _RECORDED, _ON) == []
    assert stale_reasons(_RECORDED, _RECORDED, _ON, 30) == []
    assert stale_reasons(_RECORDED, _RECORDED, _ON, 29) == ["30 days old"]


def test_today_is_the_newest_evidence_of_each_fact() -> None:
    evidence = [
        Evidence(_RECORDED._replace(version="2.0", prompt=""), 2),
        Evidence(_RECORDED._replace(version="1.0", prompt="ccc"), 1),
        Evidence(_RECORDED._replace(agent="other", version="9"), 3),
    ]
    assert today_of("coder", evidence) == _RECORDED._replace(version="2.0", prompt="ccc", asked="")
    assert today_of("nobody", evidence) == Facts()


def test_pins_of_a_header_class_count_for_all_of_it() -> None:
    bare = _RECORDED._replace(prompt="", tools="")
    other = bare._replace(header_class="another")
    assert with_pins([bare, _RECORDED, other]) == [_RECORDED, _RECORDED, other]

"""Logs are tailed by whole lines, counted by the driver's conditions, and ordered as fixtures are."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from replay.acp import WaitLogEvent
from replay.errors import AgentError
from replay.runner.session_tail import SessionTail, collect_logs


def _log(name: str, created: int, parent: str = "", *rows: dict[str, Any], seed: int = 0) -> bytes:
    header: dict[str, Any] = {"type": "session", "version": 0, "id": name, "createdAt": created}
    if parent:
        header["parentSession"] = parent
    if seed:
        header["seedLength"] = seed
    return b"".join(json.dumps(row).encode() + b"\n" for row in (header, *rows))


def _row(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def _wait(kind: str, count: int = 1, session: str = "", index: int = 0, subagent: bool = False, after_turns: int = 0) -> WaitLogEvent:  # fmt: skip
    return WaitLogEvent(kind, count, session, index, subagent, after_turns)


def _collect(directory: Path) -> list[str]:
    return [log.header.id for log in collect_logs(str(directory))]


def test_half_a_line_is_no_event_yet(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    data = _log("a", 1, "", _row("turn/end", turn=1))
    path.write_bytes(data[:-3])
    tail = SessionTail(str(tmp_path))
    assert not tail.has_happened(_wait("turn/end"))
    path.write_bytes(data)
    assert tail.has_happened(_wait("turn/end"))


def test_events_that_a_fork_inherited_do_not_count(tmp_path: Path) -> None:
    packed = _row("text-chunks", turn=1, step=1, index=0, dt=[0, 0], texts=["a", "b", "c"])
    inherited = [packed, _row("turn/end", turn=1)]
    (tmp_path / "root.jsonl").write_bytes(_log("root", 1, "", _row("turn/start", turn=1)))
    fork = tmp_path / "fork.jsonl"
    fork.write_bytes(_log("fork", 2, "root", *inherited, seed=4))
    tail = SessionTail(str(tmp_path))
    assert not tail.has_happened(_wait("turn/end", subagent=True))
    fork.write_bytes(_log("fork", 2, "root", *inherited, _row("turn/end", turn=2), seed=4))
    assert tail.has_happened(_wait("turn/end", subagent=True))


def test_condition_after_a_turn_counts_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(_log("a", 1, "", _row("title"), _row("turn/end", turn=1)))
    tail = SessionTail(str(tmp_path))
    assert not tail.has_happened(_wait("title", after_turns=1))
    with path.open("ab") as file:
        file.write(json.dumps(_row("title")).encode() + b"\n")
    assert tail.has_happened(_wait("title", after_turns=1))


def test_root_is_found_by_its_id_else_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(_log("b", 2, "", _row("turn/end")))
    (tmp_path / "a.jsonl").write_bytes(_log("a", 1))
    tail = SessionTail(str(tmp_path))
    assert tail.has_happened(_wait("turn/end", session="b"))
    assert not tail.has_happened(_wait("turn/end", session="a", index=1))
    assert tail.has_happened(_wait("turn/end", session="other", index=1))


def test_logs_are_ordered_by_root_time_and_mention(tmp_path: Path) -> None:
    mentions = _row("subagent/descriptor", first="late", second="early")
    (tmp_path / "a.jsonl").write_bytes(_log("early", 5, "root"))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.jsonl").write_bytes(_log("root", 7, "", mentions))
    (tmp_path / "c.jsonl").write_bytes(_log("late", 5, "root"))
    (tmp_path / "d.jsonl").write_bytes(_log("oldest-child", 1, "root"))
    assert _collect(tmp_path) == ["root", "oldest-child", "late", "early"]


def test_compressed_logs_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(_log("a", 1)))
    assert _collect(tmp_path) == ["a"]


def test_log_that_cannot_be_read_is_the_agents_fault(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(_log("a", 1) + b"{half")
    with pytest.raises(AgentError, match=r"session log cannot be read: a\.jsonl:2: is cut off"):
        _collect(tmp_path)


def test_wrong_value_in_a_log_is_named_by_file_line_and_path(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        _log("a", 1, "", _row("turn/start", turn=1), _row("turn/end", turn=-1))
    )
    with pytest.raises(
        AgentError, match=r": a\.jsonl:3 \$\.data\.turn: must be a whole number from 0, not -1$"
    ):
        _collect(tmp_path)


def test_compressed_log_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"plain")
    with pytest.raises(AgentError, match=r"session log cannot be read: a\.jsonl\.gz"):
        _collect(tmp_path)

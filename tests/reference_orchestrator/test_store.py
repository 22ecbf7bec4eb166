"""The event store's promises: all or nothing, in order, for ever, by one writer."""

import sqlite3
from pathlib import Path

import pytest

from scenarios.reference_orchestrator.commands import Receipt, StartTurn
from scenarios.reference_orchestrator.errors import OrchestratorError, StoreError
from scenarios.reference_orchestrator.events import InterruptRequested, ProviderWarning, event_from_data
from scenarios.reference_orchestrator.store import EventStore, read_events

COMMAND = StartTurn("c1", "t1", "Say hello.")
RECEIPT = Receipt("c1", "accepted", "t1", 2)
EVENTS = (ProviderWarning("one"), InterruptRequested("run_1"))


def test_events_and_receipt_survive_a_new_life(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "s")
    stored = store.append("t1", EVENTS, 5, COMMAND, RECEIPT)
    store.close()
    again = EventStore(tmp_path / "s")
    assert [event.sequence for event in stored] == [1, 2]
    assert list(again.events()) == stored
    assert list(again.events(after=1)) == stored[1:]
    assert again.receipt_of(COMMAND) == RECEIPT
    assert again.append("t2", EVENTS[:1], 6)[0].sequence == 3
    again.close()


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    first = EventStore(tmp_path / "s")
    with pytest.raises(StoreError, match="written by another orchestrator"):
        EventStore(tmp_path / "s")
    first.append("t1", EVENTS, 5)
    assert len(read_events(tmp_path / "s")) == 2
    first.close()
    EventStore(tmp_path / "s").close()


def test_events_of_a_command_whose_receipt_is_refused_are_not_kept(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "s")
    store.append("t1", EVENTS[:1], 5, COMMAND, RECEIPT)
    with pytest.raises(StoreError, match="UNIQUE"):
        store.append("t1", EVENTS, 5, COMMAND, RECEIPT)
    assert [event.sequence for event in store.events()] == [1]
    assert store.append("t1", EVENTS[:1], 5)[0].sequence == 2
    store.close()


def test_a_command_id_is_one_command_s(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "s")
    store.append("t1", (), 5, COMMAND, RECEIPT)
    with pytest.raises(OrchestratorError, match="was used for another command"):
        store.receipt_of(COMMAND._replace(text="Say goodbye."))
    store.close()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE events SET thread_id = 'x'", "never changed"),
        ("DELETE FROM events", "never deleted"),
        ("UPDATE receipts SET receipt = 'x'", "never changed"),
        ("DELETE FROM receipts", "never deleted"),
        ("INSERT INTO events VALUES (4, 't', 'x', '{}', 0)", "left out"),
        ("INSERT INTO events VALUES (2, 't', 'x', '{}', 0)", "given twice"),
    ],
)
def test_the_file_itself_refuses_to_forget(tmp_path: Path, statement: str, complaint: str) -> None:
    store = EventStore(tmp_path / "s")
    store.append("t1", EVENTS, 5, COMMAND, RECEIPT)
    store.close()
    database = sqlite3.connect(tmp_path / "s")
    with pytest.raises(sqlite3.IntegrityError, match=complaint):
        database.execute(statement)
    database.close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 30, None])
def test_what_is_no_store_of_ours_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        database = sqlite3.connect(tmp_path / "s")
        database.execute("PRAGMA user_version = 99")
        database.close()
    else:
        (tmp_path / "s").write_bytes(content)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"no event store|version 99"):
            EventStore(tmp_path / "s")


def test_an_event_of_a_version_to_come_is_refused_by_name() -> None:
    with pytest.raises(StoreError, match="'thread_painted'"):
        event_from_data("thread_painted", {})
    with pytest.raises(StoreError, match="'provider_warning'"):
        event_from_data("provider_warning", {"what": "x", "colour": "red"})

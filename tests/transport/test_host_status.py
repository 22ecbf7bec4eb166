"""What the host leaves: status files and the journal."""

from pathlib import Path

import orjson
import pytest

from replay.transport.host import Host
from replay.transport.journal import MAX_ROWS, Journal
from replay.transport.link import Link
from replay.transport.message import Diverged
from replay.transport.status import CONSUMED, DIVERGED, UNCONSUMED
from tests.transport.host_run import CODEX, Make, answer, ask, exchange, leave, take, transcript
from tests.transport.wire_client import LinePeer, launcher


def test_status_is_there_from_the_start_and_whole_at_the_end(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    file = tmp_path / "out/codex.status.json"
    assert orjson.loads(file.read_bytes())["outcome"] == UNCONSUMED
    take(link := Link.dial(running.path, CODEX), 1)
    leave(link)
    running.finish()
    status = orjson.loads(file.read_bytes())
    assert (status["outcome"], status["played"]) == (CONSUMED, 2)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "codex.frames.ndjson",
        "codex.status.json",
    ]


def test_status_is_written_when_the_test_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        Host([transcript(*exchange(1))], workspace=tmp_path, status_directory=tmp_path),
    ):
        raise ZeroDivisionError
    assert orjson.loads((tmp_path / "codex.status.json").read_bytes())["outcome"] == UNCONSUMED
    assert (tmp_path / "codex.frames.ndjson").exists()


def test_divergence_is_in_the_status_file_at_once(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    link = Link.dial(running.path, CODEX)
    link.send(ask(2))
    message = link.receive()
    assert isinstance(message, Diverged)
    status = orjson.loads((tmp_path / "out/codex.status.json").read_bytes())
    assert status["outcome"] == DIVERGED
    assert message.message.startswith(f"{status['finding']['where']}: {status['finding']['what']}")


def test_journal_withholds_a_frame_with_a_secret(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    key = "sk-ant-" + "api03-" + "Zk3vQ8mT1xWc7RbN5pLd9HsJ2gFy6KaE" * 2
    link = Link.dial(running.path, CODEX)
    link.send({"id": 5, "method": "login", "params": {"key": key}})
    assert isinstance(link.receive(), Diverged)
    running.finish()
    journal = (tmp_path / "out/codex.frames.ndjson").read_bytes()
    assert b"withheld" in journal and key.encode() not in journal


def test_journal_of_a_long_run_keeps_its_end() -> None:
    journal = Journal()
    for at_ms in range(MAX_ROWS + 5):
        journal.add(at_ms, 1, "inbound", (at_ms,), "note")
    first, second, *_ = journal.to_ndjson().splitlines()
    assert orjson.loads(first) == {"dropped": 5}
    assert orjson.loads(second)["atMs"] == 5


def test_finish_hears_what_was_sent_before_it(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    with LinePeer([launcher(tmp_path / "bin", "codex")], running.environment()) as peer:
        peer.send(ask(1))
        assert peer.receive() == answer(1)
        # Still on its way through the peer when the test ends.
        peer.send(ask(2))
        peer.close_input()
        [status] = running.finish()
        assert peer.wait() == 1
    assert status.outcome == DIVERGED

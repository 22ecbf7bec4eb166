"""The host plays: clock, gates, exits, races, the end of input, a lost connection."""

import asyncio
import socket
import threading
import time
from pathlib import Path

import orjson
import pytest

from replay.errors import DivergenceError, UsageError
from replay.transport.link import AsyncLink, Link
from replay.transport.message import Diverged, Exit, Inbound
from replay.transport.status import CONSUMED, DIVERGED
from replay.transport.transcript import EmitInbound, ExpectOutbound, RuntimeExit
from tests.transport.host_run import CODEX, Make, answer, ask, exchange, leave, take, transcript


def test_link_is_told_its_number_and_workspace(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    link = Link.dial(running.path, CODEX)
    assert (link.connection, link.workspace, list(link.answered)) == (1, str(tmp_path), ["turn/start"])
    take(link, 1)
    assert leave(link) is None
    [status] = running.finish()
    assert (status.outcome, status.played, status.outbound, status.inbound) == (CONSUMED, 2, 1, 1)
    assert running.finish() == [status]


def test_virtual_clock_jumps_to_what_is_due(host: Make) -> None:
    hour = 3_600_000
    running = host(transcript(*exchange(1, after_ms=hour), *exchange(2, after_ms=2 * hour)))
    link = Link.dial(running.path, CODEX)
    assert running.now_ms() == 0
    take(link, 1)
    assert running.now_ms() == hour
    take(link, 2)
    assert running.now_ms() == 3 * hour


def test_virtual_clock_stands_still_while_bytes_are_pending(host: Make, tmp_path: Path) -> None:
    padding = "x" * (3 << 20)
    late = {"id": 2, "method": "turn/start", "params": {"padding": padding}}
    first, second = exchange(1, after_ms=1000)
    running = host(transcript(first, second, ExpectOutbound(late, "late")))
    link = Link.dial(running.path, CODEX)
    # More than the host reads at once, so what is left is pending when the first request makes time all that is missing.
    rows = [{"op": "outbound", "frame": frame} for frame in (ask(1), late)]
    link._socket.sendall(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    assert link.receive() == Inbound(answer(1), 1, "answer 1")
    leave(link)
    running.finish()
    journal = [
        orjson.loads(line) for line in (tmp_path / "out/codex.frames.ndjson").read_bytes().splitlines()
    ]
    assert [(row["what"], row["atMs"]) for row in journal if "label" in row] == [
        ("outbound", 0),
        ("outbound", 0),
        ("inbound", 1000),
    ]


def test_virtual_clock_stands_still_while_somebody_is_about_to_speak(host: Make) -> None:
    running = host(transcript(*exchange(1, after_ms=1000)))
    link = Link.dial(running.path, CODEX)
    is_sent = threading.Event()

    def block() -> None:
        is_sent.wait(10)

    running._running().call(block)
    # Both arrive before the loop looks: it accepts the controller and, with the request, comes to want a later time.
    with socket.socket(socket.AF_UNIX) as controller:
        controller.connect(running.path)
        controller.sendall(b'{"op":"hold","label":"answer 1"}\n')
        link.send(ask(1))
        is_sent.set()
        assert controller.recv(100) == b'{"ok":true}\n'
    assert "held" in running.waits_for()["codex"]
    assert running.now_ms() == 0


def test_real_clock_waits_as_long_as_recorded(host: Make) -> None:
    running = host(transcript(*exchange(1, after_ms=400)), clock="real")
    busy = time.process_time()
    take(Link.dial(running.path, CODEX), 1)
    assert 400 <= running.now_ms() < 20_000
    # By sleeping in the selector, not by asking again and again.
    assert time.process_time() - busy < 0.08


def test_gate_of_the_transcript_holds_until_released(host: Make) -> None:
    running = host(transcript(*exchange(1, gate="go")))
    link = Link.dial(running.path, CODEX)
    link.send(ask(1))
    running.wait_for("ask 1")
    assert running.waits_for() == {"codex": 'entry 2 is held by the gate "go"'}
    running.release("go")
    assert link.receive() == Inbound(answer(1), 1, "answer 1")


def test_second_entry_of_a_label_is_held_by_its_number(host: Make) -> None:
    notes = [EmitInbound({"method": "note", "params": {"n": n}}, "note") for n in (1, 2, 3)]
    running = host(transcript(*exchange(1), *notes))
    running.hold("note#2")
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    running.wait_for("note")
    assert "held" in running.waits_for()["codex"]
    with pytest.raises(DivergenceError, match=r'"note" was not played within 0\.01 s .* is held by the gate'):
        running.wait_for("note", 2, timeout_s=0.01)
    running.release("note#2")
    running.wait_for("note#3")
    running.wait_for("note", 3)


def test_wait_for_what_cannot_come_says_so_at_once(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    with pytest.raises(UsageError, match='no transcript has the label "answr 1"; there are "answer 1"'):
        running.wait_for("answr 1", timeout_s=60)
    with pytest.raises(DivergenceError, match='"answer 1" stands 1 times'):
        running.wait_for("answer 1", 2, timeout_s=60)
    with pytest.raises(UsageError, match="gate or label"):
        running.release("nothing")


def test_exit_reaches_the_peer_and_a_new_connection_goes_on(host: Make) -> None:
    end = RuntimeExit("error", "crash", error="out of memory", code=9)
    running = host(transcript(*exchange(1), end, *exchange(2)))
    first = Link.dial(running.path, CODEX)
    take(first, 1)
    assert first.receive() == Exit("error", "out of memory", 9)
    assert first.receive() is None
    second = Link.dial(running.path, CODEX)
    take(second, 2)
    leave(second)
    [status] = running.finish()
    assert (status.outcome, status.processes) == (CONSUMED, 2)


def test_close_plays_an_exit_that_was_to_come(host: Make) -> None:
    running = host(transcript(*exchange(1), RuntimeExit("success")))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    assert running.waits_for() == {"codex": "the orchestrator has to close the provider"}
    leave(link)
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_order_of_a_race_is_played_by_its_number(host: Make) -> None:
    note = EmitInbound({"method": "note", "params": {}}, "note")
    asked, answered = exchange(1)
    for number, labels in ((0, ["note", "answer 1"]), (1, ["answer 1", "note"])):
        running = host(transcript(asked, note, answered), orders={"codex": number})
        link = Link.dial(running.path, CODEX)
        link.send(ask(1))
        messages = [link.receive() for _ in labels]
        assert [message.label for message in messages if isinstance(message, Inbound)] == labels
        leave(link)
        [status] = running.finish()
        assert (status.outcome, status.order) == (CONSUMED, number)
    with pytest.raises(
        UsageError, match=r"^codex\.transcript\.ndjson: there is no order 2: this transcript has 2 orders"
    ):
        host(transcript(asked, note, answered), orders={"codex": 2})


def test_end_of_input_lets_inbound_frames_come(host: Make) -> None:
    notes = [EmitInbound({"method": "note", "params": {"n": n}}, "note", gate="go") for n in (1, 2)]
    running = host(transcript(ExpectOutbound(ask(1), "ask 1"), *notes))
    link = Link.dial(running.path, CODEX)
    link.send(ask(1))
    link.end()
    running.wait_for("ask 1")
    running.release("go")
    assert [type(link.receive()) for _ in range(3)] == [Inbound, Inbound, Exit]
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_end_of_input_before_a_frame_that_is_needed_is_a_divergence(host: Make) -> None:
    running = host(transcript(*exchange(1), *exchange(2)))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    link.end()
    assert isinstance(link.receive(), Diverged)
    [status] = running.finish()
    assert status.outcome == DIVERGED


def test_lost_connection_is_noticed(host: Make) -> None:
    running = host(transcript(*exchange(1), *exchange(2)))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    link.disconnect()
    [status] = running.finish()
    assert status.outcome == DIVERGED and status.finding is not None
    assert "closed" in status.finding.what and status.finding.where.startswith("codex.transcript.ndjson:4")


def test_asyncio_link_is_the_same(host: Make) -> None:
    running = host(transcript(*exchange(1), RuntimeExit("error", code=4)))

    async def talk() -> list[object]:
        with pytest.raises(DivergenceError, match="no transcript is that"):
            await AsyncLink.dial(running.path, CODEX, "other")
        return []

    async def play() -> list[object]:
        link = await AsyncLink.dial(running.path, CODEX)
        await link.send(ask(1))
        messages: list[object] = [await link.receive() for _ in range(3)]
        await link.disconnect()
        return [link.connection, *messages]

    assert asyncio.run(play()) == [1, Inbound(answer(1), 1, "answer 1"), Exit("error", "", 4), None]
    assert running.statuses()[0].outcome == CONSUMED
    asyncio.run(talk())

"""Controllers: the ops of a test that runs outside of the host's process, in Python and as plain lines."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from replay.errors import DivergenceError, UsageError
from replay.transport.control import AsyncControl, Control
from replay.transport.host import Host
from replay.transport.link import Link
from replay.transport.message import Inbound
from replay.transport.status import CONSUMED, UNCONSUMED
from tests.transport.host_run import CODEX, answer, ask, exchange, take, transcript


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Host([transcript(*exchange(1, gate="go"), *exchange(2))], workspace=tmp_path) as running:
        yield running


def test_controller_holds_waits_and_releases(host: Host) -> None:
    link = Link.dial(host.path, CODEX)
    with Control.dial(host.path) as control:
        control.hold("answer 2")
        link.send(ask(1))
        control.wait("ask 1")
        control.release("go")
        assert link.receive() == Inbound(answer(1), 1, "answer 1")
        link.send(ask(2))
        control.wait("ask 2")
        assert [status["outcome"] for status in control.status()] == [UNCONSUMED]
        control.release("answer 2")
        control.wait("answer 2")
        assert control.now() == 0
        assert [status["outcome"] for status in control.status()] == [CONSUMED]


def test_controller_on_asyncio_is_the_same(host: Host) -> None:
    async def play() -> list[str]:
        async with await AsyncControl.dial(host.path) as control:
            await control.hold("answer 2")
            await control.release("go")
            waiting = asyncio.create_task(control.wait("answer 1"))
            link = Link.dial(host.path, CODEX)
            await asyncio.to_thread(take, link, 1)
            await waiting
            assert await control.now() == 0
            with pytest.raises(DivergenceError, match='no transcript has the label "x"'):
                await control.wait("x")
            statuses = await control.status()
            link.disconnect()
            return [status["outcome"] for status in statuses]

    assert asyncio.run(play()) == [UNCONSUMED]


def test_ops_are_lines_that_any_language_can_write(host: Host) -> None:
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(host.path)
        plain.sendall(
            b'{"op":"now"}\n{"op":"release","gate":"go"}\n{"op":"hold","label":"nothing"}\n'
            b'{"op":"wait","label":"answer 1","n":2}\n{"op":"status"}\n'
        )
        with plain.makefile("rb") as read:
            answers = [orjson.loads(read.readline()) for _ in range(5)]
    assert answers[:2] == [{"ok": True, "ms": 0}, {"ok": True}]
    assert [row["ok"] for row in answers] == [True, True, False, False, True]
    assert 'no transcript has the label "nothing"' in answers[2]["error"]
    assert "stands 1 time" in answers[3]["error"]
    assert answers[4]["waitsFor"] == {"codex": "the orchestrator has to start the provider"}


def test_wait_ends_with_the_reason_when_the_run_diverges(host: Host) -> None:
    link = Link.dial(host.path, CODEX)
    with Control.dial(host.path) as control, pytest.raises(DivergenceError, match="left its transcript"):
        link.send(ask(9))
        control.wait("answer 2")


def test_wait_ends_with_the_host(host: Host) -> None:
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(host.path)
        plain.sendall(b'{"op":"now"}\n{"op":"wait","label":"answer 2"}\n')
        with plain.makefile("rb") as read:
            # Both were read at once, so the wait is known to the host when the first is answered.
            assert orjson.loads(read.readline())["ok"]
            host.finish(0.0)
            answer = orjson.loads(read.readline())
    assert answer == {"ok": False, "error": 'the host ended before "answer 2" was played'}


def test_op_that_comes_too_late_is_told(host: Host) -> None:
    control = Control.dial(host.path)
    host.finish(0.0)
    with pytest.raises(DivergenceError, match="the host ended before it answered the op wait"):
        control.wait("answer 2")


def test_controller_who_hangs_up_while_waiting_is_forgotten(host: Host) -> None:
    control = Control.dial(host.path)
    control._socket.sendall(b'{"op":"wait","label":"answer 1"}\n')
    control.close()
    host.release("go")
    take(Link.dial(host.path, CODEX), 1, 2)
    host.wait_for("answer 2")


def test_garbage_ends_a_controller(host: Host) -> None:
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(host.path)
        plain.sendall(b'{"op":"now"}\n{"op":"wait","label":1}\n{"op":"now"}\n')
        with plain.makefile("rb") as read:
            answers = [orjson.loads(line) for line in read]
    assert [row["ok"] for row in answers] == [True, False]
    assert 'a string "label"' in answers[1]["error"]


def test_controller_of_no_host_is_told(host: Host) -> None:
    # Beside the host's own, since a test's own directory may be too long for a socket.
    nobody = f"{host.path}.nobody"
    with pytest.raises(UsageError, match="no host listens at"):
        Control.dial(nobody)
    with pytest.raises(UsageError, match="no host listens at"):
        asyncio.run(AsyncControl.dial(nobody))

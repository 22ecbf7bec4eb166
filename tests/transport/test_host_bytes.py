"""Whatever bytes come, the host ends that connection with a sentence and harms no other."""

import contextlib
import json
import socket
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.transport.host import Host
from replay.transport.link import Link
from replay.transport.message import Inbound
from replay.transport.status import CONSUMED, DIVERGED, UNCONSUMED
from replay.transport.transcript import EmitInbound, ExpectOutbound, RuntimeExit
from tests.transport.host_run import CODEX, Make, ask, exchange, leave, take, transcript

_OPEN = b'{"op":"open","protocol":"codex.app-server"}\n'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"garbage\n", "no JSON"),
        (b"[]\n", "no JSON object"),
        (b'{"op":"dance"}\n', 'the op "dance"'),
        (b'{"op":["open"]}\n', "the op list"),
        (b'{"op":"outbound"}\n', 'an object "frame"'),
        (b'{"op":"outbound","frame":[1]}\n', 'an object "frame"'),
        (b'{"op":"outbound","frame":{},"ref":[1]}\n', 'a string or a whole number "ref"'),
        (b'{"op":"open","protocol":7}\n', 'a string "protocol"'),
        (b'{"op":"now"}\n', "a controller's"),
        (_OPEN, "the op open twice"),
        (b'{"op":"outbound","frame":' + b'{"a":' * 400 + b"1" + b"}" * 401 + b"\n", "nested more than"),
        (b'{"op":"outbound","frame":"' + b"x" * (17 << 20), "a line of more than"),
    ],
    ids=[
        "garbage",
        "array",
        "op",
        "type",
        "frame",
        "list",
        "ref",
        "protocol",
        "control",
        "twice",
        "depth",
        "length",
    ],
)
def test_message_that_is_none_ends_the_connection_with_one_sentence(
    data: bytes, sentence: str, host: Make
) -> None:
    running = host(transcript(*exchange(1)))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(running.path)
        peer.sendall(_OPEN)
        with peer.makefile("rb") as read:
            assert orjson.loads(read.readline())["op"] == "opened"
            with contextlib.suppress(BrokenPipeError):
                peer.sendall(data)
            [line] = read.read().splitlines()
        message = orjson.loads(line)
        assert message["op"] == "diverged" and sentence in message["message"]
        assert "\n" not in message["message"]
    [status] = running.finish()
    assert status.finding is not None and sentence in status.finding.what
    # The place is the transcript, never the bytes.
    assert status.finding.where == "codex.transcript.ndjson"


def test_stranger_who_says_nothing_sensible_harms_nobody(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(running.path)
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"no JSON" in stranger.makefile("rb").read()
    take(link := Link.dial(running.path, CODEX), 1)
    leave(link)
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_peer_that_does_not_read_holds_nobody_up(host: Make) -> None:
    big = {"method": "note", "params": {"text": "y" * (4 << 20)}}
    running = host(
        transcript(ExpectOutbound(ask(1), "ask 1"), EmitInbound(big, "big"), name="slow"),
        transcript(*exchange(2), name="quick"),
    )
    slow = Link.dial(running.path, CODEX, "slow")
    slow.send(ask(1))
    running.wait_for("big")
    take(Link.dial(running.path, CODEX, "quick"), 2)
    assert slow.receive() == Inbound(big, None, "big")


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)
_FRAMES = st.fixed_dictionaries(
    {},
    optional={
        "id": _VALUES,
        "method": st.sampled_from(["turn/start", "x"]) | _VALUES,
        "params": _VALUES,
        "result": _VALUES,
    },
)
_ROWS = st.fixed_dictionaries(
    {"op": st.sampled_from(["open", "outbound", "end", "close", "release", "hold", "wait", "now", "status"])},
    optional={
        "protocol": st.just(CODEX) | _VALUES,
        "frame": _FRAMES | _VALUES,
        "ref": _VALUES,
        "label": st.sampled_from(["answer 1", "answer 1#1", "#", "answer 1#0"]) | _VALUES,
        "gate": _VALUES,
        "n": _VALUES,
        "process": _VALUES,
        "transcript": _VALUES,
        "pid": _VALUES,
        "error": _VALUES,
    },
)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(_ROWS, max_size=6), cut=st.integers(1, 200))
def test_no_message_breaks_the_host(rows: list[dict[str, Any]], cut: int) -> None:
    data = _OPEN + b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    with Host([transcript(*exchange(1), RuntimeExit("success"))], workspace="/w") as running:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(running.path)
            with contextlib.suppress(BrokenPipeError):
                for start in range(0, len(data), cut):
                    peer.sendall(data[start : start + cut])
        # Raises what the loop died of, if it did.
        [status] = running.finish()
    assert status.outcome in (CONSUMED, UNCONSUMED, DIVERGED)

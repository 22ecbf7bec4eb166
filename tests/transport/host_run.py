"""Transcripts of asks and answers for tests of the host, and a client that plays them."""

from collections.abc import Callable
from typing import Any

from replay.transport.host import Host
from replay.transport.link import Link
from replay.transport.message import Diverged, Exit, Inbound
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, Start, Transcript

CODEX = "codex.app-server"
CLAUDE = "claude-agent-sdk.query"
_METADATA = {
    "model": None,
    "cwdPolicy": "workspace",
    "capturedAt": "2026-01-31",
    "provenance": {"kind": "authored", "reason": "a test of the host"},
}


def transcript(*entries: Entry, name: str = "codex", protocol: str = CODEX) -> Transcript:
    numbered = tuple(entry._replace(line=at) for at, entry in enumerate(entries, 2))
    return Transcript(f"{name}.transcript.ndjson", Start(name, protocol, "1", "host", _METADATA), numbered)


def ask(number: int) -> dict[str, Any]:
    return {"id": number, "method": "turn/start", "params": {"n": number}}


def answer(number: int) -> dict[str, Any]:
    return {"id": number, "result": {"n": number}}


def exchange(number: int, **fields: Any) -> tuple[Entry, Entry]:
    """A request and its answer; the fields are the answer's."""
    return ExpectOutbound(ask(number), f"ask {number}"), EmitInbound(
        answer(number), f"answer {number}", **fields
    )


def take(link: Link, *numbers: int) -> None:
    """Send requests and read their answers."""
    for number in numbers:
        link.send(ask(number))
        assert link.receive() == Inbound(answer(number), number, f"answer {number}")


def leave(link: Link) -> Exit | Diverged | None:
    """Close, and what the host had to say to that."""
    link.close()
    message = link.receive()
    assert not isinstance(message, Inbound)
    link.disconnect()
    return message


type Make = Callable[..., Host]

"""The tee: an executable that stands where a provider's stands, and records what passes.

    tee --transcript FILE --protocol P --version V … -- COMMAND…    writes a transcript when the provider has ended
    AGENT_REPLAY_TEE={"command":[…],"runs":DIR,…} tee ARGUMENT…     writes a run's file below DIR as it goes; the
                                                                  arguments are the provider's, behind `command`

The second form takes the place of an executable whose arguments are not ours to choose; `record` makes the transcript
of all runs in the end. The tee leaves as the provider left, but with 2 where there is no transcript to be had of it.
"""

import argparse
import contextlib
import datetime
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, ReplayError, UsageError
from replay.transport.recorders.passage import Passage, Run, Sign, encode_passage, start_of
from replay.transport.recorders.relay import Log, end_like, relay

__all__ = ["ENVIRONMENT", "main"]

ENVIRONMENT: Final = "AGENT_REPLAY_TEE"
_PROCESS: Final = "AGENT_REPLAY_PROCESS"
_OWN: Final = (
    ENVIRONMENT,
    _PROCESS,
    "AGENT_REPLAY_TRANSPORT",
    "AGENT_REPLAY_TRANSCRIPT",
    "AGENT_REPLAY_WORKSPACE",
)
_OVER_HTTP: Final = frozenset(("opencode-sdk.sse",))
_KEYS: Final = frozenset(("command", "runs", "environment", "watch", "protocol"))


class _Order(NamedTuple):
    """What is run, and what the provider's environment is; None for ours."""

    command: Sequence[str]
    arguments: Sequence[str]
    environment: Mapping[str, str]
    process: str
    protocol: str


def main(arguments: Sequence[str]) -> int:
    """Run the provider and record it. Returns only where it could not be recorded."""
    told = os.environ.get(ENVIRONMENT, "")
    try:
        status = _record_run(told, arguments) if told else _record_transcript(arguments)
    except ReplayError as error:
        sys.stderr.write(f"agent_replay tee: {error.explained()}\n")
        return error.exit_code
    end_like(status)
    return 0


# One of several processes: the raw run, as it goes.


def _record_run(told: str, arguments: Sequence[str]) -> int:
    settings = _settings(told)
    own = settings.get("environment")
    order = _Order(
        settings["command"],
        arguments,
        _provider_environment() if own is None else own,
        os.environ.get(_PROCESS, ""),
        settings.get("protocol", ""),
    )
    path = os.path.join(settings["runs"], f"{time.monotonic_ns():020}-{os.getpid()}.run")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    wake = _wake(settings.get("watch", ""))

    def write(passage: Passage) -> None:
        line = memoryview(encode_passage(passage))
        while line:
            line = line[os.write(descriptor, line) :]
        wake()

    log = Log(write)
    status = _relay(order, log)
    if log.fault:
        # Takes no room, and `record` refuses what is so named.
        os.rename(path, f"{path}.broken")
        sys.stderr.write(f"agent_replay tee: {log.fault}\n")
    return status


def _wake(path: str) -> Callable[[], None]:
    """Tells whoever watches the runs that one has grown; a watcher that is gone or busy is not waited for."""
    if not path:
        return lambda: None
    door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    door.setblocking(False)

    def wake() -> None:
        with contextlib.suppress(OSError):
            door.sendto(b"\0", path)

    return wake


def _settings(told: str) -> dict[str, Any]:
    try:
        settings = orjson.loads(told)
    except orjson.JSONDecodeError:
        settings = None
    if (
        not isinstance(settings, dict)
        or not _KEYS.issuperset(settings)
        or not _is_command(settings.get("command"))
    ):
        raise UsageError(
            f"{ENVIRONMENT} holds no settings of a tee",
            fix=f'{ENVIRONMENT}=\'{{"command": ["…"], "runs": "DIR"}}\'',
        )
    if not os.path.isdir(settings.get("runs") or ""):
        raise UsageError(f'{ENVIRONMENT}: "runs" names no directory', fix="make it first")
    return settings


def _is_command(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


# The one process: its transcript, at the end.


def _record_transcript(arguments: Sequence[str]) -> int:
    options, command = _parse(arguments)
    # Imported here: the provider starts before what its end needs.
    passages: list[Passage] = []
    log = Log(passages.append)
    order = _Order(command[:1], command[1:], _provider_environment(), options.process, options.protocol)
    status = _relay(order, log)
    if log.fault:
        raise FixtureError(log.fault, fix="record a shorter run")
    run = Run(os.path.basename(options.transcript), options.process, order.arguments, passages, status)
    _write_transcript(options, run)
    return status


def _write_transcript(options: argparse.Namespace, run: Run) -> None:
    from replay.surface.secrets import Scanner, credential_values
    from replay.transport.recorders.assemble import About, transcript_of
    from replay.transport.recorders.machine import read_known
    from replay.transport.recorders.write import write_transcript_file

    about = About(
        provider=options.provider or os.path.basename(options.transcript).partition(".")[0],
        protocol=options.protocol,
        version=options.version,
        scenario=options.scenario or os.path.basename(os.path.dirname(os.path.abspath(options.transcript))),
        model=options.model or None,
        model_behind=options.model_behind,
        binary=options.binary or os.path.basename(run.arguments[0] if run.arguments else ""),
        captured_at=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    secrets = credential_values(os.environ)
    known = read_known(options.workspace or os.getcwd(), secrets)
    recorded = transcript_of([run], about, known)
    write_transcript_file(options.transcript, recorded.transcript, Scanner(secrets))
    sys.stderr.write(f"agent_replay tee: {recorded.told(options.transcript)}\n")


def _parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Sequence[str]]:
    own = list(arguments)
    command: list[str] = []
    if "--" in own:
        at = own.index("--")
        own, command = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(prog="tee", description="Record a provider's process as a transcript.")
    add = parser.add_argument
    add(
        "--transcript",
        required=True,
        metavar="FILE",
        help="what is written, whole, when the provider has ended",
    )
    add("--protocol", required=True, metavar="P", help="such as codex.app-server or acp.ndjson-jsonrpc")
    add("--version", required=True, metavar="V", help="the provider's version")
    add("--scenario", default="", metavar="NAME", help="the directory's name by default")
    add("--provider", default="", metavar="NAME", help="the file's name up to its first dot by default")
    add("--process", default="", metavar="NAME", help="the process's name in the transcript")
    add("--model", default="", metavar="M", help="the model that the provider was told to ask")
    add(
        "--model-behind",
        default="live",
        choices=["live", "gateway", "scripted"],
        help="what answered as the model",
    )
    add("--binary", default="", metavar="NAME", help="what the provider's executable is called")
    add(
        "--workspace",
        default="",
        metavar="DIR",
        help="becomes {{workspace}}; the current directory by default",
    )
    options = parser.parse_args(own)
    if not command:
        raise UsageError("there is no command behind --", fix="tee --transcript FILE … -- codex app-server")
    return options, command


# Both.


def _relay(order: _Order, log: Log) -> int:
    log.tell(Sign.START, start_of(order.process, order.arguments))
    command = [*order.command, *order.arguments]
    if order.protocol in _OVER_HTTP:
        # Imported here: HTTP is no business of a provider on stdio.
        from replay.transport.recorders.http_relay import relay_http

        return relay_http(command, order.environment, log)
    return relay(command, order.environment, log)


def _provider_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OWN}

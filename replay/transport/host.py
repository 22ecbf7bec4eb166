"""The host: what a test holds while an orchestrator talks to its peers.

    with Host([transcript], workspace=directory) as host:
        spawn the orchestrator with host.environment(), or dial host.path in this process
        host.wait_for("turn/started"); host.release("answer")
        statuses = host.finish()

One thread runs the loop (service.py); everything here may be called from any other. A status file is there from the
start on, rewritten whole at a divergence and at the end, so that whoever dies leaves a status that says so.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from replay.errors import DivergenceError, FixtureError, ReplayError, UsageError
from replay.transport.link import socket_error
from replay.transport.message import Control
from replay.transport.playing import Playing, name_of
from replay.transport.service import Service
from replay.transport.transcript import MAX_FILE_BYTES, Transcript, read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from replay.transport.status import Status

__all__ = ["GRACE_S", "Host", "load"]

GRACE_S = 2.0
"""How long `finish` gives peers of other processes to close, in seconds."""

_SOCKET = "host"
_LISTEN = 64


class Host:
    """Plays transcripts to whoever connects. Use once, as a context manager.

    transcripts: values, or files. workspace: the directory that `{{workspace}}` stands for. clock: "virtual" jumps to
    what is due, "real" waits. orders: transcript's name -> number of the interleaving to play. status_directory: where
    <name>.status.json and <name>.frames.ndjson go; status_file: the status of the one transcript, instead.
    directory: where the socket's own directory is made; a short path, since a system takes 107 bytes.
    on_change: called when a transcript diverged and its file is written; on the host's thread, so it has to be brief.
    Raises FixtureError for a transcript that cannot be played, UsageError for arguments that cannot be right.
    """

    def __init__(
        self,
        transcripts: Sequence[Transcript | Path | str],
        *,
        workspace: Path | str,
        clock: str = "virtual",
        orders: Mapping[str, int] = MappingProxyType({}),
        status_directory: Path | str | None = None,
        status_file: Path | str = "",
        directory: Path | str = "/tmp",
        on_change: Callable[[], None] | None = None,
    ) -> None:
        if clock not in ("virtual", "real"):
            raise UsageError(f'a host\'s clock is "virtual" or "real", not "{clock}"')
        self._workspace = os.fspath(workspace)
        self._playings = _playings(transcripts, self._workspace, orders)
        self._status_directory = "" if status_directory is None else os.fspath(status_directory)
        self._status_file = os.fspath(status_file)
        if self._status_file and len(self._playings) != 1:
            raise UsageError("a status file is for one transcript; give a directory")
        self._is_virtual = clock == "virtual"
        self._base = os.fspath(directory)
        self._on_change = on_change
        self._directory = ""
        self._service: Service | None = None
        self._thread: threading.Thread | None = None
        self._results: list[Status] | None = None
        self.path = ""
        """The socket that peers dial, once the host runs."""

    def __enter__(self) -> Self:
        self._directory, self.path = _make_directory(self._base)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self.path)
            listener.listen(_LISTEN)
            for playing in self._playings:
                self._write_status(playing)
        except OSError as error:
            listener.close()
            self._remove_directory()
            raise socket_error(self.path, error) from None
        except ReplayError:
            listener.close()
            self._remove_directory()
            raise
        self._service = Service(
            self._playings,
            listener,
            self._workspace,
            os.getpid(),
            self._tell,
            is_virtual=self._is_virtual,
        )
        self._thread = threading.Thread(target=self._service.run, name="host", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish(0.0)

    def environment(self) -> dict[str, str]:
        """What the orchestrator's environment needs for its peers to find this host."""
        return {"AGENT_REPLAY_TRANSPORT": self.path}

    def hold(self, label: str, transcript: str = "") -> None:
        """Hold an inbound entry, "label" or "label#2", until `release`. Raises UsageError for a label that is not there."""
        self._ask(Control("hold", label, transcript=transcript))

    def release(self, gate: str, transcript: str = "") -> None:
        """Release a gate of the transcript, or a label that was held."""
        self._ask(Control("release", gate, transcript=transcript))

    def wait_for(self, label: str, n: int = 1, timeout_s: float = 10.0, transcript: str = "") -> None:
        """Block until the n-th entry of that label was played.

        Raises DivergenceError where it can be played no more, or was not within timeout_s.
        """
        self._ask(Control("wait", label, n, transcript), timeout_s)

    def now_ms(self) -> int:
        """The host's clock."""
        return int(self._ask(Control("now"))["ms"])

    def statuses(self) -> list[Status]:
        """What became of each transcript so far, in the order of the transcripts."""
        if self._results is not None:
            return self._results
        found: list[Status] = []
        self._on_loop(lambda: found.extend(playing.status() for playing in self._playings))
        return found

    def waits_for(self) -> dict[str, str]:
        """Transcript -> what its cursor stands at, in words."""
        found: dict[str, str] = {}
        self._on_loop(lambda: found.update({one.name: one.waits_for() for one in self._playings}))
        return found

    def finish(self, grace_s: float = GRACE_S) -> list[Status]:
        """End the host and say what became of each transcript. May be called again.

        Peers in other processes have grace_s seconds to close first, so that the last thing that an orchestrator sent
        still counts; whoever is connected after that is cut off.
        """
        if self._results is not None:
            return self._results
        service = self._running()
        service.finish(grace_s)
        assert self._thread is not None
        self._thread.join()
        self._remove_directory()
        self._results = [playing.status() for playing in self._playings]
        for playing in self._playings:
            self._write_status(playing)
            self._write_journal(playing)
        if service.fault is not None:
            raise service.fault
        return self._results

    # -- the loop's thread

    def _running(self) -> Service:
        if self._service is None:
            raise UsageError("the host does not run yet; use it as a context manager")
        return self._service

    def _ask(self, control: Control, timeout_s: float | None = None) -> dict[str, Any]:
        """Have the loop do an op, and wait for its answer."""
        answered = threading.Event()
        answers: list[dict[str, Any] | ReplayError] = []

        def answer(value: dict[str, Any] | ReplayError) -> None:
            answers.append(value)
            answered.set()

        service = self._running()
        self._on_loop(lambda: service.commands.run(control, answer))
        if not answered.wait(timeout_s) and not answers:
            self._on_loop(lambda: service.commands.forget(answer))
            stands = "; ".join(f"{name}: {waits}" for name, waits in self.waits_for().items())
            raise DivergenceError(f'"{control.name}" was not played within {timeout_s} s ({stands})')
        [value] = answers
        if isinstance(value, ReplayError):
            raise value
        return value

    def _on_loop(self, function: Callable[[], object]) -> None:
        """Run something on the loop's thread, or here once that has ended."""
        service = self._running()
        done = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                function()
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        if not service.call(run):
            run()
        done.wait()
        if errors:
            raise errors[0]

    # -- files

    def _tell(self, playing: Playing) -> None:
        self._write_status(playing)
        if self._on_change is not None:
            self._on_change()

    def _write_status(self, playing: Playing) -> None:
        data = playing.status().to_json()
        if self._status_file:
            _write_whole(self._status_file, data)
        if self._status_directory:
            _write_whole(f"{self._status_directory}/{playing.name}.status.json", data)

    def _write_journal(self, playing: Playing) -> None:
        if self._status_directory:
            _write_whole(
                f"{self._status_directory}/{playing.name}.frames.ndjson", playing.journal.to_ndjson()
            )

    def _remove_directory(self) -> None:
        for remove, path in ((os.unlink, self.path), (os.rmdir, self._directory)):
            try:
                remove(path)
            except FileNotFoundError:
                continue


def load(path: Path | str) -> Transcript:
    """The transcript in a file. Raises FixtureError."""
    place = os.fspath(path)
    try:
        with open(place, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FixtureError(f"cannot be read: {error.strerror}").at(place) from None
    return read_transcript(data, place)


def _playings(
    transcripts: Sequence[Transcript | Path | str], workspace: str, orders: Mapping[str, int]
) -> list[Playing]:
    read = [each if isinstance(each, Transcript) else load(each) for each in transcripts]
    if not read:
        raise UsageError("a host needs a transcript")
    names = [name_of(transcript) for transcript in read]
    for name in orders:
        if name not in names:
            raise UsageError(f'an order is given for "{name}"; the transcripts are {", ".join(names)}')
    for at, name in enumerate(names):
        if name in names[:at]:
            first = read[names.index(name)].place
            raise UsageError(f'two transcripts are called "{name}": {first} and {read[at].place}')
    return [
        Playing(transcript, workspace, orders.get(name)) for name, transcript in zip(names, read, strict=True)
    ]


def _make_directory(base: str) -> tuple[str, str]:
    """A directory that nobody else can enter, and the socket's path in it."""
    number = 0
    while True:
        directory = f"{base}/agent-replay-{os.getpid()}-{number}"
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            # Of another host of this process, or left by a killed one that had its number.
            number += 1
            continue
        except OSError as error:
            raise UsageError(
                f"no directory for the host's socket can be made in {base}: {error.strerror}"
            ) from None
        return directory, f"{directory}/{_SOCKET}"


def _write_whole(path: str, data: bytes) -> None:
    """Replaces a file at once: a reader sees the old one or the new one."""
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}").at(path) from None

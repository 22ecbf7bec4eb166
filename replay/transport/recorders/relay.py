"""The relay: a provider's process with the orchestrator's own stdin and stdout, of which every line is told.

Bytes pass unchanged and at once; a line is told before its last byte is passed on, so what answers it comes later in
any record. stderr is the provider's own. Each way has a thread that blocks where the other side is slow, as a pipe
without anybody in between would. Signals of the orchestrator go to the provider, which has a group of its own, and a
relay that is killed takes the provider with it. What is told goes to a Log, whose failure never reaches the pipes.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from replay.acp.framing import LineReader
from replay.errors import AgentError, ReplayError
from replay.transport.recorders.passage import Passage, Sign

__all__ = ["Log", "end_like", "forward_signals", "kill_group", "relay", "start_provider"]

_FORWARDED: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
_CHUNK_BYTES: Final = 1 << 16
_PR_SET_PDEATHSIG: Final = 1


class Log:
    """Takes passages from both threads, in one order, and gives each to `write`.

    fault: why the record is not whole, "" as long as it is; nothing is written any more then.
    """

    def __init__(self, write: Callable[[Passage], None]) -> None:
        self.fault = ""
        self._write = write
        # A signal is told from the main thread, whatever that is doing.
        self._lock = threading.RLock()

    def tell(self, sign: Sign, data: bytes = b"") -> None:
        """Something passes now."""
        with self._lock:
            if self.fault:
                return
            try:
                self._write(Passage(time.monotonic_ns(), sign, data))
            except OSError as error:
                self.fault = f"the record cannot be written: {error.strerror or error}"

    def spoil(self, why: str) -> None:
        """The record is not whole."""
        with self._lock:
            self.fault = self.fault or why


def relay(command: Sequence[str], environment: Mapping[str, str], log: Log) -> int:
    """Run the provider between this process's stdin and stdout; its status, minus a signal's number.

    Raises AgentError when it cannot be started. Call from the main thread, once.
    """
    child_in, to_child = os.pipe()
    from_child, child_out = os.pipe()
    ended, ending = os.pipe()
    child = start_provider(command, environment, child_in, child_out)
    os.close(child_in)
    os.close(child_out)
    forward_signals(child, log)
    outbound = threading.Thread(target=_pump, args=(0, to_child, Sign.OUTBOUND, log), daemon=True)
    inbound = threading.Thread(target=_pump, args=(from_child, 1, Sign.INBOUND, log, ended), daemon=True)
    outbound.start()
    inbound.start()
    status = child.wait()
    kill_group(child.pid)
    # Whoever the provider left elsewhere may hold its pipe for ever: what stands in it now is the rest.
    os.close(ending)
    inbound.join()
    log.tell(Sign.EXIT, b"%d" % status)
    return status


def end_like(status: int) -> None:
    """Leave this process as the provider left: with its status, or by its signal."""
    if status >= 0:
        os._exit(status)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = -status
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def start_provider(
    command: Sequence[str], environment: Mapping[str, str], stdin: int, stdout: int
) -> subprocess.Popen[bytes]:
    """The provider, in a group of its own, with these ends of pipes; it ends when this process is killed."""
    libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None

    def tie() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        return subprocess.Popen(
            list(command),
            stdin=stdin,
            stdout=stdout,
            env=dict(environment),
            process_group=0,
            preexec_fn=tie,
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AgentError(
            f'the provider "{command[0]}" cannot be started: {reason}',
            fix="name its executable behind --, or in the key command of AGENT_REPLAY_TEE",
        ) from None


def forward_signals(child: subprocess.Popen[bytes], log: Log) -> None:
    """Hand on what the orchestrator sends this process, and tell of it."""

    def forward(number: int, _frame: object) -> None:
        if child.returncode is None:
            log.tell(Sign.SIGNAL, b"%d" % number)
            child.send_signal(number)

    for name in _FORWARDED:
        signal.signal(getattr(signal, name), forward)


def _pump(source: int, target: int, sign: Sign, log: Log, ended: int = -1) -> None:
    """Pass on bytes until either end is gone, telling each line first. ended: readable once `source` has no more."""
    reader: LineReader | None = LineReader()
    while data := _read(source, ended):
        if reader is not None:
            try:
                for line in reader.feed(data):
                    # A blank line means nothing in any of the protocols.
                    if line.strip():
                        log.tell(sign, line)
            except ReplayError as error:
                log.spoil(str(error))
                reader = None
        if not _pass_on(target, data):
            break
    else:
        # Told before the other side can see it, so that nobody's answer to an end comes before that end.
        log.tell(Sign.END if sign is Sign.OUTBOUND else Sign.CLOSED)
    _close(target)
    _close(source)


def _read(source: int, ended: int) -> bytes:
    """What comes next; b"" at the end, or where nothing is there and nothing will come."""
    if ended >= 0:
        waiting = select.poll()
        waiting.register(source, select.POLLIN)
        waiting.register(ended, select.POLLIN)
        if any(descriptor == ended for descriptor, _ in waiting.poll()):
            os.set_blocking(source, False)
    try:
        return os.read(source, _CHUNK_BYTES)
    except OSError:
        return b""


def _pass_on(target: int, data: bytes) -> bool:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except OSError:
            return False
    return True


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return


def kill_group(group: int) -> None:
    """End what a provider left in its group, if anything."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError, PermissionError:
        return

"""What every peer executable does around its edge: signals, arguments, the host, and how the process ends.

With AGENT_REPLAY_TRANSPORT the peer is one connection of a test's host. Without, it is standalone: it makes a host of
its own over one transcript, says on stderr what diverged or was left, and exits with 1 then. This is the one place of
the peers that reads the environment. A peer starts no process, so it leaves none.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from replay.errors import ReplayError, UsageError
from replay.transport.link import Link
from replay.transport.message import Diverged

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from replay.transport.link import Ending

__all__ = ["Call", "read_call", "run"]

_FLAGS = {
    "--transcript": "AGENT_REPLAY_TRANSCRIPT",
    "--process": "AGENT_REPLAY_PROCESS",
    "--workspace": "AGENT_REPLAY_WORKSPACE",
    "--status": "AGENT_REPLAY_STATUS",
}
_REAL_TIME = "AGENT_REPLAY_REAL_TIME"


class Call(NamedTuple):
    """How the peer was called."""

    transport: str
    """The host's socket; empty where the peer is standalone."""
    transcript: str
    """A transcript's name in the host; standalone, its file."""
    process: str
    workspace: str
    status: str
    real_time: bool
    rest: Sequence[str]
    """The arguments that are not ours: those of the provider's own command line."""
    environment: Mapping[str, str]


class _Signalled(BaseException):
    """SIGTERM or SIGINT while a host of our own still has a status to write."""


def run(
    protocol: str,
    edge: Callable[[Link, Call], Ending],
    *,
    own_flags: bool = True,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> NoReturn:
    """Be a peer of `protocol` until the transcript, the orchestrator or a signal ends it.

    own_flags: whether --transcript, --workspace, --status, --process and --real-time are taken from the arguments;
    False for a peer whose command line is wholly the provider's.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    _open_standard_descriptors()
    try:
        call = read_call(
            sys.argv[1:] if arguments is None else arguments,
            os.environ if environment is None else environment,
            own_flags=own_flags,
        )
        if call.transport:
            link = Link.dial(call.transport, protocol, call.transcript, call.process)
            _finish(edge(link, call))
        _stand_alone(protocol, edge, call)
    except ReplayError as error:
        _say(error.explained())
        _leave(error.exit_code)


def read_call(arguments: Sequence[str], environment: Mapping[str, str], *, own_flags: bool = True) -> Call:
    """The call that arguments and environment make; a flag outweighs its variable. Raises UsageError.

    Arguments after `--` are never ours.
    """
    found = {name: environment.get(name, "") for name in _FLAGS.values()}
    real_time = environment.get(_REAL_TIME, "") == "1"
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not own_flags or word == "--":
            rest += [word, *waiting]
            break
        if word == "--real-time":
            real_time = True
        elif name not in _FLAGS:
            rest.append(word)
        elif equals:
            found[_FLAGS[name]] = value
        elif waiting:
            found[_FLAGS[name]] = waiting.pop(0)
        else:
            raise UsageError(f"{name} needs a value")
    return Call(
        environment.get("AGENT_REPLAY_TRANSPORT", ""),
        found["AGENT_REPLAY_TRANSCRIPT"],
        found["AGENT_REPLAY_PROCESS"],
        found["AGENT_REPLAY_WORKSPACE"],
        found["AGENT_REPLAY_STATUS"],
        real_time,
        rest,
        environment,
    )


def _stand_alone(protocol: str, edge: Callable[[Link, Call], Ending], call: Call) -> NoReturn:
    # A peer of a test's host needs none of this.
    from replay.transport.host import Host

    if not call.transcript:
        raise UsageError(
            "neither a host nor a transcript is named",
            fix="run the orchestrator from its transport_replay_test, or give --transcript FILE",
        )
    workspace = call.workspace or os.getcwd()
    clock = "real" if call.real_time else "virtual"
    signalled = 0
    ending: Ending = None

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal signalled
        signalled = number
        raise _Signalled

    with Host([call.transcript], workspace=workspace, clock=clock, status_file=call.status) as host:
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        link: Link | None = None
        try:
            link = Link.dial(host.path, protocol, process=call.process)
            ending = edge(link, call)
        except _Signalled:
            pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if link is not None:
                link.disconnect()
        [status] = host.finish()
    if signalled:
        _kill(signalled)
    if not status.is_consumed:
        _say(str(status.finding))
        _leave(1)
    _finish(ending)


def _finish(ending: Ending) -> NoReturn:
    """End this process as the transcript says."""
    if isinstance(ending, Diverged):
        _say(ending.message)
        _leave(1)
    if ending is None:
        _leave(0)
    if ending.error:
        _say(ending.error)
    if ending.signal:
        _kill(getattr(signal, ending.signal))
    if ending.status == "cancelled":
        _kill(signal.SIGTERM)
    _leave(ending.code if ending.code is not None else int(ending.status == "error"))


def _kill(number: int) -> NoReturn:
    """Die by a signal, as whoever waits for the process sees it."""
    # Only a peer that ends so needs it: an orchestrator's directory is no place for a core file.
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
    os.kill(os.getpid(), number)
    # A signal that ends no process: its number is all that can be said.
    _leave(128 + number)


def _leave(code: int) -> NoReturn:
    # Nothing is left to clean up, and an interpreter's own end takes longer than most exchanges.
    os._exit(code)


def _say(sentence: str) -> None:
    data = (sentence + "\n").encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        # Nobody reads stderr; the host's status says the same.
        return


def _open_standard_descriptors() -> None:
    """A descriptor that the orchestrator left closed must not become the socket's number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)

"""One play of a transport test: a fresh sandbox, the host with its transcripts, the subject from start to end.

    TEST_TMPDIR/<unique>/cwd, home       as in session replay (sandbox.py)
                        /workspace       where the providers seem to work; filled from the scenario's workspace/
                        /peers           the executables that the subject starts in the place of providers
                        /actual          where it writes its surfaces
    /tmp/agent_replay-<unique>/tmp       TMPDIR, and TEST_TMPDIR of the subject

The subject's environment is built from nothing, as an agent's is, and names these.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from replay.errors import UsageError
from replay.runner.loop import Loop
from replay.runner.manifest import ScenarioSpec
from replay.runner.runfiles import Runfiles
from replay.runner.sandbox import Sandbox, expand, make_sandbox
from replay.runner.transport_manifest import TransportManifest
from replay.runner.transport_subject import SubjectRun, run_subject
from replay.runner.transport_surfaces import Actual, collect_actual
from replay.runner.transport_verdict import Verdict, judge_play
from replay.transport.host import Host
from replay.transport.peers.launch import write_launchers
from replay.transport.status import Status
from replay.transport.transcript import Transcript

__all__ = ["Play", "Stage", "play"]

_WORKSPACE, _PEERS, _ACTUAL = "workspace", "peers", "actual"
_SEED = "workspace.seed.json"


class Stage(NamedTuple):
    """What every play of a test has in common."""

    spec: ScenarioSpec
    manifest: TransportManifest
    runfiles: Runfiles
    transcripts: Sequence[Transcript]
    temporary: str
    loop: Loop
    ends: float
    """Point on the monotonic clock at which a play must be over."""


class Play(NamedTuple):
    """What one play came to."""

    run: SubjectRun
    statuses: Sequence[Status]
    verdict: Verdict
    actual: Actual


def play(stage: Stage, number: int, orders: Mapping[str, int], outputs: str) -> Play:
    """Play the scenario once and judge it.

    number: of the order in this test, for the subject to see. orders: by transcript, where it is not the recorded one.
    outputs: the directory for statuses and journal, "" for nowhere. Raises ReplayError for what cannot be played.
    """
    sandbox = make_sandbox(stage.temporary)
    try:
        return _play(stage, sandbox, number, orders, outputs)
    finally:
        sandbox.close()


def _play(stage: Stage, sandbox: Sandbox, number: int, orders: Mapping[str, int], outputs: str) -> Play:
    root = os.path.dirname(sandbox.cwd)
    places = {name: f"{root}/{name}" for name in (_WORKSPACE, _PEERS, _ACTUAL)}
    for place in places.values():
        os.mkdir(place, 0o755)
    _seed(stage, places[_WORKSPACE])
    write_launchers(places[_PEERS])
    alarm = _Alarm(stage.loop)
    host = Host(
        stage.transcripts,
        workspace=places[_WORKSPACE],
        clock="real" if stage.manifest.real_time else "virtual",
        orders=orders,
        status_directory=outputs or None,
        on_change=alarm.ring,
    )
    with alarm, host:
        environment, arguments = _command(stage, sandbox, places, host.environment(), number, outputs)
        run = run_subject(
            arguments,
            environment,
            sandbox.cwd,
            stage.loop,
            stage.ends,
            stage.manifest.exit_seconds,
            lambda: alarm.has_rung,
        )
        statuses = list(host.finish())
    verdict = judge_play(run, statuses, stage.manifest.exit_seconds)
    actual = collect_actual(places[_ACTUAL], [("{{workspace}}", [places[_WORKSPACE]]), *sandbox.spellings()])
    return Play(run, statuses, verdict, actual)


class _Alarm:
    """Wakes the loop from the host's thread, once a transcript diverged."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._end, self._begin = os.pipe()
        self.has_rung = False

    def ring(self) -> None:
        if not self.has_rung:
            self.has_rung = True
            os.write(self._begin, b"!")

    def __enter__(self) -> Self:
        os.set_blocking(self._end, False)
        self._loop.read(self._end, lambda _data: None)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.forget(self._end)
        os.close(self._begin)
        os.close(self._end)


def _seed(stage: Stage, workspace: str) -> None:
    spec, locate = stage.spec, stage.runfiles.locate
    packed = spec.files.get(_SEED)
    if not spec.workspace and not packed:
        return
    from replay.runner.seed import seed_workspace

    data = None
    if packed:
        with open(locate(packed), "rb") as file:
            data = file.read()
    files = {name: locate(path) for name, path in spec.workspace.items()}
    seed_workspace(workspace, files, data, spec.directory, {"workspace": workspace})


def _command(
    stage: Stage,
    sandbox: Sandbox,
    places: Mapping[str, str],
    hosts: Mapping[str, str],
    number: int,
    outputs: str,
) -> tuple[dict[str, str], list[str]]:
    """The subject's environment and its argument vector."""
    spec, subject, locate = stage.spec, stage.manifest.subject, stage.runfiles.locate
    values = {
        **sandbox.values(),
        **places,
        "runfiles": stage.runfiles.directory,
        "scenario": _directory(stage),
    }
    own = {
        **hosts,
        "AGENT_REPLAY_PEERS": places[_PEERS],
        "AGENT_REPLAY_WORKSPACE": places[_WORKSPACE],
        "AGENT_REPLAY_SCENARIO": values["scenario"],
        "AGENT_REPLAY_VARIANT": spec.variant,
        "AGENT_REPLAY_TRANSCRIPTS": ",".join(spec.transcripts),
        "AGENT_REPLAY_ORDER": str(number),
        "AGENT_REPLAY_ACTUAL": places[_ACTUAL],
        "TEST_TMPDIR": sandbox.tmp,
    }
    if outputs:
        own["TEST_UNDECLARED_OUTPUTS_DIR"] = outputs
    environment = sandbox.environment(_expanded(subject.env, values), own)
    return environment, [locate(subject.binary), *(expand(argument, values) for argument in subject.args)]


def _directory(stage: Stage) -> str:
    """The scenario's own directory, where its files lie side by side."""
    first = next(iter(stage.spec.files.values()))
    return os.path.dirname(stage.runfiles.locate(first))


def _expanded(variables: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    for name, value in variables.items():
        if not isinstance(value, str) or "=" in name or "\0" in name + value:
            raise UsageError(f'"{name}" cannot be a variable of the environment')
    return {name: expand(value, values) for name, value in variables.items()}

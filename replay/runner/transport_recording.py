"""One recording of a transcript: the subject drives the real provider, and the provider asks the gateway.

    subject --stdio--> tee --stdio--> the provider's own binary --HTTP--> gateway over <variant>.session.jsonl

The same subject and the same directories as in a replay (transport_play.py), but that what lies in AGENT_REPLAY_PEERS is a
tee, and that there is no host, whose answers transport_watch.py gives. The provider has a home and a temporary directory of its own, apart from the subject's.
What passed is kept raw in the sandbox only; what is handed on has lost what nobody else may see.
"""

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import AgentError, FixtureError, Location, ReplayError
from replay.models.gateway import Gateway
from replay.runner.environment import Machine
from replay.runner.home import seed_home
from replay.runner.loop import Loop
from replay.runner.manifest import ScenarioSpec
from replay.runner.runfiles import Runfiles
from replay.runner.sandbox import Sandbox, expand, make_sandbox
from replay.runner.seam import proxy_variables, render
from replay.runner.seed import seed_workspace
from replay.runner.transport_manifest import SubjectSpec
from replay.runner.transport_record_manifest import ProviderSpec
from replay.runner.transport_subject import SubjectRun, run_subject
from replay.runner.transport_watch import Watch
from replay.script import Player, check_consumption, derive_lanes
from replay.session import read_log
from replay.surface.redact import HOME_STAND_IN
from replay.transport.recorders.assemble import About, Recorded, entries_of, start_of, transcript_of
from replay.transport.recorders.passage import Run, read_run
from replay.transport.recorders.redaction import WORKSPACE, Known
from replay.transport.recorders.tee import ENVIRONMENT
from replay.transport.transcript import Entry, Transcript, write_transcript

__all__ = ["Take", "TakeOrder", "model_file", "take"]

_EXIT_SECONDS: Final = 10.0
_ADDRESS: Final = "http://127.0.0.1:8080"
_INSTALLED: Final = "/usr/lib/provider"
_TEE: Final = "replay.transport.recorders.tee"
_EVIDENCE_LINES: Final = 12
_PLACES: Final = ("workspace", "peers", "actual", "runs", "scenario", "provider", "provider/home")


class TakeOrder(NamedTuple):
    """What is recorded, and where. today: YYYY-MM-DD. seconds: how long the subject may take."""

    spec: ScenarioSpec
    provider: ProviderSpec
    subject: SubjectSpec
    runfiles: Runfiles
    temporary: str
    loop: Loop
    machine: Machine
    secrets: Mapping[str, str]
    today: str
    seconds: float
    keep_failure: bool


class Take(NamedTuple):
    """What one run of the subject gave. notes: sentences for the person who records."""

    recorded: Recorded
    notes: Sequence[str]


def model_file(spec: ScenarioSpec) -> str:
    """The file that says what the model answers."""
    return f"{spec.variant}.session.jsonl"


def take(order: TakeOrder) -> Take:
    """Record once. Raises ReplayError where the subject failed, the model's script did not fit, or nothing passed."""
    sandbox = make_sandbox(order.temporary)
    root = os.path.dirname(sandbox.cwd)
    places = {name: f"{root}/{name}" for name in _PLACES}
    places["provider/tmp"] = f"{os.path.dirname(sandbox.tmp)}/provider"
    gateway = None
    try:
        for place in places.values():
            os.mkdir(place, 0o755)
        locate = order.runfiles.locate
        files = {name: locate(path) for name, path in order.spec.workspace.items()}
        if files:
            seed_workspace(places["workspace"], files, None, order.spec.directory, {})
        gateway, unconsumed = _gateway(order, places["workspace"])
        gateway.start()
        _lay_scenario(order, places["scenario"])
        # The path of a socket is short: it lies beside the temporary directories.
        with Watch(
            os.path.dirname(sandbox.tmp), order.provider.name, lambda: _passed(order, places)
        ) as watch:
            _write_tee(order, sandbox, places, gateway, watch)
            run = _run_subject(order, sandbox, places, gateway, watch)
        _check(order, run, gateway, unconsumed)
        recorded = transcript_of(
            _runs(places["runs"]), _about(order), _known(order, sandbox, places, gateway)
        )
        notes = dict.fromkeys(str(finding["message"]) for finding in gateway.findings)
        return Take(recorded, [*notes, *(f"it left {each} behind" for each in run.leftovers)])
    finally:
        if gateway is not None:
            gateway.stop()
        sandbox.close()


def _gateway(order: TakeOrder, workspace: str) -> tuple[Gateway, Any]:
    """The gateway over the scenario's model file, and what tells which of its calls were not asked for."""
    name = model_file(order.spec)
    place = f"{order.spec.directory}/{name}"
    if name not in order.spec.files:
        raise FixtureError(
            "missing: it says what the model answers while the provider is recorded",
            Location(place),
            fix="write a session log with one call for each answer, or take one of another scenario",
        )
    with open(order.runfiles.locate(order.spec.files[name]), "rb") as file:
        data = render(file.read(), {"workspace": workspace, "cwd": workspace})
    lanes = derive_lanes([read_log(data, place)])
    journal: list[dict[str, Any]] = []
    player = Player(lanes, journal=journal.append, allow_arrival_order=True)
    gateway = Gateway(player, order.provider.model_api, cwd=workspace, journal=journal)
    return gateway, lambda: check_consumption(lanes, journal)


def _lay_scenario(order: TakeOrder, directory: str) -> None:
    """The scenario's files as the subject expects them: with a transcript that says who the provider is, and no more."""
    spec = order.spec
    for name, path in spec.files.items():
        target = os.path.join(directory, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(order.runfiles.locate(path), target)
    start = start_of(_about(order))
    with open(os.path.join(directory, f"{spec.variant}.transcript.ndjson"), "wb") as file:
        file.write(write_transcript(Transcript(spec.name, start, ())))


def _passed(order: TakeOrder, places: Mapping[str, str]) -> list[Entry]:
    """What passed until now, raw: for counts, never for a file. A run that cannot be read is told of in the end."""
    try:
        return list(entries_of(_runs(places["runs"]), order.provider.protocol))
    except ReplayError:
        return []


def _write_tee(
    order: TakeOrder, sandbox: Sandbox, places: Mapping[str, str], gateway: Gateway, watch: Watch
) -> None:
    """The executable that stands in the provider's place; its settings are in it, whatever environment it is given."""
    provider = order.provider
    values = {
        "workspace": places["workspace"],
        "cwd": places["workspace"],
        "home": places["provider/home"],
        "tmp": places["provider/tmp"],
        "runfiles": order.runfiles.directory,
        "gateway_url": gateway.base_url,
        "gateway_origin": gateway.origin,
    }
    seed_home(
        places["provider/home"],
        {name: order.runfiles.locate(path) for name, path in provider.home.items()},
        values,
    )
    own = {"HOME": values["home"], "TMPDIR": values["tmp"], "TMP": values["tmp"], "TEMP": values["tmp"]}
    environment = sandbox.environment(
        own,
        proxy_variables(gateway.origin),
        {name: expand(text, values) for name, text in provider.env.items()},
    )
    # Where it starts is the subject's choice.
    environment.pop("PWD", None)
    command = [order.runfiles.locate(provider.binary), *(expand(text, values) for text in provider.args)]
    settings = {
        "protocol": provider.protocol,
        "command": command,
        "runs": places["runs"],
        "environment": environment,
        "watch": watch.wake_path,
    }
    paths = [os.path.abspath(path or ".") for path in sys.path]
    start = f"import sys; sys.path[:] = {paths!r}; from {_TEE} import main; sys.exit(main(sys.argv[1:]))"
    script = (
        f"#!/bin/sh\n{ENVIRONMENT}={_quoted(orjson.dumps(settings).decode())}\nexport {ENVIRONMENT}\n"
        f'exec {_quoted(sys.executable)} -I -S -B -c {_quoted(start)} "$@"\n'
    )
    path = os.path.join(places["peers"], provider.executable)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(script)
    os.chmod(path, 0o755)


def _run_subject(
    order: TakeOrder, sandbox: Sandbox, places: Mapping[str, str], gateway: Gateway, watch: Watch
) -> SubjectRun:
    spec, subject, locate = order.spec, order.subject, order.runfiles.locate
    values = {
        **sandbox.values(),
        "workspace": places["workspace"],
        "peers": places["peers"],
        "runfiles": order.runfiles.directory,
        "scenario": places["scenario"],
    }
    own = {
        "AGENT_REPLAY_TRANSPORT": watch.path,
        "AGENT_REPLAY_PEERS": places["peers"],
        "AGENT_REPLAY_WORKSPACE": places["workspace"],
        "AGENT_REPLAY_SCENARIO": values["scenario"],
        "AGENT_REPLAY_VARIANT": spec.variant,
        "AGENT_REPLAY_TRANSCRIPTS": order.provider.name,
        "AGENT_REPLAY_ORDER": "0",
        "AGENT_REPLAY_ACTUAL": places["actual"],
        "AGENT_REPLAY_RECORDING": "1",
        "TEST_TMPDIR": sandbox.tmp,
    }
    environment = sandbox.environment({name: expand(text, values) for name, text in subject.env.items()}, own)
    arguments = [locate(subject.binary), *(expand(text, values) for text in subject.args)]
    return run_subject(
        arguments,
        environment,
        sandbox.cwd,
        order.loop,
        time.monotonic() + order.seconds,
        _EXIT_SECONDS,
        lambda: gateway.divergence is not None or gateway.fault is not None,
    )


def _check(order: TakeOrder, run: SubjectRun, gateway: Gateway, unconsumed: Any) -> None:
    """Raises the first of what makes this run no recording."""
    if gateway.fault is not None:
        raise gateway.fault
    if gateway.divergence is not None:
        raise gateway.divergence
    if run.hung:
        raise AgentError(_said(f"the subject is not done after {order.seconds:g} s", run))
    if (run.status or run.ended_by) and not order.keep_failure:
        raise AgentError(
            _said(f"the subject {run.how}", run),
            fix="if its assertions are of an older recording, say --keep-failure and refresh what they compare",
        )
    left = unconsumed()
    if left:
        raise FixtureError(left[0], Location(f"{order.spec.directory}/{model_file(order.spec)}"))


def _said(what: str, run: SubjectRun) -> str:
    lines = run.stderr.last_lines(_EVIDENCE_LINES)
    return "\n    ".join([what, *lines])


def _runs(directory: str) -> list[Run]:
    """What the tees left. Raises AgentError where one could not write all of it."""
    runs = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".broken"):
            raise AgentError("what passed could not be kept", fix="make room where temporary files go")
        with open(os.path.join(directory, name), "rb") as file:
            runs.append(read_run(file.read(), name))
    return runs


def _about(order: TakeOrder) -> About:
    provider = order.provider
    return About(
        provider.name,
        provider.protocol,
        provider.version,
        order.spec.directory.rpartition("/")[2],
        provider.model or None,
        "gateway",
        provider.executable,
        order.today,
    )


def _known(order: TakeOrder, sandbox: Sandbox, places: Mapping[str, str], gateway: Gateway) -> Known:
    machine = order.machine
    installed = order.runfiles.directory
    return Known(
        {
            WORKSPACE: [places["workspace"]],
            HOME_STAND_IN: [places["provider/home"], sandbox.home],
            "/tmp": [places["provider/tmp"], sandbox.tmp],
            _INSTALLED: [installed, os.path.realpath(installed)] if installed else [],
        },
        machine.homes,
        machine.user,
        machine.host,
        order.secrets,
        {gateway.base_url: f"{_ADDRESS}/v1", gateway.origin: _ADDRESS},
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

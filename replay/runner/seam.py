"""The model seam of a run: where the agent's model streams come from, and what became of them.

    in process   the agent reads a rendered copy of the recording (AGENT_REPLAY_FIXTURE) through
                 `replay.models.ReplayModel` and journals each call (AGENT_REPLAY_JOURNAL)
    gateway      the agent talks to {gateway_url} on loopback; proxy variables point there too, so that an
                 attempt to reach any other host is seen and named

Rendering puts this run's directories in the place of {{cwd}} and its kind, in logs and override alike.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from replay.errors import FixtureError, Location, ReplayError
from replay.models.egress import EgressWatch
from replay.runner.manifest import AgentSpec, Options, Rule
from replay.runner.sandbox import Sandbox
from replay.scenario.advice import make_recording
from replay.scenario.layout import OVERRIDE, log_name
from replay.scenario.load import Scenario
from replay.script import check_consumption, check_lanes, journalled_divergence
from replay.surface.paths import slug

if TYPE_CHECKING:
    from replay.models.call_log import ModelCall
    from replay.models.gateway import Gateway
    from replay.script import Lane
    from replay.surface import Json

__all__ = ["Seam", "SeamOrder", "from_script", "proxy_variables", "render", "render_recording"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class SeamOrder(NamedTuple):
    """What a mode needs to know to make a seam."""

    scenario: Scenario
    agent: AgentSpec
    options: Options
    sandbox: Sandbox
    directory: str
    """What errors call the scenario's directory."""
    rules: Sequence[Rule] = ()
    """The suite's own rules of the normaliser, for the keys of requests."""
    sessions: Callable[[], Sequence[str]] = tuple
    """The ids of the ACP sessions that are known by now."""
    redact: Callable[[Sequence[Json]], Sequence[Json]] = list
    """Takes out of rows what belongs to a person or a machine, before they are normalised."""


class Seam(Protocol):
    """One run's source of model streams.

    `values` fill {placeholders}; `environment` goes to the agent. `arguments` follow the agent's own, `variables`
    stand above its environment; both may hold {placeholders}.
    """

    values: Mapping[str, str]
    environment: Mapping[str, str]
    arguments: Sequence[str]
    variables: Mapping[str, str]

    def divergence(self) -> ReplayError | None:
        """What the agent asked for that the recording does not hold, as soon as it is known."""

    def unconsumed(self) -> list[str]:
        """A sentence for each lane with calls left."""

    def findings(self) -> list[str]:
        """What the agent did that no replay allows: an attempt to leave this machine."""

    def calls(self) -> list[ModelCall]:
        """The model calls that crossed a gateway, complete after `close`; none of an agent that replays in process."""

    def close(self) -> None:
        """Release what the seam holds. May be called again."""


def from_script(order: SeamOrder) -> Seam:
    """The seam of replay and refresh: the recording. Raises FixtureError when there is none."""
    scenario = order.scenario
    if log_name(0) not in scenario.recording and OVERRIDE not in scenario.recording:
        raise FixtureError(
            "missing: there is nothing to replay",
            Location(f"{order.directory}/{log_name(0)}"),
            fix=make_recording(scenario.name),
        )
    check_lanes(scenario.lanes)
    files = render_recording(scenario, order.sandbox.values())
    if order.agent.model_api:
        return GatewaySeam(order, files)
    return ScriptSeam(order, files)


def render_recording(scenario: Scenario, values: Mapping[str, str]) -> dict[str, bytes]:
    """Name -> bytes of every log and of the override, with this run's directories filled in."""
    return {name: render(data, values) for name, data in scenario.recording.items()}


def render(data: bytes, values: Mapping[str, str]) -> bytes:
    """`data` with {{name}} and {{name:slug}} of each value put in; other placeholders stay."""
    if b"{{" not in data:
        return data
    for name, value in values.items():
        # Inside JSON, and inside JSON in a string, a path of ordinary characters stands for itself.
        data = data.replace(b"{{" + name.encode() + b"}}", value.encode())
    if b":slug}}" in data:
        for name, value in values.items():
            data = data.replace(b"{{" + name.encode() + b":slug}}", slug(value).encode())
    return data


def proxy_variables(origin: str) -> dict[str, str]:
    """The variables that send every request of an HTTP client to `origin`, which refuses and names other hosts."""
    here = "127.0.0.1,localhost,::1"
    return {**dict.fromkeys(_PROXIES, origin), "NO_PROXY": here, "no_proxy": here}


class ScriptSeam:
    """The agent replays in its own process from a rendered directory outside its cwd."""

    def __init__(self, order: SeamOrder, files: Mapping[str, bytes]) -> None:
        directory = order.sandbox.fixture
        for name, data in files.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(data)
        self._lanes = order.scenario.lanes
        self._journal = f"{directory}.journal"
        self._directory = order.directory
        self.arguments: Sequence[str] = order.agent.replay_args
        self.variables: Mapping[str, str] = order.agent.replay_env
        self._egress = EgressWatch()
        self.values: Mapping[str, str] = {}
        self.environment: Mapping[str, str] = {
            **proxy_variables(self._egress.origin),
            "AGENT_REPLAY_FIXTURE": directory,
            "AGENT_REPLAY_JOURNAL": self._journal,
            **({"AGENT_REPLAY_ARRIVAL_ORDER": "1"} if order.options.arrival_order else {}),
        }

    def divergence(self) -> ReplayError | None:
        divergence = journalled_divergence(self._entries())
        if divergence is not None and divergence.where.file:
            # The agent's process knows the copy's names only.
            divergence.where = divergence.where._replace(file=f"{self._directory}/{divergence.where.file}")
        return divergence

    def unconsumed(self) -> list[str]:
        return check_consumption(self._lanes, self._entries())

    def findings(self) -> list[str]:
        return [
            f"the agent tried to reach {host}:{port}; a replay has no network"
            for host, port in self._egress.hosts
        ]

    def calls(self) -> list[ModelCall]:
        return []

    def close(self) -> None:
        self._egress.stop()

    def _entries(self) -> list[dict[str, Any]]:
        try:
            with open(self._journal, "rb") as file:
                # The last line may be half written while the agent runs.
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        return [orjson.loads(line) for line in lines if line]


class GatewaySeam:
    """The agent talks to the loopback gateway."""

    def __init__(self, order: SeamOrder, files: Mapping[str, bytes]) -> None:
        # Imported here: threads and HTTP are no business of agents that replay in process.
        from replay.models.gateway import Gateway
        from replay.runner.request_key import make_key
        from replay.script import Player, apply_override, derive_lanes, parse_override
        from replay.session import read_log

        names = order.scenario.log_names
        lanes = derive_lanes([read_log(files[name], f"{order.directory}/{name}") for name in names])
        if OVERRIDE in files:
            lanes = apply_override(lanes, parse_override(files[OVERRIDE], OVERRIDE))
        _give_keys(lanes, order.scenario.requests or ())
        self._lanes = lanes
        self._journal: list[dict[str, Any]] = []
        player = Player(
            lanes, journal=self._journal.append, allow_arrival_order=bool(order.options.arrival_order)
        )
        self._gateway: Gateway = Gateway(
            player,
            order.agent.model_api,
            key=make_key(order),
            cwd=order.sandbox.cwd,
            journal=self._journal,
        )
        url = self._gateway.start()
        self.values: Mapping[str, str] = {"gateway_url": url, "gateway_origin": self._gateway.origin}
        self.environment: Mapping[str, str] = proxy_variables(self._gateway.origin)
        self.arguments: Sequence[str] = order.agent.replay_args
        self.variables: Mapping[str, str] = order.agent.replay_env

    def divergence(self) -> ReplayError | None:
        if self._gateway.fault is not None:
            raise self._gateway.fault
        return self._gateway.divergence

    def unconsumed(self) -> list[str]:
        return check_consumption(self._lanes, self._journal)

    def findings(self) -> list[str]:
        return [str(finding["message"]) for finding in self._gateway.findings]

    def calls(self) -> list[ModelCall]:
        return self._gateway.calls

    def close(self) -> None:
        self._gateway.stop()


def _give_keys(lanes: Sequence[Lane], rows: Sequence[Any]) -> None:
    """Tell the calls of an agent that logs itself by the keys that requests.expected.jsonl holds."""
    keys = {(row.get("lane"), row.get("ordinal")): row.get("request") for row in rows}
    for lane in lanes:
        for call in lane.calls:
            key = keys.get((lane.name, call.ordinal))
            call.key = key if isinstance(key, str) else call.key

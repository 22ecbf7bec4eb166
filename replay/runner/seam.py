"""The model seam of a run: where the agent's model streams come from, and what became of them.

    in process   the agent reads a rendered copy of the recording (AGENT_REPLAY_FIXTURE) through
                 `replay.models.ReplayModel` and journals each call (AGENT_REPLAY_JOURNAL)
    gateway      the agent talks to {gateway_url} on loopback; proxy variables point there too, so that an
                 attempt to reach any other host is seen and named

Rendering puts this run's directories in the place of {{cwd}} and its kind, in logs and override alike.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from replay.errors import FixtureError, Location, ReplayError
from replay.runner.manifest import AgentSpec, Options
from replay.runner.sandbox import Sandbox
from replay.scenario.advice import make_by_hand
from replay.scenario.layout import OVERRIDE, log_name
from replay.scenario.load import Scenario
from replay.script import check_consumption, check_lanes, journalled_divergence
from replay.surface.paths import slug

if TYPE_CHECKING:
    from replay.models.gateway import Gateway

__all__ = ["Seam", "SeamOrder", "from_script", "render"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class SeamOrder(NamedTuple):
    """What a mode needs to know to make a seam."""

    scenario: Scenario
    agent: AgentSpec
    options: Options
    sandbox: Sandbox
    directory: str
    """What errors call the scenario's directory."""


class Seam(Protocol):
    """One run's source of model streams. `values` fill {placeholders}; `environment` goes to the agent."""

    values: Mapping[str, str]
    environment: Mapping[str, str]

    def divergence(self) -> ReplayError | None:
        """What the agent asked for that the recording does not hold, as soon as it is known."""

    def unconsumed(self) -> list[str]:
        """A sentence for each lane with calls left."""

    def findings(self) -> list[str]:
        """What the agent did that no replay allows: an attempt to leave this machine."""

    def close(self) -> None:
        """Release what the seam holds. May be called again."""


def from_script(order: SeamOrder) -> Seam:
    """The seam of replay and refresh: the recording. Raises FixtureError when there is none."""
    scenario = order.scenario
    if log_name(0) not in scenario.recording and OVERRIDE not in scenario.recording:
        raise FixtureError(
            "missing: there is nothing to replay",
            Location(f"{order.directory}/{log_name(0)}"),
            fix=make_by_hand(scenario.name),
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
        self.values: Mapping[str, str] = {}
        self.environment: Mapping[str, str] = {
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
        return []

    def close(self) -> None:
        return

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
        from replay.script import Player, apply_override, derive_lanes, parse_override
        from replay.session import read_log

        names = order.scenario.log_names
        lanes = derive_lanes([read_log(files[name], f"{order.directory}/{name}") for name in names])
        if OVERRIDE in files:
            lanes = apply_override(lanes, parse_override(files[OVERRIDE], OVERRIDE))
        self._lanes = lanes
        self._journal: list[dict[str, Any]] = []
        player = Player(
            lanes, journal=self._journal.append, allow_arrival_order=bool(order.options.arrival_order)
        )
        self._gateway: Gateway = Gateway(
            player, order.agent.model_api, cwd=order.sandbox.cwd, journal=self._journal
        )
        url = self._gateway.start()
        self.values: Mapping[str, str] = {"gateway_url": url}
        self.environment: Mapping[str, str] = {
            **dict.fromkeys(_PROXIES, self._gateway.origin),
            "NO_PROXY": "127.0.0.1,localhost,::1",
            "no_proxy": "127.0.0.1,localhost,::1",
        }

    def divergence(self) -> ReplayError | None:
        if self._gateway.fault is not None:
            raise self._gateway.fault
        return self._gateway.divergence

    def unconsumed(self) -> list[str]:
        return check_consumption(self._lanes, self._journal)

    def findings(self) -> list[str]:
        return [str(finding["message"]) for finding in self._gateway.findings]

    def close(self) -> None:
        self._gateway.stop()

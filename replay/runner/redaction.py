"""The redaction of one run: this machine's values, the run's own directories, and the files that it began with."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from replay.runner.environment import Machine
from replay.runner.manifest import ScenarioSpec
from replay.runner.sandbox import Sandbox
from replay.scenario.layout import INPUT, OVERRIDE, SEED, log_number
from replay.surface import Json
from replay.surface.personal import Redaction

__all__ = ["Redact", "redaction_of"]

type Redact = Callable[[Sequence[Json]], Sequence[Json]]
"""Takes out of the rows of a surface what belongs to a person or a machine; as many rows come back."""


def redaction_of(
    machine: Machine,
    sandbox: Sandbox,
    spec: ScenarioSpec,
    agent: str,
    locate: Callable[[str], str],
    secrets: Mapping[str, str] | None = None,
) -> Redaction:
    """The redaction of a run of `spec` on `machine`. agent: its name; locate: rlocation path -> absolute."""
    return Redaction(
        homes=machine.homes,
        user=machine.user,
        host=machine.host,
        secrets=secrets,
        kept=[path for _, paths in sandbox.spellings() for path in paths],
        given=lambda: _given_files(spec, agent, locate),
    )


def _given_files(spec: ScenarioSpec, agent: str, locate: Callable[[str], str]) -> Iterator[bytes]:
    """What a run begins with: what the driver says, the workspace, what the model said, and the agent's name."""
    yield agent.encode()
    names = [name for name in spec.files if name in (INPUT, SEED, OVERRIDE) or log_number(name) is not None]
    for path in (*(spec.files[name] for name in names), *spec.workspace.values()):
        with open(locate(path), "rb") as file:
            yield file.read()

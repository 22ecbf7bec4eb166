"""The fixture that a run was judged by, as digests: what tells outputs of today's fixture from outputs of an older one."""

from collections.abc import Callable, Iterator

from replay.errors import ReplayError
from replay.runner.manifest import ScenarioSpec
from replay.scenario.layout import EXPECTED_WORKSPACE, WORKSPACE

__all__ = ["fixture_digests", "fixture_files"]


def fixture_files(spec: ScenarioSpec) -> Iterator[tuple[str, str]]:
    """(name relative to the scenario's directory, rlocation path) of every file that the scenario's test reads."""
    yield from spec.files.items()
    for prefix, below in ((WORKSPACE, spec.workspace), (EXPECTED_WORKSPACE, spec.workspace_expected)):
        yield from ((prefix + name, path) for name, path in below.items())


def fixture_digests(spec: ScenarioSpec, locate: Callable[[str], str]) -> dict[str, str]:
    """Name -> SHA-256 in hex; "" for a file that is declared and cannot be read."""
    from hashlib import sha256  # not on the way of a run that passes

    digests = {}
    for name, path in fixture_files(spec):
        try:
            with open(locate(path), "rb") as file:
                digests[name] = sha256(file.read()).hexdigest()
        except OSError, ReplayError:
            digests[name] = ""
    return digests

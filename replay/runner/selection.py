"""Which scenarios a command means: by name, or by suite and name where two suites share one. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from replay.errors import UsageError, counted
from replay.runner.manifest import ScenarioSpec

__all__ = ["Suite", "select_by_name"]


class Suite(Protocol):
    """What a manifest says of its suite, whatever kind of replay it is for."""

    @property
    def suite(self) -> str: ...

    @property
    def scenarios(self) -> Sequence[ScenarioSpec]: ...


def select_by_name[M: Suite](
    manifests: Sequence[M], names: Sequence[str], *, everything: bool = False
) -> list[tuple[M, list[ScenarioSpec]]]:
    """The scenarios that `names` mean, in the manifests' order; manifests without any are left out.

    A name is a scenario's own, or its suite's label, a slash and its own: "//scenarios/acp:acp/text-turn", in short
    "//scenarios/acp/text-turn". everything: all scenarios, and no name is given. Raises UsageError for no name, for
    one that nothing has and for one that several scenarios have.
    """
    if everything == bool(names):
        what = (
            "--all takes every scenario, so leave the names out"
            if everything
            else "name a scenario, or say --all"
        )
        raise UsageError(what, fix=_listing(manifests))
    candidates = _by_name(manifests) if names else {}
    chosen = {id(_find(candidates, name, manifests)) for name in names}
    found: list[tuple[M, list[ScenarioSpec]]] = []
    for manifest in manifests:
        specs = [spec for spec in manifest.scenarios if everything or id(spec) in chosen]
        if specs:
            found.append((manifest, specs))
    return found


def _by_name(manifests: Sequence[Suite]) -> dict[str, list[tuple[Suite, ScenarioSpec]]]:
    """Every name that a person can give -> the scenarios that it may mean."""
    found: dict[str, list[tuple[Suite, ScenarioSpec]]] = {}
    for manifest in manifests:
        for spec in manifest.scenarios:
            for name in dict.fromkeys(_names(manifest, spec)):
                found.setdefault(name, []).append((manifest, spec))
    return found


def _find(
    candidates: Mapping[str, list[tuple[Suite, ScenarioSpec]]], name: str, manifests: Sequence[Suite]
) -> ScenarioSpec:
    matches = candidates.get(name)
    if not matches:
        raise UsageError(
            f'there is no scenario "{name}" in the suites of this command', fix=_listing(manifests)
        )
    if len(matches) > 1:
        full = [_qualified(manifest, spec) for manifest, spec in matches]
        raise UsageError(
            f'{counted(len(matches), "scenario")} are called "{name}"', fix=f"name one of: {', '.join(full)}"
        )
    return matches[0][1]


def _names(manifest: Suite, spec: ScenarioSpec) -> Iterator[str]:
    yield spec.name
    yield _qualified(manifest, spec)
    yield f"{manifest.suite}/{spec.name}"


def _qualified(manifest: Suite, spec: ScenarioSpec) -> str:
    """The scenario with its suite's label, as short as Bazel lets it be written."""
    package, _, name = manifest.suite.partition(":")
    return f"{package if package.rpartition('/')[2] == name else manifest.suite}/{spec.name}"


def _listing(manifests: Sequence[Suite]) -> str:
    """All that a person can name, a line a suite."""
    names: dict[str, list[str]] = {}
    for manifest in manifests:
        names.setdefault(manifest.suite, []).extend(spec.name for spec in manifest.scenarios)
    lines = (f"{suite}: {', '.join(sorted(found))}" for suite, found in names.items())
    return "\n".join(["one of these; a suite that is missing goes into `suites` of replay_commands", *lines])

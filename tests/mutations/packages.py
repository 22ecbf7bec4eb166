"""Packages of the throw-away tree alone, made of copies of the real scenarios."""

import shutil
from collections.abc import Sequence

from tests.mutations.work_tree import EXTRA, WorkTree

__all__ = ["AGENT", "SCENARIOS", "add_scenario", "label_of", "write_package"]

SCENARIOS = "scenarios/acp"
AGENT = "//scenarios/reference_agent:agent"


def add_scenario(tree: WorkTree, package: str, base: str, name: str) -> None:
    """A copy of a real scenario under another name."""
    shutil.copytree(tree.root / SCENARIOS / base, tree.extra / package / name)


def write_package(
    tree: WorkTree,
    package: str,
    overrides: Sequence[str] = (),
    pins: Sequence[str] = (),
    agent: str = AGENT,
    more: str = "",
    attributes: str = "",
) -> None:
    """BUILD.bazel with one suite, called `suite`. more: Starlark before it; attributes: lines of its own."""
    text = f"""load("//rules:defs.bzl", "acp_agent", "acp_replay_suite", "replay_options")
{more}
acp_replay_suite(
    name = "suite",
    agent = "{agent}",
    overrides = {_list(overrides)},
    pins = {_list(pins)},
{attributes})
"""
    place = tree.extra / package / "BUILD.bazel"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def label_of(package: str, target: str) -> str:
    """The label of a target of a package of ours."""
    return f"//{EXTRA}/{package}:{target}"


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"

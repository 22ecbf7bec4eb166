"""A team's monorepo made of copies of one scenario: a module of its own that depends on this one and on nothing else.

Each variant is a directory of its own, so that Bazel loads one and not the others. Every copy has a prompt of its own:
equal files would be equal actions.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.bench.child import Broken

__all__ = ["AGENT", "ALONE", "LAYOUTS", "MODES", "PER_PACKAGE", "PER_SHARD", "Variant", "write_module"]

LAYOUTS = ("packages", "one")
"""Packages of PER_PACKAGE scenarios each, or one package that holds them all."""
MODES = ("separate", "batched")
PER_PACKAGE = 100
PER_SHARD = 50
MOST_SHARDS = 50
"""Bazel runs no more shards of one test."""

AGENT = "//agent"
ALONE = "//agent:alone_test"

_PROMPT = b"Say hello in one short sentence."

_MODULE = """\
module(name = "agent_replay_scale")

bazel_dep(name = "agent_replay", version = "0.1.0")
local_path_override(
    module_name = "agent_replay",
    path = "{source}",
)

bazel_dep(name = "rules_python", version = "1.7.0")

python = use_extension("@rules_python//python/extensions:python.bzl", "python")
python.toolchain(python_version = "3.14")
"""

_AGENT = """\
load("@agent_replay//rules:defs.bzl", "acp_agent")
load("@rules_python//python:defs.bzl", "py_binary", "py_test")

py_binary(
    name = "program",
    srcs = ["program.py"],
)

acp_agent(
    name = "agent",
    args = [
        "{sessions}",
        "$(location turn/stdout.expected.jsonl)",
    ],
    binary = ":program",
    data = ["turn/stdout.expected.jsonl"],
    visibility = ["//visibility:public"],
)

py_test(
    name = "alone_test",
    srcs = ["alone.py"],
    args = [
        "$(rootpath :program)",
        "agent/turn",
    ],
    data = [":program"] + glob(["turn/*"]),
    main = "alone.py",
    # It measures, so its result is no result of its inputs.
    tags = ["external"],
)
"""

_SUITE = """\
load("@agent_replay//rules:defs.bzl", "acp_replay_suite")

acp_replay_suite(
    name = "suite",
    agent = "//agent",
{batch})
"""

_COMMANDS = """\
load("@agent_replay//rules:defs.bzl", "replay_commands")

replay_commands(
    name = "{name}",
    commands = ["refresh"],
    suites = [
{suites}    ],
    tags = ["manual"],
)
"""


class Variant(NamedTuple):
    """One tree of scenarios."""

    layout: str
    mode: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.layout}_{self.mode}_{self.size}"

    @property
    def pattern(self) -> str:
        """Every target of it."""
        return f"//{self.name}/..."

    @property
    def refresh(self) -> str:
        return f"//commands/{self.name}:{self.name}_refresh"

    def packages(self) -> Iterator[tuple[str, list[str]]]:
        """Each package with the names of its scenarios."""
        names = [f"s{number:05}" for number in range(self.size)]
        if self.layout == "one":
            yield self.name, names
            return
        for number, start in enumerate(range(0, self.size, PER_PACKAGE)):
            yield f"{self.name}/p{number:03}", names[start : start + PER_PACKAGE]


def write_module(root: Path, source: Path, workload: Path, variants: list[Variant], rc: str) -> None:
    """Make `root` a module that holds the variants and nothing else.

    source: the tree of agent_replay. workload: the directory of stub_agent.py, turn/ and scale/alone.py. rc: what its
    .bazelrc says.
    """
    shutil.rmtree(root, ignore_errors=True)
    agent = root / "agent"
    shutil.copytree(workload / "turn", agent / "turn")
    shutil.copyfile(workload / "stub_agent.py", agent / "program.py")
    shutil.copyfile(workload / "scale" / "alone.py", agent / "alone.py")
    (agent / "BUILD.bazel").write_text(_AGENT)
    (root / "MODULE.bazel").write_text(_MODULE.format(source=source))
    (root / "BUILD.bazel").write_text("")
    (root / ".bazelrc").write_text(rc)
    shutil.copyfile(source / ".bazelversion", root / ".bazelversion")
    files = {path.name: path.read_bytes() for path in sorted((workload / "turn").iterdir())}
    if _PROMPT not in files["input.json"]:
        raise Broken(
            f"{workload}/turn/input.json does not prompt with {_PROMPT.decode()!r}: copies would be equal"
        )
    # No test may have been run before: Bazel would know its result.
    run = f"{time.time_ns():x}"
    for variant in variants:
        _write_variant(root, variant, files, run)


def _write_variant(root: Path, variant: Variant, files: dict[str, bytes], run: str) -> None:
    suites = ""
    for package, scenarios in variant.packages():
        for scenario in scenarios:
            directory = root / package / scenario
            directory.mkdir(parents=True)
            prompt = f"Say hello to guest {scenario} of {variant.name} in run {run}.".encode()
            for name, data in files.items():
                (directory / name).write_bytes(data.replace(_PROMPT, prompt))
        shards = min(MOST_SHARDS, max(1, len(scenarios) // PER_SHARD))
        batch = f"    batched = True,\n    shard_count = {shards},\n" if variant.mode == "batched" else ""
        (root / package / "BUILD.bazel").write_text(_SUITE.format(batch=batch))
        suites += f'        "//{package}:suite",\n'
    commands = root / "commands" / variant.name
    commands.mkdir(parents=True)
    (commands / "BUILD.bazel").write_text(_COMMANDS.format(name=variant.name, suites=suites))

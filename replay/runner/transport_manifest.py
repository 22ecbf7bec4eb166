"""The manifest of a transport test: the subject, its transcripts, and how their races are played.

JSON made by rules/private/transport_test.bzl with `"kind": "transport"`; paths in it are canonical rlocation paths. The
same file written by hand runs a test outside Bazel (AGENT_REPLAY_MANIFEST=FILE `python -m replay.runner.transport_main`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from replay.errors import Location, UsageError
from replay.runner.manifest import FieldReader, ScenarioSpec, load_fields

__all__ = ["KIND", "SubjectSpec", "TransportManifest", "decode_transport_manifest"]

KIND = "transport"
_VERSION = 1
_RECORDED, _ALL = "recorded", "all"


class SubjectSpec(NamedTuple):
    """How the executable under test is started. Strings may hold {workspace} {cwd} {home} {tmp} and {runfiles}."""

    name: str
    binary: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class TransportManifest(NamedTuple):
    """One decoded manifest."""

    suite: str
    subject: SubjectSpec
    scenarios: tuple[ScenarioSpec, ...]
    all_orders: bool = False
    """Whether every legal order of the recorded races is played, and not only the recorded one."""
    max_orders: int = 64
    order_surfaces: tuple[str, ...] = ()
    """The surfaces ("projection") that are the same in every order."""
    real_time: bool = False
    exit_seconds: float = 5.0
    """How long the subject may go on once its run has left the recording, and how long what it leaves behind may."""
    commands: str = "//"
    """The package of refresh, accept and review, as messages write it: "//" or "//scenarios/transport"."""
    batched: bool = False


def decode_transport_manifest(data: bytes, file: str = "") -> TransportManifest:
    """The manifest in `data`. Raises UsageError naming the key that is missing or of the wrong kind."""
    fields = load_fields(data, file)
    reader = FieldReader(file)
    if fields.get("version") != _VERSION or fields.get("kind") != KIND:
        raise UsageError(
            f"this is no manifest of a transport test, version {_VERSION}",
            Location(file, path="$.version"),
            "take rules and runner from the same version of agent_replay",
        )

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$", key, kind, default)

    scenarios = get("scenarios", list)
    if not scenarios:
        raise UsageError("the manifest names no scenario", Location(file, path="$.scenarios"))
    return TransportManifest(
        suite=get("suite", str, ""),
        subject=_subject(reader, get("subject", dict)),
        scenarios=tuple(_scenario(reader, item, index) for index, item in enumerate(scenarios)),
        all_orders=_interleave(reader, get("interleave", str, _RECORDED)),
        max_orders=get("max_orders", int, 64),
        order_surfaces=tuple(get("order_surfaces", list, [])),
        real_time=get("real_time", bool, False),
        exit_seconds=float(get("exit_seconds", int, 5)),
        commands=get("commands", str, "//"),
    )


def _interleave(reader: FieldReader, value: str) -> bool:
    if value not in (_RECORDED, _ALL):
        where = Location(reader.file, path="$.interleave")
        raise UsageError(f'"{value}" is no way to interleave', where, f'write "{_RECORDED}" or "{_ALL}"')
    return value == _ALL


def _subject(reader: FieldReader, fields: dict[str, Any]) -> SubjectSpec:
    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$.subject", key, kind, default)

    return SubjectSpec(
        get("name", str, "subject"), get("binary", str), tuple(get("args", list, [])), get("env", dict, {})
    )


def _scenario(reader: FieldReader, fields: Any, index: int) -> ScenarioSpec:
    path = f"$.scenarios[{index}]"

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, path, key, kind, default)

    spec = ScenarioSpec(
        name=get("name", str),
        label=get("label", str, ""),
        package=get("package", str, ""),
        directory=get("directory", str, ""),
        files=get("files", dict),
        workspace=get("workspace", dict, {}),
        workspace_expected={},
        declares_override=False,
        pins=False,
        cwd_parent="",
        variant=get("variant", str, ""),
        transcripts=get("transcripts", dict, {}),
        expected=get("expected", dict, {}),
    )
    for name in (*spec.transcripts.values(), *spec.expected.values()):
        if name not in spec.files:
            raise UsageError(f'"{name}" is none of the files', Location(reader.file, path=f"{path}.files"))
    return spec

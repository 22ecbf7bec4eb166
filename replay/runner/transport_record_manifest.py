"""The manifest of the command that records transcripts: the subject, the real providers, and what can be recorded.

JSON made by rules/private/transport_record.bzl with `"kind": "transport_record"`; paths in it are canonical rlocation
paths. A scenario can be recorded where its directory has `<variant>.session.jsonl`, which says what the model answers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from replay.errors import Location, UsageError
from replay.runner.manifest import FieldReader, ScenarioSpec, load_fields
from replay.runner.transport_manifest import SubjectSpec

__all__ = ["KIND", "ProviderSpec", "RecordManifest", "decode_record_manifest"]

KIND = "transport_record"
_VERSION = 1


class ProviderSpec(NamedTuple):
    """A real provider. Strings may hold {workspace} {home} {tmp} {gateway_url} {gateway_origin} and {runfiles}."""

    name: str
    executable: str
    """What the subject finds it as, below AGENT_REPLAY_PEERS."""
    protocol: str
    version: str
    model: str
    """What it is told to ask, "" where it is not told."""
    model_api: str
    binary: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    home: Mapping[str, str]
    """Path below its home -> rlocation path of the template of that file."""


class RecordManifest(NamedTuple):
    """One decoded manifest. `label` is the command's own."""

    label: str
    subject: SubjectSpec
    providers: Mapping[str, ProviderSpec]
    scenarios: tuple[ScenarioSpec, ...]


def decode_record_manifest(data: bytes, file: str = "") -> RecordManifest:
    """The manifest in `data`. Raises UsageError naming the key that is missing or of the wrong kind."""
    fields = load_fields(data, file)
    reader = FieldReader(file)
    if fields.get("version") != _VERSION or fields.get("kind") != KIND:
        raise UsageError(
            f"this is no manifest of a recording of transcripts, version {_VERSION}",
            Location(file, path="$.version"),
            "take rules and runner from the same version of agent_replay",
        )

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$", key, kind, default)

    subject = get("subject", dict)
    providers = get("providers", dict)
    return RecordManifest(
        get("label", str, "//:record"),
        SubjectSpec(
            reader.get(subject, "$.subject", "name", str, "subject"),
            reader.get(subject, "$.subject", "binary", str),
            tuple(reader.get(subject, "$.subject", "args", list, [])),
            reader.get(subject, "$.subject", "env", dict, {}),
        ),
        {name: _provider(reader, name, provider) for name, provider in providers.items()},
        tuple(_scenario(reader, each, index) for index, each in enumerate(get("scenarios", list))),
    )


def _provider(reader: FieldReader, name: str, fields: Any) -> ProviderSpec:
    path = f"$.providers.{name}"

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, path, key, kind, default)

    agent = get("agent", dict)

    def of_agent(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(agent, f"{path}.agent", key, kind, default)

    return ProviderSpec(
        name,
        get("executable", str),
        get("protocol", str),
        get("provider_version", str),
        get("model", str, ""),
        of_agent("model_api", str),
        of_agent("binary", str),
        (*of_agent("args", list, []), *of_agent("replay_args", list, [])),
        {**of_agent("env", dict, {}), **of_agent("replay_env", dict, {})},
        of_agent("home", dict, {}),
    )


def _scenario(reader: FieldReader, fields: Any, index: int) -> ScenarioSpec:
    path = f"$.scenarios[{index}]"

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, path, key, kind, default)

    return ScenarioSpec(
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
        variant=get("variant", str),
    )

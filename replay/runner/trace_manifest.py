"""The manifest of a trace test: the agent, the traces, and the strategy by which they are replayed.

JSON made by rules/private/trace_test.bzl with `"kind": "trace"`; paths in it are canonical rlocation paths. The same file
written by hand runs a test outside Bazel (AGENT_REPLAY_MANIFEST=FILE `python -m replay.runner.trace_main`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from replay.errors import Location, UsageError
from replay.runner.manifest import FieldReader, load_fields
from replay.trace.strategies import Strategy, strategy

__all__ = ["KIND", "SOCKET", "STDIO", "TraceAgent", "TraceManifest", "decode_trace_manifest"]

KIND = "trace"
STDIO, SOCKET = "stdio", "socket"
_VERSION = 1


class TraceAgent(NamedTuple):
    """How the agent is started. Strings may hold {cwd} {home} {tmp} {runfiles}, {gateway_url} and {gateway_origin}."""

    name: str
    binary: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    channel: str = STDIO
    """Where it speaks the agent protocol."""
    inherited: tuple[str, ...] = ()
    """Variables of the caller that it gets, where it is live; but for the key of a model_api, which the proxy adds."""
    model_api: str = ""
    """The codec of the gateway that its model calls go to; "" where they come over the channel."""
    upstream: str = ""
    """Where live calls of a model_api go, as a URL; "" for the provider's own."""


class TraceManifest(NamedTuple):
    """One decoded manifest."""

    label: str
    agent: TraceAgent
    strategy: Strategy
    directory: str = ""
    """The package, as messages write it."""
    suite: str = ""
    """rlocation path of suite.json; "" for a suite that says nothing."""
    threshold: float | None = None
    """The least share of traces that must pass; None for what the suite says."""
    traces: Mapping[str, str] = {}
    """File of a trace relative to the package ("traces/t1.json") -> rlocation path; of blobs as well."""
    workspace: Mapping[str, str] = {}
    """What lies in the cwd of each run: relative path -> rlocation path."""
    snapshots: Mapping[str, str] = {}
    """File of a snapshot relative to the package -> rlocation path."""
    previous: str = ""
    """rlocation path of the report that this one is compared with."""
    parts: tuple[str, ...] = ()
    """Directories of replays that were made before: then this test judges them and replays nothing."""
    meaning: tuple[str, ...] = ()
    """Directories in which Python finds the text model, as rlocation paths."""
    jobs: int = 1
    all_runs: bool = False
    """Whether a trace is run as often as its strategy says, though its outcome is decided before."""
    run_seconds: float = 60.0
    exit_seconds: float = 5.0

    @property
    def trace_files(self) -> list[str]:
        """The files of traces, blobs left out, in the order in which they are judged."""
        return sorted(name for name in self.traces if name.endswith(".json"))


def decode_trace_manifest(data: bytes, file: str = "") -> TraceManifest:
    """The manifest in `data`. Raises UsageError naming the key that is missing or wrong."""
    fields = load_fields(data, file)
    reader = FieldReader(file)
    if fields.get("version") != _VERSION or fields.get("kind") != KIND:
        raise UsageError(
            f"this is no manifest of a trace test, version {_VERSION}",
            Location(file, path="$.version"),
            "take rules and runner from the same version of agent_replay",
        )

    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$", key, kind, default)

    def number(key: str, default: float | None) -> float | None:
        value = fields.get(key, default)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise UsageError(f"expected a number, found {value!r}", Location(file, path=f"$.{key}"))
        return value

    return TraceManifest(
        label=get("label", str, ""),
        agent=_agent(reader, get("agent", dict)),
        strategy=_strategy(reader, fields),
        directory=get("directory", str, ""),
        suite=get("suite", str, ""),
        threshold=number("threshold", None),
        traces=get("traces", dict),
        workspace=get("workspace", dict, {}),
        snapshots=get("snapshots", dict, {}),
        previous=get("previous", str, ""),
        parts=tuple(get("parts", list, [])),
        meaning=tuple(get("meaning", list, [])),
        jobs=get("jobs", int, 1),
        all_runs=get("all_runs", bool, False),
        run_seconds=number("run_seconds", 60.0) or 60.0,
        exit_seconds=number("exit_seconds", 5.0) or 5.0,
    )


def _agent(reader: FieldReader, fields: dict[str, Any]) -> TraceAgent:
    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$.agent", key, kind, default)

    channel = get("channel", str, STDIO)
    if channel not in (STDIO, SOCKET):
        where = Location(reader.file, path="$.agent.channel")
        raise UsageError(f'"{channel}" is no channel', where, f'write "{STDIO}" or "{SOCKET}"')
    return TraceAgent(
        get("name", str, "agent"),
        get("binary", str),
        tuple(get("args", list, [])),
        get("env", dict, {}),
        channel,
        tuple(get("inherited", list, [])),
        get("model_api", str, ""),
        get("upstream", str, ""),
    )


def _strategy(reader: FieldReader, fields: dict[str, Any]) -> Strategy:
    def get(key: str, kind: type, default: Any) -> Any:
        return reader.get(fields, "$", key, kind, default)

    try:
        return strategy(get("strategy", str, "exact")).with_changes(
            model=get("model", str, ""),
            tools=get("tools", str, ""),
            unknown=get("unknown", str, ""),
            runs=get("runs", int, 0),
        )
    except UsageError as error:
        raise error.at(reader.file) from None

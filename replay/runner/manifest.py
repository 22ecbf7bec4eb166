"""The manifest: what the rules tell the runner about one suite, its agent and its scenarios.

JSON made by `rules/private`, one per test target; paths in it are canonical rlocation paths. The same file
written by hand runs a scenario outside Bazel (AGENT_REPLAY_MANIFEST=FILE `python -m replay.runner.main`) or refreshes it
(`python -m replay.runner --manifest FILE`). A command over several suites has a manifest that lists theirs.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from replay.errors import Location, UsageError

__all__ = [
    "AgentSpec",
    "FieldReader",
    "Manifest",
    "Options",
    "Rule",
    "ScenarioSpec",
    "decode_manifest",
    "is_guard_manifest",
    "listed_manifests",
    "load_fields",
    "manifest_kind",
]

_VERSION = 1
_SURFACES = ("requests", "workspace")


class AgentSpec(NamedTuple):
    """How the agent under test is started. Strings may hold {cwd} {home} {tmp} {sessions} {spill} {overlay}
    {gateway_url}, {gateway_origin} and {runfiles}."""

    name: str
    binary: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    replay_args: tuple[str, ...]
    replay_env: Mapping[str, str]
    overlay: str
    logs_itself: bool
    """Whether the agent writes session logs of design 4.1 below {sessions}."""
    model_api: str
    """The gateway's codec, empty where the model is replayed in the agent's process."""
    home: Mapping[str, str] = {}
    """Path below the agent's home -> rlocation path of the template of that file."""
    live_api: str = ""
    """The codec that the agent speaks to its provider when it is recorded; empty where nobody said."""
    live_args: tuple[str, ...] = ()
    """What follows `args` when it is recorded; {gateway_url} is the recording proxy."""
    live_env: Mapping[str, str] = {}


class Rule(NamedTuple):
    """A suite's own normaliser rule."""

    pattern: str
    placeholder: str
    reason: str


class Options(NamedTuple):
    """What a suite changes about how its runs are judged; every relaxation is text: the reason for it."""

    wait_seconds: float = 30.0
    """How long the driver waits for one thing."""
    exit_seconds: float = 5.0
    """How long the agent may take to exit after its stdin closes."""
    leftovers: str = ""
    """Why processes that outlive the agent are only a warning."""
    forced_exit: str = ""
    """Why an agent that has to be ended by a signal is only a warning."""
    exit_status: str = ""
    """Why a non-zero exit status is only a warning."""
    arrival_order: str = ""
    """Why lanes that no one can tell apart may be bound in order of arrival."""
    workspace_modes: str = ""
    """Why the executable bit of the workspace's files is compared; empty where it is not."""
    others: Mapping[str, Any] = {}
    """What other rooms read: `floating`, `merge_text`, `parallel_tools`, `ignored`, `accepted_deviations`."""


class ScenarioSpec(NamedTuple):
    """One scenario: relative file name -> rlocation path, for the fixture and for both workspaces."""

    name: str
    label: str
    package: str
    directory: str
    files: Mapping[str, str]
    workspace: Mapping[str, str]
    workspace_expected: Mapping[str, str]
    declares_override: bool
    pins: bool
    cwd_parent: str
    variant: str = ""
    """Of a transport scenario: which of its tests this is. `files` then holds what the two below name."""
    transcripts: Mapping[str, str] = {}
    """Provider -> file of its transcript."""
    expected: Mapping[str, str] = {}
    """What the subject writes ("projection.json") -> file that it is compared with."""


class Manifest(NamedTuple):
    """One decoded manifest."""

    suite: str
    agent: AgentSpec
    rules: tuple[Rule, ...]
    options: Options
    batched: bool
    scenarios: tuple[ScenarioSpec, ...]
    surfaces: tuple[str, ...] = ()
    """What is compared besides the standing surfaces: "workspace", "requests"."""
    commands: str = "//"
    """The package of the commands on the suite, as messages write it."""


def is_guard_manifest(data: bytes) -> bool:
    """Whether this manifest asks for a guard test and not for scenarios."""
    value = load_fields(data, "")
    return value.get("kind") == "guard"


def listed_manifests(data: bytes, file: str = "") -> list[str] | None:
    """The rlocation paths in the manifest of a command; None for a manifest that holds scenarios itself."""
    fields = load_fields(data, file)
    if fields.get("kind") != "suites":
        return None
    paths: list[str] = FieldReader(file).get(fields, "$", "manifests", list)
    return paths


def decode_manifest(data: bytes, file: str = "") -> Manifest:
    """The manifest in `data`. Raises UsageError naming the key that is missing or of the wrong kind."""
    fields = load_fields(data, file)
    reader = FieldReader(file)
    if fields.get("version") != _VERSION:
        raise UsageError(
            f"this runner reads manifest version {_VERSION}, not {fields.get('version')!r}",
            Location(file, path="$.version"),
            "take rules and runner from the same version of agent_replay",
        )
    scenarios = reader.get(fields, "$", "scenarios", list)
    if not scenarios:
        raise UsageError("the manifest names no scenario", Location(file, path="$.scenarios"))
    agent = _agent(reader, reader.get(fields, "$", "agent", dict))
    return Manifest(
        suite=reader.get(fields, "$", "suite", str, ""),
        agent=agent,
        rules=tuple(_rule(reader, rule, index) for index, rule in enumerate(fields.get("rules") or [])),
        options=_options(reader, reader.get(fields, "$", "options", dict, {})),
        batched=reader.get(fields, "$", "batched", bool, False),
        scenarios=tuple(_scenario(reader, item, index) for index, item in enumerate(scenarios)),
        surfaces=_surfaces(reader, reader.get(fields, "$", "surfaces", list, []), agent),
        commands=reader.get(fields, "$", "commands", str, "//"),
    )


class FieldReader:
    """Typed access to decoded JSON with an error that says where."""

    __slots__ = ("file",)

    def __init__(self, file: str) -> None:
        self.file = file

    def get(self, fields: Any, path: str, key: str, kind: type, default: Any = None) -> Any:
        if not isinstance(fields, dict):
            raise UsageError("expected an object", Location(self.file, path=path))
        value = fields.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind):
            found = "nothing" if value is None else type(value).__name__
            raise UsageError(
                f"expected {kind.__name__}, found {found}", Location(self.file, path=f"{path}.{key}")
            )
        return value


def manifest_kind(data: bytes, file: str = "") -> str:
    """What a manifest is for: "" for session replay, "transport", "guard", "suites"."""
    kind = load_fields(data, file).get("kind", "")
    return kind if isinstance(kind, str) else ""


def load_fields(data: bytes, file: str) -> dict[str, Any]:
    """A manifest as JSON. Raises UsageError for what is no JSON object."""
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise UsageError(f"the manifest is not JSON: {error}", Location(file)) from None
    if not isinstance(value, dict):
        raise UsageError("the manifest is not a JSON object", Location(file))
    return value


def _agent(reader: FieldReader, fields: dict[str, Any]) -> AgentSpec:
    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, "$.agent", key, kind, default)

    session_log = get("session_log", str, "self")
    if session_log not in ("self", "gateway"):
        raise UsageError(
            f'"{session_log}" is no place for a session log',
            Location(reader.file, path="$.agent.session_log"),
            'write "self" or "gateway"',
        )
    model_api = get("model_api", str, "")
    if session_log == "gateway" and not model_api:
        raise UsageError(
            "an agent whose session log comes from the gateway needs a model_api",
            Location(reader.file, path="$.agent.model_api"),
        )
    replay_args, replay_env = get("replay_args", list, []), get("replay_env", dict, {})
    # An agent that replays over HTTP is pointed at the proxy as at the gateway.
    live_args, live_env = (replay_args, replay_env) if model_api else ([], {})
    return AgentSpec(
        name=get("name", str, "agent"),
        binary=get("binary", str),
        args=tuple(get("args", list, [])),
        env=get("env", dict, {}),
        replay_args=tuple(replay_args),
        replay_env=replay_env,
        overlay=get("overlay", str, ""),
        logs_itself=session_log == "self",
        model_api=model_api,
        home=get("home", dict, {}),
        live_api=get("live_api", str, model_api),
        live_args=tuple(get("live_args", list, live_args)),
        live_env=get("live_env", dict, live_env),
    )


def _rule(reader: FieldReader, fields: Any, index: int) -> Rule:
    path = f"$.rules[{index}]"
    return Rule(*(reader.get(fields, path, key, str) for key in Rule._fields))


def _surfaces(reader: FieldReader, names: list[Any], agent: AgentSpec) -> tuple[str, ...]:
    for index, name in enumerate(names):
        where = Location(reader.file, path=f"$.surfaces[{index}]")
        if name not in _SURFACES:
            raise UsageError(f"{name!r} is no surface", where, f"write one of {', '.join(_SURFACES)}")
        if name == "requests" and not agent.model_api:
            raise UsageError(
                f'the requests of "{agent.name}" cannot be seen: it replays in its own process',
                where,
                "give its acp_agent a model_api, or take requests out of surfaces",
            )
    return tuple(names)


def _options(reader: FieldReader, fields: dict[str, Any]) -> Options:
    own = [key for key in Options._fields if key != "others"]
    values: dict[str, Any] = {}
    for key in own:
        default = Options._field_defaults[key]
        kind: Any = (int, float) if isinstance(default, float) else str
        value = fields.get(key, default)
        if not isinstance(value, kind):
            raise UsageError(f"{key} cannot be {value!r}", Location(reader.file, path=f"$.options.{key}"))
        values[key] = value
    values["others"] = {key: value for key, value in fields.items() if key not in own}
    _check_ignored(reader, fields.get("ignored") or [])
    return Options(**values)


def _check_ignored(reader: FieldReader, listed: Any) -> None:
    """Raises UsageError here rather than where a run is judged."""
    if not isinstance(listed, list):
        raise UsageError("ignored: expected a list", Location(reader.file, path="$.options.ignored"))
    if listed:
        from replay.surface.ignore import Ignored

        try:
            Ignored(listed)
        except UsageError as error:
            raise UsageError(error.what, Location(reader.file, path=error.where.path), error.fix) from None


def _scenario(reader: FieldReader, fields: Any, index: int) -> ScenarioSpec:
    def get(key: str, kind: type, default: Any = None) -> Any:
        return reader.get(fields, f"$.scenarios[{index}]", key, kind, default)

    return ScenarioSpec(
        name=get("name", str),
        label=get("label", str, ""),
        package=get("package", str, ""),
        directory=get("directory", str, ""),
        files=get("files", dict),
        workspace=get("workspace", dict, {}),
        workspace_expected=get("workspace_expected", dict, {}),
        declares_override=get("declares_override", bool, False),
        pins=get("pins", bool, False),
        cwd_parent=get("cwd_parent", str, ""),
    )

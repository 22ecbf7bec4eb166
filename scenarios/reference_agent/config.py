"""The configuration file: what can be set, what it means, how files are merged.

A deployment has one file; `--overlay` files are laid over it, later ones on top. Mappings merge key by key;
everything else, and a mapping whose `kind` differs, is replaced whole (an adapter does not inherit another's
settings). A project may bring its own settings for a few sections where `project_settings` names its file.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

__all__ = [
    "Config",
    "ConfigError",
    "HookConfig",
    "Mode",
    "describe_validation_error",
    "load_config",
    "with_project",
]

type Mode = Literal["ask", "auto", "read-only"]

PROJECT_SECTIONS = ("client", "hooks", "instructions", "limits", "permissions", "subagents", "tools")


class ConfigError(Exception):
    """A configuration file cannot be used; the message names the file and each wrong key."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenAIChatConfig(Section):
    """A server that speaks chat completions. The variables, where set, win over the file."""

    kind: Literal["openai_chat"] = "openai_chat"
    base_url: str = "https://api.openai.com/v1"
    base_url_env: str = "OPENAI_BASE_URL"
    api_key_env: str = "OPENAI_API_KEY"
    timeout_ms: int = Field(default=120_000, gt=0)
    extra_body: dict[str, Any] = {}


class ReplayConfig(Section):
    """Streams recorded by an earlier run; the environment says where they are."""

    kind: Literal["replay"]


class ModelConfig(Section):
    """`provider` and `name` are what the log calls the model; `name` is also sent to the server."""

    provider: str = "openai"
    name: str = "gpt-4.1-mini"
    max_output_tokens: int = Field(default=4096, gt=0)
    adapter: Annotated[OpenAIChatConfig | ReplayConfig, Field(discriminator="kind")] = OpenAIChatConfig()


class RetryConfig(Section):
    """The n-th retry of a call waits `backoff_ms * 2**(n-1)`; there is no jitter."""

    max_retries: int = Field(default=2, ge=0)
    backoff_ms: int = Field(default=500, ge=0)
    codes: tuple[str, ...] = ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT")


class LimitsConfig(Section):
    """Bounds of one turn. A continuation is a further step after a reply that hit the output limit."""

    max_steps: int = Field(default=50, gt=0)
    max_continuations: int = Field(default=3, ge=0)


class PermissionsConfig(Section):
    mode: Mode = "ask"


class ClientConfig(Section):
    """Who reads and writes files and runs commands: we, or the client where it offers to."""

    files: Literal["agent", "client"] = "agent"
    shell: Literal["agent", "client"] = "agent"


class ToolsConfig(Section):
    bash_timeout_ms: int = Field(default=120_000, gt=0)
    bash_preview_bytes: int = Field(default=16_384, ge=256)
    bash_spill_bytes: int = Field(default=64 * 1024 * 1024, gt=0)
    read_max_bytes: int = Field(default=256 * 1024, gt=0)
    read_max_line_chars: int = Field(default=2000, gt=0)
    image_max_bytes: int = Field(default=5 * 1024 * 1024, gt=0)


class SubagentsConfig(Section):
    """`max_depth` 0 takes the tool away; 1 lets a session delegate, 2 lets its children do so too."""

    max_depth: int = Field(default=2, ge=0)


class HookConfig(Section):
    """A command around the tools whose name fits `match` (a shell pattern).

    It runs in the session's directory with the call as JSON on stdin. Exit 0 lets it pass, exit 2 denies it
    (before) or comments on its result (after), with what it printed as the reason. Anything else is a broken hook,
    which denies too. `{config_dir}` in an argument is the directory of the configuration file.
    """

    name: str
    event: Literal["before_tool", "after_tool"]
    match: str = "*"
    command: tuple[str, ...] = Field(min_length=1)
    timeout_ms: int = Field(default=10_000, gt=0)


class SessionLogConfig(Section):
    """`fsync` makes an event survive the machine, not only the process, before we go on."""

    compress: Literal["gzip", "none"] = "gzip"
    fsync: bool = True
    timestamps: bool = True


class ProjectSettingsConfig(Section):
    """The file, relative to a session's directory, that may set some sections. Off unless named: it runs hooks."""

    file: str = ""


class Config(Section):
    model: ModelConfig = ModelConfig()
    retry: RetryConfig = RetryConfig()
    limits: LimitsConfig = LimitsConfig()
    permissions: PermissionsConfig = PermissionsConfig()
    client: ClientConfig = ClientConfig()
    tools: ToolsConfig = ToolsConfig()
    subagents: SubagentsConfig = SubagentsConfig()
    hooks: tuple[HookConfig, ...] = ()
    session_log: SessionLogConfig = SessionLogConfig()
    project_settings: ProjectSettingsConfig = ProjectSettingsConfig()
    instructions: str = ""
    config_dir: Path = Path()


def load_config(file: Path, overlays: list[Path]) -> Config:
    """The configuration of `file` with the overlays on top. Raises ConfigError naming file and key."""
    merged: dict[str, Any] = {}
    for source in (file, *overlays):
        merged = merge(merged, read_mapping(source))
    merged["config_dir"] = str(file.absolute().parent)
    return validate(merged, " with ".join(str(source) for source in (file, *overlays)))


def with_project(config: Config, cwd: Path) -> Config:
    """The configuration for sessions in `cwd`: the project's own settings, if allowed and there, on top."""
    file = cwd / config.project_settings.file
    if not config.project_settings.file or not file.is_file():
        return config
    settings = read_mapping(file)
    for key in settings:
        if key not in PROJECT_SECTIONS:
            raise ConfigError(
                f'{file}: a project may not set "{key}"; it may set {", ".join(PROJECT_SECTIONS)}'
            )
    return validate(merge(config.model_dump(mode="json"), settings), str(file))


def merge(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    if "kind" in top and top["kind"] != base.get("kind"):
        return top
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def read_mapping(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: is not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: holds a {type(content).__name__}, not a mapping of sections")
    return content


def validate(values: dict[str, Any], source: str) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{source}: {describe_validation_error(error)}") from error


def describe_validation_error(error: ValidationError) -> str:
    """One line for a person or a model: each wrong key with what was expected there."""
    parts = []
    for item in error.errors(include_url=False):
        path = ".".join(str(part) for part in item["loc"])
        expected = "is not a known key" if item["type"] == "extra_forbidden" else item["msg"]
        parts.append(f'"{path}": {expected}' if path else expected)
    return "; ".join(parts)

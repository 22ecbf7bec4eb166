"""The configuration file of the program: which providers there are and how they are started."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import orjson

from scenarios.reference_orchestrator.adapters.base import ADAPTERS, ProviderConfig
from scenarios.reference_orchestrator.errors import OrchestratorError
from scenarios.reference_orchestrator.orchestrator import Settings
from scenarios.reference_orchestrator.recovery import RecoveryPolicy

__all__ = ["read_settings"]


def read_settings(path: Path, environment: Mapping[str, str]) -> Settings:
    """`{"providers": {NAME: {"kind", "command", "environment"?, "model"?, "settings"?}}, "idle_ms"?, "recovery"?}`.

    A provider without an environment of its own has `environment`, and so has git. Raises OrchestratorError.
    """
    try:
        raw: Any = orjson.loads(path.read_bytes())
        providers = {name: provider(name, value, environment) for name, value in raw["providers"].items()}
        recovery = raw.get("recovery", "restart")
        idle_ms = raw.get("idle_ms", Settings._field_defaults["idle_ms"])
    except (OSError, orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise OrchestratorError(f"{os.fspath(path)} is no configuration: {error!r}") from error
    if recovery not in ("restart", "interrupt") or not isinstance(idle_ms, int):
        raise OrchestratorError(f"{os.fspath(path)}: recovery is restart or interrupt, idle_ms a number")
    return Settings(providers, environment, idle_ms, cast(RecoveryPolicy, recovery))


def provider(name: str, raw: Any, environment: Mapping[str, str]) -> ProviderConfig:
    if raw["kind"] not in ADAPTERS:
        raise OrchestratorError(
            f"provider {name!r} is of kind {raw['kind']!r}, none of {', '.join(ADAPTERS)}"
        )
    return ProviderConfig(
        kind=raw["kind"],
        command=tuple(str(word) for word in raw.get("command", ())),
        environment=raw.get("environment", environment),
        model=raw.get("model"),
        settings=raw.get("settings", {}),
    )

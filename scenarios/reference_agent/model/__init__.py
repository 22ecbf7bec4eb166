"""The seam to a model and its adapters. The rest of the agent sees `Model` and chunks, never a provider."""

from importlib import import_module
from typing import TYPE_CHECKING

from scenarios.reference_agent.model.seam import Chunk, Message, Model, ModelError, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenarios.reference_agent.config import ModelConfig

__all__ = ["Chunk", "Message", "Model", "ModelError", "ModelRequest", "make_model"]

ADAPTERS = {
    "openai_chat": "scenarios.reference_agent.model.openai_chat",
    "replay": "scenarios.reference_agent.model.replay",
}


def make_model(config: ModelConfig, environment: Mapping[str, str]) -> Model:
    """The configured adapter. Only its module is imported: a provider's client library is slow to load."""
    model: Model = import_module(ADAPTERS[config.adapter.kind]).make(config, environment)
    return model

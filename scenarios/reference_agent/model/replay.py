"""Recorded streams as a model. Where the recording lies is said by the environment (see replay.models)."""

from collections.abc import AsyncGenerator, Mapping

from replay.errors import ReplayError
from replay.models import ModelCallError, ReplayModel
from scenarios.reference_agent.config import ConfigError, ModelConfig
from scenarios.reference_agent.model.seam import Chunk, Model, ModelError, ModelRequest

__all__ = ["ReplayAdapter", "make"]


class ReplayAdapter(Model):
    def __init__(self, recorded: ReplayModel) -> None:
        self.recorded = recorded

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        messages = list(request.messages)
        try:
            async for chunk in self.recorded.stream(
                messages, session=request.session, parent=request.parent, cwd=request.cwd
            ):
                yield chunk
        except ModelCallError as error:
            raise ModelError(error.message, error.code) from error
        except ReplayError as error:
            raise ModelError(str(error), "REPLAY") from error


def make(config: ModelConfig, environment: Mapping[str, str]) -> Model:
    try:
        return ReplayAdapter(ReplayModel.from_environment(environment))
    except ReplayError as error:
        raise ConfigError(str(error)) from error

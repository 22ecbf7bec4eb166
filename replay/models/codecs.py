"""The registry of wire codecs: model API name -> module. A codec is imported when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from replay.errors import UsageError

if TYPE_CHECKING:
    from replay.models.wire import Codec

__all__ = ["CODECS", "load_codec"]

CODECS = {
    "anthropic_messages": "replay.models.anthropic_messages",
    "gemini": "replay.models.gemini",
    "openai_chat": "replay.models.openai_chat",
    "openai_responses": "replay.models.openai_responses",
}


def load_codec(name: str) -> Codec:
    """The codec of a model API. Raises UsageError, which lists the known ones, for any other name."""
    module = CODECS.get(name)
    if module is None:
        raise UsageError(
            f"no wire codec is named {name!r}", fix=f"set model_api to one of: {', '.join(sorted(CODECS))}"
        )
    return cast("Codec", import_module(module))

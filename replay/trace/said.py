"""What a model's answer says, whatever library it came from: its text, and the tokens that it cost. Pure.

Known are answers and streams of OpenAI's chat and responses, Anthropic's messages, Gemini, Ollama, and plain text; of
others nothing is said. Works on JSON; a stream is the list of its pieces.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["Usage", "text_of", "usage_of"]


class Usage(NamedTuple):
    """Tokens of one call, None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


_USAGES = ("usage", "usage_metadata", "usageMetadata")
_PROMPT = (
    "prompt_tokens",
    "input_tokens",
    "promptTokenCount",
    "prompt_token_count",
    "inputTokens",
    "prompt_eval_count",
)
_COMPLETION = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count", "outputTokens"),
    "eval_count",
)
# Where text stands, one after the other; what an object has several of is one text.
_TEXTS = ("text", "content", "parts", "message", "delta", "choices", "candidates", "output", "output_text")
_MOST_DEPTH = 16


def text_of(response: Any, *, is_stream: bool = False) -> str | None:
    """The text of an answer, or None where it has none."""
    if is_stream and isinstance(response, list):
        texts = [text for piece in response if (text := _text_of_piece(piece)) is not None]
        return "".join(texts) if texts else None
    return _text(response, 0)


def _text_of_piece(piece: Any) -> str | None:
    if isinstance(piece, Mapping):
        kind = piece.get("type")
        # Events that say again what deltas said.
        if isinstance(kind, str) and kind.startswith("response.") and kind != "response.output_text.delta":
            return None
        delta = piece.get("delta")
        if isinstance(delta, str):
            return delta
    return _text(piece, 0)


def _text(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value
    if depth > _MOST_DEPTH:
        return None
    if isinstance(value, list):
        return _joined(_text(inner, depth + 1) for inner in value)
    if not isinstance(value, Mapping) or value.get("thought") is True:
        return None
    for key in _TEXTS:
        if value.get(key) is not None:
            found = _text(value[key], depth + 1)
            if found is not None:
                return found
    return None


def _joined(texts: Iterable[str | None]) -> str | None:
    found = [text for text in texts if text is not None]
    return "".join(found) if found else None


def usage_of(response: Any, *, is_stream: bool = False) -> Usage:
    """The tokens that an answer says it cost; of a stream, the last that a piece says."""
    if not (is_stream and isinstance(response, list)):
        return _usage(response)
    prompt: int | None = None
    completion: int | None = None
    for piece in response:
        usage = _usage(piece)
        prompt = prompt if usage.prompt_tokens is None else usage.prompt_tokens
        completion = completion if usage.completion_tokens is None else usage.completion_tokens
    return Usage(prompt, completion)


def _usage(value: Any) -> Usage:
    if not isinstance(value, Mapping):
        return Usage()
    # Anthropic's message_start and the responses API hold the message, and so its usage, one level down.
    inner = [value.get(key) for key in ("message", "response")]
    for holder in (value, *(one for one in inner if isinstance(one, Mapping))):
        for usage in (*(holder.get(key) for key in _USAGES), holder):
            if isinstance(usage, Mapping):
                found = Usage(_count(usage, _PROMPT), _count(usage, _COMPLETION))
                if found != Usage():
                    return found
    return Usage()


def _count(usage: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        count = usage.get(name)
        if type(count) is int and count >= 0:
            return count
    return None

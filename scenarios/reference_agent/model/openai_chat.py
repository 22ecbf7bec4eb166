"""Chat completions over HTTP: a streaming request, its events turned into chunks.

One delta becomes one chunk. Blocks are numbered in the order in which they appear and stay open until the
stream says why it ended, because the wire never closes them itself.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import httpx

from scenarios.reference_agent.config import ModelConfig, OpenAIChatConfig
from scenarios.reference_agent.model.openai_messages import to_wire_messages, to_wire_tools
from scenarios.reference_agent.model.seam import Chunk, Model, ModelError, ModelRequest

__all__ = ["ChunkDecoder", "OpenAIChat", "make"]

FINISH_KINDS = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
    "content_filter": "content-filter",
}
STATUS_CODES = {401: "AUTH", 403: "AUTH", 408: "TIMEOUT", 429: "RATE_LIMIT"}


class OpenAIChat(Model):
    def __init__(self, config: ModelConfig, adapter: OpenAIChatConfig, base_url: str, api_key: str) -> None:
        self.config = config
        self.adapter = adapter
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        timeout = httpx.Timeout(adapter.timeout_ms / 1000, pool=None)
        self.client = httpx.AsyncClient(base_url=base_url, headers=headers, timeout=timeout)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        decoder = ChunkDecoder()
        try:
            async with self.client.stream("POST", "chat/completions", json=self.body(request)) as response:
                if response.status_code != 200:
                    raise await error_of(response)
                async for payload in payloads(response.aiter_lines()):
                    for chunk in decoder.decode(payload):
                        yield chunk
        except httpx.TimeoutException as error:
            raise ModelError(f"no answer in {self.adapter.timeout_ms} ms", "TIMEOUT") from error
        except httpx.HTTPError as error:
            raise ModelError(
                f"the connection broke: {str(error) or type(error).__name__}", "TRANSPORT"
            ) from error
        for chunk in decoder.flush():
            yield chunk

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.config.name,
            "messages": to_wire_messages(request.system, request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": self.config.max_output_tokens,
        }
        if request.tools:
            body["tools"] = to_wire_tools(request.tools)
        return body | self.adapter.extra_body

    async def close(self) -> None:
        await self.client.aclose()


class ChunkDecoder:
    """Server events in, chunks out. No I/O. `flush` after the last event gives what was held back."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.index_of: dict[str, int] = {}
        self.usage: dict[str, int] = {}
        self.finish = ""
        self.half = ""

    def decode(self, payload: dict[str, Any]) -> list[Chunk]:
        if error := payload.get("error"):
            raise stream_error(error)
        if usage := payload.get("usage"):
            self.usage = usage_of(usage)
        chunks: list[Chunk] = []
        for choice in payload.get("choices") or ():
            delta = choice.get("delta") or {}
            chunks += self.text("reasoning", delta.get("reasoning_content") or delta.get("reasoning"))
            chunks += self.text("text", delta.get("content") or delta.get("refusal"))
            for position, call in enumerate(delta.get("tool_calls") or ()):
                chunks += self.tool_call(call, position)
            self.finish = choice.get("finish_reason") or self.finish
        return chunks

    def text(self, block_type: str, text: str | None) -> list[Chunk]:
        text, self.half = joined(self.half + (text or ""))
        if not text:
            return []
        chunks, index = self.open(block_type, {"type": block_type, "text": ""})
        self.blocks[index]["text"] += text
        return [*chunks, {"type": f"{block_type}-delta", "index": index, "text": text}]

    def tool_call(self, call: dict[str, Any], position: int) -> list[Chunk]:
        function = call.get("function") or {}
        key = f"tool-call {call.get('index', position)}"
        opened = {"type": "tool-call", "id": call.get("id", ""), "name": "", "arguments": ""}
        chunks, index = self.open(key, opened)
        block = self.blocks[index]
        block["name"] = block["name"] or function.get("name") or ""
        arguments = function.get("arguments") or ""
        block["arguments"] += arguments
        delta = {"type": "tool-call-delta", "index": index, "id": block["id"], "name": block["name"]}
        return [*chunks, {**delta, "argumentsDelta": arguments}]

    def open(self, key: str, block: dict[str, Any]) -> tuple[list[Chunk], int]:
        """The block for `key` and, if it is new, the chunk that announces it."""
        if key in self.index_of:
            return [], self.index_of[key]
        index = self.index_of[key] = len(self.blocks)
        self.blocks.append(block)
        return [{"type": "block-start", "index": index, "blockType": block["type"]}], index

    def flush(self) -> list[Chunk]:
        """Nothing if the server never said why it ended: the caller sees a stream without a finish."""
        if not self.finish:
            return []
        chunks: list[Chunk] = [
            {"type": "block-end", "index": index, "block": dict(block)}
            for index, block in enumerate(self.blocks)
            if self.finish != "length" or not is_cut(block)
        ]
        if self.usage:
            chunks.append({"type": "usage", "usage": self.usage})
        kind = FINISH_KINDS.get(self.finish, self.finish)
        return [*chunks, {"type": "finish", "reason": {"kind": kind}}]


def is_cut(block: dict[str, Any]) -> bool:
    """Whether the output limit went through a tool call. Such a call has no end."""
    if block["type"] != "tool-call":
        return False
    try:
        json.loads(block["arguments"])
    except ValueError:
        return True
    return False


def joined(text: str) -> tuple[str, str]:
    """Text with surrogate pairs made whole, and a first half at its end whose other half is still to come."""
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    whole = text[: len(text) - len(held)]
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), held


async def payloads(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    """The JSON of each `data:` line. Chat completions never split one event over several lines."""
    async for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        try:
            payload = json.loads(data)
        except ValueError as error:
            raise ModelError(f"the server sent an event that is not JSON: {data[:200]}", "SERVER") from error
        if isinstance(payload, dict):
            yield payload


def usage_of(usage: dict[str, Any]) -> dict[str, int]:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    counts = {
        "inputTokens": usage.get("prompt_tokens"),
        "outputTokens": usage.get("completion_tokens"),
        "cacheReadTokens": prompt.get("cached_tokens"),
        "reasoningTokens": completion.get("reasoning_tokens"),
    }
    return {name: count for name, count in counts.items() if count is not None}


async def error_of(response: httpx.Response) -> ModelError:
    """The failure that an answer other than 200 stands for, with the server's own words if it has some."""
    text = (await response.aread()).decode("utf-8", "replace")
    status = response.status_code
    try:
        message = json.loads(text)["error"]["message"]
    except ValueError, KeyError, TypeError:
        message = text.strip()[:500] or response.reason_phrase
    code = STATUS_CODES.get(status) or ("SERVER" if status >= 500 else "INVALID_REQUEST")
    return ModelError(
        f"HTTP {status}: {message}", code, retry_after_ms(response.headers.get("retry-after", ""))
    )


def stream_error(error: Any) -> ModelError:
    """A failure that the server reports inside a stream that began well."""
    if not isinstance(error, dict):
        return ModelError(str(error), "SERVER")
    limited = "rate_limit" in f"{error.get('type')} {error.get('code')}"
    return ModelError(str(error.get("message") or error), "RATE_LIMIT" if limited else "SERVER")


def retry_after_ms(header: str) -> int:
    """Seconds as a number only; a date would need a clock. Never more than a minute."""
    return min(int(header) * 1000, 60_000) if header.isascii() and header.isdigit() else 0


def make(config: ModelConfig, environment: Mapping[str, str]) -> Model:
    adapter = config.adapter
    if not isinstance(adapter, OpenAIChatConfig):
        raise TypeError(f"openai_chat cannot be made from a {adapter.kind} configuration")
    base_url = environment.get(adapter.base_url_env) or adapter.base_url
    return OpenAIChat(config, adapter, base_url.rstrip("/") + "/", environment.get(adapter.api_key_env, ""))

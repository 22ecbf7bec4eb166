"""What every wire codec shares: the decoded request, the refusal, fault statuses, and the codec's interface.

A codec is a module without I/O, state or clock: bytes in, values out, and back. It never sees a socket, a lane or
a header that could hold a key. The names that it must offer are those of `Codec`; the registry is codecs.py.
Messages inside are provider-neutral: `{"role", "content": [block, …]}` with roles system, user, assistant, tool
and blocks as in a session log (design 4.1), `image` and `tool-result` among them. A block or message keeps what
only its provider understands under `extras`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from replay.errors import FixtureError
from replay.script import ModelRequest

if TYPE_CHECKING:
    from typing import Protocol

    type Json = Any
    type Block = dict[str, Any]
    type Chunk = dict[str, Any]

    class StreamDecoder(Protocol):
        """Wire bytes of one streamed reply -> chunks; input may be cut anywhere."""

        complete: bool

        def feed(self, data: bytes) -> list[Chunk]: ...
        def close(self) -> list[Chunk]: ...

    class Codec(Protocol):
        """The interface of a wire module; tests/models/codec_conformance.py is its definition of done.

        UPSTREAM: the provider's own origin, where a recording goes unless told otherwise. KEY_VARIABLES: variables of
        a caller's environment that may hold the key. REQUEST_ID: the header in which clients look for a reply's id.
        MALFORMED: a frame that every client of this wire takes for one of its events, and that is none. path: local,
        its query included where it has one; `is_call` and `probe` get it without.
        """

        BASE_PATH: str
        UPSTREAM: str
        KEY_VARIABLES: Sequence[str]
        REQUEST_ID: str
        MALFORMED: bytes
        StreamDecoder: type[StreamDecoder]

        def is_call(self, path: str) -> bool: ...
        def probe(self, method: str, path: str, models: Sequence[str]) -> bytes | None: ...
        def decode_request(self, path: str, body: bytes) -> WireRequest: ...
        def with_model(self, path: str, body: bytes, model: str) -> tuple[str, bytes]: ...
        def authorization(self, key: str) -> list[tuple[str, str]]: ...
        def encode_stream(
            self, chunks: Iterable[Chunk], request: WireRequest, reply_id: str, complete: bool
        ) -> Iterator[bytes]: ...
        def encode_response(self, chunks: Iterable[Chunk], request: WireRequest, reply_id: str) -> bytes: ...
        def decode_response(self, body: bytes) -> list[Chunk]: ...
        def encode_error(
            self, status: int, message: str, code: str, retry_after_ms: int | None = None
        ) -> bytes: ...
        def decode_error(self, status: int, body: bytes) -> tuple[str, str]: ...


class WireRequest(NamedTuple):
    """One model call as an agent sent it, without its headers.

    messages: provider-neutral, in order. tools: the provider's own tool definitions. options: every other member
    of the body, unchanged. stream: the reply is wanted as events. wants_usage: those events shall include usage.
    """

    model: str
    messages: list[Json]
    tools: list[Json]
    options: dict[str, Json]
    stream: bool
    wants_usage: bool


class RequestRefused(Exception):
    """The wire itself forbids this request; answered in the provider's own error shape with `status`."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        self.status = status
        self.message = message
        self.code = code
        super().__init__(message)


_HEADROOM = 30
_DEEP = 200


def parse(data: bytes) -> Json:
    """The JSON value in `data`. Raises ValueError for anything else, and for one too deep to be written again."""
    value = orjson.loads(data)
    if data.count(b"[") + data.count(b"{") > _DEEP:
        # orjson reads deeper than it writes, and a log nests what was read a few levels further down.
        nested = value
        for _ in range(_HEADROOM):
            nested = [nested]
        try:
            orjson.dumps(nested)
        except TypeError:
            raise ValueError("its values are nested too deeply") from None
    return value


def parse_reply(data: bytes, what: str) -> dict[str, Json]:
    """A JSON object of a provider. what: names it in the FixtureError that is raised for anything else."""
    try:
        value = parse(data)
    except ValueError as error:
        raise FixtureError(f"{what} of the provider is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FixtureError(f"{what} of the provider is not a JSON object")
    return value


def parse_request(body: bytes) -> dict[str, Json]:
    """The JSON object that an agent sent. Raises RequestRefused for anything else."""
    try:
        fields = parse(body)
    except ValueError as error:
        raise RequestRefused(400, f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise RequestRefused(400, "the body is not a JSON object")
    return fields


def take_settings(fields: dict[str, Json]) -> tuple[str, bool, list[Json]]:
    """Takes model, stream and tools, which most wires spell alike, from a request. Raises RequestRefused."""
    model = fields.pop("model", None)
    if not isinstance(model, str) or not model:
        raise RequestRefused(400, "model is not a string")
    stream = fields.pop("stream", None)
    if stream not in (None, True, False):
        raise RequestRefused(400, "stream is not a boolean")
    tools = fields.pop("tools", None) or []
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise RequestRefused(400, "tools is not a list of objects")
    return model, bool(stream), tools


def with_model(path: str, body: bytes, model: str) -> tuple[str, bytes]:
    """The same call for another model, on a wire whose body names it. body: what `decode_request` has read."""
    return path, orjson.dumps({**orjson.loads(body), "model": model})


def asked_model(path: str, list_path: str, models: Sequence[str]) -> str:
    """The model that `path`, below the path of their list, asks for; "" where it asks for none that is known.

    models: the known ones; empty means that the recording does not say, and then any name is.
    """
    name = path.removeprefix(list_path + "/")
    return name if name != path and (not models or name in models) else ""


FAULT_STATUS: Mapping[str, int] = {"AUTH": 401, "RATE_LIMIT": 429, "OVERLOADED": 503, "CONTEXT": 400}
"""HTTP status of a throw entry's code. A code of three digits is its own status, any other is 500."""


def fault_status(code: str) -> int:
    """The HTTP status under which a throw entry with `code` fails before its stream began."""
    if len(code) == 3 and code.isascii() and code.isdecimal() and 400 <= int(code) <= 599:
        return int(code)
    return FAULT_STATUS.get(code, 500)


def fault_code(status: int) -> str:
    """The throw code that stands for an HTTP status: the inverse of `fault_status`, CONTEXT aside."""
    for code, known in FAULT_STATUS.items():
        if known == status and code != "CONTEXT":
            return code
    return str(status)


def model_request(messages: Iterable[Json], session: str | None, parent: str | None) -> ModelRequest:
    """The simplified request that binds a call to its lane.

    messages: `{"role", "content": str | [block]}`. Reasoning is left out of a turn's text, because an agent is
    free to send it back or not; it stays in `text`, where `{{fromRequest:…}}` looks. A user message that holds
    tool results becomes one `tool` turn for each of them.
    """
    turns: list[dict[str, str]] = []
    leaves: list[str] = []
    for message in messages:
        role = message["role"]
        content = message["content"]
        if isinstance(content, str):
            leaves.append(content)
            turns.append({"role": role, "text": content})
            continue
        spoken: list[str] = []
        results: list[dict[str, str]] = []
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            texts = list(_texts(block))
            leaves += texts
            if kind == "tool-result":
                results.append({"role": "tool", "text": "".join(texts)})
            elif kind != "reasoning":
                spoken += texts
        turns += results
        if spoken or not results:
            turns.append({"role": role, "text": "".join(spoken)})
    return ModelRequest(session=session, parent=parent, messages=turns, text="\n".join(leaves))


def _texts(block: Json) -> Iterator[str]:
    """Text leaves of one block: its text or its tool arguments, then what it contains. A bare string is one, too."""
    if isinstance(block, str):
        yield block
    if not isinstance(block, dict):
        return
    for name in ("text", "arguments"):
        leaf = block.get(name)
        if isinstance(leaf, str):
            yield leaf
    inner = block.get("content")
    if isinstance(inner, str):
        yield inner
    elif isinstance(inner, list):
        for each in inner:
            yield from _texts(each)

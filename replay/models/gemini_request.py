"""Requests of the Gemini wire, read: a path and a body -> WireRequest. See gemini.py.

JSON names may be given in either spelling (`systemInstruction`, `system_instruction`); ours is the first. What a
content or a part holds beside the members known here stays under `extras`, so that a comparison of requests sees it.
Neighbouring contents of the model are one message, whatever pieces a client kept of the reply.
Of the query only what shapes the reply is kept (under the option `query`), since the rest may hold a key.
"""

from typing import TYPE_CHECKING, NamedTuple

from replay.models.gemini_decode import read_parts
from replay.models.wire import RequestRefused, WireRequest, parse_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replay.models.wire import Block, Json

__all__ = ["CALL_VERBS", "Route", "decode_request", "resource", "route_of"]

CALL_VERBS = ("generateContent", "streamGenerateContent")
_VERSIONS = ("v1beta", "v1", "v1alpha")
_COLLECTIONS = ("models", "tunedModels")
_QUERY_KEPT = ("$alt", "alt", "fields")
_ROLES = {None: "user", "user": "user", "model": "assistant", "function": "tool", "tool": "tool"}
_USUAL_ROLE = {"system": None, "user": "user", "assistant": "model", "tool": "user"}
_NESTED = ("fileData", "functionCall", "functionResponse", "inlineData")
_USUAL_FIELD = "output"


class Route(NamedTuple):
    """A path below a model: `/<version>/<collection>/<name>:<verb>`. verb: "" for the model itself."""

    version: str
    model: str
    verb: str


def route_of(path: str) -> Route | None:
    """What `path`, given without its query, means; None where it is below no model."""
    version, _, rest = _unquoted(path).removeprefix("/").partition("/")
    name, _, verb = rest.rpartition(":") if ":" in rest else (rest, "", "")
    collection, _, model = name.partition("/")
    if version not in _VERSIONS or collection not in _COLLECTIONS or not model or "/" in verb:
        return None
    return Route(version, model if collection == "models" else name, verb)


def resource(model: str) -> str:
    """The resource name of a model: `models/x`, or as it stands where a collection is named."""
    return model if model.startswith(tuple(name + "/" for name in _COLLECTIONS)) else f"models/{model}"


def decode_request(path: str, body: bytes) -> WireRequest:
    """The model call in `body`. Raises RequestRefused as the provider would refuse it."""
    route = route_of(path.partition("?")[0])
    if route is None or route.verb not in CALL_VERBS:
        raise RequestRefused(404, "the path is that of no model call")
    fields = _members(parse_request(body), "the body")
    fields.pop("model", None)
    if "query" in fields:
        raise RequestRefused(400, 'unknown name "query" in the body')
    stream = route.verb == "streamGenerateContent"
    query = _query(path, stream)
    messages: list[Json] = []
    system = fields.pop("systemInstruction", None)
    if system is not None:
        messages.append(_system(system))
    contents = _list(fields.pop("contents", None), "contents")
    if not contents:
        raise RequestRefused(400, "contents is not specified")
    messages += _conversation(contents)
    tools = _list(fields.pop("tools", None), "tools")
    config = fields.get("generationConfig") or {}
    if not isinstance(config, dict):
        raise RequestRefused(400, "generationConfig is not an object")
    if any(config.get(name) not in (None, 1) for name in ("candidateCount", "candidate_count")):
        raise RequestRefused(
            400, "candidateCount: one candidate is recorded, so one is all that can be served"
        )
    options = fields | ({"query": query} if query else {})
    return WireRequest(route.model, messages, tools, options, stream=stream, wants_usage=True)


def _query(path: str, stream: bool) -> dict[str, str]:
    """The query as far as it is kept. A stream that asks for nothing else is an array, as the API's default is."""
    pairs = (pair.partition("=") for pair in path.partition("?")[2].split("&"))
    query = {_unquoted(name): _unquoted(value) for name, _, value in pairs if _unquoted(name) in _QUERY_KEPT}
    alt = query.get("alt", query.get("$alt", "json")).partition(";")[0]
    if alt not in (("sse", "json") if stream else ("json",)):
        raise RequestRefused(400, "alt: a stream is sent as sse or json, any other reply as json")
    return query | ({"alt": alt} if stream else {})


def _conversation(contents: list[Json]) -> Iterator[dict[str, Json]]:
    """The messages that `contents` make. A tool result is a message of its own."""
    calls = _Calls()
    reply: list[dict[str, Json]] = []
    extras: dict[str, Json] = {}
    for place, content in enumerate(contents):
        where = f"contents[{place}]"
        fields = _members(content, where)
        wire_role = fields.pop("role", None)
        role = _ROLES.get(wire_role) if wire_role is None or isinstance(wire_role, str) else None
        if role is None:
            raise RequestRefused(400, f"{where}.role: please use a valid role: user, model")
        parts = _parts(fields.pop("parts", None), where)
        if role == "assistant":
            reply += parts
            extras |= fields
            if place + 1 < len(contents) and _is_model(contents[place + 1]):
                continue
            yield _message("assistant", calls.named(_reply_blocks(reply, where)), extras)
            reply, extras = [], {}
            continue
        if wire_role not in (None, "user"):
            fields["role"] = wire_role
        for kind, blocks in _runs(parts, where, calls):
            yield _message(kind, blocks, fields)


def _is_model(content: Json) -> bool:
    return isinstance(content, dict) and content.get("role") == "model"


def _runs(parts: list[dict[str, Json]], where: str, calls: _Calls) -> Iterator[tuple[str, list[Block]]]:
    """The parts of one content as messages: each tool result, and what stands between them."""
    spoken: list[Block] = []
    results = 0
    for place, part in enumerate(parts):
        if "functionResponse" not in part:
            spoken.append(_block(part, f"{where}.parts[{place}]"))
            continue
        if spoken:
            yield "user", spoken
        spoken = []
        results += 1
        yield "tool", [_tool_result(part, f"{where}.parts[{place}]", calls)]
    if spoken or not results:
        yield "user", spoken


def _message(role: str, content: list[Block], extras: dict[str, Json]) -> dict[str, Json]:
    return {"role": role, "content": content} | ({"extras": extras} if extras else {})


def _system(content: Json) -> dict[str, Json]:
    fields = _members(content, "systemInstruction")
    # The provider ignores it, and clients write anything.
    role = fields.pop("role", None)
    parts = _parts(fields.pop("parts", None), "systemInstruction")
    blocks = [_block(part, f"systemInstruction.parts[{place}]") for place, part in enumerate(parts)]
    return _message("system", blocks, fields | ({"role": role} if role not in (None, "system") else {}))


def _parts(parts: Json, where: str) -> list[dict[str, Json]]:
    """The parts of one content, names spelled our way. One part may stand without its list."""
    read = []
    for place, part in enumerate(_list(parts, f"{where}.parts")):
        fields = _members(part, f"{where}.parts[{place}]")
        for name in _NESTED:
            if name in fields:
                fields[name] = _members(fields[name], f"{where}.parts[{place}].{name}")
        read.append(fields)
    return read


def _reply_blocks(parts: list[dict[str, Json]], where: str) -> list[Block]:
    try:
        return read_parts(parts)
    except TypeError as error:
        raise RequestRefused(400, f"{where} is no content of the model: {error}") from None


def _block(part: dict[str, Json], where: str) -> Block:
    """A part of what is said to the model: a text, an image, or any other, which a block of no text holds whole."""
    if "text" in part:
        text = part["text"]
        if not isinstance(text, str):
            raise RequestRefused(400, f"{where}.text is not a string")
        extras = {name: value for name, value in part.items() if name != "text"}
        return {"type": "text", "text": text} | ({"extras": extras} if extras else {})
    for name, source, target in (("inlineData", "data", "data"), ("fileData", "fileUri", "url")):
        if name in part:
            media = dict(part[name])
            kind, value = media.pop("mimeType", ""), media.pop(source, None)
            if not isinstance(kind, str) or not isinstance(value, str):
                raise RequestRefused(400, f"{where}.{name} has no mimeType and {source} that are strings")
            if not kind.startswith("image/"):
                break
            extras = media | {other: each for other, each in part.items() if other != name}
            block: Block = {"type": "image", "mediaType": kind, target: value}
            return block | ({"extras": extras} if extras else {})
    return {"type": "text", "text": "", "extras": {"part": part}}


def _tool_result(part: dict[str, Json], where: str, calls: _Calls) -> Block:
    fields = dict(part["functionResponse"])
    where = f"{where}.functionResponse"
    call_id, name = fields.pop("id", ""), fields.get("name", "")
    if not isinstance(call_id, str) or not isinstance(name, str):
        raise RequestRefused(400, f"{where} has an id or a name that is not a string")
    response = fields.pop("response", {})
    if not isinstance(response, dict):
        raise RequestRefused(400, f"{where}.response is not an object")
    extras = fields | {other: value for other, value in part.items() if other != "functionResponse"}
    content: list[Block] = [{"type": "text", "text": leaf} for leaf in _leaves(response)]
    only = next(iter(response)) if len(response) == 1 else ""
    if only and isinstance(response[only], str):
        if only != _USUAL_FIELD:
            extras["field"] = only
    elif response:
        extras["response"] = response
    media = _parts(extras.pop("parts", None), where)
    content += [_block(each, f"{where}.parts[{place}]") for place, each in enumerate(media)]
    answered = calls.answered(name, call_id)
    if call_id and call_id != answered:
        extras["id"] = call_id
    block: Block = {"type": "tool-result", "toolCallId": answered, "content": content}
    return block | ({"extras": extras} if extras else {})


def _leaves(value: Json) -> Iterator[str]:
    """The strings in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)


class _Calls:
    """Tool calls of the conversation. One without an id gets one by its place, and its result is found by name."""

    __slots__ = ("_count", "_open")

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str, str, bool]] = []

    def named(self, blocks: list[Block]) -> list[Block]:
        """The blocks of one turn of the model, each call with an id. Calls of earlier turns are over."""
        self._open = []
        for block in blocks:
            if block["type"] == "tool-call":
                self._count += 1
                made = not block["id"]
                if made:
                    block["id"] = f"call-{self._count}"
                self._open.append((block["id"], block["name"], made))
        return blocks

    def answered(self, name: str, call_id: str) -> str:
        """The id of the call that a result belongs to; its own where no call fits."""
        fits = [call for call in self._open if call_id and call[0] == call_id]
        fits += [call for call in self._open if call[1] == name and (call[2] or not call_id)]
        if not fits:
            return call_id
        self._open.remove(fits[0])
        return fits[0][0]


def _list(value: Json, where: str) -> list[Json]:
    """A repeated member. The provider takes a single object for a list of one."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise RequestRefused(400, f"{where} is not a list")
    return value


def _members(value: Json, where: str) -> dict[str, Json]:
    """The members of an object that are there, names spelled our way."""
    if not isinstance(value, dict):
        raise RequestRefused(400, f"{where} is not an object")
    members: dict[str, Json] = {}
    for name, each in value.items():
        head, *words = name.split("_") if not name.startswith("_") else [name]
        spelled = head + "".join(word[:1].upper() + word[1:] for word in words)
        if spelled in members:
            raise RequestRefused(400, f"{where} has {spelled} twice")
        if each is not None:
            members[spelled] = each
    return members


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    # Seldom needed, and an import more at every start.
    from urllib.parse import unquote

    return unquote(text)

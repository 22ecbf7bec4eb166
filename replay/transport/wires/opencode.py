"""OpenCode's wire <-> the frames of a transcript, both ways: requests, responses, events. Pure.

    {"type": OPERATION, "input"?, "directory"?, "workspace"?}                a request
    {"type": "sdk.response", "operation", "data" | "error", "status"?}       its response
    {"type": "sdk.event", "stream"?, "input"?, "event"}                      an event of a stream

`input` holds the parameters of path, query and body side by side, as the v2 client takes them, and is left out where there
are none. `directory` and `workspace` say where a request goes; clients add them to every request, in the query or in a
header. `status` is that of an error, or of a success that is not the operation's usual one. `stream` is the operation of
the subscription, `event.subscribe` where it is left out; `event` is what stood in the data line.

Left to the peer: what belongs to one connection and to no recording, which are the probes of the server's health and a
stream's own `server.connected` and `server.heartbeat`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from replay.errors import DivergenceError, FixtureError
from replay.transport.wires.opencode_operations import OPERATIONS, Operation, find_operation

__all__ = [
    "PROTOCOL",
    "UNKNOWN_ROUTE",
    "Request",
    "Response",
    "connected_event",
    "event_data",
    "frame_of_event",
    "frame_of_request",
    "frame_of_response",
    "health",
    "is_of_connection",
    "is_probe",
    "is_stream",
    "request_of_frame",
    "response_of_frame",
]

PROTOCOL = "opencode-sdk.sse"
UNKNOWN_ROUTE = "http.request"
_DEFAULT_STREAM = "event.subscribe"

_PLACES = ("directory", "workspace")
_PROBES = {"/global/health": True, "/api/health": False}
_OF_CONNECTION = frozenset(("server.connected", "server.heartbeat"))
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Errors carry their name in `name`, newer ones in `_tag`.
_ERROR_STATUS = (
    ("NotFound", 404),
    ("BadRequest", 400),
    ("Invalid", 400),
    ("Unauthorized", 401),
    ("Forbidden", 403),
)


class Request(NamedTuple):
    """target: path and query as in the request line. headers: names in lower case. body: b"" for none."""

    method: str
    target: str
    headers: Iterable[tuple[str, str]] = ()
    body: bytes = b""


class Response(NamedTuple):
    """A whole response; a body, where there is one, is JSON."""

    status: int
    body: bytes


def is_probe(request: Request) -> bool:
    """Whether a request only asks if the server is there. Clients poll with it, so no transcript holds it."""
    return request.method in ("GET", "HEAD") and request.target.partition("?")[0] in _PROBES


def health(request: Request, version: str) -> bytes:
    """The body that answers a probe. version: the server's."""
    with_version = _PROBES[request.target.partition("?")[0]]
    return orjson.dumps({"healthy": True, "version": version} if with_version else {"healthy": True})


def is_stream(operation: str) -> bool:
    """Whether the operation's response is an event stream."""
    return operation in OPERATIONS and OPERATIONS[operation].is_stream


def frame_of_request(request: Request) -> dict[str, Any]:
    """The frame of a request; of type UNKNOWN_ROUTE where the server has no such route.

    Raises DivergenceError where the body is no JSON.
    """
    path, _, query = request.target.partition("?")
    segments = tuple(_unquote(part) for part in path.removeprefix("/").split("/"))
    found = find_operation(request.method, segments)
    if found is None:
        return {"type": UNKNOWN_ROUTE, "input": {"method": request.method, "path": _unquote(path)}}
    operation, parameters = found
    values, places = _query_of(query, operation)
    for name, value in request.headers:
        place = name.removeprefix("x-opencode-")
        if place != name and place in _PLACES:
            places.setdefault(place, _unquote(value))
    return _request_frame(operation, {**parameters, **values}, request.body, places)


def request_of_frame(frame: Mapping[str, Any]) -> Request:
    """The request that a client sends for a frame. Raises FixtureError where no operation is called so."""
    operation = OPERATIONS.get(frame.get("type", ""))
    if operation is None:
        raise FixtureError(f"OpenCode has no operation {_shown(frame.get('type'))}")
    rest = dict(frame.get("input") or {})
    segments = []
    for part in operation.path:
        if part.startswith("{"):
            if part[1:-1] not in rest:
                raise FixtureError(
                    f'the input of {operation.name} has no "{part[1:-1]}", which is part of its path'
                )
            segments.append(_quote(str(rest.pop(part[1:-1]))))
        else:
            segments.append(part)
    has_no_body = operation.method == "GET"
    query = {key: rest.pop(key) for key in list(rest) if has_no_body or key in operation.query}
    query |= {place: frame[place] for place in _PLACES if place in frame}
    target = "/" + "/".join(segments)
    if query:
        target += "?" + "&".join(
            f"{_quote(key)}={_quote(_query_text(value))}" for key, value in query.items()
        )
    if not rest:
        return Request(operation.method, target)
    body = rest.get(operation.body, rest) if operation.body else rest.get("body", rest)
    return Request(operation.method, target, [("content-type", "application/json")], orjson.dumps(body))


def frame_of_response(operation: str, status: int, body: bytes) -> dict[str, Any]:
    """The frame of a response to `operation`. An error's body may be text. Raises FixtureError where data is no JSON."""
    frame: dict[str, Any] = {"type": "sdk.response", "operation": operation}
    is_success = 200 <= status < 300
    try:
        value = orjson.loads(body) if body else None
    except ValueError:
        if is_success:
            raise FixtureError(f"the response to {operation} is no JSON") from None
        value = body.decode("utf-8", "replace")
    frame["data" if is_success else "error"] = value
    if not is_success or status != _usual_status(operation):
        frame["status"] = status
    return frame


def response_of_frame(frame: Mapping[str, Any]) -> Response:
    """The response that a frame stands for. An error without a status gets that of its name, 500 for any other."""
    if "error" in frame:
        error = frame["error"]
        return Response(_status_of(frame, _error_status(error)), orjson.dumps(error))
    status = _status_of(frame, _usual_status(frame.get("operation")))
    return Response(status, b"" if status == 204 else orjson.dumps(frame.get("data")))


def frame_of_event(subscription: Mapping[str, Any], data: bytes) -> dict[str, Any] | None:
    """The frame of an event of a stream, None for one that belongs to the connection and not to a recording.

    subscription: the frame of the request that opened the stream. Raises FixtureError where the data is no JSON.
    """
    try:
        event = orjson.loads(data)
    except ValueError:
        raise FixtureError(f"an event of {subscription['type']} is no JSON") from None
    frame: dict[str, Any] = {"type": "sdk.event"}
    if subscription["type"] != _DEFAULT_STREAM:
        frame["stream"] = subscription["type"]
        if "input" in subscription:
            frame["input"] = subscription["input"]
    frame["event"] = event
    return None if is_of_connection(frame) else frame


def event_data(frame: Mapping[str, Any], subscription: Mapping[str, Any]) -> bytes | None:
    """What an event's frame is in the data line of a stream, None where it is not that stream's."""
    is_its_own = frame.get("stream", _DEFAULT_STREAM) == subscription["type"]
    if not is_its_own or ("input" in frame and frame["input"] != subscription.get("input")):
        return None
    return orjson.dumps(frame.get("event"))


def is_of_connection(frame: Mapping[str, Any]) -> bool:
    """Whether an event says something of its own stream only, so that each stream has its own and none is repeated."""
    event = frame.get("event")
    if isinstance(event, dict) and isinstance(event.get("payload"), dict):
        event = event["payload"]
    return isinstance(event, dict) and event.get("type") in _OF_CONNECTION


def connected_event(operation: str) -> bytes | None:
    """The data of the first event of a stream, None where such a stream begins without one."""
    event: dict[str, Any] = {"id": "evt_000000000000000000000000000", "type": "server.connected"}
    match operation:
        case "event.subscribe":
            return orjson.dumps({**event, "properties": {}})
        case "global.event":
            return orjson.dumps({"payload": {**event, "properties": {}}})
        case "v2.event.subscribe":
            return orjson.dumps({**event, "data": {}})
    return None


def _request_frame(
    operation: Operation, parameters: dict[str, Any], body: bytes, places: dict[str, str]
) -> dict[str, Any]:
    if body:
        try:
            value = orjson.loads(body)
        except ValueError:
            raise DivergenceError(
                f"the orchestrator sent a body to {operation.name} that is no JSON"
            ) from None
        if operation.body:
            parameters[operation.body] = value
        elif isinstance(value, dict) and not value.keys() & parameters.keys():
            parameters |= value
        else:
            parameters["body"] = value
    frame: dict[str, Any] = {"type": operation.name}
    if parameters:
        frame["input"] = parameters
    return frame | places


def _query_of(query: str, operation: Operation) -> tuple[dict[str, Any], dict[str, str]]:
    """The parameters of a query in their own types, and where the request goes."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        key, _, text = pair.partition("=")
        key, text = _unquote(key.replace("+", " ")), _unquote(text.replace("+", " "))
        # The newer routes spell it location[directory], and clients send both.
        place = key.removeprefix("location[").removesuffix("]")
        if place in _PLACES and place not in operation.query:
            places[place] = text
        elif key in values:
            earlier = values[key]
            values[key] = [*(earlier if isinstance(earlier, list) else [earlier]), text]
        else:
            values[key] = _typed(text, operation.query.get(key, "string"))
    return values, places


def _typed(text: str, kind: str) -> Any:
    """A query's text as the parameter's type, and as it stands where it is none of that type."""
    if kind == "string":
        return text
    try:
        value = orjson.loads(text)
    except ValueError:
        return text
    is_boolean = isinstance(value, bool)
    return value if is_boolean == (kind == "boolean") and isinstance(value, (bool, int, float)) else text


def _query_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _usual_status(operation: object) -> int:
    found = OPERATIONS.get(operation) if isinstance(operation, str) else None
    return found.status if found else 200


def _status_of(frame: Mapping[str, Any], default: int) -> int:
    status = frame.get("status")
    return status if isinstance(status, int) and 200 <= status <= 599 else default


def _error_status(error: object) -> int:
    name = str(error.get("name") or error.get("_tag") or "") if isinstance(error, dict) else ""
    return next((status for part, status in _ERROR_STATUS if part in name), 500)


def _unquote(text: str) -> str:
    """Percent-decoding. Written out: the standard library's takes longer to import than this peer to start."""
    if "%" not in text:
        return text
    first, *rest = text.encode("utf-8", "surrogateescape").split(b"%")
    pieces = [first]
    for piece in rest:
        try:
            byte = bytes.fromhex(piece[:2].decode("ascii"))
        except ValueError:
            byte = b""
        pieces.append(byte + piece[2:] if byte else b"%" + piece)
    return b"".join(pieces).decode("utf-8", "replace")


def _quote(text: str) -> str:
    return "".join(
        chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass")
    )


def _shown(value: object) -> str:
    return f'"{value[:80]}"' if isinstance(value, str) else "without a name"

"""JSON-RPC 2.0 without I/O: which frame is which, and what became of every request of both sides.

A request is in one of five states whoever sent it, and `TRANSITIONS` is the whole theory: a (state, event)
that has no row is a breach of the protocol with a name in `BREACHES`. The table does not know which side it
plays; `Connection` keeps one dictionary of states for our requests and one for the peer's.

Not here: framing (framing.py), the meaning of methods (driver.py, client.py), the schema (schema.py).
Answers may come in any order; batches are not part of ACP and are refused.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from replay.acp.framing import excerpt
from replay.errors import AgentError

__all__ = [
    "BREACHES",
    "CANCEL_REQUEST",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "OPEN",
    "REQUEST_CANCELLED",
    "TRANSITIONS",
    "CancelRequested",
    "Connection",
    "Event",
    "Frame",
    "Notification",
    "Request",
    "RequestId",
    "Response",
    "encode",
    "parse",
]

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
REQUEST_CANCELLED = -32800
CANCEL_REQUEST = "$/cancel_request"

RequestId = int | str | None
Frame = dict[str, Any]

# States of one request.
NEW, OPEN, CANCELLING, ANSWERED, LOST = "new", "open", "cancelling", "answered", "lost"
# What can happen to it.
SEND, CANCEL, ANSWER, RESTART = "send", "cancel", "answer", "restart"

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (NEW, SEND): OPEN,
    (OPEN, CANCEL): CANCELLING,
    (OPEN, ANSWER): ANSWERED,
    (OPEN, RESTART): LOST,
    (CANCELLING, CANCEL): CANCELLING,
    (CANCELLING, ANSWER): ANSWERED,
    (CANCELLING, RESTART): LOST,
    # An id is free again once it was answered; a cancel may cross the answer on the wire.
    (ANSWERED, SEND): OPEN,
    (ANSWERED, CANCEL): ANSWERED,
    (ANSWERED, RESTART): LOST,
    (LOST, RESTART): LOST,
}

BREACHES: Mapping[tuple[str, str], str] = {
    (NEW, ANSWER): "answers an id that was never sent",
    (ANSWERED, ANSWER): "answers a second time",
    (LOST, ANSWER): "answers late: the request went to the process before the restart",
    (OPEN, SEND): "uses the id of a request that is still open",
    (CANCELLING, SEND): "uses the id of a request that is still open",
    (LOST, SEND): "uses an id of the process before the restart",
    (NEW, CANCEL): "cancels a request that was never sent",
    (LOST, CANCEL): "cancels a request of the process before the restart",
    (NEW, RESTART): "loses a request that was never sent",
}


class Request(NamedTuple):
    """The peer asks. `id` is what the answer must carry."""

    id: RequestId
    method: str
    params: Any


class Notification(NamedTuple):
    """The peer tells."""

    method: str
    params: Any


class Response(NamedTuple):
    """The peer answers our request `id` for `method`. `error` is None when it succeeded."""

    id: RequestId
    method: str
    result: Any
    error: dict[str, Any] | None


class CancelRequested(NamedTuple):
    """The peer takes back its request `id`; `state` is what that request was in before."""

    id: RequestId
    state: str


Event = Request | Notification | Response | CancelRequested


def encode(frame: Frame) -> bytes:
    """One line, with its line end."""
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def parse(line: bytes) -> Frame:
    """The JSON object of one line. Raises AgentError quoting the line if it is anything else."""
    try:
        frame = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise AgentError(
            f"stdout carries a line that is not JSON ({error.msg}): {excerpt(line)}",
            fix="send the agent's own logging to stderr; stdout belongs to the protocol",
        ) from None
    if isinstance(frame, list):
        raise AgentError(f"stdout carries a JSON-RPC batch, which ACP does not have: {excerpt(line)}")
    if not isinstance(frame, dict):
        raise AgentError(f"stdout carries a line that is no JSON-RPC object: {excerpt(line)}")
    return frame


class Connection:
    """The requests of both sides. `receive` takes a parsed frame, the other calls make one to `encode` and write."""

    __slots__ = ("_next_id", "_ours", "_theirs", "methods")

    def __init__(self) -> None:
        self._next_id = 1
        self._ours: dict[RequestId, str] = {}
        self._theirs: dict[RequestId, str] = {}
        self.methods: dict[RequestId, str] = {}
        """Method of each request that we ever sent, by id."""

    def request(self, method: str, params: dict[str, Any]) -> tuple[int, Frame]:
        """A new request: its id (1, 2, 3, … over the whole run) and its frame."""
        number = self._next_id
        self._next_id += 1
        self._ours[number] = _step(self._ours, number, SEND, f'our request "{method}"')
        self.methods[number] = method
        return number, {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def notify(self, method: str, params: dict[str, Any]) -> Frame:
        return {"jsonrpc": "2.0", "method": method, "params": params}

    def cancel(self, number: RequestId) -> Frame:
        """`$/cancel_request` for one of our requests; the peer still owes an answer."""
        self._ours[number] = _step(self._ours, number, CANCEL, "the driver")
        return self.notify(CANCEL_REQUEST, {"requestId": number})

    def answer(self, number: RequestId, result: Any) -> Frame:
        self._theirs[number] = _step(self._theirs, number, ANSWER, "the driver")
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def refuse(self, number: RequestId, code: int, message: str) -> Frame:
        """Answer the peer's request with an error."""
        self._theirs[number] = _step(self._theirs, number, ANSWER, "the driver")
        return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}

    def is_open(self, number: RequestId) -> bool:
        """Whether our request still waits for its answer."""
        return self._ours.get(number) in (OPEN, CANCELLING)

    def owes(self, number: RequestId) -> bool:
        """Whether the peer's request still waits for our answer."""
        return self._theirs.get(number) in (OPEN, CANCELLING)

    def restart(self) -> None:
        """A new process answers from here on: what was open is lost, the peer's ids begin anew."""
        for number in self._ours:
            self._ours[number] = _step(self._ours, number, RESTART, "the driver")
        self._theirs.clear()

    def receive(self, frame: Frame) -> Event:
        """What a frame of the peer means. Raises AgentError for a breach of JSON-RPC or of the table."""
        if frame.get("jsonrpc") != "2.0":
            raise _malformed(frame, '"jsonrpc" is not "2.0"')
        if "id" in frame and type(frame["id"]) not in (int, str, type(None)):
            raise _malformed(frame, '"id" is neither an integer, a string nor null')
        if "method" not in frame:
            return self._receive_response(frame)
        method = frame["method"]
        if not isinstance(method, str):
            raise _malformed(frame, '"method" is not a string')
        if "result" in frame or "error" in frame:
            raise _malformed(frame, 'a frame with "method" carries "result" or "error"')
        if "id" in frame:
            who = f'the agent\'s request "{method}" (id {_shown(frame["id"])})'
            self._theirs[frame["id"]] = _step(self._theirs, frame["id"], SEND, who)
            return Request(frame["id"], method, frame.get("params"))
        if method == CANCEL_REQUEST:
            return self._receive_cancel(frame)
        return Notification(method, frame.get("params"))

    def _receive_response(self, frame: Frame) -> Response:
        if "id" not in frame:
            raise _malformed(frame, 'it has neither "method" nor "id"')
        if ("result" in frame) == ("error" in frame):
            raise _malformed(frame, 'a response carries exactly one of "result" and "error"')
        number = frame["id"]
        error = frame.get("error")
        if "error" in frame and not isinstance(error, dict):
            raise _malformed(frame, '"error" is not an object')
        method = self.methods.get(number, "")
        what = (
            f'a response to "{method}" (id {_shown(number)})'
            if method
            else f"a response (id {_shown(number)})"
        )
        self._ours[number] = _step(self._ours, number, ANSWER, what)
        return Response(number, method, frame.get("result"), error)

    def _receive_cancel(self, frame: Frame) -> Event:
        params = frame.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        if type(number) not in (int, str, type(None)):
            return Notification(CANCEL_REQUEST, params)
        state = self._theirs.get(number, NEW)
        # Cancelling what was never sent harms nobody: the caller notes it, the run goes on.
        if (state, CANCEL) in TRANSITIONS:
            self._theirs[number] = TRANSITIONS[state, CANCEL]
        return CancelRequested(number, state)


def _step(states: dict[RequestId, str], number: RequestId, event: str, who: str) -> str:
    state = states.get(number, NEW)
    after = TRANSITIONS.get((state, event))
    if after is None:
        raise AgentError(f"{who} {BREACHES[state, event]}")
    return after


def _malformed(frame: Frame, why: str) -> AgentError:
    shown = excerpt(orjson.dumps(frame))
    return AgentError(f"the agent sent a frame that is no JSON-RPC 2.0: {why}: {shown}")


def _shown(number: RequestId) -> str:
    return orjson.dumps(number).decode()

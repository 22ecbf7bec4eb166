"""The stream-JSON of a `claude` CLI, one line a frame <-> the logical frames of `claude-agent-sdk.query`.

Theory. Two conversations share the CLI's stdin and stdout. One is messages: what the user says, what the agent says.
They cross as they are; a user's message becomes `prompt.offer`. The other is control requests, which either side makes
and the other answers under the same `request_id`:

    client asks   initialize            query.open {options}              <- query.opened {response | error}
                  interrupt             query.interrupt                   <- control.response {operation, response | error}
                  set_model             query.set_model {model}           <- the same
                  set_permission_mode   query.set_permission_mode {mode}  <- the same
                  any other             control.request {request}         <- the same, operation = its subtype
    CLI asks      can_use_tool          permission.request {toolName, input, options}
                                                                          -> permission.response {result | error}
                  any other             control.request {request}         -> control.response {operation, response | error}
    withdrawn     control_cancel_request   permission.cancelled {toolUseID}, control.cancelled {operation}

Live request ids are random, so no logical frame holds one. It travels beside the frame, as `ref`, and the wire
remembers what was asked under it. A permission's answer always names its `toolUseID`, whether or not the client's
version writes one, so an answer that went to the wrong request differs in its frame.

The same object reads and writes both directions: a peer reads outbound and writes inbound, a recorder reads both, a
client that drives a real CLI writes outbound and reads inbound. One object lives as long as one CLI process. Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from replay.errors import DivergenceError
from replay.transport.wires.claude_options import Call, initialize_of, read_argv, with_initialize

__all__ = ["LEFT_OUT", "PROTOCOL", "ClaudeWire", "Logical", "kind_of", "made_up_answer"]

type Json = Any
type Frame = dict[str, Json]

PROTOCOL = "claude-agent-sdk.query"

# Types of lines that become no frame, and why.
LEFT_OUT: Mapping[str, str] = {
    "keep_alive": "written by a timer, without content, so that an idle connection is not taken for a dead one",
}
_OPEN = "query.open"
_PERMISSION = "can_use_tool"
# Subtype of a client's request -> the frame that it is.
_CLIENT = {
    "interrupt": "query.interrupt",
    "set_model": "query.set_model",
    "set_permission_mode": "query.set_permission_mode",
}
_SUBTYPES = {operation: subtype for subtype, operation in _CLIENT.items()}
# Member of a `can_use_tool` request -> member of the logical frame's options; others keep their name.
_PERMISSION_OPTIONS = {
    "permission_suggestions": "suggestions",
    "blocked_path": "blockedPath",
    "decision_reason": "decisionReason",
    "decision_reason_type": "decisionReasonType",
    "display_name": "displayName",
    "tool_use_id": "toolUseID",
    "agent_id": "agentID",
}
_PERMISSION_MEMBERS = {option: member for member, option in _PERMISSION_OPTIONS.items()}
_ANSWER = frozenset(("type", "operation", "response", "result", "error"))
_ENVELOPE = frozenset(("subtype", "request_id", "response", "error"))
_MAX_PENDING = 4096


class Logical(NamedTuple):
    """A logical frame. ref: the live id of the request that it is, answers or withdraws; None for a message."""

    frame: Frame
    ref: str | None = None


class _Asked(NamedTuple):
    operation: str
    tool_use_id: str = ""


class ClaudeWire:
    """Translates the lines of one CLI process that was started with `argv` (its program name not included).

    Raises UsageError for a command line that this wire cannot carry, and DivergenceError for a line that breaks it.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self.call: Call = read_argv(argv)
        self._is_open = False
        self._numbers = 0
        self._by_client: dict[str, _Asked] = {}
        self._by_cli: dict[str, _Asked] = {}

    def read_outbound(self, raw: Mapping[str, Json]) -> list[Logical]:
        """A line of the CLI's stdin. The first one yields `query.open` before what it is itself."""
        kind = _text(raw, "type")
        request = _member(raw, "request") if kind == "control_request" else {}
        if request.get("subtype") == "initialize" and not self._is_open:
            return self._open(request, _identifier(raw))
        frames = self.end_outbound()
        if kind == "control_request":
            frames.append(self._read_client_request(request, _identifier(raw)))
        elif kind == "control_response":
            frames.append(self._read_client_answer(_member(raw, "response")))
        elif kind == "control_cancel_request":
            frames += _withdrawn(self._by_client, _identifier(raw))
        elif kind == "user":
            frames.append(Logical({"type": "prompt.offer", "message": dict(raw)}))
        elif kind not in LEFT_OUT:
            frames.append(Logical(dict(raw)))
        return frames

    def offer(self, text: str) -> list[Logical]:
        """A prompt that came on the command line or as plain text: what a client of stream-JSON writes for it."""
        message = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
        return self.read_outbound(message)

    def end_outbound(self) -> list[Logical]:
        """stdin ended or its first line is another request: `query.open`, where it was not yet."""
        return [] if self._is_open else self._open({}, None)

    def read_inbound(self, raw: Mapping[str, Json]) -> list[Logical]:
        """A line of the CLI's stdout."""
        kind = _text(raw, "type")
        if kind == "control_response":
            return [self._read_cli_answer(_member(raw, "response"))]
        if kind == "control_request":
            return [self._read_cli_request(_member(raw, "request"), _identifier(raw))]
        if kind == "control_cancel_request":
            return _withdrawn(self._by_cli, _identifier(raw))
        return [] if kind in LEFT_OUT else [Logical(dict(raw))]

    def write_inbound(self, frame: Mapping[str, Json], ref: str | None = None) -> list[Frame]:
        """Lines of the CLI's stdout for a frame. ref: as `read_outbound` gave it; None takes the oldest that fits."""
        kind = _text(frame, "type")
        if kind == "query.opened":
            return self._write_answer(self._by_client, _OPEN, frame, ref)
        if kind == "control.response":
            return self._write_answer(self._by_client, _text(frame, "operation"), frame, ref)
        if kind == "permission.request":
            return [self._write_request(self._by_cli, _PERMISSION, _permission_of(frame), ref)]
        if kind == "control.request":
            request = _member(frame, "request")
            return [self._write_request(self._by_cli, _text(request, "subtype"), request, ref)]
        if kind in ("permission.cancelled", "control.cancelled"):
            return _cancel(self._by_cli, frame, ref)
        return [dict(frame)]

    def write_outbound(self, frame: Mapping[str, Json], ref: str | None = None) -> list[Frame]:
        """Lines of the CLI's stdin for a frame. ref: as `read_inbound` gave it; None takes the oldest that fits."""
        kind = _text(frame, "type")
        if kind == _OPEN:
            self._is_open = True
            opening = initialize_of(_member(frame, "options"))
            return [self._write_request(self._by_client, _OPEN, opening, ref)]
        if kind == "prompt.offer":
            return [dict(_member(frame, "message"))]
        if kind in _SUBTYPES:
            rest = {key: value for key, value in frame.items() if key != "type"}
            return [self._write_request(self._by_client, kind, {"subtype": _SUBTYPES[kind], **rest}, ref)]
        if kind == "control.request":
            request = _member(frame, "request")
            return [self._write_request(self._by_client, _text(request, "subtype"), request, ref)]
        if kind == "permission.response":
            return self._write_answer(self._by_cli, _PERMISSION, frame, ref)
        if kind == "control.response":
            return self._write_answer(self._by_cli, _text(frame, "operation"), frame, ref)
        if kind == "control.cancelled":
            return _cancel(self._by_client, frame, ref)
        return [dict(frame)]

    def _open(self, request: Mapping[str, Json], ref: str | None) -> list[Logical]:
        self._is_open = True
        if ref is not None:
            _remember(self._by_client, ref, _Asked(_OPEN))
        return [Logical({"type": _OPEN, "options": with_initialize(self.call.options, request)}, ref)]

    def _read_client_request(self, request: Mapping[str, Json], ref: str) -> Logical:
        subtype = _text(request, "subtype")
        operation = _CLIENT.get(subtype, subtype)
        _remember(self._by_client, ref, _Asked(operation))
        if subtype not in _CLIENT or "type" in request:
            return Logical({"type": "control.request", "request": dict(request)}, ref)
        rest = {key: value for key, value in request.items() if key != "subtype"}
        return Logical({"type": operation, **rest}, ref)

    def _read_client_answer(self, answer: Mapping[str, Json]) -> Logical:
        ref = _identifier(answer)
        asked = self._by_cli.pop(ref, None)
        if asked is None:
            raise DivergenceError(f'the client answers the request "{ref[:80]}", which is not open')
        if asked.operation != _PERMISSION:
            return Logical(
                {"type": "control.response", "operation": asked.operation, **_outcome(answer, "response")},
                ref,
            )
        frame: Frame = {"type": "permission.response", **_outcome(answer, "result")}
        if asked.tool_use_id and isinstance(frame.get("result"), dict):
            frame["result"].setdefault("toolUseID", asked.tool_use_id)
        return Logical(frame, ref)

    def _read_cli_answer(self, answer: Mapping[str, Json]) -> Logical:
        ref = _identifier(answer)
        asked = self._by_client.pop(ref, None)
        if asked is None:
            raise DivergenceError(f'the CLI answers the request "{ref[:80]}", which is not open')
        outcome = _outcome(answer, "response")
        if asked.operation == _OPEN:
            return Logical({"type": "query.opened", **outcome}, ref)
        return Logical({"type": "control.response", "operation": asked.operation, **outcome}, ref)

    def _read_cli_request(self, request: Mapping[str, Json], ref: str) -> Logical:
        subtype = _text(request, "subtype")
        if subtype != _PERMISSION:
            _remember(self._by_cli, ref, _Asked(subtype))
            return Logical({"type": "control.request", "request": dict(request)}, ref)
        options = {
            _PERMISSION_OPTIONS.get(key, key): value
            for key, value in request.items()
            if key not in ("subtype", "tool_name", "input")
        }
        _remember(self._by_cli, ref, _Asked(subtype, str(request.get("tool_use_id") or "")))
        frame = {
            "type": "permission.request",
            "toolName": request.get("tool_name"),
            "input": request.get("input"),
            "options": options,
        }
        return Logical(frame, ref)

    def _write_request(
        self, asked: dict[str, _Asked], operation: str, request: Mapping[str, Json], ref: str | None
    ) -> Frame:
        if ref is None:
            self._numbers += 1
            ref = f"replay-{self._numbers}"
        _remember(asked, ref, _Asked(operation, str(request.get("tool_use_id") or "")))
        return {"type": "control_request", "request_id": ref, "request": dict(request)}

    def _write_answer(
        self, asked: dict[str, _Asked], operation: str, frame: Mapping[str, Json], ref: str | None
    ) -> list[Frame]:
        if ref is None or ref not in asked:
            ref = _oldest(asked, operation, _tool_use_id(frame))
        if ref is None:
            # A client that wrote no `initialize` waits for no answer to it.
            if operation == _OPEN:
                return []
            raise DivergenceError(f'the transcript answers a "{operation}" that is not open')
        del asked[ref]
        body: Frame = {"subtype": "error" if "error" in frame else "success", "request_id": ref}
        for member in ("response", "result", "error"):
            if member in frame:
                body["response" if member == "result" else member] = frame[member]
        body.update({key: value for key, value in frame.items() if key not in _ANSWER})
        return [{"type": "control_response", "response": body}]


def kind_of(frame: Mapping[str, Json]) -> str:
    """What tells one kind of frame from another: its type, and of an unnamed control request its subtype too."""
    kind = frame.get("type")
    if not isinstance(kind, str):
        return ""
    request = frame.get("request")
    if kind == "control.request" and isinstance(request, dict):
        return f"{kind}:{request.get('subtype')}"
    return kind


def made_up_answer(frame: Mapping[str, Json], answered: Collection[str]) -> Frame | None:
    """The least that a client takes for the CLI's yes to its request; None for other frames and kinds in `answered`."""
    kind = kind_of(frame)
    if kind in answered:
        return None
    if kind == _OPEN:
        return {"type": "query.opened", "response": {}}
    if kind in _SUBTYPES:
        return {"type": "control.response", "operation": kind}
    if kind.startswith("control.request:"):
        return {"type": "control.response", "operation": kind.partition(":")[2], "response": {}}
    return None


def _remember(asked: dict[str, _Asked], ref: str, what: _Asked) -> None:
    if len(asked) >= _MAX_PENDING:
        raise DivergenceError(f"more than {_MAX_PENDING} control requests of one side are open")
    asked[ref] = what


def _oldest(asked: Mapping[str, _Asked], operation: str, tool_use_id: str = "") -> str | None:
    """The oldest open request of an operation, the one about that tool call where one is named."""
    refs = [ref for ref, each in asked.items() if each.operation == operation]
    named = [ref for ref in refs if tool_use_id and asked[ref].tool_use_id == tool_use_id]
    return next(iter(named or refs), None)


def _tool_use_id(frame: Mapping[str, Json]) -> str:
    result = frame.get("result")
    given = result.get("toolUseID") if isinstance(result, dict) else frame.get("toolUseID")
    return given if isinstance(given, str) else ""


def _withdrawn(asked: Mapping[str, _Asked], ref: str) -> list[Logical]:
    """The frame of a cancel. One that crossed its answer says nothing, and one that is heeded stays answerable."""
    what = asked.get(ref)
    if what is None:
        return []
    if what.tool_use_id:
        return [Logical({"type": "permission.cancelled", "toolUseID": what.tool_use_id}, ref)]
    return [Logical({"type": "control.cancelled", "operation": what.operation}, ref)]


def _cancel(asked: Mapping[str, _Asked], frame: Mapping[str, Json], ref: str | None) -> list[Frame]:
    operation = _PERMISSION if frame["type"] == "permission.cancelled" else _text(frame, "operation")
    if ref is None or ref not in asked:
        ref = _oldest(asked, operation, _tool_use_id(frame))
    return [] if ref is None else [{"type": "control_cancel_request", "request_id": ref}]


def _permission_of(frame: Mapping[str, Json]) -> Frame:
    """The `can_use_tool` request of a `permission.request` frame."""
    options = _member(frame, "options") if "options" in frame else {}
    return {
        "subtype": _PERMISSION,
        "tool_name": frame.get("toolName"),
        "input": frame.get("input"),
        **{_PERMISSION_MEMBERS.get(key, key): value for key, value in options.items()},
    }


def _outcome(answer: Mapping[str, Json], member: str) -> Frame:
    """What an answer says: its data under `member` where it has any, or its error, and what newer versions add."""
    outcome = {key: value for key, value in answer.items() if key not in _ENVELOPE}
    if answer.get("subtype") == "error":
        outcome["error"] = answer.get("error")
    elif "response" in answer:
        data = answer["response"]
        outcome[member] = dict(data) if isinstance(data, dict) else data
    return outcome


def _member(raw: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = raw.get(name)
    if not isinstance(value, dict):
        raise DivergenceError(f'a "{raw.get("type")}" line needs an object "{name}"')
    return value


def _identifier(raw: Mapping[str, Json]) -> str:
    return _text(raw, "request_id")


def _text(raw: Mapping[str, Json], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise DivergenceError(f'a "{raw.get("type") or raw.get("subtype")}" line needs a string "{name}"')
    return value

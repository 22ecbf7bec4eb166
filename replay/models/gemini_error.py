"""Errors of the Gemini wire, both ways: the body of an error status, and an error inside a reply of status 200.

Both hold one `google.rpc.Status` written as JSON. A code of ours that no status stands for travels as the reason of
an ErrorInfo detail. Of a recorded error status message and code are kept, its other details are not.
"""

from typing import TYPE_CHECKING, Any

import orjson

from replay.models.wire import fault_code, fault_status

if TYPE_CHECKING:
    from replay.models.wire import Json

__all__ = ["decode_error", "decode_failure", "encode_error", "encode_failure"]

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_TOO_LONG = "exceeds the maximum number of tokens"


def encode_error(status: int, message: str, code: str, retry_after_ms: int | None = None) -> bytes:
    """The body of an error. code: a throw entry's code, or the gateway's own. retry_after_ms: clients of this API read it here."""
    error = _error(status, message, code)
    if retry_after_ms is not None:
        delay = {"@type": _RETRY_INFO, "retryDelay": f"{retry_after_ms / 1000:.3f}s"}
        error["details"] = [*error.get("details", []), delay]
    return orjson.dumps({"error": error})


def decode_error(status: int, body: bytes) -> tuple[str, str]:
    """Message and code of the throw entry that stands for an error reply."""
    try:
        reply = orjson.loads(body)
        # Asked for an array, the provider wraps its error in one too.
        error = (reply[0] if isinstance(reply, list) else reply)["error"]
        message = str(error["message"])
        return message, _code(status, message, error)
    except orjson.JSONDecodeError, LookupError, TypeError, AttributeError:
        return body.decode("utf-8", "replace"), fault_code(status)


def encode_failure(reason: dict[str, Json]) -> dict[str, Json]:
    """The error inside a reply. reason: that of a finish chunk of kind error."""
    failure = reason.get("failure", {})
    code = failure.get("code") or ""
    error = _error(fault_status(code), failure.get("message", ""), code)
    return {**error, **failure.get("extras", {})}


def decode_failure(error: Json) -> dict[str, Json]:
    """The finish reason that stands for an error inside a reply of status 200."""
    if not isinstance(error, dict):
        return {"kind": "error", "failure": {"message": str(error)}}
    status = error.get("code")
    if not isinstance(status, int) or not 400 <= status <= 599:
        status = 500
    message = str(error.get("message", ""))
    failure: dict[str, Any] = {"message": message, "code": _code(status, message, error)}
    again = _error(fault_status(failure["code"]), message, failure["code"])
    extras = {name: value for name, value in error.items() if again.get(name) != value}
    return {"kind": "error", "failure": failure | ({"extras": extras} if extras else {})}


def _error(status: int, message: str, code: str) -> dict[str, Json]:
    error: dict[str, Json] = {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}
    if code and code not in (fault_code(status), str(status)):
        error["details"] = [{"@type": _ERROR_INFO, "reason": code, "domain": "agent_replay"}]
    return error


def _code(status: int, message: str, error: dict[str, Json]) -> str:
    details = error.get("details")
    reason = ""
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and detail.get("@type") == _ERROR_INFO:
            reason = str(detail.get("reason", ""))
    if status == 400 and (reason == "CONTEXT" or _TOO_LONG in message):
        return "CONTEXT"
    if status == 500 and reason:
        return reason
    return fault_code(status)

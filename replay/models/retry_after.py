"""When a provider that refused a call wants to be asked again, as its answer says it.

In the order in which clients look: `retry-after-ms`, `retry-after` in seconds or as a date, and in the body the RetryInfo
of a `google.rpc.Status`. Sources: RFC 9110 section 10.2.3, google/rpc/error_details.proto.
"""

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_RETRY_AFTER_MS", "retry_after_ms"]

MAX_RETRY_AFTER_MS: Final = 24 * 60 * 60 * 1000
"""A day. Longer is no other behaviour of an agent, and the number goes into a fixture."""

_RETRY_INFO: Final = "type.googleapis.com/google.rpc.RetryInfo"
_MAX_CHARACTERS: Final = 40


def retry_after_ms(headers: Mapping[str, str], body: bytes) -> int | None:
    """Milliseconds from the answer on, at most MAX_RETRY_AFTER_MS; None where it does not say or cannot be read.

    headers: of the answer, names in lower case. body: its own, whole.
    """
    milliseconds = headers.get("retry-after-ms", "")
    seconds = headers.get("retry-after", "")
    for found in (
        _bounded(milliseconds, 1),
        _bounded(seconds, 1000),
        _until(seconds, headers.get("date", "")),
        _told(body),
    ):
        if found is not None:
            return found
    return None


def _bounded(text: str, unit_ms: int) -> int | None:
    """A decimal number of some unit, in milliseconds; None for anything else."""
    whole, _, fraction = text.strip().partition(".")
    digits = whole + fraction
    if not (whole and digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_CHARACTERS):
        return None
    return min(round(float(text) * unit_ms), MAX_RETRY_AFTER_MS)


def _until(date: str, now: str) -> int | None:
    """From one HTTP date to another: by the provider's clock alone, for ours may differ."""
    try:
        seconds = (parsedate_to_datetime(date) - parsedate_to_datetime(now)).total_seconds()
    except TypeError, ValueError, OverflowError:
        return None
    return min(max(round(seconds * 1000), 0), MAX_RETRY_AFTER_MS)


def _told(body: bytes) -> int | None:
    """The delay of a RetryInfo, `{"retryDelay": "3.5s"}`."""
    try:
        reply = orjson.loads(body)
        # Asked for an array, the provider wraps its error in one too.
        details = (reply[0] if isinstance(reply, list) else reply)["error"]["details"]
        for detail in details:
            if detail.get("@type") == _RETRY_INFO and detail["retryDelay"].endswith("s"):
                return _bounded(detail["retryDelay"][:-1], 1000)
    except orjson.JSONDecodeError, LookupError, TypeError, AttributeError:
        return None
    return None

"""When a provider wants to be asked again: what of its answer says so, and what is no such thing."""

import orjson
import pytest

from replay.models.gemini import encode_error
from replay.models.retry_after import MAX_RETRY_AFTER_MS, retry_after_ms


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20_000),
        ({"retry-after": "0"}, 0),
        ({"retry-after": " 1.5 "}, 1500),
        ({"retry-after-ms": "1234"}, 1234),
        ({"retry-after-ms": "1234.6"}, 1235),
        ({"retry-after-ms": "1234", "retry-after": "2"}, 1234),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2000),
        ({"retry-after": "99999999"}, MAX_RETRY_AFTER_MS),
        ({"retry-after": "9" * 40}, MAX_RETRY_AFTER_MS),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": ""}, None),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            30_000,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    ],
)
def test_headers_are_read_as_clients_read_them(headers, found):
    assert retry_after_ms(headers, b"") == found


def test_body_of_gemini_says_it_where_no_header_does():
    body = encode_error(429, "slow down", "RATE_LIMIT", 3500)
    assert retry_after_ms({}, body) == 3500
    assert retry_after_ms({}, b"[" + body + b"]") == 3500
    assert retry_after_ms({"retry-after": "1"}, body) == 1000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"null",
        b"[]",
        b'{"error":"slow down"}',
        b'{"error":{"details":null}}',
        b'{"error":{"details":["x"]}}',
        b'{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo"}]}}',
        b'{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":3}]}}',
        b'{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3m"}]}}',
    ],
)
def test_other_bodies_say_nothing(body):
    assert retry_after_ms({}, body) is None


def test_whatever_the_body_says_is_bounded():
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31536000s"}
    assert retry_after_ms({}, orjson.dumps({"error": {"details": [delay]}})) == MAX_RETRY_AFTER_MS

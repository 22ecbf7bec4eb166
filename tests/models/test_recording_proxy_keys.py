"""The provider's key goes up and nowhere else, and headers go only where they belong."""

import httpx
import openai
import pytest

from replay.errors import UsageError
from replay.models.recording_proxy import RecordingProxy
from replay.models.upstream import Upstream
from tests.models.provider import Answer, refusal, said
from tests.models.proxy_run import HELLO, KEY, calls_of, key, post, stream


def test_real_key_goes_up_and_the_dummy_does_not(record):
    provider, proxy = record(said("x"), said("x"))
    httpx.post(
        proxy.base_url + "/chat/completions?key=dummy&a=b&oauth_token=dummy",
        json={"model": "m", "messages": HELLO, "stream": True},
        headers={
            "authorization": "Bearer dummy",
            "x-api-key": "dummy",
            "cookie": "dummy",
            "openai-beta": "b",
        },
    )
    seen = provider.seen[0]
    assert seen.headers["authorization"] == f"Bearer {KEY}" and seen.headers["openai-beta"] == "b"
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.path == "/v1/chat/completions?a=b"
    assert "dummy" not in str(seen)


def test_only_known_headers_come_back(record):
    _, proxy = record(
        Answer(
            said("x").parts,
            200,
            [("content-type", "text/event-stream"), ("x-request-id", "r"), ("set-cookie", "c")],
        )
    )
    answer = httpx.post(
        proxy.base_url + "/chat/completions", json={"model": "m", "messages": HELLO, "stream": True}
    )
    assert answer.headers["x-request-id"] == "r"
    assert not {"x-internal", "set-cookie", "server", "date"} & set(answer.headers)


def test_without_a_key_none_goes_up(record):
    provider, proxy = record(said("x"), api_key="")
    stream(proxy)
    assert "authorization" not in provider.seen[0].headers


def test_key_that_the_provider_quotes_goes_nowhere(record):
    _, proxy = record(refusal(401, f"wrong key {KEY}"))
    with pytest.raises(openai.AuthenticationError) as refused:
        stream(proxy)
    assert KEY not in refused.value.response.text
    assert KEY not in str(proxy.calls[0].outcome)


def test_key_that_a_stream_quotes_goes_nowhere(record):
    _, proxy = record(Answer([f'data: {{"error":{{"message":"wrong key {KEY}"}}}}\n\n'.encode()]))
    assert "wrong key [key]" in post(proxy).text
    assert KEY not in str(calls_of(proxy)[0].chunks)


def test_key_in_a_header_that_is_none_goes_nowhere(record):
    _, proxy = record(Answer([], 200, [("x-echo ", KEY)]))
    assert KEY not in post(proxy).text
    assert KEY not in str(proxy.divergence) and "illegal header line" in str(proxy.divergence)


@pytest.mark.parametrize("api_key", [KEY + "\n", KEY + " ", " " + KEY, KEY + "é", KEY + "\x7f"])
def test_key_that_no_header_takes_is_refused_and_not_shown(api_key):
    upstream = Upstream("http://127.0.0.1:9", "/v1")
    with pytest.raises(UsageError) as refused:
        RecordingProxy("openai_chat", upstream, key, api_key=api_key)
    assert KEY not in str(refused.value) + refused.value.fix
    upstream.close()


def test_headers_beyond_ascii_stay_where_they_are(record):
    headers = [("content-type", "text/event-stream"), ("x-request-id", "\xe9")]
    provider, proxy = record(Answer(said("x").parts, 200, headers))
    answer = post(proxy, headers={"user-agent": b"\xe9", "openai-beta": "b"})
    assert answer.status_code == 200 and "x-request-id" not in answer.headers
    assert "user-agent" not in provider.seen[0].headers and provider.seen[0].headers["openai-beta"] == "b"


def test_cookie_of_a_provider_is_not_sent_back(record):
    provider, proxy = record(Answer(said("x").parts, 200, [("set-cookie", "a=b; Path=/")]), said("y"))
    stream(proxy), stream(proxy)
    assert "cookie" not in provider.seen[1].headers

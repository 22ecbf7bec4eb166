"""A live call that fails, breaks off or is left alone ends, and is noted as what it was."""

import threading

import httpx
import openai
import pytest

from replay.errors import UsageError
from replay.models.recording_proxy import RecordingProxy
from replay.models.upstream import Upstream
from tests.models.provider import HOLD, Answer, Provider, broken, refusal, said
from tests.models.proxy_run import HELLO, calls_of, client, key, kinds, stream, text_of


def test_error_status_is_a_failed_call(record):
    _, proxy = record(refusal(429, "slow down", ("retry-after", "7")))
    with pytest.raises(openai.RateLimitError) as refused:
        stream(proxy)
    assert refused.value.response.headers["retry-after"] == "7"
    assert calls_of(proxy)[0].outcome == {
        "kind": "failed", "message": "slow down", "code": "RATE_LIMIT", "retryAfterMs": 7000,
    }  # fmt: skip
    assert calls_of(proxy)[0].chunks == [] and proxy.divergence is None


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("part", [b": keep-alive\n\n", *said("x").parts[:1]])
def test_reply_that_never_ends_is_ended(record, monkeypatch, part, is_stream):
    monkeypatch.setattr("replay.models.upstream.MAX_REPLY_BYTES", 1000)
    provider, proxy = record(Answer([*[part] * 1000, HOLD]))
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(
            proxy.base_url + "/chat/completions",
            json={"model": "m", "messages": HELLO, "stream": is_stream},
        )
    [call] = calls_of(proxy)
    assert call.outcome == {
        "kind": "failed", "message": "the reply is larger than 1000 bytes", "code": "INCOMPLETE",
    }  # fmt: skip
    assert provider.left.wait(10)


@pytest.mark.parametrize("is_stream", [True, False])
def test_reply_without_content_is_a_failed_call(record, is_stream):
    _, proxy = record(Answer([], 204, []))
    httpx.post(
        proxy.base_url + "/chat/completions", json={"model": "m", "messages": HELLO, "stream": is_stream}
    )
    assert calls_of(proxy)[0].outcome["kind"] == "failed"


def test_stream_that_breaks_is_a_failed_call_with_its_prefix(record):
    _, proxy = record(broken("Hel", "lo"))
    with pytest.raises((httpx.HTTPError, openai.APIError)):
        stream(proxy)
    [call] = calls_of(proxy)
    assert call.outcome["kind"] == "failed" and call.outcome["code"] == "INCOMPLETE"
    assert kinds(call) == ["block-start", "text-delta", "text-delta"]


def test_stream_without_an_end_is_a_failed_call(record):
    _, proxy = record(Answer(said("Hel", "lo").parts[:1]))
    assert text_of(stream(proxy)) == "Hel"
    assert calls_of(proxy)[0].outcome["kind"] == "failed"


def test_stream_that_is_not_of_this_wire_is_a_failed_call(record):
    _, proxy = record(Answer([b"data: <html>\n\n"]))
    httpx.post(proxy.base_url + "/chat/completions", json={"model": "m", "messages": HELLO, "stream": True})
    assert calls_of(proxy)[0].outcome["code"] == "MALFORMED"


def test_client_that_leaves_ends_the_call_upstream(record):
    provider, proxy = record(Answer([*said("Hel").parts[:1], HOLD]))
    with client(proxy) as it, it.chat.completions.create(model="m", messages=HELLO, stream=True) as events:
        next(events)
    assert provider.left.wait(10)
    assert calls_of(proxy)[0].outcome == {"kind": "cancelled"}
    assert kinds(calls_of(proxy)[0]) == ["block-start", "text-delta"]


def test_client_that_leaves_after_the_last_event_has_completed_the_call(record):
    told = []
    provider, proxy = record(Answer([*said("Hel").parts, HOLD]), ended=told.append)
    with (
        httpx.Client() as it,
        it.stream(
            "POST",
            proxy.base_url + "/chat/completions",
            json={"model": "m", "messages": HELLO, "stream": True},
        ) as answer,
    ):
        for line in answer.iter_lines():
            if line == "data: [DONE]":
                break
    assert provider.left.wait(10)
    assert calls_of(proxy)[0].outcome == {"kind": "completed"} and told == proxy.calls
    assert kinds(calls_of(proxy)[0])[-1] == "finish"


def test_client_that_leaves_before_the_answer_begins_ends_the_call(record):
    provider, proxy = record(Answer([HOLD]))
    with httpx.Client() as it, pytest.raises(httpx.TimeoutException):
        it.post(
            proxy.base_url + "/chat/completions",
            json={"model": "m", "messages": HELLO, "stream": True},
            timeout=0.3,
        )
    assert provider.left.wait(10)
    assert calls_of(proxy)[0].outcome == {"kind": "cancelled"}


def test_stop_ends_a_call_that_is_silent(record):
    provider, proxy = record(Answer([*said("Hel").parts[:1], HOLD]))

    def ask():
        with pytest.raises((httpx.HTTPError, openai.APIError)):
            stream(proxy)

    asked = threading.Thread(target=ask)
    asked.start()
    while not proxy.calls or not list(proxy.calls[0].chunks):
        pass
    proxy.stop()
    asked.join(10)
    assert not asked.is_alive() and provider.left.wait(10)


def test_dead_upstream_is_a_sentence():
    with Provider() as gone:
        url = gone.url
    proxy = RecordingProxy("openai_chat", Upstream(url, "/v1"), key)
    proxy.start()
    try:
        with pytest.raises(openai.InternalServerError):
            stream(proxy)
    finally:
        proxy.stop()
    assert isinstance(proxy.divergence, UsageError)
    assert str(proxy.divergence) == f"{url} does not answer: Connection refused"


def test_redirect_is_not_followed(record):
    _, proxy = record(Answer([], 307, [("location", "http://127.0.0.1:9/v1")]))
    with pytest.raises(openai.InternalServerError):
        stream(proxy)
    assert "redirect" in str(proxy.divergence)

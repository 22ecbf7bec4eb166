"""The recording proxy between a real client and a scripted provider: what goes up, what comes back, what is noted."""

import threading

import httpx
import openai
import pytest

from replay.errors import UsageError
from replay.models.endpoint import Endpoint
from replay.models.gateway import Gateway
from replay.models.recording_proxy import Earlier
from replay.models.upstream import Upstream
from replay.script import Player
from tests.models import recording
from tests.models.provider import HOLD, Answer, refusal, said, tool, whole
from tests.models.proxy_run import HELLO, calls_of, client, key, kinds, post, stream, text_of


def test_stream_reaches_the_client_and_is_noted(record):
    provider, proxy = record(said("Hel", "lo"))
    assert text_of(stream(proxy)) == "Hello"
    [call] = calls_of(proxy)
    assert kinds(call) == ["block-start", "text-delta", "text-delta", "block-end", "usage", "finish"]
    assert call.outcome == {"kind": "completed"} and call.key == "key of m"
    assert call.request.messages[-1]["content"] in ("hello", [{"type": "text", "text": "hello"}])
    assert provider.seen[0].path == "/v1/chat/completions"
    assert proxy.divergence is None and proxy.findings == []


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_upstream_is_an_origin_or_a_base_url(record, path):
    provider, proxy = record(said("x"), path=path)
    stream(proxy)
    assert provider.seen[0].path == "/v1/chat/completions"


def test_other_model_is_asked_and_the_agents_stays_in_the_request(record):
    provider, proxy = record(said("x"), model="other")
    stream(proxy)
    assert provider.seen[0].body["model"] == "other"
    assert calls_of(proxy)[0].request.model == "m"


def test_pieces_come_as_they_arrive(record):
    half = said("Hel", "lo")
    provider, proxy = record(Answer([*half.parts[:1], HOLD, *half.parts[1:]]))
    with client(proxy) as it, it.chat.completions.create(model="m", messages=HELLO, stream=True) as events:
        assert next(events).choices[0].delta.content == "Hel"
        provider.release.set()
        assert text_of(events) == "lo"


def test_whole_reply_is_noted(record):
    _, proxy = record(whole("Hello"))
    with client(proxy) as it:
        reply = it.chat.completions.create(model="m", messages=HELLO)
    assert reply.choices[0].message.content == "Hello"
    assert kinds(calls_of(proxy)[0])[-2:] == ["usage", "finish"]


def test_whole_reply_to_a_call_for_a_stream_is_noted(record):
    _, proxy = record(whole("Hello"))
    httpx.post(proxy.base_url + "/chat/completions", json={"model": "m", "messages": HELLO, "stream": True})
    assert calls_of(proxy)[0].outcome == {"kind": "completed"}
    assert "text-delta" in kinds(calls_of(proxy)[0])


def test_tool_call_is_noted(record):
    _, proxy = record(tool("read", '{"path"', ':"a"}'))
    stream(proxy)
    block = next(chunk["block"] for chunk in calls_of(proxy)[0].chunks if chunk["type"] == "block-end")
    assert block == {"type": "tool-call", "id": "call_1", "name": "read", "arguments": '{"path":"a"}'}


def test_calls_that_end_at_once_are_told_of_one_by_one(record):
    meeting = threading.Barrier(2)
    told = []

    def ended(call):
        try:
            meeting.wait(0.3)
        except threading.BrokenBarrierError:
            told.append(call)

    _, proxy = record(whole("a"), whole("b"), ended=ended)
    asking = [threading.Thread(target=post, args=[proxy]) for _ in range(2)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len(told) == 2


def test_attempt_to_leave_is_refused_and_named(record):
    provider, proxy = record()
    answer = httpx.get("http://example.com/x", proxy=proxy.origin)
    assert answer.status_code == 403 and provider.seen == []
    assert proxy.findings[0]["kind"] == "egress"
    assert "a recording reaches the model's provider and nothing else" in proxy.findings[0]["message"]
    assert isinstance(proxy, Endpoint)


def test_question_about_models_is_answered_here(record):
    provider, proxy = record()
    assert httpx.get(proxy.base_url + "/models").status_code == 200
    assert provider.seen == [] and proxy.calls == []


def test_each_live_call_is_told_of_when_it_ends(record):
    told = []
    _, proxy = record(said("a"), refusal(500, "no"), ended=told.append)
    stream(proxy)
    with pytest.raises(openai.InternalServerError):
        stream(proxy)
    assert [call.outcome["kind"] for call in told] == ["completed", "failed"]


def test_earlier_calls_come_from_the_recording(record):
    lanes = recording.lanes_of(recording.said("old"))
    gateway = Gateway(Player(lanes), "openai_chat", key=key)
    provider, proxy = record(said("new"), earlier=Earlier(gateway, 1))
    assert text_of(stream(proxy)) == "old" and provider.seen == []
    assert text_of(stream(proxy)) == "new" and len(provider.seen) == 1
    assert len(proxy.calls) == 2


@pytest.mark.parametrize(
    "url",
    [
        *("", "nonsense", "ftp://host", "http://"),
        *("http://user:pass@host", "http://user:pass@", "ftp://user:pass@host", "user:pass@host:1"),
        *("http://h/v1?key=pass", "http://[/?key=pass", "http://h:99999999/#pass"),
    ],
)
def test_url_that_is_none_is_refused(url):
    with pytest.raises(UsageError) as refused:
        Upstream(url, "/v1")
    assert "pass" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "base", "target", "asked"),
    [
        ("https://a.example", "/v1", "/v1/chat/completions?x=1", "https://a.example/v1/chat/completions?x=1"),
        ("https://a.example/api/v1", "/v1", "/v1/models", "https://a.example/api/v1/models"),
        ("https://a.example/api/paas/v4", "/v1", "/v1/chat/completions", "https://a.example/api/paas/v4/chat/completions"),
        ("https://a.example/v1", "", "/v1/messages", "https://a.example/v1/messages"),
        ("https://a.example/anthropic", "", "/v1/messages", "https://a.example/anthropic/v1/messages"),
        ("https://a.example/v1beta/", "", "/v1beta/models/m:generateContent", "https://a.example/v1beta/models/m:generateContent"),
    ],
)  # fmt: skip
def test_url_is_joined_without_repetition(url, base, target, asked):
    upstream = Upstream(url, base)
    assert upstream.url_of(target) == asked
    upstream.close()

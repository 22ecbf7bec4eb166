"""The recording proxy between a real client and a scripted provider: what goes up, what comes back, what is noted."""

import threading
from pathlib import Path

import httpx
import openai
import pytest

from replay.errors import UsageError
from replay.models.endpoint import Endpoint
from replay.models.gateway import Gateway
from replay.models.recording_proxy import Earlier, RecordingProxy
from replay.models.upstream import Upstream
from replay.script import Player
from tests.models import recording
from tests.models.provider import HOLD, Answer, Provider, broken, refusal, said, tool, whole

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-real-0123456789"


def key(request):
    return f"key of {request.model}"


@pytest.fixture
def record():
    """Starts a provider with answers and a proxy before it; afterwards nothing of either is left."""
    made = []
    descriptors = len(list(Path("/proc/self/fd").iterdir()))

    def start(*answers, path="/v1", **options):
        provider = Provider(*answers)
        provider.__enter__()
        options = {"api_key": KEY, **options}
        proxy = RecordingProxy("openai_chat", Upstream(provider.url + path, "/v1"), key, **options)
        proxy.start()
        made.append((provider, proxy))
        return provider, proxy

    yield start
    for provider, proxy in made:
        proxy.stop()
        proxy.stop()
        provider.__exit__()
        assert proxy.fault is None
    assert not [thread for thread in threading.enumerate() if thread.name == "gateway"]
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def client(proxy):
    return openai.OpenAI(base_url=proxy.base_url, api_key="dummy", max_retries=0)


def stream(proxy, **options):
    with client(proxy) as it:
        return list(it.chat.completions.create(model="m", messages=HELLO, stream=True, **options))


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def calls_of(proxy):
    """The calls, complete."""
    proxy.stop()
    return proxy.calls


def kinds(call):
    return [chunk["type"] for chunk in call.chunks]


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


def test_error_status_is_a_failed_call(record):
    _, proxy = record(refusal(429, "slow down", ("retry-after", "7")))
    with pytest.raises(openai.RateLimitError) as refused:
        stream(proxy)
    assert refused.value.response.headers["retry-after"] == "7"
    assert calls_of(proxy)[0].outcome == {
        "kind": "failed", "message": "slow down", "code": "RATE_LIMIT", "retryAfterMs": 7000,
    }  # fmt: skip
    assert calls_of(proxy)[0].chunks == [] and proxy.divergence is None


def test_key_that_the_provider_quotes_goes_nowhere(record):
    _, proxy = record(refusal(401, f"wrong key {KEY}"))
    with pytest.raises(openai.AuthenticationError) as refused:
        stream(proxy)
    assert KEY not in refused.value.response.text
    assert KEY not in str(proxy.calls[0].outcome)


def post(proxy, **options):
    body = {"model": "m", "messages": HELLO, "stream": True}
    return httpx.post(proxy.base_url + "/chat/completions", json=body, **options)


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

"""The gateway as agents see it: through the real `openai` client, and what it tells the runner."""

import asyncio
import threading
import time

import openai
import orjson
import pytest

from replay.errors import FixtureError, UsageError
from replay.models.call_log import log_rows
from replay.models.gateway import Gateway
from replay.script import Player, derive_lanes
from replay.session import read_log
from tests.models.recording import failure, hang, lanes_of, said, tool_call

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def serve(tmp_path):
    """Starts gateways; afterwards stops them and proves that no thread is left."""
    gateways = []
    before = set(threading.enumerate())

    def start(*entries, children=(), **options):
        journal = []
        player = Player(lanes_of(*entries, children=children), journal=journal.append)
        gateway = Gateway(player, "openai_chat", cwd=str(tmp_path), journal=journal, **options)
        gateway.start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.stop()
        gateway.stop()
        assert gateway.fault is None
    assert set(threading.enumerate()) - before <= {t for t in threading.enumerate() if t.name != "gateway"}


def client(gateway, **options):
    return openai.OpenAI(base_url=gateway.base_url, api_key="sk-secret", max_retries=0, **options)


def ask(gateway, messages=HELLO, **options):
    with client(gateway) as it:
        return it.chat.completions.create(model="m", messages=messages, **options)


def stream(gateway, messages=HELLO, **options):
    with client(gateway) as it:
        return list(it.chat.completions.create(model="m", messages=messages, stream=True, **options))


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_streamed_reply_reaches_the_client(serve):
    gateway = serve(said("Hel", "lo", reasoning=["h", "m"]))
    chunks = stream(gateway, stream_options={"include_usage": True})
    assert text_of(chunks) == "Hello"
    assert "".join(getattr(c.choices[0].delta, "reasoning_content", "") for c in chunks[:-1]) == "hm"
    assert {chunk.id for chunk in chunks} == {"chatcmpl-1"} and {chunk.model for chunk in chunks} == {"m"}
    assert chunks[-2].choices[0].finish_reason == "stop"
    usage = chunks[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (12, 3, 15)
    assert usage.prompt_tokens_details.cached_tokens == 4
    assert usage.completion_tokens_details.reasoning_tokens == 1


def test_whole_reply_reaches_the_client(serve):
    reply = ask(serve(said("Hello", reasoning=["hm"])))
    assert reply.choices[0].message.content == "Hello"
    assert reply.choices[0].message.reasoning_content == "hm"
    assert reply.choices[0].finish_reason == "stop" and reply.usage.total_tokens == 15
    assert (reply.id, reply.created, reply.model, reply._request_id) == ("chatcmpl-1", 0, "m", "req-1")


@pytest.mark.parametrize("streamed", [True, False])
def test_client_accumulates_parallel_tool_calls(serve, streamed):
    gateway = serve(tool_call(("a", "bash", '{"x":1}'), ("b", "read", "{}")))
    if streamed:
        with client(gateway) as it, it.chat.completions.stream(model="m", messages=HELLO) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = ask(gateway).choices[0].message
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls]
    assert calls == [("a", "bash", '{"x":1}'), ("b", "read", "{}")]


def test_conversation_goes_on_in_its_lane(serve):
    gateway = serve(tool_call(("a", "bash", "{}")), said("done"))
    with client(gateway) as it:
        first = it.chat.completions.create(model="m", messages=HELLO).choices[0].message
        result = {"role": "tool", "tool_call_id": "a", "content": "out"}
        second = it.chat.completions.create(model="m", messages=[*HELLO, first.model_dump(), result])
    assert second.choices[0].message.content == "done"
    assert second.id == "chatcmpl-2"
    assert [(entry["kind"], entry["lane"], entry["ordinal"]) for entry in gateway.journal] == [
        ("call", "parent", 1),
        ("call", "parent", 2),
    ]
    seen = gateway.calls[1]
    assert (seen.lane, seen.ordinal, seen.request.model) == ("parent", 2, "m")
    assert [message["role"] for message in seen.request.messages] == ["user", "assistant", "tool"]
    assert (seen.chunks, seen.outcome) == (said("done"), {"kind": "completed"})
    assert b"sk-secret" not in orjson.dumps([list(call.request) for call in gateway.calls])


def test_calls_of_a_gateway_are_a_log_that_replays(serve):
    gateway = serve(tool_call(("a", "bash", "{}")), failure("hot", "529"), said("done"))
    with client(gateway) as it:
        first = it.chat.completions.create(model="m", messages=HELLO, max_tokens=9).choices[0].message
        talk = [*HELLO, first.model_dump(), {"role": "tool", "tool_call_id": "a", "content": "out"}]
        with pytest.raises(openai.InternalServerError):
            it.chat.completions.create(model="m", messages=talk, max_tokens=9)
        it.chat.completions.create(model="m", messages=talk, max_tokens=9)
    (rows,) = log_rows(gateway.calls, "/w")
    kinds = [row["type"] for row in rows if row["type"] != "assistant/chunk"]
    assert kinds == [
        *("session", "turn/start", "user/message", "request/header", "call/start", "call/end"),
        *("tool/result", "call/start", "call/end", "call/start", "call/end"),
    ]
    (lane,) = derive_lanes([read_log(b"".join(orjson.dumps(row) + b"\n" for row in rows), "session.jsonl")])
    second = Gateway(Player([lane]), "openai_chat")
    second.start()
    try:
        with client(second) as it:
            it.chat.completions.create(model="m", messages=HELLO, max_tokens=9)
            with pytest.raises(openai.InternalServerError):
                it.chat.completions.create(model="m", messages=talk, max_tokens=9)
            it.chat.completions.create(model="m", messages=talk, max_tokens=9)
    finally:
        second.stop()
    assert log_rows(second.calls, "/w") == [rows]
    assert [call.key for call in lane.calls] == [call.key for call in second.calls]


def test_recorded_time_to_wait_is_told_to_the_client(serve):
    gateway = serve({**failure("slow down", "RATE_LIMIT"), "retryAfterMs": 2500})
    with pytest.raises(openai.RateLimitError) as raised:
        ask(gateway)
    headers = raised.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("3", "2500")


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("AUTH", 401, openai.AuthenticationError),
        ("RATE_LIMIT", 429, openai.RateLimitError),
        ("OVERLOADED", 503, openai.InternalServerError),
        ("CONTEXT", 400, openai.BadRequestError),
        ("422", 422, openai.UnprocessableEntityError),
        ("529", 529, openai.InternalServerError),
        ("BOOM", 500, openai.InternalServerError),
        ("700", 500, openai.InternalServerError),
    ],
)
def test_throw_before_the_stream_is_an_error_status(serve, streamed, code, status, error):
    gateway = serve(failure("it failed", code))
    with pytest.raises(error, match="it failed") as raised:
        ask(gateway, stream=streamed)
    assert raised.value.status_code == status
    assert ("retry-after" in raised.value.response.headers) == (status == 429)
    assert gateway.divergence is None


def test_client_retries_a_rate_limit_into_the_next_entry(serve):
    gateway = serve(failure("slow down", "RATE_LIMIT"), said("now"))
    with openai.OpenAI(base_url=gateway.base_url, api_key="x", max_retries=1) as it:
        reply = it.chat.completions.create(model="m", messages=HELLO)
    assert reply.choices[0].message.content == "now"


def test_throw_with_a_prefix_breaks_the_stream(serve):
    gateway = serve(failure("gone", "TRANSPORT", said("par", "tial")[:3]), said("again"))
    seen = []
    with client(gateway) as it:
        with pytest.raises(openai.APIConnectionError):
            for chunk in it.chat.completions.create(model="m", messages=HELLO, stream=True):
                seen.append(chunk)
        assert text_of(seen) == "partial"
        assert it.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "again"


def test_throw_with_a_prefix_breaks_a_whole_reply(serve):
    with pytest.raises(openai.APIConnectionError):
        ask(serve(failure("gone", "TRANSPORT", said("partial")[:2])))


def test_error_inside_a_stream_is_the_client_s_error(serve):
    finish = {"type": "finish", "reason": {"kind": "error", "failure": {"message": "hot", "code": "X"}}}
    with pytest.raises(openai.APIError, match="hot"):
        stream(serve([*said("a")[:2], finish]))


@pytest.mark.parametrize("streamed", [True, False])
def test_hang_holds_until_the_client_cancels(serve, tmp_path, streamed):
    gateway = serve(hang("sub/ready", said("a", "b")[:3]), said("next"))
    seen = []

    async def cancel_when_ready():
        async with openai.AsyncOpenAI(base_url=gateway.base_url, api_key="x", max_retries=0) as it:

            async def call():
                reply = await it.chat.completions.create(model="m", messages=HELLO, stream=streamed)
                async for chunk in reply:
                    seen.append(chunk)

            task = asyncio.create_task(call())
            while not (tmp_path / "sub/ready").exists():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            reply = await it.chat.completions.create(model="m", messages=HELLO)
            return reply.choices[0].message.content

    assert asyncio.run(cancel_when_ready()) == "next"
    assert text_of(seen) == ("ab" if streamed else "")


def test_stop_ends_a_hang(serve, tmp_path):
    gateway = serve(hang("ready"))
    raised = []

    def call():
        try:
            stream(gateway)
        except openai.APIConnectionError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    gateway.stop()
    thread.join(10)
    assert raised and not thread.is_alive()


def test_ready_file_outside_cwd_is_the_fixture_s_error(serve, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path.parent)
    gateway = serve(hang("link/out"))
    with pytest.raises(openai.APIConnectionError):
        stream(gateway)
    gateway.stop()
    assert isinstance(gateway.divergence, FixtureError)
    assert not (tmp_path.parent / "out").exists()


def test_call_beyond_the_recording_is_named_to_agent_and_runner(serve):
    gateway = serve(said("one"))
    ask(gateway)
    with pytest.raises(openai.BadRequestError, match="agent_replay") as raised:
        ask(gateway, [*HELLO, {"role": "assistant", "content": "one"}, {"role": "user", "content": "more"}])
    assert raised.value.code == "agent_replay_divergence"
    assert gateway.divergence is not None and "parent" in str(gateway.divergence)
    assert [entry["kind"] for entry in gateway.journal] == ["call", "diverged"]
    assert (gateway.calls[1].lane, gateway.calls[1].ordinal) == ("", 0)


def test_refused_request_is_a_finding_and_no_call(serve):
    gateway = serve(said("one"))
    with pytest.raises(openai.BadRequestError, match="one choice"):
        ask(gateway, n=2)
    assert [finding["kind"] for finding in gateway.findings] == ["request"]
    assert ask(gateway).choices[0].message.content == "one"


def test_models_are_listed_to_the_client(serve):
    gateway = serve(said("x"), models=["m", "n"])
    with client(gateway) as it:
        assert [model.id for model in it.models.list()] == ["m", "n"]
        assert it.models.retrieve("n").id == "n"
        with pytest.raises(openai.NotFoundError):
            it.models.retrieve("o")
    assert gateway.findings == []


def test_route_of_another_api_is_a_finding(serve):
    gateway = serve(said("x"))
    with client(gateway) as it, pytest.raises(openai.NotFoundError, match="/v1/responses"):
        it.responses.create(model="m", input="hi")
    assert gateway.findings[0]["kind"] == "route" and "/v1/responses" in gateway.findings[0]["message"]


def test_fifty_lanes_stream_at_once_in_any_order(serve):
    count = 50
    children = [
        (f"task {k}", [said(*(f"{k}.{n} " for n in range(40))), said(f"end {k}")])
        for k in range(1, count + 1)
    ]
    gateway = serve(children=children)

    async def lane(it, k):
        messages = [{"role": "user", "content": f"task {k}"}]
        parts = []
        reply = await it.chat.completions.create(model="m", messages=messages, stream=True)
        async for chunk in reply:
            parts.append(chunk.choices[0].delta.content or "")
            assert chunk.id == f"chatcmpl-child-{k}-1"
        messages += [{"role": "assistant", "content": "".join(parts)}, {"role": "user", "content": "go on"}]
        last = await it.chat.completions.create(model="m", messages=messages)
        return "".join(parts), last.choices[0].message.content

    async def all_lanes():
        async with openai.AsyncOpenAI(base_url=gateway.base_url, api_key="x", max_retries=0) as it:
            return await asyncio.gather(*(lane(it, k) for k in reversed(range(1, count + 1))))

    replies = asyncio.run(all_lanes())
    expected = [("".join(f"{k}.{n} " for n in range(40)), f"end {k}") for k in reversed(range(1, count + 1))]
    assert replies == expected
    assert gateway.divergence is None and len(gateway.journal) == 2 * count


def test_unknown_wire_lists_the_known():
    with pytest.raises(UsageError, match="no wire codec is named 'grpc'") as raised:
        Gateway(Player(lanes_of(said("x"))), "grpc")
    assert "openai_chat" in raised.value.fix


def test_same_calls_give_the_same_bytes(serve):
    gateways = [serve(said("a", "b", reasoning=["c"])) for _ in range(2)]
    raw = []
    for gateway in gateways:
        with client(gateway) as it:
            response = it.chat.completions.with_raw_response.create(model="m", messages=HELLO, stream=True)
            raw.append((b"".join(response.http_response.iter_raw()), response.http_response.headers.raw))
    assert raw[0] == raw[1]

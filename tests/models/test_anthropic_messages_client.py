"""The Messages codec behind the gateway, read by the real `anthropic` client."""

import asyncio
import http.client

import anthropic
import pytest

from replay.models.gateway import Gateway
from replay.script import Player
from tests.models.recording import failure, hang, lanes_of, said, tool_call

HELLO = [{"role": "user", "content": "hello"}]
CALL = {"model": "m", "max_tokens": 100}


@pytest.fixture
def serve(tmp_path):
    """Starts gateways, and stops them afterwards."""
    gateways = []

    def start(*entries, **options):
        player = Player(lanes_of(*entries))
        gateway = Gateway(player, "anthropic_messages", cwd=str(tmp_path), **options)
        gateway.start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.stop()
        assert gateway.fault is None


def client(gateway):
    # Validating, so that a field of the wrong type is a complaint and not an attribute.
    return anthropic.Anthropic(
        base_url=gateway.base_url, api_key="sk-secret", max_retries=0, _strict_response_validation=True
    )


def ask(gateway, messages=HELLO, **options):
    with client(gateway) as it:
        return it.messages.create(**CALL, messages=messages, **options)


def events_of(gateway):
    with client(gateway) as it:
        return list(it.messages.create(**CALL, messages=HELLO, stream=True))


def gathered(gateway):
    """What the client's own accumulator makes of the stream."""
    with client(gateway) as it, it.messages.stream(**CALL, messages=HELLO) as stream:
        texts = list(stream.text_stream)
        return stream.get_final_message(), texts


def with_extras(chunks, index, extras):
    return [
        {**chunk, "block": {**chunk["block"], "extras": extras}}
        if chunk["type"] == "block-end" and chunk["index"] == index
        else chunk
        for chunk in chunks
    ]


def test_streamed_reply_reaches_the_client(serve):
    events = events_of(serve(said("Hel", "lo", reasoning=["h", "m"])))
    assert [event.type for event in events] == [
        "message_start",
        *("content_block_start", *["content_block_delta"] * 2, "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    assert (events[0].message.id, events[0].message.model) == ("msg_1", "m")
    assert events[-2].usage.output_tokens == 3


@pytest.mark.parametrize("streamed", [True, False])
def test_client_puts_thinking_and_text_together(serve, streamed):
    chunks = with_extras(said("Hel", "lo", reasoning=["h", "m"]), 0, {"signature": "EqQB"})
    gateway = serve(chunks)
    message, texts = gathered(gateway) if streamed else (ask(gateway), ["Hel", "lo"])
    thinking, text = message.content
    assert (thinking.type, thinking.thinking, thinking.signature) == ("thinking", "hm", "EqQB")
    assert (text.type, text.text, texts) == ("text", "Hello", ["Hel", "lo"])
    assert (message.id, message.model, message.stop_reason) == ("msg_1", "m", "end_turn")
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (12, 3, 4)
    assert usage.output_tokens_details.thinking_tokens == 1


@pytest.mark.parametrize("streamed", [True, False])
def test_client_puts_parallel_tool_calls_together(serve, streamed):
    gateway = serve(tool_call(("a", "bash", '{"x": [1, "é"]}'), ("b", "read", "{}")))
    message = gathered(gateway)[0] if streamed else ask(gateway)
    calls = [(call.type, call.id, call.name, call.input) for call in message.content]
    assert calls == [("tool_use", "a", "bash", {"x": [1, "é"]}), ("tool_use", "b", "read", {})]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("streamed", [True, False])
def test_client_reads_citations_and_tools_of_the_server(serve, streamed):
    citation = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": None}
    citation |= {"start_char_index": 0, "end_char_index": 1, "file_id": None}
    call = tool_call(("s", "web_search", '{"query":"x"}'))[:-2]
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    found |= {"caller": {"type": "direct"}}
    start = {"type": "block-start", "index": 1, "blockType": "text"}
    result = {"type": "block-end", "index": 1, "block": {"type": "text", "text": "", "extras": found}}
    text = [{**chunk, "index": 2} if "index" in chunk else chunk for chunk in said("see")]
    chunks = with_extras([*call, start, result, *text], 0, {"type": "server_tool_use"})
    gateway = serve(with_extras(chunks, 2, {"citations": [citation]}))
    message = gathered(gateway)[0] if streamed else ask(gateway)
    assert [block.type for block in message.content] == ["server_tool_use", "web_search_tool_result", "text"]
    assert message.content[0].input == {"query": "x"}
    assert [each.cited_text for each in message.content[2].citations] == ["c"]


def test_conversation_goes_on_with_what_the_client_gives_back(serve):
    thought = with_extras(said("go", reasoning=["hm"])[:-2], 0, {"signature": "EqQB"})
    calls = [
        {**chunk, "index": 2} if "index" in chunk else chunk for chunk in tool_call(("a", "bash", '{"x": 1}'))
    ]
    gateway = serve([*thought, *calls], said("done"))
    with client(gateway) as it:
        first = it.messages.create(**CALL, messages=HELLO, system="rules")
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "out"}]}
        answer = {"role": "assistant", "content": first.content}
        second = it.messages.create(**CALL, messages=[*HELLO, answer, result], system="rules")
    assert second.content[0].text == "done" and second.id == "msg_2"
    messages = gateway.calls[1].request.messages
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == [
        {"type": "reasoning", "text": "hm", "extras": {"signature": "EqQB"}},
        {"type": "text", "text": "go"},
        {"type": "tool-call", "id": "a", "name": "bash", "arguments": '{"x":1}'},
    ]
    assert messages[3]["content"][0]["toolCallId"] == "a"
    assert b"sk-secret" not in repr([call.request for call in gateway.calls]).encode()
    assert gateway.findings == []


def test_beta_route_is_the_same_call(serve):
    with client(serve(said("x"))) as it:
        message = it.beta.messages.create(**CALL, messages=HELLO, betas=["a-beta"])
    assert message.content[0].text == "x"


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("code", "status", "error", "kind"),
    [
        ("AUTH", 401, anthropic.AuthenticationError, "authentication_error"),
        ("RATE_LIMIT", 429, anthropic.RateLimitError, "rate_limit_error"),
        ("OVERLOADED", 503, anthropic.InternalServerError, "overloaded_error"),
        ("529", 529, anthropic.OverloadedError, "overloaded_error"),
        ("CONTEXT", 400, anthropic.BadRequestError, "invalid_request_error"),
        ("413", 413, anthropic.APIStatusError, "request_too_large"),
        ("BOOM", 500, anthropic.InternalServerError, "api_error"),
    ],
)
def test_throw_before_the_stream_is_an_error_status(serve, streamed, code, status, error, kind):
    gateway = serve(failure("it failed", code))
    with pytest.raises(error, match="it failed") as raised:
        ask(gateway, stream=streamed)
    assert raised.value.status_code == status
    assert raised.value.body == {"type": "error", "error": raised.value.body["error"]}
    assert raised.value.body["error"]["type"] == kind
    assert gateway.divergence is None


def test_client_retries_an_overload_into_the_next_entry(serve):
    gateway = serve(failure("slow down", "RATE_LIMIT"), said("now"))
    with anthropic.Anthropic(base_url=gateway.base_url, api_key="x", max_retries=1) as it:
        assert it.messages.create(**CALL, messages=HELLO).content[0].text == "now"


def test_throw_with_a_prefix_breaks_the_stream(serve):
    gateway = serve(failure("gone", "TRANSPORT", said("par", "tial")[:3]))
    texts = []
    with client(gateway) as it, it.messages.stream(**CALL, messages=HELLO) as stream:
        with pytest.raises(Exception, match=r"(?i)closed|incomplete|connection"):
            texts.extend(stream.text_stream)
        assert stream.current_message_snapshot.content[0].text == "partial"


def test_error_inside_a_stream_is_the_client_s_error(serve):
    reason = {"kind": "error", "failure": {"message": "hot", "code": "OVERLOADED"}}
    with pytest.raises(anthropic.APIStatusError, match="hot") as raised:
        events_of(serve([*said("a")[:2], {"type": "finish", "reason": reason}]))
    assert raised.value.body["error"]["type"] == "overloaded_error"


def test_hang_holds_until_the_client_cancels(serve, tmp_path):
    gateway = serve(hang("ready", said("a", "b")[:3]), said("next"))
    seen = []

    async def cancel_when_ready():
        async with anthropic.AsyncAnthropic(base_url=gateway.base_url, api_key="x", max_retries=0) as it:

            async def call():
                async with it.messages.stream(**CALL, messages=HELLO) as stream:
                    async for text in stream.text_stream:
                        seen.append(text)

            task = asyncio.create_task(call())
            while not (tmp_path / "ready").exists() or len(seen) < 2:
                await asyncio.sleep(0.01)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await it.messages.create(**CALL, messages=HELLO)).content[0].text

    assert asyncio.run(cancel_when_ready()) == "next"
    assert seen == ["a", "b"]


def test_tokens_are_counted_and_models_listed(serve):
    gateway = serve(said("x"), models=["m", "n"])
    with client(gateway) as it:
        assert it.messages.count_tokens(model="m", messages=HELLO).input_tokens == 1
        assert [model.id for model in it.models.list()] == ["m", "n"]
        assert it.models.retrieve("n").display_name == "n"
        with pytest.raises(anthropic.NotFoundError):
            it.models.retrieve("o")
    assert gateway.findings == []


def test_probe_of_the_root_finds_nothing_and_is_no_finding(serve):
    gateway = serve(said("x"))
    connection = http.client.HTTPConnection(gateway.origin.removeprefix("http://"))
    connection.request("HEAD", "/")
    response = connection.getresponse()
    assert (response.status, response.read()) == (404, b"")
    connection.close()
    assert gateway.findings == []


def test_refused_request_is_the_provider_s_error(serve):
    gateway = serve(said("one"))
    with pytest.raises(anthropic.BadRequestError, match="king") as raised:
        ask(gateway, [{"role": "king", "content": "x"}])
    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert [finding["kind"] for finding in gateway.findings] == ["request"]


def test_call_beyond_the_recording_has_a_code_of_its_own(serve):
    gateway = serve(said("one"))
    ask(gateway)
    with pytest.raises(anthropic.BadRequestError, match="agent_replay") as raised:
        ask(gateway)
    assert raised.value.body["error"]["details"] == {"error_code": "agent_replay_divergence"}


def test_same_calls_give_the_same_bytes(serve):
    raw = []
    for gateway in [serve(said("a", "b", reasoning=["c"])) for _ in range(2)]:
        with client(gateway) as it:
            response = it.messages.with_raw_response.create(**CALL, messages=HELLO, stream=True)
            raw.append(b"".join(response.http_response.iter_raw()))
    assert raw[0] == raw[1] and raw[0].startswith(b"event: message_start\n")

"""The Responses wire as agents see it: the real `openai` client against the gateway."""

import asyncio

import openai
import pytest

from replay.models.gateway import Gateway
from replay.script import Player
from tests.models.recording import failure, hang, lanes_of, said, tool_call

TOOLS = [{"type": "function", "name": "bash", "parameters": {}, "strict": False}]


@pytest.fixture
def serve(tmp_path):
    gateways = []

    def start(*entries, children=(), **options):
        player = Player(lanes_of(*entries, children=children))
        gateway = Gateway(player, "openai_responses", cwd=str(tmp_path), **options)
        gateway.start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.stop()
        assert gateway.fault is None


def client(gateway, **options):
    return openai.OpenAI(base_url=gateway.base_url, api_key="sk-secret", max_retries=0, **options)


def ask(gateway, given="hello", **options):
    """The whole reply, or the list of its events."""
    with client(gateway) as it:
        reply = it.responses.create(model="m", input=given, **options)
        return list(reply) if options.get("stream") else reply


def streamed(gateway, given="hello", **options):
    """The events, and the reply that the client's own accumulator made of them."""
    with client(gateway) as it, it.responses.stream(model="m", input=given, **options) as stream:
        events = list(stream)
        return events, stream.get_final_response()


def finished(chunks, **finish):
    return [*chunks[:-1], {"type": "finish", **finish}]


def test_streamed_reply_reaches_the_client(serve):
    events, reply = streamed(serve(said("Hel", "lo", reasoning=["h", "m"])))
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Hel", "lo"]
    assert [event.snapshot for event in events if event.type == "response.output_text.delta"] == [
        "Hel",
        "Hello",
    ]
    assert [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"] == [
        "h",
        "m",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (reply.output_text, reply.output[0].summary[0].text) == ("Hello", "hm")
    assert (reply.id, reply.created_at, reply.model, reply.status) == ("resp_1", 0, "m", "completed")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (12, 3, 15)
    assert usage.input_tokens_details.cached_tokens == 4
    assert usage.output_tokens_details.reasoning_tokens == 1


def test_whole_reply_is_what_the_stream_amounts_to(serve):
    chunks = said("Hello", reasoning=["hm"])
    whole = ask(serve(chunks))
    assert whole.output_text == "Hello" and whole._request_id == "req-1"
    events = ask(serve(chunks), stream=True)
    assert events[-1].response.to_dict() == whole.to_dict()


@pytest.mark.parametrize("stream", [True, False])
def test_client_accumulates_parallel_tool_calls(serve, stream):
    gateway = serve(tool_call(("a", "bash", '{"x":1}'), ("b", "bash", "{}")))
    if stream:
        events, reply = streamed(gateway, tools=TOOLS)
        last = [event for event in events if event.type == "response.function_call_arguments.delta"][1]
        assert last.snapshot == '{"x":1}'
    else:
        reply = ask(gateway, tools=TOOLS)
    calls = [(call.call_id, call.name, call.arguments, call.status) for call in reply.output]
    assert calls == [("a", "bash", '{"x":1}', "completed"), ("b", "bash", "{}", "completed")]


def test_client_reads_custom_calls_refusals_and_items_it_runs_itself(serve):
    blocks = [
        {"type": "tool-call", "id": "a", "name": "apply_patch", "arguments": "raw", "extras": {"item": {"type": "custom_tool_call"}}},
        {"type": "text", "text": "no", "extras": {"part": {"type": "refusal"}}},
        {"type": "tool-call", "id": "c", "name": "local_shell", "arguments": '{"action":{"type":"exec","command":["ls"],"env":{}}}',
         "extras": {"item": {"type": "local_shell_call", "status": "completed"}}},
        {"type": "reasoning", "text": "", "extras": {"item": {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}}},
    ]  # fmt: skip
    chunks = []
    for index, block in enumerate(blocks):
        chunks.append({"type": "block-start", "index": index, "blockType": block["type"]})
        chunks.append({"type": "block-end", "index": index, "block": block})
    _, reply = streamed(serve([*chunks, *said()]))
    custom, message, shell, search = reply.output
    assert (custom.type, custom.input) == ("custom_tool_call", "raw")
    assert message.content[0].refusal == "no"
    assert (shell.type, shell.action.command) == ("local_shell_call", ["ls"])
    assert (search.type, search.action.query) == ("web_search_call", "q")


def test_conversation_goes_on_in_its_lane(serve):
    gateway = serve(tool_call(("a", "bash", "{}")), said("done"))
    with client(gateway) as it:
        first = it.responses.create(model="m", input="hello", instructions="be good", tools=TOOLS)
        given = [{"role": "user", "content": "hello"}, *first.output]
        given.append({"type": "function_call_output", "call_id": "a", "output": "out"})
        second = it.responses.create(model="m", input=given, instructions="be good", tools=TOOLS)
    assert (second.output_text, second.id) == ("done", "resp_2")


def test_reply_cut_short_says_why(serve):
    events = ask(serve(said("x", reason="max-tokens")), stream=True)
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.incomplete_details.reason == "max_output_tokens"
    assert ask(serve(said("x", reason="content-filter"))).incomplete_details.reason == "content_filter"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("AUTH", 401, openai.AuthenticationError),
        ("RATE_LIMIT", 429, openai.RateLimitError),
        ("OVERLOADED", 503, openai.InternalServerError),
        ("CONTEXT", 400, openai.BadRequestError),
        ("BOOM", 500, openai.InternalServerError),
    ],
)
def test_throw_before_the_stream_is_an_error_status(serve, stream, code, status, error):
    with pytest.raises(error, match="it failed") as raised:
        ask(serve(failure("it failed", code)), stream=stream)
    assert raised.value.status_code == status
    assert raised.value.body["message"] == "it failed"


def test_throw_with_a_prefix_breaks_the_stream(serve):
    gateway = serve(failure("gone", "TRANSPORT", said("par", "tial")[:3]), said("again"))
    seen = []
    with client(gateway) as it:
        with pytest.raises(openai.APIConnectionError):
            for event in it.responses.create(model="m", input="hello", stream=True):
                seen.append(event)
        assert [event.delta for event in seen if event.type == "response.output_text.delta"] == [
            "par",
            "tial",
        ]
        assert it.responses.create(model="m", input="hello").output_text == "again"


def test_failure_inside_a_stream_is_a_failed_response(serve):
    told = {"message": "hot", "code": "server_error"}
    chunks = finished(said("a"), reason={"kind": "error", "failure": told})
    last = ask(serve(chunks), stream=True)[-1]
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert (last.response.error.code, last.response.error.message) == ("server_error", "hot")
    assert last.response.output[0].content[0].text == "a"
    assert ask(serve(chunks)).error.message == "hot"


def test_error_event_inside_a_stream_is_the_client_s_error(serve):
    told = {"message": "hot", "extras": {"event": {"error": {"message": "hot"}}}}
    with pytest.raises(openai.APIError, match="hot"):
        ask(serve(finished(said("a"), reason={"kind": "error", "failure": told})), stream=True)


def test_hang_holds_until_the_client_cancels(serve, tmp_path):
    gateway = serve(hang("ready", said("a", "b")[:3]), said("next"))
    seen = []

    async def cancel_when_ready():
        async with openai.AsyncOpenAI(base_url=gateway.base_url, api_key="x", max_retries=0) as it:

            async def call():
                async for event in await it.responses.create(model="m", input="hello", stream=True):
                    seen.append(event)

            task = asyncio.create_task(call())
            while not (tmp_path / "ready").exists() or len(seen) < 6:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await it.responses.create(model="m", input="hello")).output_text

    assert asyncio.run(cancel_when_ready()) == "next"
    assert seen[-1].type == "response.output_text.delta"


def test_refused_request_is_the_provider_s_error(serve):
    gateway = serve(said("one"))
    with pytest.raises(openai.BadRequestError, match="background"):
        ask(gateway, background=True)
    assert [finding["kind"] for finding in gateway.findings] == ["request"]
    assert ask(gateway).output_text == "one"


def test_routes_work_with_and_without_the_version(serve):
    gateway = serve(said("x"), models=["m", "n"])
    for base in (gateway.base_url, gateway.origin):
        with openai.OpenAI(base_url=base, api_key="x", max_retries=0) as it:
            assert [model.id for model in it.models.list()] == ["m", "n"]
            assert it.models.retrieve("n").id == "n"
            with pytest.raises(openai.NotFoundError):
                it.responses.retrieve("resp_1")
    with openai.OpenAI(base_url=gateway.origin, api_key="x", max_retries=0) as it:
        assert it.responses.create(model="m", input="hello").output_text == "x"
    assert gateway.findings == []


def test_same_calls_give_the_same_bytes(serve):
    raw = []
    for _ in range(2):
        with client(serve(said("a", "b", reasoning=["c"]))) as it:
            response = it.responses.with_raw_response.create(model="m", input="hello", stream=True)
            raw.append(b"".join(response.http_response.iter_raw()))
    assert raw[0] == raw[1] and raw[0].endswith(b"\n\n")

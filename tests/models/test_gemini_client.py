"""The Gemini codec as the real `google-genai` client sees it, through the gateway."""

import pytest
from google import genai
from google.genai import errors, types

from replay.models.gateway import Gateway
from replay.script import Player
from tests.models.recording import failure, hang, lanes_of, said, tool_call

MODEL = "gemini-2.5-flash"


@pytest.fixture
def serve(tmp_path):
    """Starts gateways, each with a client of its own: `(gateway, client)`."""
    gateways = []

    def start(*entries, **options):
        gateway = Gateway(Player(lanes_of(*entries)), "gemini", cwd=str(tmp_path), **options)
        client = genai.Client(api_key="secret-key", http_options={"base_url": gateway.start()})
        gateways.append((gateway, client))
        return gateway, client

    yield start
    for gateway, client in gateways:
        client.close()
        gateway.stop()
        assert gateway.fault is None


def ask(client, contents="hello", **options):
    return client.models.generate_content(model=MODEL, contents=contents, **options)


def stream(client, contents="hello", **options):
    return list(client.models.generate_content_stream(model=MODEL, contents=contents, **options))


def parts(*replies):
    return [part for reply in replies for part in reply.candidates[0].content.parts]


def test_streamed_reply_reaches_the_client(serve):
    gateway, client = serve(said("Hel", "lo", reasoning=["h", "m"]))
    replies = stream(client)
    assert [(part.text, bool(part.thought)) for part in parts(*replies)] == [
        ("h", True),
        ("m", True),
        ("Hel", False),
        ("lo", False),
    ]
    assert {(reply.model_version, reply.response_id) for reply in replies} == {(MODEL, "response-1")}
    assert replies[-1].candidates[0].finish_reason is types.FinishReason.STOP
    usage = replies[-1].usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (12, 3, 16)
    assert (usage.cached_content_token_count, usage.thoughts_token_count) == (4, 1)
    assert gateway.divergence is None and gateway.findings == []


def test_whole_reply_reaches_the_client(serve):
    _, client = serve(said("Hello", reasoning=["hm"]))
    reply = ask(client)
    assert reply.text == "Hello" and parts(reply)[0].thought
    assert reply.candidates[0].finish_reason is types.FinishReason.STOP
    assert reply.usage_metadata.total_token_count == 16


@pytest.mark.parametrize("call", [ask, lambda client: stream(client)[-1]])
def test_signature_reaches_the_client_as_bytes(serve, call):
    chunks = said("x")
    chunks[-3]["block"]["extras"] = {"thoughtSignature": "c2ln"}
    _, client = serve(chunks)
    assert parts(call(client))[-1].thought_signature == b"sig"


@pytest.mark.parametrize("streamed", [True, False])
def test_client_reads_parallel_tool_calls(serve, streamed):
    _, client = serve(tool_call(("a", "bash", '{"x":1}'), ("b", "read", "{}")))
    replies = stream(client) if streamed else [ask(client)]
    calls = [part.function_call for part in parts(*replies)]
    assert [(call.id, call.name, call.args) for call in calls] == [
        ("a", "bash", {"x": 1}),
        ("b", "read", {}),
    ]


def test_client_calls_functions_by_itself_and_goes_on_in_its_lane(serve):
    gateway, client = serve(tool_call(("a", "weather", '{"city":"Bern"}')), said("sunny"))

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"sun over {city}"

    config = types.GenerateContentConfig(tools=[weather], system_instruction="be brief", temperature=0)
    assert ask(client, config=config).text == "sunny"
    call = gateway.calls[1]
    seen = call.request
    assert (call.lane, call.ordinal, seen.model) == ("parent", 2, MODEL)
    assert [message["role"] for message in seen.messages] == ["system", "user", "assistant", "tool"]
    answer = seen.messages[3]["content"][0]
    assert answer["toolCallId"] == "a"
    assert answer["content"] == [{"type": "text", "text": "sun over Bern"}]
    assert seen.tools[0]["functionDeclarations"][0]["name"] == "weather"
    assert seen.options["generationConfig"] == {"temperature": 0}
    assert "secret-key" not in repr([call.request for call in gateway.calls])


def test_chat_that_keeps_a_stream_in_pieces_goes_on_in_its_lane(serve):
    gateway, client = serve(said("Hel", "lo"), said("again"))
    chat = client.chats.create(model=MODEL)
    assert "".join(reply.text for reply in chat.send_message_stream("hello")) == "Hello"
    assert chat.send_message("more").text == "again"
    assert gateway.divergence is None
    assert gateway.calls[1].request.messages[1]["content"] == [{"type": "text", "text": "Hello"}]


def test_image_reaches_the_gateway(serve):
    gateway, client = serve(said("red"))
    ask(client, contents=[types.Part.from_bytes(data=b"\0\0\0", mime_type="image/png"), "look"])
    assert gateway.calls[0].request.messages[0]["content"] == [
        {"type": "image", "mediaType": "image/png", "data": "AAAA"},
        {"type": "text", "text": "look"},
    ]


@pytest.mark.parametrize("call", [ask, stream])
@pytest.mark.parametrize(
    ("code", "status", "word", "error"),
    [
        ("AUTH", 401, "UNAUTHENTICATED", errors.ClientError),
        ("403", 403, "PERMISSION_DENIED", errors.ClientError),
        ("RATE_LIMIT", 429, "RESOURCE_EXHAUSTED", errors.ClientError),
        ("CONTEXT", 400, "INVALID_ARGUMENT", errors.ClientError),
        ("OVERLOADED", 503, "UNAVAILABLE", errors.ServerError),
        ("BOOM", 500, "INTERNAL", errors.ServerError),
    ],
)
def test_throw_before_the_stream_is_an_error_status(serve, call, code, status, word, error):
    gateway, client = serve(failure("it failed", code))
    with pytest.raises(error) as raised:
        call(client)
    seen = raised.value
    assert (seen.code, seen.status, seen.message) == (status, word, "it failed")
    assert gateway.divergence is None


def test_error_inside_a_stream_is_the_client_s_error(serve):
    reason = {"kind": "error", "failure": {"message": "hot", "code": "OVERLOADED"}}
    _, client = serve([*said("a", "b")[:3], {"type": "finish", "reason": reason}])
    seen = []
    with pytest.raises(errors.ServerError, match="hot") as raised:
        for reply in client.models.generate_content_stream(model=MODEL, contents="hello"):
            seen.append(reply.text)
    assert raised.value.code == 503 and seen == ["a", "b"]


def test_throw_with_a_prefix_breaks_the_stream(serve):
    _, client = serve(failure("gone", "TRANSPORT", said("par", "tial")[:3]))
    seen = []
    with pytest.raises(Exception, match="incomplete chunked read"):
        for reply in client.models.generate_content_stream(model=MODEL, contents="hello"):
            seen.append(reply.text)
    assert seen == ["par", "tial"]


def test_hang_gives_its_prefix(serve):
    _, client = serve(hang(prefix=said("a", "b")[:3]))
    replies = client.models.generate_content_stream(model=MODEL, contents="hello")
    assert [next(replies).text, next(replies).text] == ["a", "b"]


def test_blocked_prompt_is_told(serve):
    feedback = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    blocked = {"type": "finish", "reason": {"kind": "content-filter"}, "extras": {"reply": feedback}}
    _, client = serve([blocked])
    reply = ask(client)
    assert reply.prompt_feedback.block_reason is types.BlockedReason.PROHIBITED_CONTENT
    assert reply.candidates is None


def test_call_beyond_the_recording_is_named_to_agent_and_runner(serve):
    gateway, client = serve(said("one"))
    ask(client)
    with pytest.raises(errors.ClientError, match="agent_replay") as raised:
        ask(client)
    assert raised.value.code == 400
    assert "agent_replay_divergence" in str(raised.value.details)
    assert gateway.divergence is not None


def test_models_are_listed_and_tokens_counted(serve):
    gateway, client = serve(said("x"), models=["m", "n"])
    assert [model.name for model in client.models.list()] == ["models/m", "models/n"]
    assert client.models.get(model="n").input_token_limit == 1 << 20
    assert client.models.count_tokens(model="m", contents="hello").total_tokens == 1
    with pytest.raises(errors.ClientError) as raised:
        client.models.get(model="o")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")
    assert gateway.findings == []
    with pytest.raises(errors.ClientError):
        client.models.embed_content(model="m", contents="hello")
    assert [finding["kind"] for finding in gateway.findings] == ["route"]

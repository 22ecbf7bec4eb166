"""Faults as the real clients of all four wires meet them, and as an agent in this process does.

The tables say what each client raises in the wild: a client that reads its stream with bare hands lets the error of
its HTTP library through, which is named here by its class alone.
"""

import asyncio
import json
import socket
import threading
import time

import anthropic
import openai
import orjson
import pytest
from google import genai
from google.genai import errors

from replay.models import ModelCallError, ReplayModel
from replay.models.codecs import CODECS
from replay.models.gateway import Gateway
from replay.script import Player
from tests.models.recording import failure, lanes_of, said

HELLO = [{"role": "user", "content": "hello"}]
PARTS = said("par", "tial")
PREFIX = PARTS[:3]
MINUTE = 60_000


def fault(kind, chunks=PREFIX, **members):
    return {"kind": "fault", "chunks": list(chunks), "fault": {"kind": kind, **members}}


def stall(at=2, ms=MINUTE):
    return fault("stall", PARTS, at=at, afterMs=ms)


class Clients:
    """A call by each wire's client without retries; the pieces of text go to `heard` as they come."""

    @staticmethod
    def openai_chat(url, streamed, seconds, heard):
        with openai.OpenAI(base_url=url, api_key="x", max_retries=0, timeout=seconds) as it:
            reply = it.chat.completions.create(model="m", messages=HELLO, stream=streamed)
            if streamed:
                heard.extend(text for each in reply if (text := each.choices[0].delta.content))
            else:
                heard.append(reply.choices[0].message.content)

    @staticmethod
    def openai_responses(url, streamed, seconds, heard):
        with openai.OpenAI(base_url=url, api_key="x", max_retries=0, timeout=seconds) as it:
            reply = it.responses.create(model="m", input="hello", stream=streamed)
            if streamed:
                heard.extend(each.delta for each in reply if each.type == "response.output_text.delta")
            else:
                heard.append(reply.output_text)

    @staticmethod
    def anthropic_messages(url, streamed, seconds, heard):
        with anthropic.Anthropic(base_url=url, api_key="x", max_retries=0, timeout=seconds) as it:
            reply = it.messages.create(model="m", max_tokens=9, messages=HELLO, stream=streamed)
            if streamed:
                heard.extend(each.delta.text for each in reply if each.type == "content_block_delta")
            else:
                heard.append(reply.content[0].text)

    @staticmethod
    def gemini(url, streamed, seconds, heard):
        options = {"base_url": url, "timeout": int(seconds * 1000)}
        with genai.Client(api_key="x", http_options=options) as it:
            if streamed:
                reply = it.models.generate_content_stream(model="m", contents="hello")
                heard.extend(each.text for each in reply)
            else:
                heard.append(it.models.generate_content(model="m", contents="hello").text)


@pytest.fixture
def serve():
    """Starts gateways; afterwards stops them and proves that no thread is left."""
    gateways = []

    def start(codec, *entries):
        gateway = Gateway(Player(lanes_of(*entries)), codec)
        gateway.start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.stop()
        assert gateway.fault is None and gateway.divergence is None
    assert not [thread for thread in threading.enumerate() if thread.name == "gateway"]


def call(gateway, codec, streamed, seconds=20.0):
    """What was heard, and the error that ended it."""
    heard = []
    try:
        getattr(Clients, codec)(gateway.base_url, streamed, seconds, heard)
    except Exception as error:
        return heard, error
    return heard, None


# Fault -> (entry, what is heard of a stream before it).
FAULTS = {
    "status": (failure("overloaded", "OVERLOADED"), []),
    "rate limit": ({**failure("slow down", "RATE_LIMIT"), "retryAfterMs": 2500}, []),
    "broken": (failure("gone", "TRANSPORT", PREFIX), ["par", "tial"]),
    "malformed": (fault("malformed"), ["par", "tial"]),
    "malformed from the start": (fault("malformed", ()), []),
    "reset": (fault("reset"), ["par", "tial"]),
    "reset before any byte": (fault("reset", ()), []),
    "stall": (stall(), ["par"]),
    "stall from the start": (stall(at=0), []),
}
JSON_ERROR, CONNECTION, TIMEOUT = "JSONDecodeError", "APIConnectionError", "APITimeoutError"
# Codec -> fault -> error of a stream, and of a whole reply where it is another one.
RAISED = {
    "openai_chat": {
        "status": "InternalServerError",
        "rate limit": "RateLimitError",
        "broken": CONNECTION,
        "malformed": JSON_ERROR,
        "reset": CONNECTION,
        "stall": TIMEOUT,
    },
    "anthropic_messages": {
        "status": "ServiceUnavailableError",
        "rate limit": "RateLimitError",
        "broken": ("RemoteProtocolError", CONNECTION),
        "malformed": JSON_ERROR,
        "reset": ("ReadError", CONNECTION),
        "reset before any byte": CONNECTION,
        "stall": ("ReadTimeout", TIMEOUT),
    },
    "gemini": {
        "status": "ServerError",
        "rate limit": "ClientError",
        "broken": "RemoteProtocolError",
        "malformed": ("UnknownApiResponseError", JSON_ERROR),
        "reset": "ReadError",
        "stall": "ReadTimeout",
    },
}
RAISED["openai_responses"] = RAISED["openai_chat"]


def test_every_wire_has_a_row():
    assert set(RAISED) == set(CODECS)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("codec", RAISED)
def test_client_raises_what_it_raises_in_the_wild(serve, codec, name, streamed):
    entry, prefix = FAULTS[name]
    gateway = serve(codec, entry)
    heard, error = call(gateway, codec, streamed, 0.5 if "stall" in name else 20)
    expected = RAISED[codec].get(name) or RAISED[codec][name.partition(" ")[0]]
    stream_error, whole_error = (expected, expected) if isinstance(expected, str) else expected
    assert type(error).__name__ == (stream_error if streamed else whole_error)
    assert heard == (prefix if streamed else [])


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "entry", [stall(at, 40) for at in range(len(PARTS) + 1)] + [fault("trickle", PARTS, everyMs=5)]
)
@pytest.mark.parametrize("codec", RAISED)
def test_slow_reply_comes_whole_in_the_end(serve, codec, entry, streamed):
    begun = time.monotonic()
    heard, error = call(serve(codec, entry), codec, streamed)
    assert ("".join(heard), error) == ("partial", None)
    assert time.monotonic() - begun >= 0.015


@pytest.mark.parametrize("codec", RAISED)
def test_fault_does_not_touch_the_next_call(serve, codec):
    gateway = serve(codec, fault("reset"), fault("malformed"), fault("reset", ()), said("again"))
    for _ in range(3):
        assert call(gateway, codec, True)[1] is not None
    assert call(gateway, codec, True) == (["again"], None)
    assert [each.outcome.get("code") for each in gateway.calls] == [
        "CONNECTION_RESET",
        "MALFORMED",
        "CONNECTION_RESET",
        None,
    ]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("entry", [stall(), fault("trickle", PARTS, everyMs=8_000)])
@pytest.mark.parametrize("codec", RAISED)
def test_stop_ends_silence_at_once_and_no_reply_looks_whole(serve, codec, entry, streamed):
    gateway = serve(codec, entry)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(call(gateway, codec, streamed)))
    thread.start()
    while not gateway.calls:
        time.sleep(0.01)
    begun = time.monotonic()
    gateway.stop()
    thread.join(20)
    assert time.monotonic() - begun < 5
    ((_, error),) = ended
    assert error is not None and "Timeout" not in type(error).__name__


@pytest.mark.parametrize("codec", RAISED)
def test_time_to_wait_is_told_where_each_client_reads_it(serve, codec):
    gateway = serve(codec, {**failure("slow down", "RATE_LIMIT"), "retryAfterMs": 2500})
    error = call(gateway, codec, True)[1]
    headers = error.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("3", "2500")
    if isinstance(error, errors.ClientError):
        (detail,) = error.details["error"]["details"]
        assert detail["@type"].endswith("google.rpc.RetryInfo") and detail["retryDelay"] == "2.500s"


@pytest.mark.parametrize(
    ("codec", "header"), [("anthropic_messages", "request-id"), ("openai_chat", "x-request-id")]
)
def test_id_of_a_reply_is_in_the_header_that_its_client_reads(serve, codec, header):
    gateway = serve(codec, failure("no", "AUTH"), said("x"))
    error = call(gateway, codec, False)[1]
    assert error.request_id == error.response.headers[header] == "req-1"


def test_reset_loses_nothing_that_was_sent_before_it(serve):
    """Written is more than the client has room for, so that some of it waits in the gateway when the reset is due."""
    text = "x" * 1000
    gateway = serve("openai_chat", fault("reset", said(*[text] * 5_000)))
    body = orjson.dumps({"model": "m", "messages": HELLO, "stream": True})
    with socket.socket() as it:
        it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        it.settimeout(20)
        it.connect(("127.0.0.1", int(gateway.origin.rpartition(":")[2])))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        it.sendall(head.encode() + body)
        seen = bytearray()
        with pytest.raises(ConnectionResetError):
            while piece := it.recv(1 << 16):
                seen += piece
    assert seen.count(text.encode()) == 5_000


@pytest.mark.parametrize(("kind", "code"), [("malformed", "MALFORMED"), ("reset", "CONNECTION_RESET")])
def test_agent_in_this_process_gets_the_fault_as_an_error(kind, code):
    model = ReplayModel(lanes_of(fault(kind), said("again")))
    seen = []

    async def calls():
        with pytest.raises(ModelCallError) as raised:
            async for chunk in model.stream(HELLO, session="s"):
                seen.append(chunk)
        again = [chunk async for chunk in model.stream(HELLO, session="s")]
        return raised.value.code, again

    assert asyncio.run(calls()) == (code, said("again"))
    assert seen == PREFIX


def test_agent_in_this_process_is_told_the_time_to_wait():
    model = ReplayModel(lanes_of({**failure("slow down", "RATE_LIMIT"), "retryAfterMs": 2500}))

    async def one():
        with pytest.raises(ModelCallError) as raised:
            await anext(model.stream(HELLO, session="s"))
        return raised.value.retry_after_ms

    assert asyncio.run(one()) == 2500


@pytest.mark.parametrize(
    ("entry", "pauses"),
    [
        (fault("stall", PARTS, at=0, afterMs=7), [7, 0, 0, 0, 0, 0, 0]),
        (fault("stall", PARTS, at=6, afterMs=7), [0, 0, 0, 0, 0, 0, 7]),
        (fault("trickle", PARTS, everyMs=7), [0, 7, 7, 7, 7, 7, 7]),
        (said("par", "tial"), [0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_agent_in_this_process_waits_where_the_fault_says(monkeypatch, entry, pauses):
    model = ReplayModel(lanes_of(entry))
    slept = []

    async def sleep(seconds):
        slept.append(round(seconds * 1000))

    async def one():
        return [chunk async for chunk in model.stream(HELLO, session="s")]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert asyncio.run(one()) == PARTS
    assert slept == pauses


def test_stalled_call_of_this_process_can_be_cancelled():
    model = ReplayModel(lanes_of(stall(), said("again")))

    async def scenario():
        seen = asyncio.Event()

        async def one():
            async for _ in model.stream(HELLO, session="s"):
                seen.set()

        task = asyncio.create_task(one())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [chunk async for chunk in model.stream(HELLO, session="s")]

    assert asyncio.run(scenario()) == said("again")


def test_whole_reply_that_is_malformed_lacks_its_end(serve):
    gateway = serve("openai_chat", fault("malformed"))
    error = call(gateway, "openai_chat", False)[1]
    assert isinstance(error, json.JSONDecodeError)
    assert json.loads(error.doc + "}")["choices"][0]["message"]["content"] == "partial"

"""A client of a recording proxy, and what the proxy noted of its calls."""

import httpx
import openai

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-real-0123456789"


def key(request):
    return f"key of {request.model}"


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


def post(proxy, **options):
    body = {"model": "m", "messages": HELLO, "stream": True}
    return httpx.post(proxy.base_url + "/chat/completions", json=body, **options)

"""The reply of ../turn as others test it: a client in the test's own process, and the provider's HTTP from a cassette.

The cassette was recorded with pytest-recording from our gateway, which served ../turn; only its address was changed. Nothing
is checked here but the reply itself.
"""

import json

import httpx
import pytest

_URL = "http://model.example/v1/chat/completions"
_CHUNKS = 41


@pytest.mark.vcr
def test_reply_is_streamed() -> None:
    message = {"role": "user", "content": "Say hello in one short sentence."}
    body = {"model": "smollm2-135m-instruct", "stream": True, "messages": [message]}
    texts: list[str] = []
    with httpx.stream("POST", _URL, json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line.removeprefix("data: "))["choices"]
                texts += [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")]
    assert len(texts) == _CHUNKS
    assert "".join(texts).startswith("I'm here to help with your coding challenges. Tell me what")

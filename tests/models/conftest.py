"""Fixtures of these tests."""

import threading
from pathlib import Path

import pytest

from replay.models.recording_proxy import RecordingProxy
from replay.models.upstream import Upstream
from tests.models.provider import Provider
from tests.models.proxy_run import KEY, key


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

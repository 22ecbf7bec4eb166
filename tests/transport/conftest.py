"""Fixtures of these tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.transport.host import Host
from replay.transport.transcript import Transcript


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Makes a running host whose statuses go to tmp_path/out; it is ended with the test."""
    hosts: list[Host] = []

    def make(*transcripts: Transcript, **options: Any) -> Host:
        made = Host(transcripts, workspace=tmp_path, status_directory=tmp_path / "out", **options)
        hosts.append(made)
        return made.__enter__()

    yield make
    for each in hosts:
        each.finish(0.0)

"""Fixtures of these tests."""

from pathlib import Path

import pytest

from tests.trace_agents.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """One trace and an agent that does what it did."""
    return Stage(tmp_path)

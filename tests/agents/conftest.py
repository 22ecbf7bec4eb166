"""Fixtures of these tests: a scenario without expected output, and the same recorded."""

from pathlib import Path

import pytest

from tests.agents.stage import Scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """An authored scenario without expected output."""
    return Scenario(tmp_path)


@pytest.fixture
def recorded(scenario: Scenario) -> Scenario:
    """The same with the outputs of the agent at its best."""
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    return scenario

"""The scripted provider is one of the kinds that an orchestrator knows, in these tests."""

import pytest

from scenarios.reference_orchestrator.adapters import base


@pytest.fixture(autouse=True, scope="session")
def _scripted_kind() -> None:
    known = dict(base.ADAPTERS)
    base.ADAPTERS = known | {"scripted": ("tests.reference_orchestrator.orchestra", "ScriptedAdapter")}

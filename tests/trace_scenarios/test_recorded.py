"""The reference agent in production: the same `make_agent`, with a Recorder, does what its committed traces say."""

import asyncio
import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest

import scenarios.trace
from replay.trace.codec import read_trace
from replay.trace.model import AgentTrace
from replay.trace.recorder import Recorder

_TRACES = Path(scenarios.trace.__file__).parent / "reference/traces"
_IDS = ("sums-percent", "orders-owed-after-cancel", "people-one-unknown", "files-stock", "tickets-late")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    # Where it is imported is where its world is.
    monkeypatch.chdir(tmp_path)
    return importlib.reload(importlib.import_module("scenarios.trace.reference.agent"))


def plain(trace: AgentTrace, directory: Path) -> list[Any]:
    """Without times; directories as traces spell them. Steps of a replay hold a final state in their last call."""
    steps = []
    for step in trace.steps:
        value = step._replace(
            timestamp=0,
            tool_duration_ms=None,
            model_duration_ms=None,
            env_state_after=None,
            env_state_before=None,
        )
        steps.append(repr(value).replace(str(directory), "{{cwd}}"))
    return steps


@pytest.mark.parametrize("name", _IDS)
def test_a_recorder_writes_down_what_the_trace_holds(name: str, module: Any, tmp_path: Path) -> None:
    baseline = read_trace((_TRACES / f"{name}.json").read_bytes(), name)
    clock = itertools.count()
    recorder = Recorder(
        agent_version=module.AGENT_VERSION, states=module.STATES, clock=lambda: next(clock) * 1_000_000
    )
    agent = module.make_agent(recorder)
    with recorder.run(baseline.task, trace_id=name, category=baseline.category, **baseline.inputs) as run:
        outcome = asyncio.run(agent(baseline.task, **baseline.inputs))
        run.final(outcome.answer, outcome.success)
    trace = run.trace
    assert trace is not None
    assert (trace.final_answer, trace.success) == (baseline.final_answer, baseline.success)
    assert trace.total_tokens == baseline.total_tokens
    assert plain(trace, tmp_path) == plain(baseline, tmp_path)

"""The committed suites of both agents: enough traces, said to be what they are, small, and the same tasks."""

from collections import Counter
from pathlib import Path

import pytest

import scenarios.trace
from replay.trace.changes import read_changes
from replay.trace.codec import read_trace
from replay.trace.model import AgentTrace
from replay.trace.suite import read_suite
from replay.trace.suite_check import check_suite
from scenarios.trace.desk.changes import CHANGES, VARIABLE

_ROOT = Path(scenarios.trace.__file__).parent
_AGENTS = ("reference", "framework")
_MOST_BYTES = 24_000
_MEAN_BYTES = 12_000


def traces_of(agent: str) -> dict[str, AgentTrace]:
    files = sorted((_ROOT / agent / "traces").glob("*.json"))
    return {file.stem: read_trace(file.read_bytes(), file.name) for file in files}


@pytest.mark.parametrize("agent", _AGENTS)
def test_a_suite_has_forty_traces_in_five_categories(agent: str) -> None:
    traces = traces_of(agent)
    counts = Counter(trace.category for trace in traces.values())
    assert len(traces) >= 40
    assert len(counts) == 5
    assert min(counts.values()) >= 8
    place = _ROOT / agent / "suite.json"
    suite = read_suite(place.read_bytes(), "suite.json")
    known = [(name, trace.category) for name, trace in traces.items()]
    assert check_suite(suite, known, "suite.json") == []


@pytest.mark.parametrize("agent", _AGENTS)
def test_traces_say_that_no_language_model_spoke(agent: str) -> None:
    for name, trace in traces_of(agent).items():
        assert trace.metadata["provenance"] == {"kind": "recorded", "model": "a script, no language model"}, (
            name
        )
        assert trace.model_version == "scripted-1"
        assert "error" not in trace.metadata, name
        assert trace.success is not str(trace.final_answer).startswith("Sorry"), name


@pytest.mark.parametrize("agent", _AGENTS)
def test_some_traces_succeed_and_some_do_not(agent: str) -> None:
    counts = Counter(trace.success for trace in traces_of(agent).values())
    assert counts[True] >= 25
    assert counts[False] >= 10


@pytest.mark.parametrize("agent", _AGENTS)
def test_traces_are_small(agent: str) -> None:
    sizes = [file.stat().st_size for file in (_ROOT / agent / "traces").glob("*.json")]
    assert max(sizes) <= _MOST_BYTES
    assert sum(sizes) / len(sizes) <= _MEAN_BYTES


def test_both_agents_have_the_same_tasks() -> None:
    one, other = ({name: trace.task for name, trace in traces_of(agent).items()} for agent in _AGENTS)
    assert one == other


@pytest.mark.parametrize("agent", _AGENTS)
def test_the_file_of_changes_names_those_of_the_agents(agent: str) -> None:
    data = (_ROOT / agent / "changes.json").read_bytes()
    listed = {one.name: (one.kind, dict(one.env), one.what) for one in read_changes(data, "changes.json")}
    assert listed == {name: (one.kind, {VARIABLE: name}, one.what) for name, one in CHANGES.items()}

"""A trace that `replay trace import` made of another recording is one that a real agent is replayed against."""

import json
import sys
from pathlib import Path

import pytest

from replay.cli.main import main
from tests.trace.spans import SPANS, export
from tests.trace_agents.stage import Stage

AGENT = Path(__file__).with_name("two_tongues.py")
LOG = Path(__file__).parents[2] / "scenarios" / "acp" / "bash-turn" / "session.jsonl"


def sources(directory: Path) -> dict[str, Path]:
    """What each tongue of the agent was recorded as: a session log with its prompt, and spans."""
    log, spans = directory / "log.jsonl", directory / "spans.json"
    log.write_bytes(LOG.read_bytes().replace(b"{{system}}", b"Be short.").replace(b"call_bash_1", b"call_1"))
    spans.write_text(json.dumps(export(SPANS)))
    return {"blocks": log, "parts": spans}


@pytest.mark.parametrize("tongue", ["blocks", "parts"])
@pytest.mark.parametrize("strategy", ["exact", "mock_tools"])
def test_imported_trace_is_replayed_and_holds_against_another_agent(
    tongue: str, strategy: str, stage: Stage, tmp_path: Path
) -> None:
    assert main(["trace", "import", str(sources(tmp_path)[tongue]), "--into", str(stage.directory)]) == 0
    stage.traces = []
    stage.agent = {"binary": sys.executable, "args": [str(AGENT), tongue]}
    stage.manifest["strategy"] = strategy
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert outcome.divergences() == []
    stage.agent["env"] = {"ANOTHER": "1"}
    outcome = stage.run()
    assert outcome.code == 1
    wanted = (
        "the 1st model call is not asked as recorded" if strategy == "exact" else "the trace holds no call of"
    )
    assert wanted in outcome.text

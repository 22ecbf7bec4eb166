"""`replay trace strategies`: what each strategy catches, and what it fails for nothing, measured on a small agent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from replay.errors import FixtureError
from replay.trace.changes import AgentChange, read_changes
from tests.trace_agents.stage import GOOD_STEPS, Stage

AGENT = """
import json, os, sys
change = os.environ.get("CHANGE", "")
print(json.dumps({"op": "hello", "protocol": 1, "runs": "many"}), flush=True)
def call(**fields):
    print(json.dumps(fields), flush=True)
    answer = json.loads(sys.stdin.readline())
    if answer.get("live"):
        result = "It rains at 12 degrees." if fields["op"] == "model" else "12 degrees, rain"
        print(json.dumps({"op": "done", "id": fields["id"], "result": result}), flush=True)
        return result
    return answer.get("result", "")
for line in sys.stdin:
    task = json.loads(line)["task"]
    prompt = "hello! " + task if change == "prompt" else task
    call(op="model", id=1, messages=[{"role": "user", "content": prompt}])
    said = "" if change == "drop" else call(op="tool", id=2, name="weather", input={"city": "Bern"})
    call(op="model", id=3, messages=[{"role": "user", "content": "the tool says: " + said}])
    answer = "It is dry." if change == "answer" else "It rains at 12 degrees."
    print(json.dumps({"op": "final", "answer": answer, "success": True}), flush=True)
"""
CHANGES = {
    "schema": 1,
    "changes": [
        {"name": "drop", "kind": "regression", "env": {"CHANGE": "drop"}},
        {"name": "answer", "kind": "regression", "env": {"CHANGE": "answer"}},
        {"name": "prompt", "kind": "harmless", "env": {"CHANGE": "prompt"}},
        {"name": "nothing", "kind": "harmless", "args": ["--ignored"]},
    ],
}


def test_table_tells_strategies_apart(stage: Stage, tmp_path: Path) -> None:
    stage.write()
    stage.hide_text_model()
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "changes.json").write_text(json.dumps(CHANGES))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "replay.cli", "trace", "strategies", str(tmp_path)),
            *("--strategies", "exact,mock_tools,snapshot,semantic", "--repeats", "2"),
            *("--", sys.executable, str(tmp_path / "agent.py")),
        ],
        env=stage._environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.split("\n") if line.strip()}
    # The harmless change of a prompt is what exact is known to fail for.
    assert rows["exact"][1:5] == ["passes", "1.00", "2/2", "1/2"]
    assert rows["mock_tools"][1:5] == ["passes", "1.00", "2/2", "0/2"]
    # There is no snapshot to compare with: what finds nothing to check fails, and detects nothing.
    assert rows["snapshot"][1:5] == ["FAILS", "1.00", "-", "-"]
    assert "failed for nothing: prompt" in done.stdout
    assert (
        "snapshot: the unchanged agent fails in 1 trace of 1: weather: snapshot: no snapshot of it is accepted yet; "
        "accept its snapshots by a trace_snapshot_test over the suite\n" in done.stdout
    )
    assert "semantic: comparing by meaning needs the package" in done.stdout
    assert "of the command, bazel run @agent_replay//tools/meaning:replay" in done.stdout


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("[]", 'changes.json:1 $: is no file of changes: it needs "schema": 1'),
        ('{"schema":1}', "$.changes: needs a list of changes"),
        ('{"schema":1,"changes":[3]}', "$.changes[0]: expected an object"),
        ('{"schema":1,"changes":[{"name":""}]}', "$.changes[0].name: needs a name"),
        ('{"schema":1,"changes":[{"name":"a","kind":"bad"}]}', "$.changes[0].kind: is no kind of change"),
        ('{"schema":1,"changes":[{"name":"a","kind":"harmless"}]}', "$.changes[0]: changes nothing"),
        (
            '{"schema":1,"changes":[{"name":"a","kind":"harmless","env":{"A":1}}]}',
            "$.changes[0].env: expected variables",
        ),
        (
            '{"schema":1,"changes":[{"name":"a","kind":"harmless","args":[1]}]}',
            "$.changes[0].args: expected arguments",
        ),
        ('{"schema":1,"changes":[{"name":"a","typ":"x"}]}', "$.changes[0].typ: is no member of a change"),
        (
            '{"schema":1,"changes":[{"name":"a","kind":"harmless","args":["x"]},{"name":"a","kind":"harmless","args":["x"]}]}',
            '$.changes[1].name: is the second change "a"',
        ),
    ],
)
def test_bad_file_of_changes_is_one_sentence(document: str, sentence: str) -> None:
    with pytest.raises(FixtureError) as refusal:
        read_changes(document.encode(), "changes.json")
    assert sentence in str(refusal.value)


def test_change_of_a_variable_is_read() -> None:
    changes = read_changes(json.dumps(CHANGES).encode(), "changes.json")
    assert changes[0] == AgentChange("drop", "regression", {"CHANGE": "drop"})
    assert GOOD_STEPS

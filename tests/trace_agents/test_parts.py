"""What a test left of its runs, read again: the same values, and one sentence for whatever else lies there."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from replay.errors import AgentError, FixtureError, Location
from replay.runner.trace_part import read_part, reader_of, write_part
from replay.trace.divergence import Divergence
from replay.trace.replayer import Replayed, Run
from replay.trace.strategies import STRATEGIES
from tests.trace_agents.stage import WEATHER, Stage

EXACT = STRATEGIES["exact"]
BROKEN = AgentError("exited with 3", Location("agent.py", 7, "$.a"), "look at it")
RUN = Run(
    WEATHER,
    (
        Divergence("prompt", 0, "asked otherwise", "$.a", None, [1]),
        Divergence("exhausted", -1, "more", is_fatal=True),
    ),
    (("end", {"memory": [1, None]}),),
    [{"name": "weather"}],
    BROKEN,
    ("a line", "another"),
)
REPLAYED = Replayed(WEATHER, EXACT.with_changes(runs=2), (RUN, RUN._replace(error=None, divergences=())))


def left(stage: Stage) -> dict[str, bytes]:
    """The files of a part that holds REPLAYED."""
    place = stage.directory / "part"
    write_part(str(place), [REPLAYED])
    return {path.name: path.read_bytes() for path in place.iterdir()}


def read(files: dict[str, bytes]) -> list[Replayed]:
    return list(read_part(files.__getitem__, "part", {"weather": WEATHER}, EXACT))


def test_what_is_written_is_read(stage: Stage) -> None:
    [found] = read(left(stage))
    first, second = found.runs
    assert (first._replace(error=None), second) == (RUN._replace(error=None), REPLAYED.runs[1])
    assert isinstance(first.error, AgentError)
    assert (first.error.what, first.error.where, first.error.fix) == (BROKEN.what, BROKEN.where, BROKEN.fix)


def run_of(**members: Any) -> Callable[[Any], Any]:
    """The second run with other members."""
    return lambda entry: entry["runs"][1].update(members)


_ERROR = {"kind": "AgentError", "what": "w", "where": ["", 0, ""], "fix": ""}
_RUN = "$.runs[1]: "
MALFORMED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no id": (lambda entry: entry.pop("trace_id"), "is no trace with its runs"),
    "an id that is none": (lambda entry: entry.update(trace_id=[]), "is no trace with its runs"),
    "no number of runs": (lambda entry: entry.pop("of"), "is no trace with its runs"),
    "more runs than there were to be": (lambda entry: entry.update(of=1), "is no trace with its runs"),
    "no runs": (lambda entry: entry.update(runs={}), "is no trace with its runs"),
    "a run that is none": (lambda entry: entry["runs"].__setitem__(1, "ab"), f"{_RUN}is no run"),
    "a run of another version": (lambda entry: entry["runs"][1].pop("evidence"), f"{_RUN}is no run"),
    "evidence": (run_of(evidence=[1]), f"{_RUN}is no run"),
    "divergences": (run_of(divergences=None), f"{_RUN}is no run"),
    "a divergence": (run_of(divergences=[{"kind": "order"}]), f"{_RUN}holds what is no divergence"),
    "a divergence that says more": (
        run_of(divergences=[RUN.divergences[1]._asdict() | {"expected": 1, "actual": 2, "why": ""}]),
        f"{_RUN}holds what is no divergence",
    ),
    "a divergence without a step": (
        run_of(divergences=[{"kind": "order", "step": "1", "message": "", "path": "", "is_fatal": False}]),
        f"{_RUN}holds what is no divergence",
    ),
    "a state": (run_of(states=[["end"]]), f"{_RUN}holds what is no labelled state"),
    "a state's label": (run_of(states=[[1, 2]]), f"{_RUN}holds what is no labelled state"),
    "an error": (run_of(error="it broke"), f"{_RUN}holds what is no error"),
    "an error's place": (run_of(error=_ERROR | {"where": ["a", "b"]}), f"{_RUN}holds what is no error"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_line_is_one_sentence_with_its_number(name: str, stage: Stage) -> None:
    files = left(stage)
    change, sentence = MALFORMED[name]
    entry = orjson.loads(files["replays.jsonl"])
    change(entry)
    other = orjson.dumps({"trace_id": "other", "of": 1, "runs": []})
    files["replays.jsonl"] = other + b"\n" + orjson.dumps(entry) + b"\n"
    with pytest.raises(FixtureError) as caught:
        read(files)
    assert str(caught.value).replace(" $", ": $", 1).startswith(f"part/replays.jsonl:2: {sentence}")
    assert caught.value.fix == "run the test again"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{\n", "part/replays.jsonl:1: is not JSON: "),
        (b"\n", "part/replays.jsonl:1: is not JSON: "),
        (b"\xff\n", "part/replays.jsonl:1: is not JSON: "),
        (b"7\n", "part/replays.jsonl:1: is no trace with its runs"),
        (b'{"trace_id":"a","of":1,"runs":[]}\n{"trace_id":"weather"', "part/replays.jsonl:2: ends in the middle of a line"),
    ],
)  # fmt: skip
def test_line_that_is_none_is_told(data: bytes, sentence: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read({"replays.jsonl": data})
    assert str(caught.value).startswith(sentence)


def test_test_over_malformed_parts_is_refused_with_the_place(stage: Stage) -> None:
    part = stage.directory / "part"
    assert stage.run(f"--part={part}", "--slice=0/1").code == 0
    assert list(read_part(reader_of(str(part)), str(part), {"weather": WEATHER}, EXACT))
    (part / "replays.jsonl").write_bytes(b'{"trace_id":"weather","of":1,"runs":[{}]}\n')
    stage.manifest["parts"] = [str(part)]
    outcome = stage.run()
    assert outcome.code == 2
    assert f"{part}/replays.jsonl:1 $.runs[0]: is no run" in outcome.first_line, outcome.text
    assert "Traceback" not in outcome.text
    # What refused the test is told to other tools as well.
    result = orjson.loads((stage.outputs / "result.json").read_bytes())
    assert result["exit_code"] == 2 and "is no run" in str(result)


def test_accept_of_malformed_outputs_is_refused(stage: Stage) -> None:
    stage.steps({"final": "other", "success": True})
    assert stage.run().code == 1
    actual = stage.outputs / "actual"
    (actual / "replays.jsonl").write_bytes(b'{"trace_id":"weather"}\n')
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "actual/replays.jsonl:1: is no trace with its runs" in accepted.text
    (actual / "replays.jsonl").unlink()
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "test.outputs/actual holds no replays.jsonl" in accepted.text
    assert "Traceback" not in accepted.text

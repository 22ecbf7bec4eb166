"""Loading a scenario for a run."""

import subprocess
import sys

import pytest

from replay.errors import FixtureError
from replay.scenario import ScenarioFiles, load_scenario
from replay.scenario.load import decode_lines
from tests.bad_inputs.cases import ROOT


def files(tmp_path, **changes):
    """The base scenario with files changed (bytes) or taken away (None)."""
    named = {path.name: str(path) for path in (ROOT / "base").iterdir()}
    for name, data in changes.items():
        name = {"override": "replay.override.json", "stdout": "stdout.expected.jsonl", "child": "session.1.jsonl",
                "grandchild": "session.2.jsonl", "input": "input.json", "session": "session.jsonl"}[name]  # fmt: skip
        named.pop(name, None)
        if data is not None:
            (tmp_path / name).write_bytes(data)
            named[name] = str(tmp_path / name)
    return ScenarioFiles(
        "text-turn", "//suite:text-turn_test", named, [("a.txt", "/x/a.txt")], "suite/text-turn"
    )


def test_a_loaded_scenario_holds_what_its_files_say(tmp_path):
    scenario = load_scenario(files(tmp_path))
    assert (scenario.name, scenario.label) == ("text-turn", "//suite:text-turn_test")
    assert [step.op for step in scenario.script.steps] == ["initialize", "newSession", "prompt"]
    assert scenario.log_names == ["session.jsonl"]
    assert [(lane.name, len(lane.calls)) for lane in scenario.lanes] == [("parent", 1)]
    assert [chunk["type"] for chunk in scenario.lanes[0].calls[0].entry.chunks][-1] == "finish"
    assert len(scenario.stdout) == 4
    assert [len(values) for values in scenario.session_values] == [11]
    assert scenario.session_values[0][0]["type"] == "session"
    assert (scenario.override, scenario.pins) == (None, None)
    assert scenario.workspace == [("a.txt", "/x/a.txt")]
    assert scenario.recording == {"session.jsonl": (ROOT / "base/session.jsonl").read_bytes()}


def test_a_missing_stdout_is_none_and_the_run_goes_on(tmp_path):
    assert load_scenario(files(tmp_path, stdout=None)).stdout is None


def test_an_override_changes_the_lanes_and_is_part_of_the_recording(tmp_path):
    override = b'[{"kind":"chunks","chunks":[{"type":"block-start","index":0,"blockType":"tool-call"},{"type":"tool-call-delta","index":0,"id":"call_7","name":"read","argumentsDelta":"{}"}]}]'  # fmt: skip
    scenario = load_scenario(files(tmp_path, override=override))
    assert scenario.lanes[0].calls[0].entry.kind == "chunks"
    assert scenario.recording["replay.override.json"] == override
    assert scenario.served_ids() == ["call_7"]


def test_a_missing_input_is_named(tmp_path):
    with pytest.raises(FixtureError) as caught:
        load_scenario(files(tmp_path, input=None))
    assert caught.value.where.file == "suite/text-turn/input.json"


def test_a_gap_in_the_children_is_named(tmp_path):
    with pytest.raises(FixtureError) as caught:
        load_scenario(files(tmp_path, grandchild=b"{}"))
    assert "session.1.jsonl is missing" in caught.value.what


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{}\n[1]\n", "f:2 $: must be a JSON object, not a list"),
        (b'{}\n"x"\n', "f:2 $: must be a JSON object, not a string"),
        (b"null\n", "f:1 $: must be a JSON object, not null"),
        (b"{}\n\n", "f:2: the line is empty; every line of a log is one JSON object"),
        (b"{}\nwarming up\n", "f:2: is not JSON: unexpected character, expected a JSON value at column 1"),
        (b'{}\n{"a":', "f:2: is cut off: the file ends in the middle of this line"),
    ],
)
def test_a_line_that_is_no_frame_is_named(data, sentence):
    with pytest.raises(FixtureError) as caught:
        decode_lines(data, "f")
    assert str(caught.value) == sentence


def test_only_a_line_feed_ends_a_line():
    data = '{"text":"a\u2028b\u0085c"}\n'.encode()
    assert decode_lines(data, "f") == [{"text": "a\u2028b\u0085c"}]


def test_loading_imports_nothing_heavy():
    code = "import sys, replay.scenario; print([name for name in sys.modules if name in sys.argv[1:]])"
    # orjson itself imports dataclasses and inspect.
    heavy = ["pydantic", "asyncio", "difflib", "rich", "replay.scenario.guard", "replay.scenario.edges"]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, *heavy], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )  # fmt: skip
    assert done.stdout == "[]\n"

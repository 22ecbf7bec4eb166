"""Two runs differ by what the agent did; how its text was cut up, and by which ids, is no difference."""

import json

import pytest

from tests.cli.runs import Run
from tests.cli.test_main import replay


def _diff(tmp_path, **changes):
    """The diff of a run and the same with `changes` of its attributes."""
    Run().write(tmp_path / "a")
    other = Run()
    for name, value in changes.items():
        assert hasattr(other, name)
        setattr(other, name, value)
    other.write(tmp_path / "b")
    done = replay("diff", "a", "b", cwd=tmp_path)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_same_run_is_the_same(tmp_path):
    assert _diff(tmp_path) == (0, "same\n")


def test_other_chunks_of_the_same_text_are_the_same_in_meaning(tmp_path):
    code, text = _diff(tmp_path, text=["The heron is ", "in the pond."])
    assert (code, text) == (0, "same (in form only: session.jsonl, stdout.expected.jsonl)\n")


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"path": "fish.txt"},
            [
                "tool calls:",
                '  ~ read: arguments $.path: expected "birds.txt", actual "fish.txt"',
                "permissions:",
                "  - Read birds.txt (allow_once, reject_once): allow_once",
                "  + Read fish.txt (allow_once, reject_once): allow_once",
            ],
        ),
        ({"result": "none"}, ["tool calls:", '  ~ read: result "heron: pond" -> "none"']),
        (
            {"answers": [{"kind": "reject_once"}]},
            [
                "permissions:",
                "  ~ Read birds.txt (allow_once, reject_once): allow_once -> reject_once",
            ],
        ),
        ({"written": "gone\n"}, ["file effects:", '  ~ {{cwd}}/notes.txt: "seen\\n" -> "gone\\n"']),
        ({"stop": "max_tokens"}, ["stop reasons:", '  ~ "turn 1: end_turn" -> "turn 1: max_tokens"']),
        (
            {"text": ["No heron."]},
            ["text:", '  ~ "says: The heron is in the pond." -> "says: No heron."'],
        ),
    ],
)
def test_each_kind_of_difference_has_its_section(tmp_path, changes, lines):
    code, text = _diff(tmp_path, **changes)
    assert code == 1
    assert text.split("\n") == ["- a", "+ b", *lines, ""]


def test_another_version_of_the_agent_is_seen_in_its_other_frames(tmp_path):
    code, text = _diff(tmp_path, version="2.0")
    assert code == 1
    assert "other frames:\n" in text and '\\"version\\":\\"2.0\\"' in text


def test_tool_that_is_called_once_more_is_an_addition(tmp_path):
    Run().write(tmp_path / "a")
    directory = Run().write(tmp_path / "b")
    log = directory / "session.jsonl"
    row = '{"type":"tool/call","data":{"turn":1,"step":2,"callId":"t-2","name":"list","arguments":"{}"}}\n'
    log.write_text(log.read_text() + row)
    assert replay("diff", "a", "b", cwd=tmp_path).stdout == "- a\n+ b\ntool calls:\n  + list {}\n"
    assert replay("diff", "b", "a", cwd=tmp_path).stdout == "- b\n+ a\ntool calls:\n  - list {}\n"


def test_fixture_is_compared_with_what_its_test_left(tmp_path):
    Run().write(tmp_path / "a")
    other = Run()
    other.stop = "refusal"
    actual = other.write(tmp_path / "test.outputs" / "actual")
    (actual / "input.json").unlink()
    done = replay("diff", "a", "test.outputs", cwd=tmp_path)
    assert (done.returncode, done.stdout.split("\n")[2:4]) == (
        1,
        ["stop reasons:", '  ~ "turn 1: end_turn" -> "turn 1: refusal"'],
    )


def test_files_that_the_run_left_are_compared(tmp_path):
    for name, text in (("a", "one"), ("b", "two")):
        directory = Run().write(tmp_path / name) / "workspace.expected"
        directory.mkdir()
        (directory / "kept.txt").write_text(text)
        (directory / f"{name}.txt").write_text("x")
    assert replay("diff", "a", "b", cwd=tmp_path).stdout.split("\n")[2:] == [
        "file effects:",
        "  - workspace.expected/a.txt",
        "  + workspace.expected/b.txt",
        '  ~ workspace.expected/kept.txt: "one" -> "two"',
        "",
    ]


def test_another_system_prompt_is_told_by_its_hash(tmp_path):
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 0}
    for name, digit in (("a", "1"), ("b", "2")):
        Run().write(tmp_path / name)
        hashes = {"system": "sha256:" + digit * 64, "tools": "sha256:" + "7" * 64}
        asked = {"type": "request/header", "data": {"header": {}, "reason": "initial", "hashes": hashes}}
        log = tmp_path / name / "session.1.jsonl"
        log.write_text(
            "".join(json.dumps(row) + "\n" for row in ({**header, "id": "c", "parentSession": "s"}, asked))
        )
    done = replay("diff", "a", "b", cwd=tmp_path)
    assert done.returncode == 1
    assert '  ~ "child 1: system 111111111111" -> "child 1: system 222222222222"' in done.stdout.split("\n")
    assert "tools" not in done.stdout

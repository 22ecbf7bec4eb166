"""Sampling from files: what is read, what is refused and where, what is written; and the command as people use it."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.cli.main import main
from replay.errors import FixtureError, ReplayError, UsageError
from replay.trace import sampler_files
from replay.trace.blobs import DirectoryBlobs
from replay.trace.codec import read_trace, write_trace
from replay.trace.sampler_choice import choose
from replay.trace.sampler_explanation import EXPLANATION, explained_traces, render_explanation
from replay.trace.sampler_files import find_sources, read_sources, write_sample
from tests.trace.suite_values import make_trace
from tests.trace.test_sampler import make_stream

GOOD = write_trace(make_trace("good", "a"), indent=False)


def line(**members: Any) -> bytes:
    document = orjson.loads(GOOD) | members
    return orjson.dumps({key: value for key, value in document.items() if value is not None}) + b"\n"


# The second line of a file, and the sentence.
BAD = {
    "no JSON": (b"{,\n", "p.jsonl:2: is not JSON: "),
    "cut": (GOOD[:50], "p.jsonl:2: is not JSON: unexpected end of data"),
    "a list": (b"[]\n", "p.jsonl:2 $: must be an object, not []"),
    "a number": (b"12\n", "p.jsonl:2 $: must be an object, not 12"),
    "bytes": (b'{"a": "\xff"}\n', "p.jsonl:2: byte 0xff at column 8 is not UTF-8"),
    "no schema": (line(schema=None), 'p.jsonl:2 $.schema: is no trace of schema 1: "schema" is nothing'),
    "later schema": (line(schema=2), 'p.jsonl:2 $.schema: is no trace of schema 1: "schema" is 2'),
    "no id": (line(trace_id=None), "p.jsonl:2 $.trace_id: must be a name of at most 4096 characters, not nothing"),
    "an id that climbs": (
        line(trace_id="../../x"),
        'p.jsonl:2 $.trace_id: "../../x" cannot be the name of a file; a sample is a directory of <trace_id>.json',
    ),
    "an id with a control": (line(trace_id="a\x1b"), "p.jsonl:2 $.trace_id: must be a name of at most 4096 characters"),
    "no steps": (line(steps=None), "p.jsonl:2 $.steps: must be a list of at most 50000 steps, not nothing"),
    "a step that is text": (line(steps=["x"]), 'p.jsonl:2 $.steps[0]: must be an object, not "x"'),
    "a step of no type": (
        line(steps=[{"step_id": "a", "step_type": "thought"}]),
        'p.jsonl:2 $.steps[0].step_type: is no step_type of a trace: "thought"',
    ),
    "a call of no tool": (
        line(steps=[{"step_id": "a", "step_type": "tool_call"}]),
        "p.jsonl:2 $.steps[0].tool_name: must be a name of at most 4096 characters, not nothing",
    ),
    "success in words": (line(success="yes"), 'p.jsonl:2 $.success: must be true, false or null, not "yes"'),
    "no task": (line(task=None), "p.jsonl:2 $.task: must be a string, not nothing"),
    "a category that is a list": (
        line(metadata={"category": ["a"]}),
        'p.jsonl:2 $.metadata.category: must be a name of at most 4096 characters, not ["a"]',
    ),
    # Only who reads a trace as a whole sees it: every trace that may be chosen is read so.
    "what the sampler does not look at": (line(total_duration_ms="long"), "p.jsonl:2 $.total_duration_ms: must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_one_sentence_with_its_place(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    data, sentence = BAD[name]
    monkeypatch.chdir(tmp_path)
    Path("p.jsonl").write_bytes(GOOD.rstrip() + b"\n" + data)
    with pytest.raises(FixtureError) as raised:
        read_sources(find_sources(["p.jsonl"]), 5, 0)
    assert str(raised.value).startswith(sentence)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "d holds no .json and no .jsonl file"),
        ({"x.jsonl": b""}, "d/x.jsonl: is empty"),
        ({"x.json": b""}, "d/x.json: is empty"),
        ({"x.json": b"{}"}, 'd/x.json $.schema: is no trace of schema 1: "schema" is nothing'),
    ],
)
def test_a_bad_source_is_one_sentence(
    files: dict[str, bytes], sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    for name, data in files.items():
        Path("d", name).write_bytes(data)
    with pytest.raises(ReplayError) as raised:
        read_sources(find_sources(["d"]), 5, 0)
    assert str(raised.value) == sentence and raised.value.exit_code == 2


def test_a_file_that_becomes_shorter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD.rstrip() + b"\n" + GOOD)
    parts = find_sources([str(path)])
    path.write_bytes(GOOD)
    with pytest.raises(FixtureError, match="became shorter while it was read"):
        read_sources(parts, 5, 0)


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"")
    for path in ("x.txt", "none.jsonl"):
        with pytest.raises(UsageError):
            find_sources([str(tmp_path / path)])


@pytest.fixture
def stream(tmp_path: Path) -> list[bytes]:
    traces = make_stream(random.Random(5), 300)
    return [write_trace(trace, indent=False) for trace in traces]


def test_how_traces_are_cut_into_files_and_processes_does_not_matter(
    stream: list[bytes], tmp_path: Path, monkeypatch: Any
) -> None:
    whole, many = tmp_path / "whole", tmp_path / "many"
    whole.mkdir()
    many.mkdir()
    # An empty line and a last line without its end are no mistake.
    (whole / "all.jsonl").write_bytes(b"\n" + b"".join(stream).rstrip())
    for number, data in enumerate(reversed(stream)):
        (many / f"{number}.json").write_bytes(data)
    expected = [one[:2] for one in choose(read_sources(find_sources([str(whole)]), 25, 3)).chosen]
    for size in (1 << 25, 777, 100):
        monkeypatch.setattr(sampler_files, "_PART_BYTES", size)
        for place in (whole, many):
            sampler = read_sources(find_sources([str(place)]), 25, 3)
            assert sampler.total == 300
            chosen = [(one.candidate[:-1], one.why) for one in choose(sampler).chosen]
            assert [(one[0].trace_id, one[1]) for one in [(c, w) for (c, w) in expected]] == [
                (candidate[0], why) for candidate, why in chosen
            ]
    monkeypatch.setattr(sampler_files, "_PART_BYTES", 1 << 14)
    explained = [
        render_explanation(choose(read_sources(find_sources([str(whole)]), 25, 3, jobs)), 3)
        for jobs in (1, 2)
    ]
    assert explained[0] == explained[1]


def test_a_sample_is_written_with_its_blobs_and_can_be_read(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    blobs = DirectoryBlobs(str(source / "blobs"))
    for number in range(4):
        trace = make_trace(f"t{number}", "a", (("find", {"text": f"{number}" * 20_000}),))
        (source / f"t{number}.json").write_bytes(write_trace(trace, blobs))
    sampler = read_sources(find_sources([str(source)]), 2, 0)
    write_sample(choose(sampler), 0, str(tmp_path / "suite"))
    traces = sorted((tmp_path / "suite" / "traces").glob("*.json"))
    assert len(traces) == 2 and len(list((tmp_path / "suite" / "traces" / "blobs").iterdir())) == 2
    for path in traces:
        trace = read_trace(path.read_bytes(), path.name, DirectoryBlobs(str(path.parent / "blobs")))
        assert len(trace.steps[1].tool_input["text"]) == 20_000
        assert path.read_bytes() == (source / path.name).read_bytes()
    # What the guard reads of it.
    explained = explained_traces((tmp_path / "suite" / EXPLANATION).read_bytes(), "sample.json")
    assert sorted(explained) == [path.stem for path in traces]
    first = next(iter(explained.values()))
    assert (first.file, first.path) == ("sample.json", "$.traces[0].trace_id") and first.line > 10
    with pytest.raises(UsageError, match="is not empty"):
        write_sample(choose(sampler), 0, str(tmp_path / "suite"))


def test_the_command_says_what_it_chose(stream: list[bytes], tmp_path: Path, capfdbinary: Any) -> None:
    (tmp_path / "p.jsonl").write_bytes(b"".join(stream))
    arguments = ["trace", "sample", str(tmp_path / "p.jsonl"), "--count", "20", "--minimum", "2", "--out"]
    assert main([*arguments, str(tmp_path / "one")]) == 0
    assert main([*arguments, str(tmp_path / "two")]) == 0
    output, errors = capfdbinary.readouterr()
    assert errors == b"" and output.startswith(
        b"20 traces chosen from 300 traces of 4 categories, written to "
    )
    one, two = (
        sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*.json"))
        for name in ("one", "two")
    )
    assert one == two and len(one) == 21
    assert (tmp_path / "one" / "sample.json").read_bytes() == (tmp_path / "two" / "sample.json").read_bytes()
    assert main([*arguments, str(tmp_path / "one")]) == 2
    assert b"is not empty" in capfdbinary.readouterr()[1]

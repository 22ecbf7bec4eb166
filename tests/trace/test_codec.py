"""The file of a trace: what is written is read, what is canonical stays so, and whatever is wrong is one sentence."""

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.trace.blobs import DirectoryBlobs, MemoryBlobs, digest_of
from replay.trace.codec import blob_digests, read_trace, write_trace
from replay.trace.limits import BLOB_VALUE_BYTES, MAX_NESTING
from replay.trace.model import ABSENT, AgentStep, AgentTrace, BlobRef, StepError
from tests.trace.trace_values import traces, unfetched


def exactly(value):
    """Equal and of one type at every place: True is not 1, and -0.0 not 0.0."""
    if isinstance(value, dict):
        return {key: exactly(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exactly(inner) for inner in value]
    return (type(value).__name__, repr(value))


def a_step(number=1, **members):
    return AgentStep(f"s{number}", "reasoning", **members)


def a_trace(*steps, **members):
    return AgentTrace("t", "do it", steps, **members)


@given(traces(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_trace_that_was_written_is_read_as_it_was(trace, with_blobs):
    blobs = MemoryBlobs() if with_blobs else None
    data = write_trace(trace, blobs)
    again = read_trace(data, "t.json", blobs, strict=True)
    assert exactly(again) == exactly(trace)
    assert write_trace(again, blobs) == data
    assert read_trace(write_trace(trace, blobs, indent=False), "t.json", blobs) == again


@given(traces())
@settings(max_examples=30, deadline=None)
def test_trace_that_is_read_without_its_blobs_keeps_its_bytes(trace):
    blobs = MemoryBlobs()
    data = write_trace(trace, blobs)
    blind = read_trace(data, "t.json")
    assert write_trace(blind) == data
    assert blob_digests(data, "t.json") == set(blobs.held)
    assert unfetched(blind) == bool(blobs.held)


@given(st.binary(max_size=200) | traces().map(lambda trace: write_trace(trace)), st.data())
@settings(max_examples=80, deadline=None)
def test_broken_bytes_are_refused_with_a_sentence_or_read(data, draw):
    at = draw.draw(st.integers(0, max(len(data) - 1, 0)))
    broken = data[:at] + draw.draw(st.binary(max_size=3)) + data[at + draw.draw(st.integers(0, 4)) :]
    try:
        read_trace(broken, "t.json", MemoryBlobs(), strict=True)
    except FixtureError as error:
        assert str(error).startswith("t.json") and error.what


def test_members_that_this_version_does_not_know_survive():
    document = {
        "schema": 1, "trace_id": "t", "task": "", "steps": [
            {"step_id": "s1", "step_type": "reasoning", "error": {"type": "E", "message": "", "errno": 2}, "mood": [1]}
        ], "reviewer": {"name": "a"},
    }  # fmt: skip
    trace = read_trace(orjson.dumps(document), "t.json")
    assert trace.extra == {"reviewer": {"name": "a"}}
    assert trace.steps[0].extra == {"mood": [1]}
    assert trace.steps[0].error == StepError("E", "", {"errno": 2})
    assert orjson.loads(write_trace(trace)) == {
        **document,
        "steps": [document["steps"][0] | {"timestamp": 0}],
    }


def test_canonical_form_says_a_conversation_once():
    talk = [{"role": "user", "content": f"message {at}"} for at in range(50)]
    trace = a_trace(*(a_step(at, messages=talk[:at], tools=[{"name": "ls"}]) for at in range(1, 51)))
    data = write_trace(trace)
    assert data.count(b"message 7") == 1 and data.count(b'"ls"') == 1
    assert read_trace(data, "t.json") == trace
    spelled = json.loads(data)["steps"]
    assert spelled[0]["messages"] == talk[:1]
    assert spelled[9]["messages"] == {"$after": "s9", "keep": 9, "then": talk[9:10]}


def test_conversations_that_take_turns_find_their_own_beginning():
    one, two = [{"a": 1}, {"a": 2}], [{"b": 1}, {"b": 2}]
    trace = a_trace(
        a_step(1, messages=one),
        a_step(2, messages=two),
        a_step(3, messages=[*one, 3]),
        a_step(4, messages=[*two, 4]),
    )
    spelled = [step["messages"] for step in json.loads(write_trace(trace))["steps"]]
    assert spelled[2:] == [{"$after": "s1", "keep": 2, "then": [3]}, {"$after": "s2", "keep": 2, "then": [4]}]


def test_null_and_absent_are_two_things_for_what_came_back():
    trace = a_trace(a_step(1), a_step(2, response=None))
    assert [step.response for step in read_trace(write_trace(trace), "t.json").steps] == [ABSENT, None]


def test_long_text_and_long_values_lie_beside_the_trace(tmp_path):
    blobs = DirectoryBlobs(tmp_path / "blobs")
    rows = [{"row": at, "text": "some text"} for at in range(BLOB_VALUE_BYTES // 20)]
    trace = a_trace(a_step(response={"text": "x" * 20_000, "short": "y"}, tool_output=rows))
    data = write_trace(trace, blobs)
    assert len(data) < 1000
    held = {"sha256:" + path.name for path in (tmp_path / "blobs").iterdir()}
    assert held == blob_digests(data, "t.json") == {digest_of(b"x" * 20_000), digest_of(orjson.dumps(rows))}
    assert read_trace(data, "t.json", blobs) == trace
    blind = read_trace(data, "t.json")
    assert blind.steps[0].tool_output == BlobRef(digest_of(orjson.dumps(rows)), len(orjson.dumps(rows)), True)
    assert write_trace(read_trace(data, "t.json", blobs), blobs) == data


def test_blob_that_was_changed_or_is_gone_is_named(tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    data = write_trace(a_trace(a_step(response="x" * 20_000)), blobs)
    [path] = tmp_path.iterdir()
    path.write_bytes(b"y" * 20_000)
    with pytest.raises(FixtureError, match="was changed: its bytes hash to sha256:"):
        read_trace(data, "t.json", blobs)
    path.unlink()
    with pytest.raises(
        FixtureError,
        match=r"^t.json:\d+ \$.steps\[0\].response: refers to blobs/[0-9a-f]{64}, which is not there",
    ):
        read_trace(data, "t.json", blobs)
    path.mkdir()
    with pytest.raises(FixtureError, match="is no regular file"):
        read_trace(data, "t.json", blobs)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        (a_trace(a_step(1), a_step(1)), '"s1" is also an earlier step'),
        (a_trace(a_step(1, response=float)), "not JSON serializable"),
        (a_trace(a_step(1, response="\ud800")), "surrogates"),
        (a_trace(a_step(1, extra={"step_id": "x"})), "members that are not known"),
        (a_trace(a_step(1, timestamp=-1)), r"\$.steps\[0\].timestamp must be a number from 0"),
    ],
)  # fmt: skip
def test_trace_that_could_not_be_read_is_not_written(trace, says):
    with pytest.raises(ValueError, match=says):
        write_trace(trace)
    with pytest.raises(ValueError, match=says):
        write_trace(trace, MemoryBlobs())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xef\xbb\xbf{}", "t.json:1: starts with a byte order mark; save it as plain UTF-8"),
        (b'{\n"schema": 1, "task": "\xff"}', "t.json:2: byte 0xff at column 23 is not UTF-8"),
        (b"{\n<<<<<<< ours\n}", "t.json:2: is a merge conflict marker"),
        (b" " * ((64 << 20) + 1), "t.json: has 67108865 bytes, 67108864 are allowed"),
    ],
    ids=["mark", "bytes", "conflict", "size"],
)
def test_bytes_that_should_not_be_committed_are_refused_by_name(data, says):
    with pytest.raises(FixtureError) as caught:
        read_trace(data, "t.json")
    assert str(caught.value) == says


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_has_a_bound_for_writer_and_reader():
    # The document, its steps, a step.
    fits = a_trace(a_step(response=nested(MAX_NESTING - 3)))
    assert read_trace(write_trace(fits), "t.json") == fits
    with pytest.raises(ValueError, match="nests deeper"):
        write_trace(a_trace(a_step(response=nested(MAX_NESTING - 2))))
    with pytest.raises(FixtureError, match="nests deeper than 200 levels"):
        read_trace(b'{"schema":1,"x":' + b"[" * 200 + b"]" * 200 + b"}", "t.json")
    with pytest.raises(FixtureError, match="nests deeper than"):
        read_trace(b"[" * 100_000, "t.json")


def test_file_that_says_many_messages_in_few_bytes_is_refused():
    first = {"step_id": "s0", "step_type": "reasoning", "messages": [1] * 1000}
    rest = [
        {
            "step_id": f"s{at}",
            "step_type": "reasoning",
            "messages": {"$after": "s0", "keep": 1000, "then": []},
        }
        for at in range(1, 2001)
    ]
    document = {"schema": 1, "trace_id": "t", "task": "", "steps": [first, *rest]}
    with pytest.raises(
        FixtureError, match=r"\$.steps\[2000\].messages: is one of more than 2000000 messages"
    ):
        read_trace(orjson.dumps(document), "t.json")

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError, ReplayError
from replay.script import Call, Chunks, Fault, Hang, Lane, Throw, apply_override, parse_override

FILE = "replay.override.json"
START = {"type": "block-start", "index": 0, "blockType": "text"}
DELTA = {"type": "text-delta", "index": 0, "text": "x"}


def lane(name: str = "parent", calls: int = 2) -> Lane:
    found = [Call(at, Chunks([START]), "session.jsonl", 10 * at, 1, at) for at in range(1, calls + 1)]
    return Lane(name, "session.jsonl", name, None if name == "parent" else "parent", [], found)


def applied(value: Any, *lanes: Lane) -> list[Lane]:
    return apply_override(lanes or [lane()], parse_override(orjson.dumps(value), FILE))


def patches(*items: Any) -> dict[str, Any]:
    return {"patches": list(items)}


def test_a_list_replaces_the_script_of_the_parent_only() -> None:
    value = [
        {"kind": "hang", "readyFile": "ready"},
        {"kind": "throw", "chunks": [START], "message": "m", "code": "c"},
    ]
    parent, child = applied(value, lane(calls=5), lane("child 1"))
    assert [call.entry for call in parent.calls] == [Hang([], "ready"), Throw([START], "m", "c")]
    assert [call.ordinal for call in parent.calls] == [1, 2]
    assert len(child.calls) == 2


def test_an_entry_knows_the_line_it_stands_on() -> None:
    text = b'[\n  {"kind": "hang"},\n\n  {\n    "kind": "hang"}\n]'
    (found,) = apply_override([lane()], parse_override(text, FILE))
    assert [(call.file, call.line) for call in found.calls] == [(FILE, 2), (FILE, 4)]


def test_patches_replace_single_calls_and_append() -> None:
    before = lane()
    (found,) = applied(
        patches(
            {"at": 3, "entry": {"kind": "hang"}},
            {"at": 2, "entry": {"kind": "chunks", "chunks": [START, DELTA]}},
            {"at": 0, "entry": {"kind": "hang", "chunks": [START]}},
        ),
        before,
    )
    assert [call.entry for call in found.calls] == [
        Hang([START]),
        Chunks([START]),
        Chunks([START, DELTA]),
        Hang([]),
    ]
    assert [(call.turn, call.step) for call in found.calls] == [(1, 1), (1, 2), (0, 0), (0, 0)]
    assert len(before.calls) == 2 and before.calls[0].entry == Chunks([START])


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ({"kind": "malformed"}, ("failed", "MALFORMED")),
        ({"kind": "reset"}, ("failed", "CONNECTION_RESET")),
        ({"kind": "stall", "at": 2, "afterMs": 60_000}, ("completed", None)),
        ({"kind": "trickle", "everyMs": 30_000}, ("completed", None)),
    ],
)
def test_a_fault_is_read_as_it_is_written_and_ends_as_the_agent_sees_it(fault: Any, outcome: Any) -> None:
    value = {"kind": "fault", "chunks": [START, DELTA], "fault": fault}
    entry = applied([value])[0].calls[0].entry
    assert entry == Fault([START, DELTA], fault) and entry.to_json() == value
    assert entry != Fault([START, DELTA], {"kind": "other"})
    assert (entry.outcome["kind"], entry.outcome.get("code")) == outcome


def test_with_children_a_patch_names_its_lane() -> None:
    found = applied(patches({"at": 0, "lane": "child 1", "entry": {"kind": "hang"}}), lane(), lane("child 1"))
    assert [one.calls[0].entry.kind for one in found] == ["chunks", "hang"]


HANG = {"kind": "hang"}
REFUSED = {
    "a number": (1, ' $: must be a list of entries or {"patches":[...]}, not 1'),
    "unknown key": ({"patch": []}, " $.patch: is no key here (known: patches)"),
    "missing patches": ({}, ' $: lacks the key "patches"'),
    "patches is an object": ({"patches": {}}, " $.patches: must be a list, not {}"),
    "no patches": ({"patches": []}, " $.patches: is empty, so the file says nothing"),
    "patch is a list": (patches([]), " $.patches[0]: must be an object, not []"),
    "wrong key in a patch": (patches({"at": 0, "entry": HANG, "Lane": "x"}), " $.patches[0].Lane: is no key here (known: at, entry, lane)"),
    "no at": (patches({"entry": HANG}), ' $.patches[0]: lacks the key "at"'),
    "negative at": (patches({"at": -1, "entry": HANG}), " $.patches[0].at: must be a whole number from 0, not -1"),
    "at is true": (patches({"at": True, "entry": HANG}), " $.patches[0].at: must be a whole number from 0, not true"),
    "lane is a number": (patches({"at": 0, "entry": HANG, "lane": 1}), " $.patches[0].lane: must be a string, not 1"),
    "at out of range": (patches({"at": 3, "entry": HANG}), ' $.patches[0].at: is 3, but lane "parent" has 2 calls (at most 2, which appends)'),
    "at twice": (patches({"at": 1, "entry": HANG}, {"at": 1, "entry": HANG}), ' $.patches[1].at: place 1 of lane "parent" is patched twice'),
    "append twice": (patches({"at": 2, "entry": HANG}, {"at": 2, "entry": HANG}), "is patched twice"),
    "unknown lane": (patches({"at": 0, "entry": HANG, "lane": "child 9"}), ' $.patches[0].lane: there is no lane "child 9" (known: "parent")'),
    "unknown kind": ([{"kind": "pause"}], ' $[0].kind: "pause" is no kind of entry (known: chunks, fault, hang, throw)'),
    "kind is a list": ([{"kind": []}], " $[0].kind: [] is no kind of entry"),
    "entry is a string": (["hang"], ' $[0]: must be an object, not "hang"'),
    "wrong key in an entry": ([{"kind": "hang", "readyfile": "x"}], " $[0].readyfile: is no key here (known: chunks, kind, readyFile)"),
    "key of another kind": ([{"kind": "chunks", "chunks": [], "code": "x"}], " $[0].code: is no key here"),
    "throw without chunks": ([{"kind": "throw", "message": "m", "code": "c"}], ' $[0]: lacks the key "chunks"'),
    "throw with a number": ([{"kind": "throw", "chunks": [], "message": "m", "code": 401}], " $[0].code: must be a string, not 401"),
    "chunks is an object": ([{"kind": "chunks", "chunks": {}}], " $[0].chunks: must be a list, not {}"),
    "bad chunk": ([{"kind": "chunks", "chunks": [START, {"type": "text-delta", "index": 0}]}], " $[0].chunks[1].text: must be a string"),
    "delta of no block": ([{"kind": "chunks", "chunks": [DELTA]}], " $[0].chunks[0].index: block 0 was never started in this entry"),
    "bad block": ([{"kind": "chunks", "chunks": [START, {"type": "block-end", "index": 0, "block": {"type": "x"}}]}], " $[0].chunks[1].block.type: "),
    "ready file above": ([{"kind": "hang", "readyFile": "a/../../x"}], ' $[0].readyFile: must stay inside the session\'s cwd, "a/../../x" does not'),
    "ready file absolute": ([{"kind": "hang", "readyFile": "/tmp/x"}], "must stay inside the session's cwd"),
    "ready file of Windows": ([{"kind": "hang", "readyFile": "C:\\x"}], "must stay inside the session's cwd"),
    "ready file empty": ([{"kind": "hang", "readyFile": ""}], ' $[0].readyFile: must be the name of a file, not ""'),
    "ready file with NUL": ([{"kind": "hang", "readyFile": "a\0"}], " $[0].readyFile: must be the name of a file"),
    "fault of no kind": ([{"kind": "fault", "chunks": [], "fault": {}}], " $[0].fault.kind: nothing is no kind of fault (known: malformed, reset, stall, trickle)"),
    "fault that is a list": ([{"kind": "fault", "chunks": [], "fault": []}], " $[0].fault: must be an object, not []"),
    "fault without chunks": ([{"kind": "fault", "fault": {"kind": "reset"}}], ' $[0]: lacks the key "chunks"'),
    "reset with a time": ([{"kind": "fault", "chunks": [], "fault": {"kind": "reset", "everyMs": 1}}], " $[0].fault.everyMs: is no key here (known: kind)"),
    "stall nowhere": ([{"kind": "fault", "chunks": [], "fault": {"kind": "stall", "afterMs": 1}}], ' $[0].fault: lacks the key "at"'),
    "stall of no time": ([{"kind": "fault", "chunks": [], "fault": {"kind": "stall", "at": 0, "afterMs": 0}}], " $[0].fault.afterMs: must be milliseconds from 1 to 60000, not 0"),
    "stall before the start": ([{"kind": "fault", "chunks": [START], "fault": {"kind": "stall", "at": -1, "afterMs": 1}}], " $[0].fault.at: must be a whole number from 0 to 1, the number of chunks, not -1"),
    "stall at true": ([{"kind": "fault", "chunks": [START], "fault": {"kind": "stall", "at": True, "afterMs": 1}}], " $[0].fault.at: must be a whole number"),
    "trickle of parts": ([{"kind": "fault", "chunks": [], "fault": {"kind": "trickle", "everyMs": 1.5}}], " $[0].fault.everyMs: must be milliseconds from 1 to 60000, not 1.5"),
    "trickle in all": ([{"kind": "fault", "chunks": [START, DELTA], "fault": {"kind": "trickle", "everyMs": 30001}}], " $[0].fault.everyMs: makes 60002 ms with 2 chunks, a fault may take 60000"),
    "catastrophic expression": ([{"kind": "throw", "chunks": [], "message": "{{fromRequest:(a+)+b}}", "code": ""}], " $.message: lane \"parent\", 1st model call: the expression \"(a+)+b\" of a fromRequest repeats the group"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_override_refuses(case: str) -> None:
    value, message = REFUSED[case]
    with pytest.raises(FixtureError) as caught:
        applied(value)
    assert str(caught.value).startswith(f"{FILE}:1 ")
    assert message in str(caught.value)


def test_a_patch_without_lane_is_refused_where_there_are_children() -> None:
    with pytest.raises(FixtureError) as caught:
        applied(patches({"at": 0, "entry": HANG}), lane(), lane("child 1"))
    assert (
        str(caught.value) == f'{FILE}:1 $.patches[0]: names no lane, and the scenario has "parent", "child 1"'
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", f"{FILE}: is empty"),
        (b" \n", f"{FILE}: is empty"),
        (b"\xef\xbb\xbf[]", f"{FILE}:1: starts with a byte order mark"),
        (b'[\n{"kind":\n"hang"', f"{FILE}:3: is not JSON"),
        (b'[\n{"kind":"\xff"}]', f"{FILE}:2: byte 0xff at column 10 is not UTF-8"),
        (b'[\n{"kind":"\\ud800"}]', f"{FILE}:1 $[0].kind: holds a lone surrogate"),
        (b'[\n{"kind":NaN}]', f"{FILE}:1 $[0].kind: is not a finite number"),
        (
            b'{"patches":[\n{"at":99999999999999999999,"entry":{}}]}',
            f"{FILE}:2: 99999999999999999999 is beyond 64 bits",
        ),
        (b"[" * 300 + b"]" * 300, f"{FILE}:1: nests deeper than 254 levels"),
        (b"[" * 100_000, f"{FILE}:1: nests deeper than 254 levels"),
        (b"[\n<<<<<<< HEAD\n]", f"{FILE}:2: is a merge conflict marker"),
        (b'{"patches":[\n\n{"at":0,\n"entry":{"kind":"x"}}]}', f"{FILE}:4 $.patches[0].entry.kind: "),
    ],
)
def test_bytes_that_are_no_override_are_refused_with_their_line(data: bytes, message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        parse_override(data, FILE)
    assert str(caught.value).startswith(message)


def test_strict_names_a_key_that_stands_twice() -> None:
    text = b'[\n{"kind":"hang",\n"kind":"hang"}]'
    parse_override(text, FILE)
    with pytest.raises(FixtureError, match=r'\$\[0\].kind: the key "kind" stands twice in one object'):
        parse_override(text, FILE, strict=True)


SAMPLE = orjson.dumps(
    patches(
        {"at": 1, "lane": "parent", "entry": {"kind": "throw", "chunks": [START, DELTA], "message": "{{fromRequest:x}}", "code": ""}},
        {"at": 0, "entry": {"kind": "hang", "readyFile": "x"}},
    ),
    option=orjson.OPT_INDENT_2,
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.integers(0, len(SAMPLE)),
    st.integers(0, 20),
    st.binary(max_size=6)
    | st.sampled_from([b"[]", b"{}", b"null", b'"', b"-1", b"9" * 30, b"\\ud800", b"1e999", b"true"]),
)
def test_mutilated_overrides_raise_fixture_errors_only(start: int, length: int, piece: bytes) -> None:
    try:
        apply_override(
            [lane()], parse_override(SAMPLE[:start] + piece + SAMPLE[start + length :], FILE, strict=True)
        )
    except ReplayError as error:
        assert error.where.file == FILE

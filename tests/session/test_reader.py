import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError, ReplayError
from replay.session import MAX_LINE_BYTES, MAX_NESTING, canonical_form, encode_log, read_log
from tests.session.log_lines import HEADER, answer, begin, chunk, delta, finish, header, log_bytes, mark, user

HEAD = orjson.dumps(HEADER) + b"\n"


def event(text: str) -> bytes:
    return HEAD + text.encode() + b"\n"


def packed(data: str, more: str = "") -> bytes:
    start = orjson.dumps(begin()).decode()
    return event(f'{start}\n{{"type":"text-chunks","data":{{"turn":1,"step":1,{data}}}{more}}}')


REFUSED = {
    "empty file": (b"", "session.jsonl: is empty; a session log starts with a header line"),
    "byte order mark": (b"\xef\xbb\xbf" + HEAD, "session.jsonl:1: starts with a byte order mark; save it as plain UTF-8"),
    "no header": (log_bytes(head=user("hi")), "session.jsonl:1 $: must be a session header"),
    "header is a list": (b"[]\n", "session.jsonl:1 $: must be a session header"),
    "other version": (log_bytes(head=header(version=3)), "session.jsonl:1 $.version: this reader knows version 0, not 3"),
    "version is true": (log_bytes(head=header(version=False)), "$.version: this reader knows version 0, not false"),
    "no id": (b'{"type":"session","version":0,"createdAt":0}\n', "session.jsonl:1 $.id: must be a string, not nothing"),
    "negative seed": (log_bytes(head=header(seedLength=-1)), "$.seedLength: must be a whole number from 0, not -1"),
    "second header": (log_bytes(HEADER), "session.jsonl:2 $.type: is a second header"),
    "second header with data": (log_bytes({**HEADER, "data": {}}), "session.jsonl:2 $.type: is a second header"),
    "truncated": (HEAD + b'{"type":"turn/start","da', "session.jsonl:2: is cut off: the file ends in the middle of this line"),
    "broken before a cut end": (event("{")[:-1] + b"\n" + b"{}", "session.jsonl:2: is not JSON: "),
    "empty line": (HEAD + b"\n" + HEAD, "session.jsonl:2: the line is empty"),
    "not JSON": (event("{'a':1}"), "session.jsonl:2: is not JSON: "),
    "two values": (event("{} {}"), "session.jsonl:2: is not JSON: "),
    "conflict marker": (event("<<<<<<< HEAD"), "session.jsonl:2: is a merge conflict marker"),
    "no object": (event("[1]"), "session.jsonl:2 $: must be a JSON object, not [1]"),
    "a string": (event('"type"'), 'session.jsonl:2 $: must be a JSON object, not "type"'),
    "no type": (event('{"data":{}}'), "session.jsonl:2 $.type: must be a string, not nothing"),
    "type is a list": (event('{"type":[],"data":{}}'), "session.jsonl:2 $.type: must be a string, not []"),
    "type is a number": (event('{"type":1,"data":{}}'), "session.jsonl:2 $.type: must be a string, not 1"),
    "no data": (event('{"type":"x"}'), "session.jsonl:2 $.data: must be an object, not nothing"),
    "data is a list": (event('{"type":"x","data":[]}'), "session.jsonl:2 $.data: must be an object, not []"),
    "data of a chunk is a string": (event('{"type":"assistant/chunk","data":"x"}'), "$.data: must be an object"),
    "data of a packed row is a list": (event('{"type":"text-chunks","data":[]}'), "$.data: must be an object"),
    "invalid UTF-8": (HEAD + b'{"type":"\xff"}\n', "session.jsonl:2: byte 0xff at column 10 is not UTF-8"),
    "lone surrogate": (event('{"type":"x","data":{"a":["\\ud800"]}}'), "session.jsonl:2 $.data.a[0]: holds a lone surrogate"),
    "lone low surrogate": (event('{"type":"x","data":{"a":"\\uDC00x"}}'), "session.jsonl:2 $.data.a: holds a lone surrogate"),
    "lone surrogate as key": (event('{"type":"x","data":{"\\ud800":1}}'), "session.jsonl:2 $.data: the key '\\ud800' holds"),
    "surrogate below long keys": (
        event('{"type":"x","data":' + ('{"' + "k" * 90 + '":') * 9 + '"\\ud800"' + "}" * 10),
        '...: holds a lone surrogate',
    ),
    "not a number": (event('{"type":"x","data":{"a":NaN}}'), "session.jsonl:2 $.data.a: is not a finite number"),
    "infinity": (event('{"type":"x","data":{"a":-Infinity}}'), "session.jsonl:2 $.data.a: is not a finite number"),
    "overflow": (event('{"type":"x","data":{"a":1e999}}'), "session.jsonl:2 $.data.a: is not a finite number"),
    "beyond 64 bits": (
        event('{"type":"x","data":{"b":"18446744073709551616","a":18446744073709551616}}'),
        "session.jsonl:2 $.data.a: 18446744073709551616 is beyond 64 bits, and would be rounded",
    ),
    "below 64 bits": (event('{"type":"x","data":{"a":-9223372036854775809}}'), "$.data.a: -9223372036854775809 is beyond"),
    "many digits": (event('{"type":"x","data":{"a":[0,' + "9" * 5000 + "]}}"), "session.jsonl:2 $.data.a[1]: is a whole number beyond 64 bits"),
    "300 digits": (event('{"type":"x","data":{"a":' + "9" * 300 + "}}"), "$.data.a: a number of 300 digits is beyond 64"),
    "deep": (event('{"type":"x","data":' + '{"a":' * 300 + "1" + "}" * 301), "session.jsonl:2: nests deeper than 254"),
    "very deep": (event('{"type":"x","data":' + "[" * 5000 + "]" * 5001), "session.jsonl:2: nests deeper than 254"),
    "deep header": (b"[" * 400 + b"]" * 400, "session.jsonl:1: nests deeper than 254 levels"),
    "deep and open": (HEAD + b"[" * 100_000, "session.jsonl:2: nests deeper than 254 levels"),
    "negative turn": (log_bytes(begin(turn=-1)), "session.jsonl:2 $.data.turn: must be a whole number from 0, not -1"),
    "negative step": (log_bytes({"type": "step/end", "data": {"turn": 1, "step": -2}}), "session.jsonl:2 $.data.step: must"),
    "turn is true": (log_bytes(begin(turn=1), begin(turn=True)), "session.jsonl:3 $.data.turn: must be a whole number"),
    "turn is a fraction": (log_bytes(begin(turn=1), begin(turn=1.0)), "session.jsonl:3 $.data.turn: must be a whole"),
    "no step": (log_bytes({"type": "tool/call", "data": {"turn": 1}}), "session.jsonl:2 $.data.step: must be a whole"),
    "arguments are an object": (
        log_bytes({"type": "tool/call", "data": {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": {}}}),
        "session.jsonl:2 $.data.arguments: must be a string, not {}",
    ),
    "unknown chunk": (log_bytes(chunk({"type": "text"})), 'session.jsonl:2 $.data.chunk.type: "text" is no chunk type (known:'),
    "chunk is a string": (log_bytes({"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": "x"}}), "$.data.chunk: "),
    "index is true": (log_bytes(begin(True)), "session.jsonl:2 $.data.chunk.index: must be a whole number from 0, not true"),
    "index is negative": (log_bytes(begin(-1)), "session.jsonl:2 $.data.chunk.index: must be a whole number from 0, not -1"),
    "chunk type is a list": (log_bytes(chunk({"type": []})), "$.data.chunk.type: [] is no chunk type"),
    "block never started": (
        log_bytes(begin(0), delta("x", 1)),
        "session.jsonl:3 $.data.chunk.index: block 1 was never started in this call (turn 1, step 1)",
    ),
    "packed block never started": (log_bytes({"type": "text-chunks", "data": {"turn": 1, "step": 1, "index": 2, "dt": [], "texts": [""]}}), "session.jsonl:2 $.data.index: block 2 was never started"),
    "block of the step before": (log_bytes(begin(), delta("x", step=2)), "session.jsonl:3 $.data.chunk.index: block 0 was"),
    "block of the call before": (log_bytes(*answer("x"), delta("y")), "session.jsonl:6 $.data.chunk.index: block 0 was"),
    "end of a block never started": (log_bytes(chunk({"type": "block-end", "index": 0, "block": {"type": "text", "text": ""}})), "was never started"),
    "block type unknown": (log_bytes(begin(kind="image")), '$.data.chunk.blockType: "image" is no block type'),
    "delta without text": (log_bytes(chunk({"type": "text-delta", "index": 0})), "$.data.chunk.text: must be a string"),
    "usage is a number": (log_bytes(chunk({"type": "usage", "usage": 1})), "$.data.chunk.usage: must be an object, not 1"),
    "finish without reason": (log_bytes(chunk({"type": "finish"})), '$.data.chunk.reason: must be an object with a "kind"'),
    "unequal lengths": (packed('"index":0,"dt":[0],"texts":["a","b","c"]'), "session.jsonl:3 $.data.dt: has 1 entries for 3 texts, must have 2"),
    "no texts": (packed('"index":0,"dt":[],"texts":[]'), "session.jsonl:3 $.data.texts: must be a list of one or more strings"),
    "text is a number": (packed('"index":0,"dt":[0],"texts":["a",1]'), "$.data.texts: must be a list of one or more strings"),
    "gap is true": (packed('"index":0,"dt":[true],"texts":["a","b"]'), "$.data.dt: must be a list of whole milliseconds"),
    "packed row with an odd key": (packed('"index":0,"dt":[],"texts":[""],"id":"x"'), '$.data: a text-chunks row has no field "id"'),
    "packed row with an odd field": (packed('"index":0,"dt":[],"texts":[""]', ',"surfaceOp":"append"'), "session.jsonl:3 $: a text-chunks row has no field"),
    "packed row with a time in words": (packed('"index":0,"dt":[],"texts":[""]', ',"time":"now"'), "session.jsonl:3 $.time: must be a whole"),
    "packed call without an id": (
        log_bytes({"type": "tool-call-chunks", "data": {"turn": 1, "step": 1, "index": 0, "dt": [], "args": [""]}}),
        "$.data.id: must be a string, not nothing",
    ),
    "call 0 has no number": (log_bytes({"type": "call/start", "data": {"turn": 1, "step": 1}}), "$.data.call: must be a whole"),
    "unknown outcome": (log_bytes(mark("end", 1, outcome={"kind": "lost"})), "$.data.outcome.kind: must be one of completed"),
    "outcome is a list": (log_bytes(mark("end", 1, outcome={"kind": []})), "$.data.outcome.kind: must be one of completed"),
    "outcome code is a number": (log_bytes(mark("end", 1, outcome={"kind": "failed", "code": 7})), "$.data.outcome.code: must be"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_reader_refuses(case: str) -> None:
    data, message = REFUSED[case]
    with pytest.raises(FixtureError) as caught:
        read_log(data, "session.jsonl")
    assert message in str(caught.value)
    assert str(caught.value).startswith("session.jsonl")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('{"type":"x","data":{"a":{"b":1,"c":2,"b":3}}}', '$.data.a.b: the key "b"'),
        ('{"type":"x","data":{},"data":{}}', '$.data: the key "data"'),
        ('{"type":"x","data":{"a":[{"k k":1,"k k":1}]}}', '$.data.a[0]["k k"]: the key "k k"'),
        ('{"type":"x","data":{"a":1,"\\u0061":2}}', '$.data.a: the key "a"'),
    ],
)
def test_strict_reader_names_a_key_that_stands_twice(line: str, path: str) -> None:
    read_log(event(line), "session.jsonl")
    with pytest.raises(FixtureError) as caught:
        read_log(event(line), "session.jsonl", strict=True)
    assert str(caught.value) == f"session.jsonl:2 {path} stands twice in one object"


def test_lines_end_at_line_feeds_and_nowhere_else() -> None:
    texts = ["a\u2028b", "c\u0085d", "e\x0bf\x1cg", "\0", "\u2029", "\r"]
    data = log_bytes(*map(user, texts))
    log = read_log(data, "session.jsonl", strict=True)
    assert [row.data["content"][0]["text"] for row in log.rows] == texts
    assert encode_log(log.header.fields, log.rows) == data


def test_reader_takes_crlf_and_a_missing_last_line_end() -> None:
    data = log_bytes(user("a"), *answer("b"))
    expected = [row.fields for row in read_log(data, "x").rows]
    for variant in (data.replace(b"\n", b"\r\n"), data[:-1], data.replace(b"\n", b"\r\n")[:-2]):
        log = read_log(variant, "x")
        assert [row.fields for row in log.rows] == expected
        assert canonical_form(log) == data


def test_digits_in_a_string_are_no_number() -> None:
    data = log_bytes(user('99999999999999999999 and " 99999999999999999999'))
    assert canonical_form(read_log(data, "x")) == data


def test_numbers_at_the_edge_of_64_bits_survive() -> None:
    data = event(
        '{"type":"x","data":{"a":[18446744073709551615,-9223372036854775808,0.1234567890123456789e-5]}}'
    )
    assert read_log(data, "x").rows[0].data["a"][:2] == [2**64 - 1, -(2**63)]


@pytest.mark.parametrize("offset", range(-25, 3))
def test_a_huge_number_is_found_wherever_the_scan_cuts_the_file(offset: int) -> None:
    filler = "x" * ((1 << 18) + offset - len(HEAD) - len('{"type":"x","data":{"f":"","a":'))
    with pytest.raises(FixtureError, match="beyond 64 bits"):
        read_log(event('{"type":"x","data":{"f":"' + filler + '","a":18446744073709551616}}'), "x")


def test_the_deepest_line_that_is_read_can_be_written_again() -> None:
    inner = "[" * (MAX_NESTING - 2) + '"[[{{"' + "]" * (MAX_NESTING - 2)
    data = event('{"type":"x","data":{"a":' + inner + "}}")
    with pytest.raises(FixtureError, match="deeper"):
        read_log(data.replace(b'{"a":', b'{"a":[').replace(b"}}\n", b"]}}\n"), "x")
    data = data.replace(b"[[[[", b"[[[", 1).replace(b"]]]]", b"]]]", 1)
    assert canonical_form(read_log(data, "x")) == data


def test_brackets_inside_strings_are_no_nesting() -> None:
    data = log_bytes(user('[{\\"' * 400))
    assert canonical_form(read_log(data, "x")) == data


def test_a_line_over_the_limit_is_refused_and_one_at_it_is_read() -> None:
    size = MAX_LINE_BYTES - len(orjson.dumps(user("")))
    read_log(log_bytes(user("x" * size)), "x")
    with pytest.raises(FixtureError, match=r"^x:2: the line has 16777217 bytes"):
        read_log(log_bytes(user("x" * (size + 1))), "x")


def test_events_that_the_product_does_not_interpret_pass_untouched() -> None:
    data = log_bytes(
        {"type": "hook/result", "data": {"turn": "soon", "durationMs": 4.435375000000022}, "seq": 1}
    )
    assert canonical_form(read_log(data, "x")) == data


def test_header_tells_what_it_holds() -> None:
    head = header(cwd="/w", parentSession="p", origin="subagent", delegationDepth=2, seedLength=0)
    found = read_log(log_bytes(head=head), "x").header
    assert (found.id, found.cwd, found.parent_session, found.origin) == ("s-1", "/w", "p", "subagent")
    assert (found.version, found.created_at, found.delegation_depth, found.seed_length) == (0, 0, 2, 0)


SAMPLE = log_bytes(
    user("Hé\u2028"),
    mark("start", 1),
    begin(),
    {
        "type": "text-chunks",
        "data": {"turn": 1, "step": 1, "index": 0, "dt": [0, 9], "texts": ["a", "b", "c"]},
    },
    finish(),
    mark("end", 1, outcome={"kind": "completed"}),
)


@settings(max_examples=400)
@given(st.data())
def test_mutilated_bytes_raise_fixture_errors_only(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SAMPLE)))
    length = data.draw(st.integers(0, 30))
    piece = data.draw(
        st.binary(max_size=8)
        | st.sampled_from(
            [b"\\ud800", b"1e999", b"NaN", b"null", b"[]", b"{}", b"-1", b"\n", b'"', b"9" * 25, b"true"]
        )
    )
    mutilated = SAMPLE[:start] + piece + SAMPLE[start + length :]
    try:
        canonical_form(read_log(mutilated, "session.jsonl", strict=True))
    except ReplayError as error:
        assert error.exit_code == 2
        assert error.where.file == "session.jsonl"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "turn", "text"])
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["turn", "step", "chunk", "type", "index", "dt", "texts", "outcome", "kind"]),
            inner,
        )
    ),
    max_leaves=6,
)


KINDS = st.sampled_from(
    [
        "assistant/chunk",
        "text-chunks",
        "tool-call-chunks",
        "call/end",
        "tool/call",
        "turn/end",
        "user/message",
        "session",
        "other",
    ]
)


@settings(max_examples=800)
@given(KINDS, VALUES)
def test_values_of_any_type_raise_fixture_errors_only(kind: str, value: object) -> None:
    try:
        read_log(HEAD + orjson.dumps({"type": kind, "data": value}) + b"\n", "session.jsonl")
    except ReplayError as error:
        assert error.where.line == 2


@given(st.binary(max_size=60))
def test_any_bytes_raise_fixture_errors_only(data: bytes) -> None:
    with pytest.raises(FixtureError):
        read_log(data, "session.jsonl")

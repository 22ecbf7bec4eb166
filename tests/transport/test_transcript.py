"""The transcript file: both forms read, the canonical form written, every mistake named with its place."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError, ReplayError
from replay.transport import transcript as module
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    RuntimeExit,
    Start,
    Transcript,
    read_transcript,
    write_transcript,
)
from tests.transport.shapes import (
    METADATA,
    WILD,
    Line,
    answers,
    asks,
    data_of,
    ends,
    into,
    out,
    start_line,
    transcript_of,
)

PLACE = "s/p.transcript.ndjson"
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FRAME = st.dictionaries(TEXT, JSON, max_size=4)
OUTBOUND = st.builds(
    ExpectOutbound, FRAME, TEXT, TEXT, TEXT, st.sampled_from(["", "exact", "subset"]), st.just(0)
)
INBOUND = st.builds(EmitInbound, FRAME, TEXT, TEXT, TEXT, TEXT, st.integers(0, 10**6), st.just(0))
ENDING = st.builds(
    RuntimeExit,
    st.sampled_from(["success", "error", "cancelled"]),
    TEXT,
    TEXT,
    TEXT,
    st.none() | st.integers(0, 255),
    st.just(""),
    st.just(0),
) | st.builds(
    RuntimeExit,
    st.just("error"),
    TEXT,
    TEXT,
    TEXT,
    st.none(),
    st.sampled_from(["SIGKILL", "SIGTERM"]),
    st.just(0),
)
ENTRIES = st.lists(OUTBOUND | INBOUND | ENDING, max_size=6)
START = st.builds(
    Start,
    NAME,
    NAME,
    NAME,
    NAME,
    st.sampled_from([METADATA, {**METADATA, "more": [1]}]),
    st.just(1),
    st.just(1),
) | st.builds(Start, NAME, NAME, NAME, NAME, st.dictionaries(TEXT, JSON, max_size=2), st.just(0), st.just(1))


def unplaced(entries: tuple[Entry, ...]) -> list[Any]:
    return [(type(entry), entry._replace(line=0)) for entry in entries]


@given(START, ENTRIES)
def test_written_transcript_reads_back_and_is_canonical(start: Start, entries: list[Entry]) -> None:
    written = write_transcript(Transcript(PLACE, start, tuple(entries)))
    again = read_transcript(written, PLACE)
    assert again.start == start
    assert unplaced(again.entries) == unplaced(tuple(entries))
    assert [entry.line for entry in again.entries] == list(range(2, 2 + len(entries)))
    assert write_transcript(again) == written


@given(START, ENTRIES, st.sampled_from([b"\n", b"\r\n"]), st.integers(0, 3))
def test_line_ends_and_blank_lines_do_not_matter(
    start: Start, entries: list[Entry], line_end: bytes, blank: int
) -> None:
    written = write_transcript(Transcript(PLACE, start, tuple(entries)))
    spread = line_end * blank + (line_end * (1 + blank)).join(written.removesuffix(b"\n").split(b"\n"))
    read = read_transcript(spread, PLACE)
    assert unplaced(read.entries) == unplaced(tuple(entries))
    if entries:
        assert read.entries[0].line == 2 + 2 * blank


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(data: bytes) -> None:
    for text in (data, orjson.dumps(start_line()) + b"\n" + data):
        try:
            read_transcript(text, PLACE)
        except ReplayError as error:
            assert error.where.file == PLACE


@given(st.data())
def test_a_damaged_line_is_read_or_refused_in_words(draw: st.DataObject) -> None:
    whole = bytearray(data_of(*WILD["codex.app-server"], schema=0))
    at = draw.draw(st.integers(0, len(whole) - 1))
    whole[at] = draw.draw(st.integers(0, 255))
    try:
        read_transcript(bytes(whole), PLACE)
    except ReplayError as error:
        assert error.where.file == PLACE


@pytest.mark.parametrize("protocol", WILD)
def test_wild_form_is_read_and_written_as_it_is(protocol: str) -> None:
    data = data_of(*WILD[protocol], protocol=protocol, schema=0)
    read = read_transcript(data, PLACE)
    assert read.start.schema == 0
    assert write_transcript(read) == data


def test_line_separators_of_unicode_are_content() -> None:
    [entry] = transcript_of(out({"text": "a\u2028b\u0085c"})).entries
    assert isinstance(entry, ExpectOutbound) and entry.frame == {"text": "a\u2028b\u0085c"}


def test_keys_of_an_entry_are_written_in_one_order() -> None:
    line = {
        "frame": {},
        "afterMs": 5,
        "gate": "g",
        "group": "",
        "process": "a",
        "label": "l",
        "type": "emit_inbound",
    }
    written = write_transcript(read_transcript(data_of(line), PLACE))
    assert written.split(b"\n")[1] == (
        b'{"type":"emit_inbound","label":"l","process":"a","gate":"g","afterMs":5,"frame":{}}'
    )


BAD: list[tuple[Line, str, str]] = [
    ({"type": "expect"}, "$.type", "must be expect_outbound, emit_inbound or runtime_exit"),
    ({"type": 3}, "$.type", "not 3"),
    (start_line(), "$.type", "is a second start"),
    ({"type": "expect_outbound"}, "$.frame", "must be an object, not absent"),
    ({"type": "expect_outbound", "frame": []}, "$.frame", "must be an object, not []"),
    (out({}, label=1), "$.label", "must be a string, not 1"),
    (out({}, label="x" * 5000), "$.label", "4096 are allowed"),
    (out({}, match="fuzzy"), "$.match", "must be one of exact, subset"),
    (out({}, match=None), "$.match", "not null"),
    (out({}, gate="g"), "$.gate", "is no known key here"),
    (out({}, afterMs=1), "$.afterMs", "is no known key here"),
    (into({}, afterMs=-1), "$.afterMs", "must be a whole number from 0"),
    (into({}, afterMs=True), "$.afterMs", "not true"),
    (into({}, afterMs=1.5), "$.afterMs", "not 1.5"),
    (into({}, match="exact"), "$.match", "is no known key here"),
    (into({}, **{"odd key": 1}), '$["odd key"]', "is no known key here"),
    ({"type": "runtime_exit"}, "$.status", "must be one of success, error, cancelled, not absent"),
    (ends("killed"), "$.status", 'not "killed"'),
    (ends("error", code=256), "$.code", "from 0 to 255"),
    (ends("error", signal="KILL"), "$.signal", "name of a signal"),
    (ends("error", signal="SIGKILL", code=1), "$.signal", "a code and a signal"),
    (ends("error", gate="g"), "$.gate", "is no known key here"),
]


@pytest.mark.parametrize(("line", "path", "words"), BAD, ids=[words for _, _, words in BAD])
def test_wrong_entry_is_named_with_line_and_path(line: Line, path: str, words: str) -> None:
    with pytest.raises(FixtureError) as caught:
        transcript_of(out({}), line)
    assert (caught.value.where.file, caught.value.where.line, caught.value.where.path) == (PLACE, 3, path)
    assert words in caught.value.what


def without(key: str) -> Callable[[Line], None]:
    return lambda line: line.pop(key)


def metadata(**fields: Any) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        line["metadata"] = {**METADATA, **fields}

    return change


RECORDED = {
    "kind": "recorded",
    "binary": {"name": "codex", "version": "0.1"},
    "model_behind": "gateway",
    "tool": "agent_replay 1",
}
BAD_STARTS: list[tuple[Callable[[Line], None], str]] = [
    (without("provider"), "$.provider"),
    (without("version"), "$.version"),
    (without("metadata"), "$.metadata"),
    (lambda line: line.update(schema=2), "$.schema"),
    (lambda line: line.update(schema=0), "$.schema"),
    (lambda line: line.update(extra=1), "$.extra"),
    (lambda line: line.update(scenario=""), "$.scenario"),
    (lambda line: line["metadata"].pop("model") and None, "$.metadata.model"),
    (metadata(model=3), "$.metadata.model"),
    (metadata(cwdPolicy="home"), "$.metadata.cwdPolicy"),
    (metadata(capturedAt="31.1.2026"), "$.metadata.capturedAt"),
    (metadata(capturedAt="2026-13-01"), "$.metadata.capturedAt"),
    (metadata(provenance={"kind": "guessed"}), "$.metadata.provenance.kind"),
    (metadata(provenance={"kind": "authored"}), "$.metadata.provenance.reason"),
    (metadata(provenance={**RECORDED, "model_behind": "none"}), "$.metadata.provenance.model_behind"),
    (metadata(provenance={**RECORDED, "tool": ""}), "$.metadata.provenance.tool"),
    (metadata(provenance={**RECORDED, "binary": {"name": "x"}}), "$.metadata.provenance.binary.version"),
    (metadata(provenance={**RECORDED, "binary": 1}), "$.metadata.provenance.binary"),
]


@pytest.mark.parametrize(("change", "path"), BAD_STARTS, ids=[path for _, path in BAD_STARTS])
def test_format_1_asks_where_a_transcript_comes_from(change: Callable[[Line], None], path: str) -> None:
    line = {**start_line(), "metadata": dict(METADATA)}
    change(line)
    with pytest.raises(FixtureError) as caught:
        read_transcript(orjson.dumps(line), PLACE)
    assert (caught.value.where.line, caught.value.where.path) == (1, path)


def test_recorded_transcript_and_further_metadata_are_read() -> None:
    line = {**start_line(), "metadata": {**METADATA, "model": "m", "provenance": RECORDED, "prompts": ["a"]}}
    assert read_transcript(orjson.dumps(line), PLACE).start.metadata["prompts"] == ["a"]


WHOLE: list[tuple[bytes, int, str]] = [
    (b"", 1, "is empty"),
    (b"\n\n", 1, "is empty"),
    (b"\xef\xbb\xbf{}", 1, "save it as plain UTF-8"),
    (b"{}", 1, "must be the start"),
    (b"[1]", 1, "must be a JSON object"),
    (data_of() + b"{", 2, "is not JSON"),
    (data_of() + b'{"type":"expect_outbound","frame":{"a":"\\ud800"}}', 2, "surrogate"),
    (data_of() + b'{"type":"expect_outbound","frame":{"a":\xff}}', 2, "is not UTF-8"),
    (data_of() + b'{"type":"expect_outbound","frame":{"a":NaN}}', 2, "finite number"),
    (
        data_of() + b'{"type":"expect_outbound","frame":{"a":123456789012345678901234567890}}',
        2,
        "beyond 64 bits",
    ),
    (
        data_of() + b'{"type":"expect_outbound","frame":' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}",
        2,
        "nests deeper",
    ),
    (data_of() + b"<<<<<<< ours", 2, "merge conflict"),
]


@pytest.mark.parametrize(("data", "line", "words"), WHOLE, ids=[words for _, _, words in WHOLE])
def test_what_is_no_transcript_is_refused_with_its_line(data: bytes, line: int, words: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read_transcript(data, PLACE)
    assert caught.value.where.line == line
    assert words in caught.value.what


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("MAX_ENTRIES", 1, "has more than 1 entries"),
        ("MAX_FILE_BYTES", 100, "a transcript may have 100"),
        ("MAX_LINE_BYTES", 100, "a line may have 100"),
    ],
)
def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch, name: str, limit: int, words: str) -> None:
    monkeypatch.setattr(module, name, limit)
    with pytest.raises(FixtureError, match=words):
        transcript_of(out(asks(1, "a")), into(answers(1)))

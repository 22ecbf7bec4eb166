"""Placeholders and the comparison of frames: what matches, what does not, and where it says so."""

import copy
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replay.errors import FixtureError, Location
from replay.pattern import PatternError
from replay.surface.values import ABSENT
from replay.transport import placeholder as module
from replay.transport.matcher import IgnoreRules, Matched, match_frame
from replay.transport.placeholder import compile_frame, escape, fill, from_wild, has_template
from replay.transport.profile import Ignore
from replay.transport.sample import sample

WHERE = Location("t.ndjson", 7)
WORKSPACE = "/run/w"
TEXT = st.text(st.sampled_from("ab{}:x<>any ") | st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "{{any}}",
        "{{text:any}}",
        "{{{any}}}",
        "{{regex:a{2}}}",
        "{{regex:a}}}}",
        "{{capture:x}}",
        "{{ref:x}}",
        "<any>",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
FRAME = st.dictionaries(TEXT, JSON, max_size=4)


def compiled(frame: Any, *, is_sent: bool = False) -> Any:
    return compile_frame(frame, WHERE, is_sent=is_sent, workspace=WORKSPACE)


def match(
    expected: Any, actual: Any, captured: dict[str, Any] | None = None, *, is_subset: bool = False
) -> Matched:
    return match_frame(compiled(expected), actual, (), captured or {}, is_subset=is_subset)


def paths(matched: Matched) -> list[str]:
    return [difference.path for difference in matched.differences]


@given(FRAME, st.booleans())
def test_frame_matches_its_own_escaped_pattern(frame: Any, is_subset: bool) -> None:
    pattern = escape(frame)
    assert not has_template(compiled(pattern))
    assert match(pattern, frame, is_subset=is_subset).differences == []


@given(FRAME)
def test_escaped_frame_is_sent_as_it_was(frame: Any) -> None:
    assert fill(compiled(escape(frame), is_sent=True), lambda hole: "never") == frame


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in leaves(item, (*path, key)))]


def put(value: Any, path: tuple[str | int, ...], item: Any) -> Any:
    if not path:
        return item
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], item)
    return changed


def as_json(value: Any) -> bytes:
    """Distinguishes what JSON distinguishes: 1 and 1.0 are one number, True is none."""
    number = isinstance(value, float) and value.is_integer()
    if isinstance(value, list):
        return b"[" + b",".join(map(as_json, value)) + b"]"
    if isinstance(value, dict):
        return b"{" + b",".join(orjson.dumps(key) + as_json(value[key]) for key in sorted(value)) + b"}"
    return orjson.dumps(int(value) if number else value)


@given(FRAME, JSON, st.data())
def test_frame_with_one_value_changed_does_not_match(frame: Any, other: Any, draw: st.DataObject) -> None:
    path = draw.draw(st.sampled_from(leaves(frame)))
    mutant = put(frame, path, other)
    assume(as_json(mutant) != as_json(frame))
    assert match(escape(frame), mutant).differences
    # The other way round a subset may be satisfied; a leaf that is no object is none.
    if not isinstance(other, (dict, list)) and path:
        assert match(escape(frame), mutant, is_subset=True).differences


@given(FRAME, TEXT, JSON)
def test_further_key_matches_as_subset_only(frame: Any, key: str, value: Any) -> None:
    assume(key not in frame)
    more = {**frame, key: value}
    assert match(escape(frame), more).differences
    assert match(escape(frame), more, is_subset=True).differences == []
    assert match(escape(more), frame, is_subset=True).differences


def test_numbers_null_and_booleans_are_told_apart() -> None:
    assert not match({"a": 1, "b": 2.0}, {"a": 1.0, "b": 2}).differences
    assert paths(match({"a": 1}, {"a": True})) == ["$.a"]
    assert paths(match({"a": False}, {"a": 0})) == ["$.a"]
    assert paths(match({"a": None}, {})) == ["$.a"]
    assert paths(match({}, {"a": None})) == ["$.a"]
    assert paths(match({"a": 1}, {"a": "1"})) == ["$.a"]


def test_every_difference_is_found_with_its_path() -> None:
    expected = {"a": [1, {"b c": 2}], "d": 1, "e": [1, 2]}
    found = match(expected, {"a": [1, {"b c": 3}], "f": 1, "e": [1]}).differences
    assert [(one.path, one.expected, one.actual) for one in found] == [
        ('$.a[1]["b c"]', 2, 3),
        ("$.d", 1, ABSENT),
        ("$.e[1]", 2, ABSENT),
        ("$.f", ABSENT, 1),
    ]


@pytest.mark.parametrize("value", [None, 1, "", "text", [1], {"a": 1}])
def test_any_as_a_whole_value_matches_any_json(value: Any) -> None:
    assert not match({"a": "{{any}}"}, {"a": value}).differences
    assert paths(match({"a": "{{any}}"}, {})) == ["$.a"]


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("id-{{any}}", "id-7", True),
        ("id-{{any}}", "id-", True),
        ("id-{{any}}", "x-7", False),
        ("{{any}}-{{any}}.", "a-b-c.", True),
        ("{{any}}-{{any}}.", "abc.", False),
        ("ab{{any}}ba", "abba", True),
        ("ab{{any}}ba", "aba", False),
        ("{{workspace}}/a", "/run/w/a", True),
        ("{{workspace}}/a", "/run/x/a", False),
        ("{{regex:[0-9]+}}", "12", True),
        ("{{regex:[0-9]+}}", "12a", False),
        ("{{regex:[0-9]+}}", "", False),
        ("{{regex:a|ab}}", "ab", True),
        ("{{regex:a{2}}}", "aa", True),
        ("v{{regex:[0-9]+}}.{{regex:[0-9]+}}", "v1.22", True),
        ("v{{regex:[0-9]+}}.{{regex:[0-9]+}}", "v1.x", False),
        # The first dot is not where the first hole ends.
        ("{{regex:[0-9.]+}}.{{regex:[a-z]+}}", "1.2.x", True),
        ("{{text:any}}", "{{any}}", True),
        ("{{text:any}}", "other", False),
        ("{{text:text:any}}", "{{text:any}}", True),
        ("{{unknown}} {{any", "{{unknown}} {{any", True),
        ("{{any}}!", 3, False),
        ("{{regex:.*}}", None, False),
    ],
)
def test_placeholders_inside_strings(pattern: str, text: Any, is_match: bool) -> None:
    assert (not match({"a": pattern}, {"a": text}).differences) is is_match


def test_capture_is_remembered_and_referred_to() -> None:
    found = match({"a": "{{capture:id}}", "b": "x-{{capture:n:[0-9]+}}"}, {"a": {"k": [1]}, "b": "x-12"})
    assert not found.differences
    assert found.captured == {"id": {"k": [1]}, "n": "12"}
    assert not match({"a": "{{ref:id}}"}, {"a": {"k": [1]}}, found.captured).differences
    assert not match({"a": "n={{ref:n}}."}, {"a": "n=12."}, found.captured).differences
    [difference] = match({"a": "{{ref:n}}"}, {"a": "13"}, found.captured).differences
    assert (difference.expected, difference.actual) == ("12", "13")
    assert match({"a": "{{ref:n}}"}, {"a": 12}, found.captured).differences
    assert match({"a": "x{{ref:other}}"}, {"a": "x"}, found.captured).differences


def test_one_name_captured_twice_in_a_frame_is_one_value() -> None:
    pattern = {"a": "{{capture:x}}", "b": "{{capture:x}}"}
    assert not match(pattern, {"a": 1, "b": 1.0}).differences
    assert paths(match(pattern, {"a": 1, "b": 2})) == ["$.b"]
    assert not match({"a": "{{capture:x}}", "b": "p{{ref:x}}"}, {"a": "q", "b": "pq"}).differences
    text = {"a": "1{{capture:x}}", "b": "2{{capture:x}}"}
    assert not match(text, {"a": "1z", "b": "2z"}).differences
    assert paths(match(text, {"a": "1z", "b": "2y"})) == ["$.b"]


@pytest.mark.parametrize(
    ("frame", "is_sent", "path", "words"),
    [
        ({"a": ["{{regex:(a}}"]}, False, "$.a[0]", 'lacks the ")"'),
        ({"a": "{{regex:(a+)+}}"}, False, "$.a", "repeats the group"),
        ({"a": "{{capture:x:[}}"}, False, "$.a", "class"),
        ({"a": "{{any}}{{any}}"}, False, "$.a", "no text between"),
        ({"a": "{{any}}," * 33}, False, "$.a", "more than 32"),
        ({"a": "{{any}}"}, True, "$.a", "is sent as it stands"),
        ({"a": "x{{regex:a}}"}, True, "$.a", "is sent as it stands"),
        ({"a": {"{{any}}": 1}}, False, "$.a", "is sent as it stands"),
        ({"a": {"{{ref:x}}": 1}}, False, "$.a", "only a value can"),
    ],
)
def test_placeholder_that_cannot_stand_there_is_refused(
    frame: Any, is_sent: bool, path: str, words: str
) -> None:
    with pytest.raises(FixtureError) as caught:
        compiled(frame, is_sent=is_sent)
    assert caught.value.where == Location("t.ndjson", 7, path)
    assert words in caught.value.what


def test_workspace_stands_in_keys_and_values() -> None:
    frame = compiled({"{{workspace}}/a": "in {{workspace}}"}, is_sent=True)
    assert frame == {"/run/w/a": "in /run/w"}


def test_frame_without_placeholders_stays_the_same_object() -> None:
    frame = {"a": ["x{y}", {"b": 1}]}
    assert compiled(frame) is frame


def test_costly_text_is_refused_and_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PatternError, match="attempts"):
        match({"a": "{{any}},x{{any}},y"}, {"a": ",x" * 20_000})
    with pytest.raises(PatternError, match="more than"):
        match({"a": "{{regex:a+a+b}}"}, {"a": "a" * 20_000})
    monkeypatch.setattr(module, "_MAX_REGEX_CHARACTERS", 10)
    with pytest.raises(PatternError, match="too long"):
        match({"a": "{{regex:[a,]+}},{{regex:b}},"}, {"a": "a,a,a,a,a,a,"})


def test_wild_spelling_becomes_ours() -> None:
    wild = {"a": "<any>", "b": "<workspace>/x", "c": "{{any}}"}
    assert from_wild(wild, is_sent=False) == {"a": "{{any}}", "b": "{{workspace}}/x", "c": "{{text:any}}"}
    assert from_wild(wild, is_sent=True) == {"a": "<any>", "b": "{{workspace}}/x", "c": "{{text:any}}"}


RULES = IgnoreRules(
    [
        Ignore("meta", "$.params._meta", "r"),
        Ignore("each", "$.list[*].at", "r", ("m",)),
        Ignore("below", "$.map.*", "r"),
        Ignore("odd", '$["odd key"][0]', "r"),
    ]
)


@pytest.mark.parametrize(
    ("expected", "actual", "kind", "is_match"),
    [
        ({"params": {}}, {"params": {"_meta": 1}}, "", True),
        ({"params": {"_meta": 1}}, {"params": {}}, "", True),
        ({"params": {"_meta": 1}}, {"params": {"_meta": {"a": 2}}}, "", True),
        ({"params": {"_meta": "{{regex:[0-9]+}}"}}, {"params": {"_meta": "x"}}, "", False),
        ({"params": {"_meta": "{{any}}"}}, {"params": {}}, "", False),
        ({"params": {"x": 1}}, {"params": {"x": 2}}, "", False),
        ({"_meta": 1}, {}, "", False),
        ({"list": [{"at": 1, "b": 1}]}, {"list": [{"at": 2, "b": 1}]}, "m", True),
        ({"list": [{"at": 1, "b": 1}]}, {"list": [{"at": 2, "b": 2}]}, "m", False),
        ({"list": [{"at": 1}]}, {"list": [{"at": 2}]}, "n", False),
        ({"map": {"a": 1}}, {"map": {"b": 2}}, "", True),
        ({"map": {}}, {}, "", False),
        ({"odd key": [1, 2]}, {"odd key": [3, 2]}, "", True),
        ({"odd key": [1, 2]}, {"odd key": [1, 3]}, "", False),
    ],
)
def test_ignored_paths_neither_count_nor_have_to_be_there(
    expected: Any, actual: Any, kind: str, is_match: bool
) -> None:
    found = match_frame(compiled(expected), actual, RULES.of(kind), {}, is_subset=False)
    assert (not found.differences) is is_match


@pytest.mark.parametrize("where", ["", "$", "params", "$.a..b", "$.a[x]"])
def test_ignore_rule_without_a_path_is_refused(where: str) -> None:
    with pytest.raises(FixtureError, match="the ignore rule"):
        IgnoreRules([Ignore("n", where, "r")])


@pytest.mark.parametrize(
    "source",
    [
        "a", "[0-9]+", "[0-9a-f]{8}-[0-9a-f]{4}", "x|y", "(?:a|b)?c", "(abc)", "a*b+c?", r"\d\w\s", ".+", r"[^a]\.",
        r"\x41\u0042", "a{2,3}", "^abc$", r"[\]a]+", "é+", "[{][}]", r"(a(b(c|d)))e", "a+?",
    ],
)  # fmt: skip
def test_sample_is_matched_by_its_expression(source: str) -> None:
    text = sample(source)
    assert not match({"a": f"{{{{regex:{source}}}}}"}, {"a": text}).differences


def test_sample_of_an_expression_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(FixtureError, match="no text is known"):
        sample(r"a\bb")

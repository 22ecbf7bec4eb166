"""What a suite ignores: what a path reaches, what stays of a difference, what is written anew, what is refused."""

import pytest

from replay.errors import UsageError
from replay.surface import first_difference
from replay.surface.arrange import arrange
from replay.surface.ignore import IGNORED, Ignored


def entry(path, surface="stdout", **more):
    return {"surface": surface, "path": path, "reason": "why", **more}


def update(kind, **fields):
    return {"method": "session/update", "params": {"update": {"sessionUpdate": kind, **fields}}}


def chunk(text, **fields):
    return update("agent_message_chunk", content={"type": "text", "text": text}, **fields)


@pytest.mark.parametrize(
    ("path", "value", "masked"),
    [
        ("$.a", {"a": 1, "b": 2}, {"a": IGNORED, "b": 2}),
        ("$.a", {"a": None}, {"a": IGNORED}),
        ("$.a", {"a": {"b": [1]}}, {"a": IGNORED}),
        ("$.a", {"b": 1}, {"b": 1}),
        ("$.a", ["a"], ["a"]),
        ("$.a.b", {"a": "b"}, {"a": "b"}),
        ("$.a[1]", {"a": [1, 2]}, {"a": [1, IGNORED]}),
        ("$.a[2]", {"a": [1, 2]}, {"a": [1, 2]}),
        ("$.a[*].b", {"a": [{"b": 1}, {"c": 1}, 3]}, {"a": [{"b": IGNORED}, {"c": 1}, 3]}),
        ("$.a[*]", {"a": {"b": 1}}, {"a": {"b": 1}}),
        ("$.a.*", {"a": {"b": 1, "c": [2]}}, {"a": {"b": IGNORED, "c": IGNORED}}),
        ("$.a.*", {"a": [1, 2]}, {"a": [IGNORED, IGNORED]}),
        ("$.a.*", {"a": 1}, {"a": 1}),
        ('$["odd \\"key\\""].b', {'odd "key"': {"b": 1}}, {'odd "key"': {"b": IGNORED}}),
        ("$.größe", {"größe": 1}, {"größe": IGNORED}),
        ("$.rate-limit", {"rate-limit": 1}, {"rate-limit": IGNORED}),
    ],
)
def test_path_reaches_what_a_failing_test_prints(path, value, masked):
    ignored = Ignored([entry(path)])
    before = repr(value)
    assert ignored.masked("stdout", [value]) == [masked]
    assert ignored.masked("stdout", [masked]) == [masked]
    assert repr(value) == before
    assert ignored.unmet({"stdout": [value]}) == (
        [] if masked != value else [f'nothing stands at {path} of "stdout", which is ignored (why): drop it']
    )


def test_value_has_to_be_there_on_both_sides():
    options = {"ignored": [entry("$.a")]}
    left, right, without = ([{"a": 1, "b": 1}], [{"a": [2], "b": 1}], [{"b": 1}])
    sides = [arrange("stdout", side, options) for side in (left, right, without)]
    assert first_difference(sides[0], sides[1]) is None
    difference = first_difference(sides[0], sides[2])
    assert difference is not None and (difference.path, difference.expected) == ("$.a", IGNORED)


def test_other_surfaces_and_other_kinds_are_compared():
    ignored = Ignored(
        [entry("$.data.text", "session", kind="note"), entry("$.text", "workspace", kind="out/a b.txt")]
    )
    rows = [{"type": "note", "data": {"text": 1}}, {"type": "turn/end", "data": {"text": 1}}]
    assert ignored.masked("stdout", rows) == rows
    assert ignored.masked("session.2", rows) == [{"type": "note", "data": {"text": IGNORED}}, rows[1]]
    files = [{"path": "out/a b.txt", "text": "a"}, {"path": "b.txt", "text": "b"}]
    assert ignored.masked("workspace", files) == [{"path": "out/a b.txt", "text": IGNORED}, files[1]]


def test_kind_is_a_method_or_that_of_an_update_and_may_stand_for_the_line():
    frames = [update("usage_update", used=1), chunk("a"), {"id": 1, "result": {}}]
    assert Ignored([entry("$", kind="usage_update")]).masked("stdout", frames) == [IGNORED, *frames[1:]]
    assert Ignored([entry("$", kind="session/update")]).masked("stdout", frames) == [
        IGNORED,
        IGNORED,
        frames[2],
    ]


def test_ignoring_goes_with_the_other_relaxations():
    options = {
        "ignored": [entry("$.params.update._meta"), entry("$.params.update.used", kind="usage_update")],
        "merge_text": "why",
        "floating": [{"kind": "usage_update"}],
    }
    left = [chunk("a", _meta=1), update("usage_update", used=1), chunk("b", _meta=2)]
    right = [update("usage_update", used=2), chunk("ab", _meta=3)]
    assert arrange("stdout", left, options) == arrange("stdout", right, options)
    assert arrange("stdout", left, options)[0] == chunk("ab", _meta=IGNORED)


def test_texts_that_are_ignored_may_be_cut_anyhow():
    options = {"ignored": [entry("$.params.update.content.text")], "merge_text": "why"}
    assert arrange("stdout", [chunk("a"), chunk("b")], options) == arrange("stdout", [chunk("c")], options)


def test_line_that_differs_by_what_is_ignored_alone_stays_as_committed():
    ignored = Ignored([entry("$.a")])
    committed = [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 3}]
    actual = [{"a": 9, "b": 0}, {"a": 9, "b": 1}, {"a": 9, "b": 3}]
    assert ignored.kept("stdout", committed, actual) == [actual[0], committed[0], committed[2]]
    assert ignored.kept("session", committed, actual) == actual
    assert ignored.kept("stdout", [], actual) == actual


def test_surface_that_a_scenario_lacks_is_no_reason_to_drop_a_path():
    ignored = Ignored([entry("$.a", "requests")])
    assert ignored.unmet({"stdout": [{"b": 1}]}) == []
    assert ignored.unmet({"requests.1": [{"b": 1}]}) != []
    assert ignored.unmet({"requests": [{"b": 1}], "requests.1": [{"a": 1}]}) == []


@pytest.mark.parametrize(
    ("listed", "sentence", "where"),
    [
        (entry("a.b"), "ignored: a.b of stdout is no JSON path", ".path"),
        (entry("$.a["), "ignored: $.a[ of stdout is no JSON path", ".path"),
        (entry("$.a.*.b"), "ignored: $.a.*.b of stdout is no JSON path", ".path"),
        (entry("$.a..b"), "is no JSON path", ".path"),
        (entry("$['a']"), "is no JSON path", ".path"),
        (entry("$.a[-1]"), "is no JSON path", ".path"),
        (entry("$"), "ignored: $ of stdout is every line as a whole", ".path"),
        (entry("$.a", "screen"), 'ignored: "screen" is no surface', ".surface"),
        ({"surface": "stdout", "path": "$.a"}, 'ignored: write {"surface", "path", "reason"}', ""),
        (entry("$.a", reason=""), "each a string with text", ""),
        ("$.a", "each a string with text", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(listed, sentence, where):
    with pytest.raises(UsageError) as caught:
        Ignored([entry("$.a"), listed])
    assert sentence in caught.value.what
    assert caught.value.where.path == f"$.options.ignored[1]{where}"

"""The invariants of the normaliser over generated surfaces: idempotent, order-preserving, total, a bijection."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from replay.surface import Normaliser, Rule, Volatile

CWD, HOME = "/tmp/r/s/cwd", "/tmp/r/home"
IDS = [
    "e128dda9-ed11-4868-8266-0ef90d03c3d6",
    "38694db6-921d-41fd-b1fb-3b0c40caf67c",
    "msg_01AbC9xyz",
    "msg_01AbC9xyz-2",
    "1",
    "read",
    "sess_51c6f7a0",
    "acp-1234abcd",
    "{{uuid:3}}",
    "{{id:2}}",
    "{{sessionId}}",
    "{{sessionId:2}}",
]
RULES = [
    Rule(r"\d+ ms", "{{took}}", "speed"),
    Rule(r"x\b", "{{x}}", "a rule that exposes text to itself"),
]
VOLATILE = Volatile(paths=[("{{cwd}}", [CWD]), ("{{home}}", [HOME]), ("{{tmp}}", ["/tmp/r"])], session_ids=["sess_51c6f7a0"])  # fmt: skip

words = st.sampled_from(
    [*IDS, CWD, HOME, "/tmp/r", "/private" + CWD, "-tmp-r-s-cwd", "2025-01-02T03:04:05Z", "12 ms", "xx", "x", " ",
     "/", "-", "\\n", "}", "{{", "}}", "\n", '"', "a", "ü", '{"toolCallId":"1"}', "{{time}}", "\ud800"]
)  # fmt: skip
texts = st.lists(words, max_size=6).map("".join) | st.text(max_size=12)
keys = st.sampled_from(
    ["id", "toolCallId", "sessionId", "text", "pid", "createdAt", "duration", "type", "data", "seq", "time", *IDS]
) | texts  # fmt: skip
leaves = st.none() | st.booleans() | st.integers(-9, 9) | texts | st.sampled_from(IDS)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)
)
packed = st.lists(texts, min_size=3, max_size=6).map(
    lambda pieces: {
        "type": "text-chunks",
        "data": {"index": 0, "dt": [1] * (len(pieces) - 1), "texts": pieces},
    }
)
surfaces = st.fixed_dictionaries(
    {"stdout": st.lists(values, max_size=4), "session": st.lists(values | packed, max_size=4)}
)


def normalise(sides):
    return Normaliser(VOLATILE, RULES).normalise_all(sides)


def normalise_fixture(sides):
    """As the runner normalises a committed fixture: its session id is a placeholder already."""
    return Normaliser(Volatile(VOLATILE.paths, ["{{sessionId}}"]), RULES).normalise_all(sides)


@given(surfaces)
@settings(max_examples=400, deadline=None)
def test_normalising_twice_changes_nothing(sides):
    once = normalise(sides)
    assert normalise_fixture(once) == once


@given(surfaces)
@settings(max_examples=200, deadline=None)
def test_no_frame_key_or_element_is_dropped_or_moved(sides):
    once = normalise(sides)
    for name, before in sides.items():
        assert [_shape(value, name, True) for value in once[name]] == [
            _shape(value, name, True) for value in before
        ]


@given(st.lists(st.sampled_from(IDS), min_size=1, max_size=12))
def test_renaming_ids_is_a_bijection(ids):
    frames = [{"toolCallId": name} for name in ids]
    once = [frame["toolCallId"] for frame in Normaliser(VOLATILE).normalise("stdout", frames)]
    assert len(set(zip(ids, once, strict=True))) == len(set(ids)) == len(set(once))
    assert all(re.fullmatch(r"\{\{(sessionId|uuid:\d+|id:\d+|sessionId:\d+)\}\}", name) for name in once)


@given(st.permutations(IDS[:4]), st.permutations(IDS[:4]))
def test_two_runs_that_differ_only_in_their_ids_are_equal(left, right):
    def run(ids):
        frames = [{"id": ids[0], "note": f"see {ids[1]}/{ids[0]}", ids[2]: 0}, {"toolCallId": ids[3]}, {"messageId": ids[1]}]  # fmt: skip
        return Normaliser(Volatile()).normalise("session", frames)

    # Which shape an id has is no secret: a UUID and another id have different placeholders.
    if [len(name) == 36 for name in left] == [len(name) == 36 for name in right]:
        first, second = run(left), run(right)
        assert first == second or "msg_01AbC9xyz-2" in (left[2], right[2])


def _shape(value, surface, top=False):
    if isinstance(value, dict):
        items = [(key, item) for key, item in value.items() if not (top and surface == "session" and key in ("seq", "time"))]  # fmt: skip
        return {"keys": len(items), "items": [_shape(item, surface) for _, item in items]}
    if isinstance(value, list):
        return [_shape(item, surface) for item in value]
    return value if value is None or isinstance(value, bool) else "leaf"

"""What a model said, as a fixture keeps it. Pure functions of bytes and texts: no scenario could show each edge."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.pattern import parse_pattern
from replay.runner.model_text import ModelText
from replay.runner.provider_noise import without_noise
from replay.surface import Normaliser, Volatile

CWD = "/tmp/agent_replay-0123456789ab/cwd"
PATHS = [("{{cwd}}", [CWD])]
MINTED = "7f1c2a3b-0000-4aaa-8bbb-123456789abc"


def text(constant: str = "", ids: tuple[str, ...] = ()) -> ModelText:
    normaliser = Normaliser(Volatile(PATHS, ids))
    return ModelText(PATHS, lambda value: str(normaliser.normalise("stdout", [value])[0]), constant)


def source_of(rewritten: str) -> str:
    [source] = re.findall(r"\{\{fromRequest:(.*?)\}\}(?!\})", rewritten)
    return source


def test_directory_in_pieces_is_a_placeholder() -> None:
    assert text().rewrite(["In " + CWD[:9], CWD[9:20], CWD[20:] + "/a"], "") == ["In {{cwd}}", "", "/a"]


def test_plain_words_stay() -> None:
    assert text().rewrite(["Hel", "lo"], "Hello") == ["Hel", "lo"]


@pytest.mark.parametrize(
    "request_text",
    [
        f"task id: {MINTED}",
        f"ids: {uuid.UUID(int=1)}\ntask id: {MINTED}\nother: {uuid.UUID(int=2)}",
        f'{{"task": "{MINTED}", "more": 1}}',
        f"{MINTED} is it",
        f"{MINTED}",
        f"at {CWD}/{MINTED}.txt",
    ],
)
def test_value_of_the_request_becomes_a_reference_that_finds_it(request_text: str) -> None:
    rewritten = "".join(text().rewrite(["It is ", MINTED, "."], request_text))
    source = source_of(rewritten)
    assert parse_pattern(source).last_match(request_text) == MINTED
    other = str(uuid.UUID(int=99, version=4))
    assert parse_pattern(source).last_match(request_text.replace(MINTED, other)) == other
    assert CWD not in source


def test_learned_id_of_any_shape_becomes_a_reference() -> None:
    rewritten = "".join(
        text(ids=("sess-ab12cd34ef",)).rewrite(["on sess-ab12cd34ef now"], "your session: sess-ab12cd34ef")
    )
    assert parse_pattern(source_of(rewritten)).last_match("your session: sess-99") == "sess-99"


def test_value_that_the_request_lacks_is_the_models_own() -> None:
    assert text().rewrite([MINTED], "nothing") == [MINTED]


def test_value_of_the_scenario_itself_is_no_runs() -> None:
    assert text(constant=f"use {MINTED}").rewrite([MINTED], f"use {MINTED}") == [MINTED]


def test_placeholder_that_the_model_says_stays() -> None:
    assert text().rewrite(["write {{cwd}} here"], "write {{cwd}} here") == ["write {{cwd}} here"]


def test_value_that_no_expression_finds_is_refused_by_its_placeholder() -> None:
    # The last place is alone in its line, and the narrowest class finds what follows.
    with pytest.raises(FixtureError) as refused:
        text(ids=("sess-ab12cd34ef",)).rewrite(["sess-ab12cd34ef"], "sess-ab12cd34ef\n\n")
    assert "{{sessionId}}" in refused.value.what and "ab12" not in refused.value.what


@given(st.lists(st.integers(1, 12), max_size=8), st.text("ab /-", max_size=12), st.text("ab /-", max_size=12))
def test_cuts_do_not_matter(cuts: list[int], before: str, after: str) -> None:
    whole = f"{before} {CWD}/x {after} {MINTED}"
    request = f"made id: {MINTED} for you"
    pieces, rest = [], whole
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    pieces.append(rest)
    rewritten = text().rewrite(pieces, request)
    assert len(rewritten) == len(pieces)
    assert "".join(rewritten) == "".join(text().rewrite([whole], request))
    assert CWD not in "".join(rewritten) and MINTED not in "".join(rewritten)


def test_noise_of_a_provider_is_left_out_and_its_counts_stay() -> None:
    usage = {
        "inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 3,
        "extras": {"total_time": 1.5, "queue_ms": 2, "x": {"id": "req_1"}, "with_finish": True, "cost": 0},
    }  # fmt: skip
    assert without_noise({"type": "usage", "usage": usage}) == {
        "type": "usage",
        "usage": {
            "inputTokens": 5,
            "outputTokens": 2,
            "cacheReadTokens": 0,
            "extras": {"with_finish": True, "cost": 0},
        },
    }


def test_finish_without_anything_but_noise_has_no_extras() -> None:
    finish = {
        "type": "finish",
        "reason": {"kind": "stop"},
        "extras": {"reply": {"timings": {"a": 1}, "system_fingerprint": "x"}},
    }
    assert without_noise(finish) == {"type": "finish", "reason": {"kind": "stop"}}


def test_other_chunks_stay_as_they_are() -> None:
    for chunk in (
        {"type": "text-delta", "index": 0, "text": "id"},
        {"type": "finish", "reason": {"kind": "stop"}},
    ):
        assert without_noise(chunk) is chunk


def test_reference_is_told_from_braces_of_its_own() -> None:
    rewritten = "".join(text().rewrite([f"{MINTED}}}"], f"id {MINTED}"))
    assert re.search(r"\)\}\}\}$", rewritten)

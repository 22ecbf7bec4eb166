"""Who catches a mutant, seen on real plays of one scenario; and what standing still is."""

import sys
from functools import partial
from pathlib import Path

import pytest

from replay.runner.process import become_subreaper, spawn
from tests.mutations.frames.play import Variant, find_variants, play, write_subject
from tests.mutations.frames.stillness import StillnessLoop
from tests.mutations.frames.workers import Workers

SCENARIOS = Path("scenarios/transport").absolute()
TRANSCRIPT = "acp.transcript.ndjson"


@pytest.fixture
def variant() -> Variant:
    [found] = [one for one in find_variants(SCENARIOS) if one.title == "simple/acp"]
    return found


@pytest.mark.parametrize(
    ("old", "new", "by", "says"),
    [
        ("", "", "survived", ""),
        ('"Say hello."', '"Say goodbye."', "engine", "$.params.prompt[0].text"),
        ('"id":3,"result"', '"id":4,"result"', "reader", "answers 4"),
        ('"Hello, "', '"Good day, "', "assertion", "scenario.py:"),
        ('"I am here."', '"I am there."', "expected", "I am there."),
        ('"stopReason":"end_turn"', '"stopReason":7', "assertion", "scenario.py:"),
        ('{"jsonrpc":"2.0","id":3,"result"', '{"jsonrpc":"2.0","method":"session/ready","result"', "hung", ""),
    ],
)  # fmt: skip
def test_who_catches(variant: Variant, tmp_path: Path, old: str, new: str, by: str, says: str):
    text = variant.files[TRANSCRIPT].read_text()
    assert old in text
    mutated = {TRANSCRIPT: text.replace(old, new).encode()} if old else {}
    job = partial(play, variant, mutated, write_subject(tmp_path), tmp_path / "scratch")
    workers = Workers(1)
    [(_, outcome)] = workers.run([(None, job)])
    assert outcome.by == by, outcome.said
    assert says in outcome.said
    assert (outcome.leftovers, workers.leftovers) == (0, 0)
    assert not (tmp_path / "scratch").exists()


def test_runner_that_dies_is_a_fault_and_no_catch():
    [(_, outcome)] = Workers(1).run([(None, partial(sys.exit, 3))])
    assert outcome.by == "fault"


@pytest.mark.parametrize(("code", "is_still"), [("input()", True), ("while True: pass", False)])
def test_only_a_tree_that_sleeps_is_still(tmp_path: Path, code: str, is_still: bool):
    become_subreaper()
    loop = StillnessLoop()
    process = spawn([sys.executable, "-IS", "-c", code], {}, str(tmp_path))
    try:
        for _ in range(200 if is_still else 40):
            loop.step(1.0)
            if loop.is_still:
                break
        assert (loop.is_still, loop.stopped) == (is_still, is_still)
    finally:
        process.signal_group(9)
        process.wait(5.0)
        process.close()
        loop.close()

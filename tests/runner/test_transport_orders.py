"""Every legal order of a response and the events around it: played, counted, and reproducible by number."""

from pathlib import Path

import pytest

from tests.runner.transport_stage import PLAY, TransportScenario

RECORDED = ["answer", "answer", "thread/started", "thread/named"]


@pytest.fixture
def scenario(tmp_path: Path) -> TransportScenario:
    scenario = TransportScenario(tmp_path)
    scenario.manifest = {"interleave": "all"}
    return scenario


def test_every_order_is_played_and_is_a_case(scenario):
    outcome = scenario.run()
    assert outcome.code == 0, outcome.text
    # The answer of thread/start stands before two events: it may come after the first and after the second.
    assert outcome.verdicts() == {
        "subject": "PASSED", "codex": "PASSED", "projection": "PASSED", "order 1": "PASSED", "order 2": "PASSED",
    }  # fmt: skip
    assert outcome.result["agent"]["starts"] == 3
    assert not [path.name for path in outcome.outputs.iterdir() if path.name.startswith("order-")]


def test_orders_that_break_the_subject_are_named_and_can_be_played_alone(scenario):
    scenario.steps = [*PLAY[:-1], {"expect_order": RECORDED}, PLAY[-1]]
    outcome = scenario.run()
    assert outcome.code == 1
    assert outcome.first_line.startswith(
        "hello/codex: order 1: the subject exited with status 1: frames came as ["
    ), outcome.text
    assert "2 of 3 orders break the subject: 1, 2" in outcome.text
    assert "scenarios/hello/codex.transcript.ndjson:5 comes right after line" in outcome.text
    assert "--test_output=streamed --test_arg=--order=1" in outcome.text and "accept:" not in outcome.text
    assert (outcome.outputs / "order-1/subject.stderr.txt").is_file()

    alone = scenario.run("--order=2")
    assert alone.code == 1 and "['answer', 'thread/started', 'thread/named', 'answer']" in alone.first_line
    assert scenario.run("--order=0").code == 0


def test_surfaces_of_other_orders_are_compared_only_where_the_suite_says_so(scenario):
    scenario.steps = [*PLAY[:-1], {"received": "frames.jsonl"}]
    scenario.expected = {}
    assert scenario.command("replay.runner.refresh", "hello/codex").code == 0
    assert scenario.run().code == 0
    scenario.manifest["order_surfaces"] = ["frames"]
    outcome = scenario.run()
    assert outcome.code == 1 and outcome.first_line.startswith("hello/codex: order 1: frames:2 $"), (
        outcome.text
    )


def test_recorded_order_that_fails_is_played_alone(scenario):
    scenario.steps = [{"exit": 1}]
    outcome = scenario.run()
    assert outcome.code == 1 and outcome.result["agent"]["starts"] == 1


def test_bound_is_kept_and_said(scenario):
    scenario.manifest["max_orders"] = 2
    outcome = scenario.run()
    assert outcome.code == 0 and "order 2" not in outcome.verdicts()
    assert "beyond max_orders = 2" in outcome.text


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--order=3", "there is no order 3: this test has 3 orders, counted from 0"),
        ("--order=first", '"--order=first" is no argument of a transport test'),
        ("--verbose", '"--verbose" is no argument of a transport test'),
    ],
)
def test_argument_that_means_nothing_is_refused(scenario, argument, says):
    outcome = scenario.run(argument)
    assert outcome.code == 2 and says in outcome.first_line, outcome.text

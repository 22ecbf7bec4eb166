"""A run of some traces of a suite: what the suite says of the others is neither right nor wrong."""

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage

_OTHER = WEATHER._replace(trace_id="other", metadata={"category": "rest"})
_SUITE = {
    "schema": 1,
    "categories": {"lookup": {"threshold": 1}, "rest": {"threshold": 1}},
    "traces": {"other": {"expected_success": True}},
}


def test_filter_leaves_out_what_the_suite_says_of_other_traces(stage: Stage) -> None:
    stage.traces = [WEATHER, _OTHER]
    stage.script = {"runs": "many", "steps": list(GOOD_STEPS)}
    stage.suite = _SUITE
    outcome = stage.run(TESTBRIDGE_TEST_ONLY="weather")
    assert outcome.code == 0, outcome.text
    assert [trace["trace_id"] for trace in outcome.report["traces"]] == ["weather"]


def test_suite_that_speaks_of_no_trace_fails_all_the_same(stage: Stage) -> None:
    stage.suite = _SUITE
    outcome = stage.run()
    assert outcome.code == 1
    assert "there is no such trace" in outcome.text

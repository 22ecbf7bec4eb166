"""suite.json: what it says of whom, and the one sentence for whatever is wrong with it."""

import orjson
import pytest

from replay.errors import FixtureError
from replay.trace.edges import SuiteFile, explain_suite, suite_schema
from replay.trace.suite import Budget, Suite, read_suite
from replay.trace.suite_check import check_suite

WHOLE = {
    "schema": 1,
    "description": "bookings",
    "threshold": 0.9,
    "judge_by": "lower_bound",
    "allowed_drop": 0.05,
    "expected_success": "as_recorded",
    "trajectory": "unordered",
    "answer": "meaning",
    "state": "any",
    "budgets": {
        "steps": 10,
        "tokens": {"most": 1000, "over_baseline": 0.2},
        "latency_ms": 5000,
        "cost_usd": 0.5,
    },
    "prices": {"*": {"prompt": 3, "completion": 15.5}},
    "compare": {"answer": [{"path": "$.at", "ignore": True, "reason": "a time"}]},
    "consensus": {"runs": 5, "passes": 4, "agreement": 0.8},
    "categories": {
        "search": {
            "threshold": 0.8,
            "trajectory": "superset",
            "budgets": {"steps": 20},
            "compare": {"answer": [{"path": "$.id", "ignore": True, "reason": "an id"}]},
        }
    },
    "traces": {
        "s1": {"expected_success": False, "budgets": {"steps": 30}},
        "s2": {"skip": "the tool is gone"},
    },
}

# What is wrong, and the sentence: file, line, path, what.
BAD = {
    "empty": (b"", "suite.json: is empty"),
    "no JSON": (b'{"schema": 1,}', "suite.json:1: is not JSON: trailing comma is not allowed at column 13"),
    "a list": (b"[]", "suite.json:1 $: must be an object, not []"),
    "no schema": (b"{}", 'suite.json:1 $.schema: is no suite: it must say "schema": 1, not nothing'),
    "later schema": (b'{"schema": 2}', "suite.json:1 $.schema: is schema 2, this reader knows schema 1"),
    "unknown key": (b'{"schema": 1,\n"treshold": 1}', "suite.json:2 $.treshold: is no key of a suite here"),
    "key twice": (
        b'{"schema": 1, "threshold": 1, "threshold": 0}',
        'suite.json:1 $.threshold: the key "threshold" stands twice in one object',
    ),
    "per cent": (
        b'{"schema": 1, "threshold": 90}',
        "suite.json:1 $.threshold: must be a share from 0 to 1, not 90",
    ),
    "threshold true": (
        b'{"schema": 1, "threshold": true}',
        "suite.json:1 $.threshold: must be a share from 0 to 1, not true",
    ),
    "negative drop": (
        b'{"schema": 1, "allowed_drop": -0.1}',
        "suite.json:1 $.allowed_drop: must be a share from 0 to 1, not -0.1",
    ),
    "unreachable": (
        b'{"schema": 1, "judge_by": "lower_bound"}',
        "suite.json:1 $.threshold: can never be reached by the lower bound of an interval, and judge_by is lower_bound",
    ),
    "mode": (
        b'{"schema": 1, "trajectory": "strikt"}',
        'suite.json:1 $.trajectory: must be one of strict, unordered, subset, superset, any, not "strikt"',
    ),
    "success 1": (
        b'{"schema": 1, "expected_success": 1}',
        "suite.json:1 $.expected_success: must be one of true, false, as_recorded, any, not 1",
    ),
    "answer": (
        b'{"schema": 1, "answer": null}',
        "suite.json:1 $.answer: must be one of equal, meaning, any, not nothing",
    ),
    "metric": (
        b'{"schema": 1, "budgets": {"step": 1}}',
        "suite.json:1 $.budgets.step: is no key of a suite here",
    ),
    "budget": (
        b'{"schema": 1, "budgets": {"steps": "few"}}',
        'suite.json:1 $.budgets.steps: must be a number from 0, not "few"',
    ),
    "empty budget": (
        b'{"schema": 1, "budgets": {"steps": {}}}',
        'suite.json:1 $.budgets.steps: must say "most", "over_baseline" or both',
    ),
    "half a price": (
        b'{"schema": 1, "prices": {"m": {"prompt": 1}}}',
        "suite.json:1 $.prices.m.completion: is missing: USD for a million tokens",
    ),
    "domain": (
        b'{"schema": 1, "compare": {"tools": []}}',
        "suite.json:1 $.compare.tools: is no key of a suite here",
    ),
    "no reason": (
        b'{"schema": 1,\n "compare": {"calls": [{"path": "$.x", "ignore": true}]}}',
        "suite.json:2 $.compare.calls[0]: is no rule of comparison",
    ),
    "consensus": (
        b'{"schema": 1, "consensus": {"runs": 3, "passes": 4}}',
        "suite.json:1 $.consensus.passes: 4 of 3 runs cannot pass",
    ),
    "no runs": (
        b'{"schema": 1, "consensus": {"passes": 4}}',
        "suite.json:1 $.consensus.runs: must be a whole number from 1 to 1000, not nothing",
    ),
    "skip": (
        b'{"schema": 1, "traces": {"t": {"skip": " "}}}',
        "suite.json:1 $.traces.t.skip: must say why the trace is not judged",
    ),
    "control": (
        b'{"schema": 1, "traces": {"a\\u001b[2J": {}}}',
        'suite.json:1 $.traces["a\\u001b[2J"]: has a name that is too long or holds a control character',
    ),
    "deep": (
        b'{"schema": 1, "traces": ' + b"[" * 250 + b"]" * 250 + b"}",
        "suite.json: nests deeper than 200 levels",
    ),
}
# What pydantic does not see: it asks after the shape of a document that is JSON and says one thing.
NOT_OF_SHAPE = {"empty", "no JSON", "key twice", "unreachable", "consensus", "skip", "control", "deep"}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_suite_is_one_sentence_with_its_place(name: str) -> None:
    data, sentence = BAD[name]
    with pytest.raises(FixtureError) as raised:
        read_suite(data, "suite.json")
    assert str(raised.value) == sentence
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("name", sorted(BAD.keys() - NOT_OF_SHAPE))
def test_the_model_of_the_edge_refuses_it_as_well(name: str) -> None:
    with pytest.raises(ValueError):
        SuiteFile.model_validate(orjson.loads(BAD[name][0]))


def test_a_whole_suite_is_taken_by_both_readers() -> None:
    SuiteFile.model_validate(WHOLE)
    suite = read_suite(orjson.dumps(WHOLE), "suite.json")
    assert suite.threshold == 0.9 and suite.prices["*"].cost(1_000_000, 1_000_000) == 18.5
    assert "properties" in suite_schema()


def test_the_nearest_word_counts_and_rules_add_up() -> None:
    suite = read_suite(orjson.dumps(WHOLE), "suite.json")
    one, other = suite.rules_for("s1", "search"), suite.rules_for("x", "chat")
    assert (one.expected_success, one.trajectory, one.budgets["steps"]) == (False, "superset", Budget(30))
    assert (other.expected_success, other.trajectory, other.budgets["steps"]) == (
        "as_recorded",
        "unordered",
        Budget(10),
    )
    assert one.budgets["tokens"] == other.budgets["tokens"] == Budget(1000, 0.2)
    assert [len(rules.answer_rules.listed) for rules in (one, other)] == [2, 1]
    assert suite.rules_for("s2", "search").skip == "the tool is gone"


def test_a_budget_is_the_tighter_of_its_bounds() -> None:
    assert Budget(1000, 0.5).allowed(100) == 150
    assert Budget(120, 0.5).allowed(100) == 120
    assert Budget(None, 0.5).allowed(None) is None


def test_all_mistakes_are_explained_and_the_first_is_not_repeated() -> None:
    data = b'{"schema": 1,\n"threshold": 95,\n"budgets": {"steps": -1, "tokens": {"mostt": 3}},\n"traces": {"a": {"skip": ""}}}'
    with pytest.raises(FixtureError) as raised:
        read_suite(data, "suite.json")
    more = [str(error) for error in explain_suite(data, "suite.json", raised.value)]
    assert more == [
        "suite.json:3 $.budgets.steps: input should be greater than or equal to 0",
        "suite.json:3 $.budgets.tokens.mostt: extra inputs are not permitted",
        "suite.json:4 $.traces.a.skip: string should have at least 1 character",
    ]


def test_what_the_suite_says_of_nothing_is_found() -> None:
    suite = read_suite(orjson.dumps(WHOLE), "suite.json")
    found = [str(error) for error in check_suite(suite, [("s1", "search"), ("s3", "chat")], "suite.json")]
    assert found == [
        "suite.json $.traces.s2: there is no such trace",
        'suite.json $.categories: the suite does not name the category "chat" of "s3"',
    ]
    assert check_suite(Suite(), [("s1", "search")], "suite.json") == []

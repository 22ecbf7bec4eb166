"""The pydantic models agree with the quick checks of a run, and find what those stop before."""

import pytest

from replay.acp import parse_script
from replay.errors import FixtureError, Location
from replay.scenario.edges import explain_input, explain_override, input_schema, override_schema
from replay.script import parse_override
from tests.bad_inputs.cases import ROOT

NOWHERE = FixtureError("", Location("f", path="$.no.such.place"))
OVERRIDES = [
    b'[{"kind":"hang"},{"kind":"hang","readyFile":"x","chunks":[]}]',
    b'[{"kind":"throw","chunks":[],"message":"m","code":"c"},{"kind":"chunks","chunks":[]}]',
    b'{"patches":[{"at":0,"lane":"parent","entry":{"kind":"hang"}}]}',
    b'[{"kind":"throw","chunks":[],"message":"m","code":"RATE_LIMIT","retryAfterMs":0}]',
    b'[{"kind":"fault","chunks":[],"fault":{"kind":"malformed"}},{"kind":"fault","chunks":[],"fault":{"kind":"reset"}}]',
    b'[{"kind":"fault","chunks":[],"fault":{"kind":"stall","at":0,"afterMs":60000}},'
    b'{"kind":"fault","chunks":[],"fault":{"kind":"trickle","everyMs":1}}]',
]
INPUTS = [
    (ROOT / "base/input.json").read_bytes(),
    b'{"steps":[{"op":"initialize"},{"op":"newSession","_meta":{}},{"op":"waitForTitleAfterTurnEnd"},{"op":"settle"}],'
    b'"permissionAnswers":[{"kind":"allow_once"},{"hold":true}],"elicitationAnswers":[{"action":"accept","content":{}}],'
    b'"clientCapabilities":{},"env":{"A":"b"}}',
]


@pytest.mark.parametrize("data", INPUTS)
def test_a_sound_input_is_sound_for_both(data):
    parse_script(data)
    assert explain_input(data, "f", NOWHERE) == []


@pytest.mark.parametrize("data", OVERRIDES)
def test_a_sound_override_is_sound_for_both(data):
    parse_override(data, "f")
    assert explain_override(data, "f", NOWHERE) == []


# What needs more than one object to be seen stays with the quick check, which knows the sequence of steps.
SEQUENCE = {
    "prompt-before-a-session",
    "session-that-does-not-exist",
    "two-conditions",
    "permission-of-two-kinds",
}


def broken(kind, name):
    cases = [path for path in sorted((ROOT / kind).glob(f"*/{name}")) if path.parent.name not in SEQUENCE]
    return [pytest.param(path.read_bytes(), id=path.parent.name) for path in cases]


def is_json(data):
    try:
        parse_script(data)
    except FixtureError as error:
        return bool(error.where.path)
    return True


@pytest.mark.parametrize("data", [case for case in broken("input", "input.json") if is_json(case.values[0])])
def test_a_bad_input_is_bad_for_both(data):
    with pytest.raises(FixtureError):
        parse_script(data)
    assert explain_input(data, "f", NOWHERE)


def test_all_mistakes_of_an_input_are_found_each_with_its_line():
    data = b'{\n"steps": [\n{"op": "initialize", "x": 1},\n{"op": "newSession"},\n{"op": "prompt", "text": 7}],\n"env": {"A": 1}}'
    with pytest.raises(FixtureError) as caught:
        parse_script(data, "f")
    found = [str(error) for error in explain_input(data, "f", caught.value)]
    assert found == ["f:5 $.steps[2].text: must be a string", "f:6 $.env.A: input should be a valid string"]


def test_all_mistakes_of_an_override_are_found_each_with_its_line():
    data = b'[{"kind": "hang", "readyfile": 1},\n{"kind": "throw", "chunks": [], "message": 7, "code": "c"}]'
    with pytest.raises(FixtureError) as caught:
        parse_override(data, "f")
    found = [str(error) for error in explain_override(data, "f", caught.value)]
    assert found == ["f:2 $[1].message: input should be a valid string"]


def test_schemas_name_the_keys_that_people_write():
    assert "permissionAnswers" in input_schema()["properties"]
    assert "readyFile" in str(override_schema())

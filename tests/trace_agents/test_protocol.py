"""The agent protocol as bytes: what is read, and the sentence for everything that is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import AgentError, ReplayError
from replay.trace.model import ABSENT, StepError
from replay.trace.protocol import (
    Ask,
    Done,
    Hello,
    Observed,
    Outcome,
    State,
    decode_message,
    encode_result,
    encode_run,
)

READ: list[tuple[dict[str, Any], Any]] = [
    ({"op": "hello", "protocol": 1}, Hello()),
    (
        {"op": "hello", "protocol": 1, "runs": "many", "tool_versions": {"a": "1"}},
        Hello(True, tool_versions={"a": "1"}),
    ),
    ({"op": "model", "id": 1, "messages": []}, Ask("model", 1, messages=[])),
    (
        {
            "op": "model",
            "id": "a",
            "messages": [1],
            "model_name": "m",
            "temperature": 0,
            "options": {"top_p": 1},
        },
        Ask("model", "a", messages=[1], model_name="m", temperature=0, options={"top_p": 1}),
    ),
    (
        {"op": "tool", "id": 2, "name": "t", "input": None, "parent": 1},
        Ask("tool", 2, "t", input=None, parent=1),
    ),
    ({"op": "tool", "id": 2, "name": "t"}, Ask("tool", 2, "t")),
    ({"op": "done", "id": 2, "result": None}, Done(2, None)),
    ({"op": "done", "id": 2, "error": "no"}, Done(2, ABSENT, StepError("Error", "no"))),
    (
        {"op": "done", "id": 2, "result": [1], "stream": "complete", "error": {"type": "E", "message": "m"}},
        Done(2, [1], StepError("E", "m"), "complete"),
    ),
    (
        {"op": "done", "id": 2, "result": 1, "usage": {"prompt_tokens": 3}},
        Done(2, 1, prompt_tokens=3),
    ),
    ({"op": "observation", "source": "s", "output": 1}, Observed("s", 1)),
    ({"op": "state", "label": "l", "state": None}, State("l", None)),
    ({"op": "final", "answer": None}, Outcome(None)),
    ({"op": "final", "error": {"type": "E"}}, Outcome(error=StepError("E"))),
]
REFUSED: list[tuple[str, str]] = [
    ("", "is not JSON"),
    ("null", "is no JSON object"),
    ("{}", "has no op of the protocol, but null"),
    ('{"op":["x"]}', "has no op of the protocol"),
    ('{"op":"hello"}', "speaks protocol null"),
    ('{"op":"hello","protocol":true}', "speaks protocol true"),
    ('{"op":"hello","protocol":1,"runs":"some"}', 'has "runs" "some"'),
    ('{"op":"hello","protocol":1,"tool_versions":{"a":1}}', 'needs strings in "tool_versions"'),
    ('{"op":"model","messages":[]}', 'needs a string or an integer as "id"'),
    ('{"op":"model","id":true,"messages":[]}', 'needs a string or an integer as "id"'),
    ('{"op":"model","id":1}', 'needs a list "messages"'),
    ('{"op":"model","id":1,"messages":{}}', 'needs a list as "messages"'),
    ('{"op":"model","id":1,"messages":[],"temperature":"hot"}', 'needs a number as "temperature"'),
    ('{"op":"model","id":1,"messages":[],"max_tokens":9}', 'has no member "max_tokens"'),
    ('{"op":"tool","id":1}', 'needs a string "name"'),
    ('{"op":"tool","id":1,"name":""}', 'needs a "name"'),
    ('{"op":"done","id":1}', 'needs a "result" or an "error"'),
    ('{"op":"done","id":1,"result":1,"error":"x"}', "which only a stream has"),
    ('{"op":"done","id":1,"result":1,"stream":"complete"}', "is the list of pieces"),
    ('{"op":"done","id":1,"result":1,"stream":"half"}', 'has "stream" "half"'),
    ('{"op":"done","id":1,"result":1,"usage":{"tokens":1}}', 'has no member "tokens"'),
    ('{"op":"done","id":1,"result":1,"usage":{"prompt_tokens":true}}', 'needs an integer as "prompt_tokens"'),
    ('{"op":"state","label":"x"}', 'needs a "label" and a "state"'),
    ('{"op":"state","label":"a/b","state":1}', "which names no file"),
    ('{"op":"observation"}', 'needs an "output"'),
    ('{"op":"final"}', 'needs an "answer" or an "error"'),
    ('{"op":"final","answer":1,"success":1}', 'needs true or false as "success"'),
]


@pytest.mark.parametrize(("fields", "message"), READ, ids=[str(row[1])[:40] for row in READ])
def test_message_is_read(fields: dict[str, Any], message: Any) -> None:
    assert decode_message(json.dumps(fields).encode()) == message


@pytest.mark.parametrize(("line", "sentence"), REFUSED)
def test_line_is_refused_with_a_sentence(line: str, sentence: str) -> None:
    with pytest.raises(AgentError) as refusal:
        decode_message(line.encode())
    assert sentence in refusal.value.what
    assert "\n" not in refusal.value.what


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_agent_error(line: bytes) -> None:
    try:
        decode_message(line)
    except ReplayError as error:
        assert isinstance(error, AgentError)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_MEMBERS = (
    "id",
    "name",
    "input",
    "messages",
    "result",
    "error",
    "usage",
    "stream",
    "label",
    "state",
    "answer",
    "success",
)


@given(
    st.sampled_from(("hello", "model", "tool", "done", "observation", "state", "final")),
    st.dictionaries(st.sampled_from(_MEMBERS), _JSON, max_size=6),
)
def test_any_members_are_a_message_or_an_agent_error(op: str, members: dict[str, Any]) -> None:
    try:
        decode_message(json.dumps({"op": op, **members}).encode())
    except ReplayError as error:
        assert isinstance(error, AgentError)


def test_line_of_megabytes_is_quoted_short() -> None:
    with pytest.raises(AgentError) as refusal:
        decode_message(b"x" * 5_000_000)
    assert len(refusal.value.what) < 300


def test_answers_are_lines() -> None:
    assert (
        encode_result("a", [1], "complete") == b'{"op":"answer","id":"a","result":[1],"stream":"complete"}\n'
    )
    run = json.loads(encode_run(2, "t", "do", {"n": 1}, {}, 2))
    assert run == {
        "op": "run",
        "run": 2,
        "trace_id": "t",
        "task": "do",
        "inputs": {"n": 1},
        "environment": {},
        "seed": 2,
    }

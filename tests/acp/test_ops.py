"""input.json: what parses, and each mistake as one sentence with its JSON path."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.acp import parse_script
from replay.acp.op_table import ALIASES, OPS
from replay.acp.steps import STEPS
from replay.errors import FixtureError, ReplayError

NEW = {"op": "newSession"}


def parse(steps: list[Any], **top: Any) -> Any:
    return parse_script(json.dumps({"steps": steps, **top}).encode(), "input.json")


def refusal(steps: list[Any], **top: Any) -> str:
    with pytest.raises(FixtureError) as caught:
        parse(steps, **top)
    return f"{caught.value} | {caught.value.fix}"


def test_every_op_has_a_player() -> None:
    assert set(OPS) == set(STEPS)
    assert {op for op, _ in ALIASES.values()} <= set(OPS)


def test_whole_file() -> None:
    script = parse(
        [{"op": "initialize"}, NEW, {"op": "prompt", "text": "hi"}],
        permissionAnswers=[
            {"kind": "allow_once"},
            {"optionId": "x"},
            {"outcome": "cancelled"},
            {"hold": True},
        ],
        elicitationAnswers=[{"action": "accept", "content": {"a": 1}}, {"action": "decline"}, {"hold": True}],
        clientCapabilities={"terminal": False},
        env={"A": "b"},
        provenance="authored",
    )
    assert [(step.op, step.path) for step in script.steps] == [
        ("initialize", "$.steps[0]"),
        ("newSession", "$.steps[1]"),
        ("prompt", "$.steps[2]"),
    ]
    assert script.permission_answers[1] == {"optionId": "x"}
    assert script.elicitation_answers is not None and len(script.elicitation_answers) == 3
    assert script.client_capabilities == {"terminal": False}
    assert script.env == {"A": "b"}


def test_absent_parts() -> None:
    script = parse([{"op": "initialize"}])
    assert (
        script.permission_answers,
        script.elicitation_answers,
        script.client_capabilities,
        script.env,
    ) == (
        [],
        None,
        None,
        {},
    )


EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "initialize": [
        {},
        {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    ],
    "authenticate": [{"methodId": "key"}, {"methodId": "key", "expectError": True, "code": -32000}],
    "newSession": [{}, {"cwd": "sub", "mcpServers": [], "additionalDirectories": ["{{cwd}}/x"], "_meta": {}}],
    "newSessionExpectError": [{}, {"code": -32602, "additionalDirectories": ["/extra"]}],
    "loadSession": [{}, {"session": 0}, {"sessionId": "x", "expectError": True}],
    "resumeSession": [{}, {"session": 0, "cwd": "sub"}],
    "listSessions": [{}, {"cwd": "sub", "cursor": "c"}],
    "closeSession": [{}, {"session": 0}],
    "setMode": [{"modeId": "plan"}],
    "setConfigOption": [{"configId": "m", "value": "x"}, {"configId": "m", "value": True}],
    "prompt": [{"text": ""}, {"text": "x", "wait": False, "session": 0}],
    "promptContent": [{"content": [{"type": "text", "text": "x"}]}],
    "promptExpectError": [{"text": "x"}, {"content": [{}], "code": 1}],
    "promptAndCancel": [
        {"text": "x"},
        {"text": "x", "waitForFile": {"path": "a/b"}},
        {"text": "x", "waitForUpdate": {"sessionUpdate": "tool_call"}},
        {"content": [{}], "waitForUpdate": {"request": "session/request_permission"}},
    ],
    "cancel": [{}, {"wait": False}],
    "cancelRequest": [{}],
    "waitForFile": [{"path": ".ready"}],
    "waitForUpdate": [{"update": {"a": 1}}, {"sessionUpdate": "plan"}, {"request": "terminal/create"}],
    "waitForTurnStart": [{}, {"turn": 2}],
    "waitForTurnEnd": [{}, {"turn": 2, "session": 0}],
    "waitForSubagentTurnEnd": [{}, {"count": 2}],
    "waitForEventAfterTurnEnd": [{"type": "session/title"}, {"type": "x", "count": 2, "turn": 1}],
    "waitForTitleAfterTurnEnd": [{}, {"turn": 1}],
    "restartAgent": [{}],
    "settle": [{}],
}


@pytest.mark.parametrize("op", [*OPS, *ALIASES])
def test_each_op_parses_and_refuses_a_key_that_it_does_not_have(op: str) -> None:
    for fields in EXAMPLES[op]:
        step = parse([NEW, {"op": op, **fields}]).steps[1]
        assert {**fields, **step.fields} == step.fields
        said = refusal([NEW, {"op": op, **fields, "bogus": 1}])
        assert said.startswith('input.json $.steps[1]: unknown key "bogus" (known: ')


def test_alias_stands_for_the_op_with_its_type() -> None:
    step = parse([NEW, {"op": "waitForTitleAfterTurnEnd"}]).steps[1]
    assert (step.op, step.fields) == ("waitForEventAfterTurnEnd", {"type": "session/title"})
    assert 'unknown key "type"' in refusal([NEW, {"op": "waitForTitleAfterTurnEnd", "type": "x"}])


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"op": "promtp", "text": "x"}, '$.steps[1].op: unknown op "promtp" | did you mean "prompt"?'),
        ({"op": "zzz"}, '$.steps[1].op: unknown op "zzz" | known: initialize, '),
        ({"text": "x"}, '$.steps[1]: a step is an object with "op"'),
        ({"op": 3}, '$.steps[1]: a step is an object with "op"'),
        ("prompt", '$.steps[1]: a step is an object with "op"'),
        ({"op": "prompt"}, '$.steps[1]: needs "text"'),
        ({"op": "prompt", "text": 3}, "$.steps[1].text: must be a string"),
        (
            {"op": "prompt", "txt": "x"},
            '$.steps[1]: unknown key "txt" (known: text, wait, session, _meta) | did you mean "text"?',
        ),
        ({"op": "prompt", "text": "x", "wait": 0}, "$.steps[1].wait: must be true or false"),
        ({"op": "prompt", "text": "x", "session": -1}, "$.steps[1].session: must be an integer of 0 or more"),
        (
            {"op": "prompt", "text": "x", "session": 1},
            "$.steps[1].session: there is 1 session before this step",
        ),
        ({"op": "prompt", "text": "x", "session": True}, "$.steps[1].session: must be an integer"),
        ({"op": "promptContent", "content": []}, "$.steps[1].content: must have at least one block"),
        ({"op": "promptContent", "content": [{}, 3]}, "$.steps[1].content[1]: must be an object"),
        ({"op": "promptExpectError"}, '$.steps[1]: takes one of "text" or "content"'),
        (
            {"op": "promptExpectError", "text": "x", "content": [{}]},
            '$.steps[1]: takes one of "text" or "content"',
        ),
        (
            {
                "op": "promptAndCancel",
                "text": "x",
                "waitForFile": {"path": "a"},
                "waitForUpdate": {"update": {}},
            },
            '$.steps[1]: takes at most one of "waitForFile" or "waitForUpdate"',
        ),
        (
            {"op": "promptAndCancel", "text": "x", "waitForFile": {"pth": "a"}},
            '$.steps[1].waitForFile: unknown key "pth" (known: path)',
        ),
        ({"op": "promptAndCancel", "text": "x", "waitForFile": {}}, '$.steps[1].waitForFile: needs "path"'),
        (
            {"op": "promptAndCancel", "text": "x", "waitForFile": "a"},
            "$.steps[1].waitForFile: must be an object",
        ),
        (
            {"op": "promptAndCancel", "text": "x", "waitForFile": {"path": "../a"}},
            "$.steps[1].waitForFile.path: must stay inside the sandbox cwd",
        ),
        (
            {"op": "promptAndCancel", "text": "x", "waitForUpdate": {}},
            "$.steps[1].waitForUpdate: takes one of",
        ),
        ({"op": "waitForFile", "path": "/etc/passwd"}, "$.steps[1].path: must stay inside"),
        ({"op": "waitForFile", "path": ""}, "$.steps[1].path: must be a relative path"),
        ({"op": "waitForUpdate"}, "$.steps[1]: takes one of"),
        ({"op": "waitForTurnEnd", "turn": 0}, "$.steps[1].turn: must be an integer of 1 or more"),
        ({"op": "waitForTurnEnd", "turn": -1}, "$.steps[1].turn: must be an integer of 1 or more"),
        ({"op": "waitForTurnEnd", "turn": 1.0}, "$.steps[1].turn: must be an integer of 1 or more"),
        ({"op": "waitForTurnEnd", "turn": 10**18}, "$.steps[1].turn: must be an integer of 1 or more"),
        (
            {"op": "loadSession", "session": 0, "sessionId": "x"},
            '$.steps[1]: takes at most one of "session" or "sessionId"',
        ),
        (
            {"op": "setConfigOption", "configId": "c", "value": 3},
            "$.steps[1].value: must be a string or a boolean",
        ),
        ({"op": "setMode", "modeId": "m", "expectError": False}, "$.steps[1].expectError: must be true"),
        ({"op": "setMode", "modeId": "m", "code": 3}, '$.steps[1].code: needs "expectError": true'),
        ({"op": "newSession", "cwd": "a/../../b"}, "$.steps[1].cwd: must stay inside"),
        (
            {"op": "newSession", "additionalDirectories": [3]},
            "$.steps[1].additionalDirectories[0]: must be a string",
        ),
    ],
)
def test_mistake_in_a_step(step: Any, said: str) -> None:
    assert refusal([NEW, step]).startswith(f"input.json {said}")


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ({"steps": []}, "$.steps: must be an array with at least one step"),
        ({"steps": {}}, "$.steps: must be an array"),
        ({"stesp": [], "steps": [NEW]}, '$: unknown key "stesp"'),
        ({"permissionAnswers": {}}, "$.permissionAnswers: must be an array"),
        (
            {"permissionAnswers": [{"kind": "allow"}]},
            "$.permissionAnswers[0].kind: must be one of allow_once",
        ),
        ({"permissionAnswers": [{}]}, "$.permissionAnswers[0]: takes one of"),
        (
            {"permissionAnswers": [{"kind": "allow_once", "optionId": "a"}]},
            "$.permissionAnswers[0]: takes one of",
        ),
        ({"permissionAnswers": [{"optionId": 3}]}, "$.permissionAnswers[0].optionId: must be a string"),
        ({"permissionAnswers": [{"hold": False}]}, "$.permissionAnswers[0].hold: must be true"),
        ({"permissionAnswers": ["allow_once"]}, "$.permissionAnswers[0]: must be an object"),
        ({"permissionAnswers": [{"kind": []}]}, "$.permissionAnswers[0].kind: must be one of"),
        ({"elicitationAnswers": [{"action": "ok"}]}, "$.elicitationAnswers[0].action: must be one of accept"),
        (
            {"elicitationAnswers": [{"action": "decline", "content": {}}]},
            "$.elicitationAnswers[0].content: must be an object, beside",
        ),
        ({"clientCapabilities": []}, "$.clientCapabilities: must be an object"),
        ({"env": {"A": 1}}, "$.env.A: must be a string"),
        ({"env": {"A=B": "x"}}, '$.env: "A=B" is no name of a variable'),
        ({"env": []}, "$.env: must be an object of strings"),
        ({"provenance": ""}, "$.provenance: must be a string with text"),
    ],
)
def test_mistake_at_the_top(top: dict[str, Any], said: str) -> None:
    assert refusal(**{"steps": [NEW], **top}).startswith(f"input.json {said}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "input.json:1: is not JSON"),
        (b'{"steps": [\n{"op": "newSession"},\n}}', "input.json:3: is not JSON"),
        (b"\xef\xbb\xbf{}", "input.json:1: starts with a byte order mark"),
        (b'{\n"steps": "\xff"}', "input.json:2: is not UTF-8"),
        (b"[]", "input.json $: must be an object"),
        (b"{}", 'input.json $: needs "steps"'),
        (
            b'{"steps": [{"op": "prompt", "text": "a", "text": "b"}]}',
            'input.json: the key "text" stands twice',
        ),
        (b'{"steps": [{"op": "prompt", "text": NaN}]}', "input.json: is not JSON: NaN"),
        (
            b'{"steps": [{"op": "newSession", "_meta": {"n": 1' + b"0" * 40 + b"}}]}",
            "input.json: holds what cannot be sent",
        ),
        (
            b'{"steps": [{"op": "newSession", "_meta": {"n": 1' + b"0" * 9000 + b"}}]}",
            "input.json: is not JSON",
        ),
        (b'{"steps": [{"op": "newSession", "cwd": "\\ud800"}]}', "input.json: holds what cannot be sent"),
        (b"[" * 100_000, "input.json: is nested too deeply"),
        (b'{"steps": ' + b"[" * 400 + b"]" * 400 + b"}", "input.json: holds what cannot be sent"),
    ],
)
def test_broken_file(data: bytes, said: str) -> None:
    with pytest.raises(FixtureError) as caught:
        parse_script(data)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_op_without_a_session_before_it() -> None:
    assert refusal([{"op": "prompt", "text": "x"}, NEW]).startswith(
        'input.json $.steps[0]: "prompt" needs a session'
    )
    # A session that was refused is none; one that is loaded by its id is one.
    said = refusal([{"op": "newSessionExpectError"}, {"op": "prompt", "text": "x"}])
    assert "$.steps[1]" in said
    said = refusal(
        [{"op": "loadSession", "sessionId": "x", "expectError": True}, {"op": "prompt", "text": "x"}]
    )
    assert "$.steps[1]" in said
    parse([{"op": "loadSession", "sessionId": "x"}, {"op": "prompt", "text": "x"}])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(list(OPS)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["op", "text", "content", "session", "turn", "path", "kind", "hold"]), inner
        )
    ),
    max_leaves=12,
)


@given(
    st.binary(max_size=80)
    | JSON.map(lambda v: json.dumps({"steps": v}).encode())
    | JSON.map(lambda v: json.dumps({"steps": [NEW, v], "permissionAnswers": [v]}).encode())
)
def test_any_bytes_parse_or_raise_a_replay_error(data: bytes) -> None:
    try:
        parse_script(data)
    except ReplayError as error:
        assert isinstance(error, FixtureError)
        assert "\n" not in str(error)

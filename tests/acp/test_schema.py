"""Validation: the three answers, their paths and words, and agreement with the package's own models."""

import copy
from typing import Any

import acp.schema
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from replay.acp import AGENT, CLIENT, Tables, load_tables
from replay.acp.generate_schema import AGENT_REQUESTS, CLIENT_REQUESTS
from replay.errors import UsageError


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def asked(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def updated(**update: Any) -> dict[str, Any]:
    return told("session/update", sessionId="s", update=update)


CHUNK = updated(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hi"})
TOOL_CALL = updated(
    sessionUpdate="tool_call",
    toolCallId="t1",
    title="bash",
    kind="execute",
    status="pending",
    content=[
        {"type": "content", "content": {"type": "text", "text": "x"}},
        {"type": "diff", "path": "/a", "newText": "b", "oldText": None},
        {"type": "terminal", "terminalId": "t"},
    ],
    locations=[{"path": "/a", "line": 3}],
    rawInput={"command": "ls"},
)
PERMISSION = asked(
    "session/request_permission",
    sessionId="s",
    toolCall={"toolCallId": "t1"},
    options=[{"optionId": "a", "name": "Allow", "kind": "allow_once"}],
)
ELICITATION = asked(
    "elicitation/create",
    sessionId="s",
    message="Which?",
    mode="form",
    requestedSchema={
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "c": {"type": "string", "enum": ["a", "b"]}},
        "required": ["n"],
    },
)
URL = asked(
    "elicitation/create", sessionId="s", message="m", mode="url", elicitationId="e", url="https://x.example/y"
)


@pytest.mark.parametrize("frame", [CHUNK, TOOL_CALL, PERMISSION, ELICITATION, URL])
def test_valid_frames_of_the_agent(tables: Tables, frame: dict[str, Any]) -> None:
    assert tables.validate(AGENT, frame) == ("valid", (), ())


@pytest.mark.parametrize(
    ("frame", "path", "expectation"),
    [
        (
            updated(sessionUpdate="agent_message_chunk", content={"type": "text", "text": None}),
            "$.params.update.content.text",
            "expected a string, got null",
        ),
        (
            updated(sessionUpdate="agent_message_chunk", content={"type": "text"}),
            "$.params.update.content.text",
            "expected a value, it is missing",
        ),
        (
            updated(sessionUpdate="agent_message_chunk", content={"type": "txt"}),
            "$.params.update.content.type",
            'expected one of "audio", "image", "resource", "resource_link", "text", got "txt"',
        ),
        (
            updated(sessionUpdate="current_mode_update"),
            "$.params.update.currentModeId",
            "expected a value, it is missing",
        ),
        (told("session/update", sessionId=3, update={}), "$.params.sessionId", "expected a string, got 3"),
        (
            {"jsonrpc": "2.0", "method": "session/update"},
            "$.params.sessionId",
            "expected a value, it is missing",
        ),
        (
            {"jsonrpc": "2.0", "method": "session/update", "params": []},
            "$.params",
            "expected an object, got []",
        ),
        (
            asked(
                "session/request_permission",
                sessionId="s",
                toolCall={"toolCallId": "t"},
                options=[{"optionId": "a"}],
            ),
            "$.params.options[0].name",
            "expected a value, it is missing",
        ),
        (
            asked("terminal/create", sessionId="s", command=["ls"]),
            "$.params.command",
            "expected a string, got an array",
        ),
        (
            asked("session/update", sessionId="s", update={}),
            "$.method",
            '"session/update" is a notification, it was sent as a request',
        ),
        (
            told("fs/read_text_file", sessionId="s", path="/a"),
            "$.method",
            '"fs/read_text_file" is a request, it was sent as a notification',
        ),
    ],
)
def test_invalid_frame_is_told_by_path_and_expectation(
    tables: Tables, frame: dict[str, Any], path: str, expectation: str
) -> None:
    verdict = tables.validate(AGENT, frame)
    assert verdict.answer == "invalid"
    assert (path, expectation) in verdict.failures


def test_unknown_update_kind_is_invalid_and_lists_the_known(tables: Tables) -> None:
    (failure,) = tables.validate(AGENT, updated(sessionUpdate="agent_mesage_chunk")).failures
    assert failure.path == "$.params.update.sessionUpdate"
    assert '"agent_message_chunk"' in failure.expectation and failure.expectation.endswith(
        'got "agent_mesage_chunk"'
    )


def test_extension_kinds_and_methods_are_valid_and_unchecked(tables: Tables) -> None:
    assert tables.validate(AGENT, updated(sessionUpdate="_vendor_progress", anything=1)).answer == "valid"
    assert tables.validate(AGENT, told("_vendor/ping", x=1)).answer == "valid"
    assert tables.validate(CLIENT, asked("_agent_replay/barrier")).answer == "valid"
    assert tables.validate(AGENT, {"id": 1, "result": 3}, "_agent_replay/barrier").answer == "valid"
    assert tables.validate(AGENT, told("$/progress", x=1)).answer == "valid"
    assert tables.validate(AGENT, asked("$/progress", x=1)).answer == "invalid"


def test_unknown_method_lists_what_that_side_may_send(tables: Tables) -> None:
    (failure,) = tables.validate(AGENT, asked("fs/read")).failures
    assert failure.path == "$.method"
    assert '"fs/read_text_file"' in failure.expectation and '"session/prompt"' not in failure.expectation
    # The client's own methods are not the agent's to send.
    assert tables.validate(AGENT, asked("session/new", cwd="/", mcpServers=[])).answer == "invalid"
    assert tables.validate(CLIENT, asked("session/new", cwd="/", mcpServers=[])).answer == "valid"


def test_cancel_request_is_valid_of_both_sides(tables: Tables) -> None:
    for sender in (AGENT, CLIENT):
        assert tables.validate(sender, told("$/cancel_request", requestId="a")).answer == "valid"
        assert tables.validate(sender, told("$/cancel_request", requestId=1.5)).answer == "invalid"


def test_answers_are_judged_by_the_method_that_they_answer(tables: Tables) -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}
    assert tables.validate(AGENT, reply, "session/prompt").answer == "valid"
    (failure,) = tables.validate(AGENT, reply, "session/new").failures
    assert failure == ("$.result.sessionId", "expected a value, it is missing")
    (failure,) = tables.validate(
        AGENT, {"id": 1, "result": {"stopReason": "done"}}, "session/prompt"
    ).failures
    assert failure.path == "$.result.stopReason" and '"end_turn"' in failure.expectation
    (failure,) = tables.validate(AGENT, {"id": 1, "result": None}, "session/load").failures
    assert failure == ("$.result", "expected an object, got null")


def test_errors_are_judged_too(tables: Tables) -> None:
    assert (
        tables.validate(AGENT, {"id": 1, "error": {"code": -1, "message": "m"}}, "session/new").answer
        == "valid"
    )
    (failure,) = tables.validate(
        AGENT, {"id": 1, "error": {"code": "E", "message": "m"}}, "session/new"
    ).failures
    assert failure.path == "$.error.code"


def test_default_on_error_is_a_repair_with_its_path(tables: Tables) -> None:
    frame = copy.deepcopy(TOOL_CALL)
    frame["params"]["update"]["status"] = "waiting"
    frame["params"]["update"]["_meta"] = "x"
    before = orjson.dumps(frame)
    verdict = tables.validate(AGENT, frame)
    assert verdict.answer == "repaired"
    assert verdict.failures == ()
    assert len(verdict.notes) == 2
    assert verdict.notes[0].startswith('$.params.update.status: expected one of "pending"')
    assert verdict.notes[0].endswith('got "waiting"; a reader takes null instead')
    assert (
        verdict.notes[1] == '$.params.update._meta: expected an object, got "x"; a reader takes null instead'
    )
    assert orjson.dumps(frame) == before


def test_invalid_item_is_a_repair_with_its_index_and_the_inner_path(tables: Tables) -> None:
    frame = copy.deepcopy(TOOL_CALL)
    frame["params"]["update"]["content"][1] = {"type": "diff", "path": 3, "newText": "b"}
    verdict = tables.validate(AGENT, frame)
    assert verdict.answer == "repaired"
    assert verdict.notes == (
        "$.params.update.content[1]: expected a string, got 3 at $.params.update.content[1].path; a reader drops the item",
    )


def test_every_failure_of_a_frame_is_told(tables: Tables) -> None:
    verdict = tables.validate(AGENT, asked("fs/write_text_file", sessionId=1, path=2))
    assert [path for path, _ in verdict.failures] == [
        "$.params.content",
        "$.params.sessionId",
        "$.params.path",
    ]


def test_union_without_a_tag_names_the_nearest_branch(tables: Tables) -> None:
    server = {"name": "x", "command": "c", "args": [], "env": [{"name": "A"}]}
    frame = asked(
        "session/prompt", sessionId="s", prompt=[{"type": "resource", "resource": {"uri": "x", "text": 3}}]
    )
    (failure,) = tables.validate(CLIENT, frame).failures
    assert failure == ("$.params.prompt[0].resource.text", "expected a string, got 3")
    # mcpServers may drop an item, so the same kind of failure is a repair there.
    verdict = tables.validate(CLIENT, asked("session/new", cwd="/", mcpServers=[server]))
    assert verdict.answer == "repaired" and "mcpServers[0].env[0].value" in verdict.notes[0]


def test_value_that_fits_no_branch_names_them_all(tables: Tables) -> None:
    (failure,) = tables.validate(AGENT, told("$/cancel_request", requestId=[])).failures
    assert failure == ("$.params.requestId", "expected an integer or a string, got []")


@pytest.mark.parametrize(
    ("url", "answer"), [("https://a", "valid"), ("mailto:a@b", "valid"), ("nowhere", "invalid")]
)
def test_uri(tables: Tables, url: str, answer: str) -> None:
    frame = copy.deepcopy(URL)
    frame["params"]["url"] = url
    assert tables.validate(AGENT, frame).answer == answer


def test_integers(tables: Tables) -> None:
    def line(value: Any) -> str:
        return tables.validate(AGENT, {"id": 1, "result": {"protocolVersion": value}}, "initialize").answer

    assert [line(value) for value in (1, 1.0, 65535)] == ["valid"] * 3
    assert [line(value) for value in (1.5, -1, 65536, True, "1", None)] == ["invalid"] * 6


def test_keys_that_are_no_names_are_quoted_in_paths(tables: Tables) -> None:
    frame = copy.deepcopy(ELICITATION)
    frame["params"]["requestedSchema"]["properties"] = {"a b": {"type": 3}}
    assert any('properties["a b"]' in text for text in str(tables.validate(AGENT, frame)).split("'"))


UNION = ["or", [["obj", {"a": ["default", ["str", 0], None]}, []], ["obj", {"a": ["int", None, None]}, []]]]


@pytest.mark.parametrize(
    ("value", "answer", "notes"),
    [
        ({"a": "x"}, "valid", ()),
        ({"a": 1}, "valid", ()),
        ({"a": []}, "repaired", ("$.params.a: expected a string, got []; a reader takes null instead",)),
    ],
)
def test_union_prefers_a_branch_that_needs_no_repair(value: Any, answer: str, notes: tuple[str, ...]) -> None:
    sender = {"requests": {}, "notifications": {"m": UNION}}
    table = {"version": 1, "source": "", "error": "E", "definitions": {}, "senders": {"agent": sender}}
    verdict = load_tables(orjson.dumps(table)).validate(AGENT, {"method": "m", "params": value})
    assert (verdict.answer, verdict.notes) == (answer, notes)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"version":2}', b"{"])
def test_other_files_are_no_tables(data: bytes) -> None:
    with pytest.raises(UsageError, match="schema table"):
        load_tables(data)


# Agreement with pydantic: whatever a mutation makes of a frame, ours and theirs say the same.

MODELS = {
    "session/update": acp.schema.SessionNotification,
    "session/request_permission": acp.schema.RequestPermissionRequest,
}
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True}},
        "authMethods": [
            {"id": "a", "name": "A"},
            {"id": "b", "name": "B", "type": "env_var", "vars": [{"name": "K"}]},
        ],
        "agentInfo": {"name": "x", "version": "1"},
    },
    "session/new": {
        "sessionId": "s",
        "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]},
        "configOptions": [
            {
                "type": "select",
                "id": "m",
                "name": "M",
                "currentValue": "v",
                "options": [{"value": "v", "name": "V"}],
            }
        ],
    },
    "session/prompt": {
        "stopReason": "end_turn",
        "usage": {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2},
    },
    "session/list": {"sessions": [{"sessionId": "s", "cwd": "/", "title": "t"}]},
    "session/set_config_option": {"configOptions": []},
}
JUNK = st.sampled_from(
    [None, True, 0, -1, 2**40, "x", "", [], {}, ["x"], {"type": "text"}, {"a": 1}, [{"type": "text"}]]
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*at, index))
    return found


def mutated(value: Any, at: tuple[Any, ...], junk: Any, drop: bool) -> Any:
    if not at:
        return junk
    result = copy.deepcopy(value)
    inner = result
    for key in at[:-1]:
        inner = inner[key]
    if drop:
        del inner[at[-1]]
    else:
        inner[at[-1]] = junk
    return result


def their_verdict(model: Any, value: Any) -> bool:
    try:
        TypeAdapter(model).validate_json(orjson.dumps(value), strict=True)
    except ValidationError:
        return False
    return True


@settings(max_examples=600)
@given(data=st.data())
def test_verdicts_agree_with_the_models_of_the_package(tables: Tables, data: st.DataObject) -> None:
    result = data.draw(st.sampled_from([*RESULTS, "session/update", "session/request_permission"]))
    if result in RESULTS:
        model: Any = getattr(acp.schema, CLIENT_REQUESTS[result][1])
        value = RESULTS[result]
    else:
        model = MODELS[result]
        value = data.draw(
            st.sampled_from([CHUNK, TOOL_CALL] if result == "session/update" else [PERMISSION])
        )["params"]
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.sampled_from(places(value)))
        value = mutated(value, at, data.draw(JUNK), data.draw(st.booleans()))
    if result in RESULTS:
        ours = tables.validate(AGENT, {"id": 1, "result": value}, result)
    else:
        kind = {"id": 1} if result in AGENT_REQUESTS else {}
        ours = tables.validate(AGENT, {**kind, "method": result, "params": value})
    assert (ours.answer != "invalid") == their_verdict(model, value), (value, ours)

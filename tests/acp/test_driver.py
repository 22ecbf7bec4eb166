"""The driver against an agent in memory: each op, what it sends, what it waits for, how it fails."""

from typing import Any

import orjson
import pytest

from replay.acp import (
    AgentFrame,
    Driver,
    Pending,
    Send,
    Tables,
    parse_script,
)
from replay.errors import AgentError, DivergenceError, FixtureError, UsageError
from tests.acp.scripted_agent import Agent, Frame, Host, ask, chunk, error, ok, play, start, update

INIT: Frame = {"op": "initialize"}
NEW: Frame = {"op": "newSession"}
PROMPT: Frame = {"op": "prompt", "text": "hi"}
BACKGROUND: Frame = {"op": "prompt", "text": "hi", "wait": False}


# Requests.


def test_text_turn(tables: Tables) -> None:
    run = play(tables, [INIT, NEW, PROMPT])
    assert run.agent.received == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": 1,
                "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
                "clientInfo": {"name": "agent_replay", "version": "1"},
            },
        },
        ask(2, "session/new", cwd="/sandbox", mcpServers=[]),
        ask(3, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "hi"}]),
    ]
    assert [frame.get("id", frame.get("method")) for frame in run.frames()] == [1, 2, "session/update", 3]
    assert run.report == ([], [], [])


def test_frames_keep_the_bytes_as_sent(tables: Tables) -> None:
    line = b'{"result": {"protocolVersion":1 } , "id":1,"jsonrpc":"2.0"}'
    run = play(tables, [INIT], Agent(initialize=lambda _a, _f: [line]))
    assert run.driver.frames == [AgentFrame(line, orjson.loads(line))]


def test_initialize_takes_what_the_script_says(tables: Tables) -> None:
    own = {
        "protocolVersion": 0,
        "clientCapabilities": {"terminal": False},
        "clientInfo": {"name": "x", "version": "2"},
    }
    run = play(tables, [{"op": "initialize", **own}])
    assert run.agent.received[0]["params"] == own
    run = play(tables, [INIT], clientCapabilities={"fs": {"readTextFile": True}})
    assert run.agent.received[0]["params"]["clientCapabilities"] == {"fs": {"readTextFile": True}}
    run = play(tables, [INIT], elicitationAnswers=[])
    assert run.agent.received[0]["params"]["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize(
    ("step", "method", "params"),
    [
        ({"op": "authenticate", "methodId": "k"}, "authenticate", {"methodId": "k"}),
        (
            {"op": "newSession", "cwd": "sub", "additionalDirectories": ["{{cwd}}/x"], "_meta": {"a": 1}},
            "session/new",
            {
                "cwd": "/sandbox/sub",
                "mcpServers": [],
                "additionalDirectories": ["/sandbox/x"],
                "_meta": {"a": 1},
            },
        ),
        ({"op": "loadSession"}, "session/load", {"sessionId": "s1", "cwd": "/sandbox", "mcpServers": []}),
        (
            {"op": "resumeSession", "session": 0, "cwd": "b"},
            "session/resume",
            {"sessionId": "s1", "cwd": "/sandbox/b", "mcpServers": []},
        ),
        ({"op": "listSessions"}, "session/list", {}),
        (
            {"op": "listSessions", "cwd": "a", "cursor": "c"},
            "session/list",
            {"cwd": "/sandbox/a", "cursor": "c"},
        ),
        ({"op": "closeSession"}, "session/close", {"sessionId": "s1"}),
        ({"op": "setMode", "modeId": "plan"}, "session/set_mode", {"sessionId": "s1", "modeId": "plan"}),
        (
            {"op": "setConfigOption", "configId": "m", "value": "v"},
            "session/set_config_option",
            {"sessionId": "s1", "configId": "m", "value": "v"},
        ),
        (
            {"op": "setConfigOption", "configId": "m", "value": True},
            "session/set_config_option",
            {"sessionId": "s1", "configId": "m", "value": True, "type": "boolean"},
        ),
        (
            {"op": "promptContent", "content": [{"type": "image", "data": "eA==", "mimeType": "image/png"}]},
            "session/prompt",
            {"sessionId": "s1", "prompt": [{"type": "image", "data": "eA==", "mimeType": "image/png"}]},
        ),
    ],
)
def test_op_sends_its_request(tables: Tables, step: Frame, method: str, params: Frame) -> None:
    run = play(tables, [NEW, step])
    assert run.agent.received[-1] == ask(2, method, **params)
    assert run.report.failures == []


def test_sessions_are_named_by_their_order(tables: Tables) -> None:
    steps = [
        NEW,
        {"op": "newSession", "cwd": "b"},
        PROMPT,
        {**PROMPT, "session": 0},
        {"op": "loadSession", "session": 1},
    ]
    run = play(tables, steps)
    assert [frame["params"]["sessionId"] for frame in run.agent.sent("session/prompt")] == ["s2", "s1"]
    # A session is loaded with the cwd that it was made with.
    assert run.agent.sent("session/load")[0]["params"]["cwd"] == "/sandbox/b"


def test_session_loaded_by_its_id_is_a_session_of_the_run(tables: Tables) -> None:
    run = play(tables, [{"op": "loadSession", "sessionId": "old"}, PROMPT])
    assert run.agent.sent("session/prompt")[0]["params"]["sessionId"] == "old"
    assert run.report.warnings == []


def test_updates_may_come_before_the_answer_that_names_the_session(tables: Tables) -> None:
    def new(_agent: Agent, frame: Frame) -> list[Frame | bytes]:
        return [chunk("s1", "welcome"), ok(frame, {"sessionId": "s1"})]

    run = play(tables, [NEW], Agent(**{"session/new": new}))
    assert len(run.frames()) == 2
    assert run.report == ([], [], [])


def test_updates_after_the_end_count(tables: Tables) -> None:
    run = play(tables, [NEW, PROMPT])
    assert run.driver.on_line(orjson.dumps(chunk("s1", "late"))) == []
    assert run.frames()[-1] == chunk("s1", "late")
    assert run.driver.on_eof() == []


def test_updates_for_a_session_that_nobody_named_are_told(tables: Tables) -> None:
    run = play(tables, [NEW], Agent(initialize=lambda _a, f: [ok(f, {})]))
    run.driver.on_line(orjson.dumps(chunk("ghost", "boo")))
    assert run.report.warnings == ['updates came for session "ghost", which no answer named']


@pytest.mark.parametrize(
    ("step", "method"),
    [
        (INIT, "initialize"),
        ({"op": "authenticate", "methodId": "k"}, "authenticate"),
        (NEW, "session/new"),
        ({"op": "loadSession"}, "session/load"),
        ({"op": "closeSession"}, "session/close"),
        ({"op": "setMode", "modeId": "m"}, "session/set_mode"),
        (PROMPT, "session/prompt"),
    ],
)
def test_error_where_the_script_expects_success_diverges(tables: Tables, step: Frame, method: str) -> None:
    agent = Agent()
    steps = [NEW, step]
    first = True

    def refuse(agent: Agent, frame: Frame) -> list[Frame | bytes]:
        nonlocal first
        if method == "session/new" and first:
            first = False
            return [ok(frame, {"sessionId": "s1"})]
        return [error(frame, -32000, "log in first")]

    agent.handlers[method] = refuse
    with pytest.raises(DivergenceError) as caught:
        play(tables, steps, agent)
    assert (
        str(caught.value)
        == f'input.json $.steps[1]: the agent refused "{method}": log in first (code -32000)'
    )


@pytest.mark.parametrize(
    "step",
    [
        {"op": "newSessionExpectError"},
        {"op": "promptExpectError", "text": "x"},
        {"op": "setMode", "modeId": "m", "expectError": True},
        {"op": "loadSession", "sessionId": "x", "expectError": True},
    ],
)
def test_expected_error(tables: Tables, step: Frame) -> None:
    method = {"newSessionExpectError": "session/new", "promptExpectError": "session/prompt"}.get(
        step["op"], {"setMode": "session/set_mode", "loadSession": "session/load"}.get(step["op"], "")
    )
    refusing = Agent()
    made = refusing.handlers["session/new"]

    def refuse(agent: Agent, frame: Frame) -> list[Frame | bytes]:
        if method == "session/new" and not agent.sessions:
            return list(made(agent, frame))
        return [error(frame, -5, "no")]

    refusing.handlers[method] = refuse
    play(tables, [NEW, step], refusing)
    refusing.sessions = 0
    play(tables, [NEW, {**step, "code": -5}], refusing)
    refusing.sessions = 0
    with pytest.raises(DivergenceError, match=r"another code than -6: no \(code -5\)"):
        play(tables, [NEW, {**step, "code": -6}], refusing)
    with pytest.raises(DivergenceError, match=f'the agent should have refused "{method}", it answered'):
        play(tables, [NEW, step])


def test_answer_to_session_new_without_an_id_is_an_agent_error(tables: Tables) -> None:
    with pytest.raises(AgentError, match="carries no sessionId"):
        play(tables, [NEW], Agent(**{"session/new": lambda _a, f: [ok(f, {})]}))


# Restarting.


def test_restart_keeps_sessions_and_forgets_what_was_open(tables: Tables) -> None:
    def prompt(agent: Agent, frame: Frame) -> list[Frame | bytes]:
        if len(agent.sent("session/prompt")) > 1:
            return [ok(frame, {"stopReason": "end_turn"})]
        return [
            ask(0, "session/request_permission", sessionId="s1", toolCall={"toolCallId": "t"}, options=[])
        ]

    agent = Agent(**{"session/prompt": prompt})
    steps = [INIT, NEW, BACKGROUND, {"op": "restartAgent"}, INIT, {"op": "loadSession"}, PROMPT]
    run = play(tables, steps, agent, permissionAnswers=[{"hold": True}])
    assert run.restarts == 1
    assert [frame["id"] for frame in agent.received if "method" in frame] == [1, 2, 3, 4, 5, 6]
    assert run.report.failures == []
    with pytest.raises(AgentError, match="answers late"):
        run.driver.on_line(orjson.dumps(ok({"id": 3}, {"stopReason": "end_turn"})))


def test_restart_that_nobody_asked_for_is_our_own_fault(tables: Tables) -> None:
    run = start(tables, [INIT], Agent(initialize=lambda _a, _f: []))
    with pytest.raises(RuntimeError):
        run.driver.on_agent_restarted()


# Misbehaving agents.


def silent(tables: Tables) -> Any:
    return start(tables, [INIT, NEW], Agent(initialize=lambda _a, _f: [])).driver


def test_agent_that_never_answers_is_described(tables: Tables) -> None:
    assert silent(tables).waiting.describe() == 'no answer to "initialize" (id 1)'


def test_end_of_stdout_names_what_was_waited_for(tables: Tables) -> None:
    with pytest.raises(AgentError) as caught:
        silent(tables).on_eof()
    assert str(caught.value) == (
        'input.json $.steps[0]: the agent closed its stdout in the middle of the script: no answer to "initialize" (id 1)'
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"Starting up...", 'stdout carries a line that is not JSON .*: "Starting up..."'),
        (b'{"jsonrpc":"2.0","id":9,"result":{}}', "answers an id that was never sent"),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', "answers an id that was never sent"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}', "never sent"),
    ],
)
def test_breach_of_the_protocol_stops_the_run(tables: Tables, line: bytes, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        silent(tables).on_line(line)


def test_second_answer_stops_the_run_even_after_the_end(tables: Tables) -> None:
    run = play(tables, [INIT])
    with pytest.raises(AgentError, match=r'"initialize" \(id 1\) answers a second time'):
        run.driver.on_line(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}')


def test_answers_out_of_order_are_legal(tables: Tables) -> None:
    agent = Agent(**{"session/prompt": lambda _a, _f: []})
    run = start(tables, [NEW, BACKGROUND, BACKGROUND], agent)
    for number in (3, 2):
        run.carry_out(run.driver.on_line(orjson.dumps(ok({"id": number}, {"stopReason": "end_turn"}))))
    assert run.is_done


# The schema.

BAD_UPDATE = update("s1", sessionUpdate="agent_message_chunk", content={"type": "text", "text": 3})


def test_breach_of_the_schema_is_collected_and_the_run_goes_on(tables: Tables) -> None:
    agent = Agent(
        **{"session/prompt": lambda _a, f: [BAD_UPDATE, BAD_UPDATE, ok(f, {"stopReason": "end_turn"})]}
    )
    run = play(tables, [NEW, PROMPT], agent)
    (failure,) = run.report.failures
    assert isinstance(failure, AgentError)
    assert str(failure) == (
        'input.json $.steps[1]: the agent\'s notification "session/update" breaks the ACP schema at '
        "$.params.update.content.text: expected a string, got 3"
    )
    assert (
        '{"method": "session/update", "path": "$.params.update.content.text", "reason": "…"}' in failure.fix
    )
    assert len(run.frames()) == 4


def test_accepted_deviation(tables: Tables) -> None:
    agent = Agent(**{"session/prompt": lambda _a, f: [BAD_UPDATE, ok(f, {"stopReason": "end_turn"})]})
    listed = {"method": "session/update", "path": "$.params.update.content.text", "reason": "old"}
    assert play(tables, [NEW, PROMPT], agent, deviations=[listed]).report == ([], [], [])
    run = play(tables, [NEW, PROMPT], deviations=[listed])
    assert run.report.failures == [] and "no longer occurs (old)" in run.report.warnings[0]
    with pytest.raises(UsageError):
        play(tables, [NEW], deviations=[{"method": "x"}])


def test_breach_in_an_answer_names_the_request(tables: Tables) -> None:
    agent = Agent(**{"session/prompt": lambda _a, f: [ok(f, {"stopReason": "done"})]})
    (failure,) = play(tables, [NEW, PROMPT], agent).report.failures
    assert 'the agent\'s answer to "session/prompt" breaks the ACP schema at $.result.stopReason' in str(
        failure
    )


def test_repairs_are_warnings(tables: Tables) -> None:
    strange = update("s1", sessionUpdate="tool_call", toolCallId="t", title="x", status="waiting")
    agent = Agent(**{"session/prompt": lambda _a, f: [strange, ok(f, {"stopReason": "end_turn"})]})
    run = play(tables, [NEW, PROMPT], agent)
    assert run.report.failures == []
    (warning,) = run.report.warnings
    assert warning.startswith('"session/update" $.params.update.status: expected one of')


def test_what_the_script_sends_is_validated_too(tables: Tables) -> None:
    step = {"op": "promptContent", "content": [{"type": "text", "txt": "x"}]}
    agent = Agent()
    with pytest.raises(FixtureError) as caught:
        play(tables, [NEW, step], agent)
    assert str(caught.value).startswith(
        'input.json $.steps[1]: the "session/prompt" sent here breaks the ACP schema at $.params.prompt[0].text'
    )
    assert agent.sent("session/prompt") == []
    listed = {
        "method": "session/prompt",
        "path": "$.params.prompt[*].text",
        "reason": "the agent must refuse it",
    }
    play(tables, [NEW, step], agent, deviations=[listed])
    assert len(agent.sent("session/prompt")) == 1


def test_answer_of_the_host_that_breaks_the_schema_is_our_own_fault(tables: Tables) -> None:
    host = Host()
    host.read_text_file = lambda path: 3  # type: ignore[assignment,return-value]
    prompt = lambda _a, _f: [ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/a")]  # noqa: E731
    with pytest.raises(RuntimeError, match="fs/read_text_file"):
        play(tables, [INIT, NEW, PROMPT], Agent(**{"session/prompt": prompt}), host=host)


def test_driver_starts_with_bytes_only(tables: Tables) -> None:
    script = parse_script(b'{"steps":[{"op":"initialize"}]}')
    (action,) = Driver(script, "/sandbox", Host(), tables).start()
    assert isinstance(action, Send) and action.data.count(b"\n") == 1 and action.data.endswith(b"\n")
    assert Pending(1) == Pending(1)

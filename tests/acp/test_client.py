"""The client's half: files, terminals, and what the client does not have."""

from typing import Any

import orjson
import pytest

from replay.acp import Tables, TerminalExit
from tests.acp.scripted_agent import Agent, Frame, Host, Run, ask, asking, ok, play, single, start, update

INIT: Frame = {"op": "initialize"}
NEW: Frame = {"op": "newSession"}
PROMPT: Frame = {"op": "prompt", "text": "hi"}
PERMISSION: Frame = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": []}


def run(tables: Tables, *requests: Frame, **options: Any) -> Run:
    return play(tables, [INIT, NEW, PROMPT], asking(*requests), **options)


# Files.


@pytest.mark.parametrize(
    ("cut", "content"),
    [
        ({}, "a\nb\nc\n"),
        ({"line": 2}, "b\nc\n"),
        ({"limit": 2}, "a\nb\n"),
        ({"line": 2, "limit": 1}, "b\n"),
        ({"line": 0, "limit": 1}, "a\n"),
        ({"line": 9}, ""),
        ({"limit": 0}, ""),
        ({"line": None, "limit": None}, "a\nb\nc\n"),
    ],
)
def test_read_text_file_cuts_out_lines(tables: Tables, cut: Frame, content: str) -> None:
    host = Host({"/sandbox/a": "a\nb\nc\n"})
    played = run(tables, ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/a", **cut), host=host)
    assert single(played) == {"content": content}


def test_lines_end_at_lf_only(tables: Tables) -> None:
    host = Host({"/sandbox/a": "a\u2028b\r\nc"})
    played = run(
        tables, ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/a", line=1, limit=1), host=host
    )
    assert single(played) == {"content": "a\u2028b\r\n"}


def test_refusals_of_the_host_are_errors_for_the_agent(tables: Tables) -> None:
    played = run(tables, ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/none"))
    assert single(played) == {"code": -32002, "message": "no such file"}
    played = run(tables, ask(0, "fs/write_text_file", sessionId="s1", path="/etc/passwd", content="x"))
    assert single(played) == {"code": -32602, "message": "outside the sandbox"}


def test_write_text_file(tables: Tables) -> None:
    host = Host()
    played = run(
        tables, ask("w", "fs/write_text_file", sessionId="s1", path="/sandbox/a", content="x\n"), host=host
    )
    assert played.agent.answers() == [{"jsonrpc": "2.0", "id": "w", "result": {}}]
    assert host.files == {"/sandbox/a": "x\n"}


@pytest.mark.parametrize(
    ("capabilities", "request_"),
    [
        ({}, ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/a")),
        (
            {"fs": {"readTextFile": True}},
            ask(0, "fs/write_text_file", sessionId="s1", path="/sandbox/a", content=""),
        ),
        ({"terminal": False}, ask(0, "terminal/create", sessionId="s1", command="ls")),
    ],
)
def test_what_was_not_announced_is_refused_and_noted(
    tables: Tables, capabilities: Frame, request_: Frame
) -> None:
    played = run(tables, request_, clientCapabilities=capabilities)
    assert single(played)["code"] == -32601
    assert played.report.notes == [f'"{request_["method"]}" was refused: the client did not announce it']


# Terminals.


def test_terminal(tables: Tables) -> None:
    host = Host(exits=TerminalExit(3))
    played = run(
        tables,
        ask(
            1,
            "terminal/create",
            sessionId="s1",
            command="ls",
            args=["-l"],
            env=[{"name": "A", "value": "b"}],
            cwd="/sandbox/x",
            outputByteLimit=9,
        ),
        ask(2, "terminal/output", sessionId="s1", terminalId="terminal-1"),
        ask(3, "terminal/wait_for_exit", sessionId="s1", terminalId="terminal-1"),
        ask(4, "terminal/kill", sessionId="s1", terminalId="terminal-1"),
        ask(5, "terminal/release", sessionId="s1", terminalId="terminal-1"),
        ask(6, "terminal/release", sessionId="s1", terminalId="gone"),
        host=host,
    )
    assert [answer.get("result", answer.get("error")) for answer in played.agent.answers()] == [
        {"terminalId": "terminal-1"},
        {"output": "hi", "truncated": False, "exitStatus": {"exitCode": 3, "signal": None}},
        {"exitCode": 3, "signal": None},
        {},
        {},
        {"code": -32602, "message": "unknown terminal"},
    ]
    assert host.calls[0] == ("create", "ls", ["-l"], [("A", "b")], "/sandbox/x", 9)


def test_terminal_that_still_runs_has_no_exit_status(tables: Tables) -> None:
    assert single(run(tables, ask(2, "terminal/output", sessionId="s1", terminalId="t"))) == {
        "output": "hi",
        "truncated": False,
    }


def test_terminal_that_cannot_start(tables: Tables) -> None:
    assert (
        single(run(tables, ask(2, "terminal/create", sessionId="s1", command="missing")))["message"]
        == "no such command"
    )


def waiting_for_exit(tables: Tables) -> Run:
    agent = asking(ask(8, "terminal/wait_for_exit", sessionId="s1", terminalId="t"))
    return start(tables, [INIT, NEW, PROMPT], agent)


def test_exit_that_comes_later_is_answered_then(tables: Tables) -> None:
    played = waiting_for_exit(tables)
    assert played.agent.answers() == []
    played.carry_out(played.driver.on_host_reply(7, TerminalExit(None, "SIGTERM")))
    played.drain()
    assert single(played) == {"exitCode": None, "signal": "SIGTERM"}
    assert played.is_done
    assert played.driver.on_host_reply(7, TerminalExit(0)) == []


def test_agent_may_take_its_request_back(tables: Tables) -> None:
    played = waiting_for_exit(tables)
    cancel = b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":8}}'
    played.carry_out(played.driver.on_line(cancel))
    assert single(played)["code"] == -32800
    assert played.driver.on_host_reply(7, TerminalExit(0)) == []
    # The answer has crossed a second cancel, a third is for a request that never was: noted, harmless.
    played.carry_out(played.driver.on_line(cancel))
    played.carry_out(played.driver.on_line(cancel.replace(b":8}", b":99}")))
    assert played.report.notes == [
        "the agent cancelled its request 8, which is answered",
        "the agent cancelled its request 99, which is new",
    ]


def test_late_exit_of_a_request_taken_back_never_answers_a_new_one(tables: Tables) -> None:
    agent = asking(ask(8, "terminal/wait_for_exit", sessionId="s1", terminalId="t"), ask(9, "_none"))
    played = start(tables, [INIT, NEW, PROMPT], agent, permissionAnswers=[{"hold": True}])
    cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 8}}
    for frame in (cancel, ask(8, "session/request_permission", **PERMISSION)):
        played.carry_out(played.driver.on_line(orjson.dumps(frame)))
    assert played.driver.on_host_reply(7, TerminalExit(0)) == []


# Everything else.


@pytest.mark.parametrize("method", ["_vendor/thing", "mcp/connect", "session/prompt"])
def test_method_that_the_client_does_not_have(tables: Tables, method: str) -> None:
    assert single(run(tables, ask(1, method, serverId="x", acpId="x")))["code"] == -32601


def test_request_that_breaks_the_schema_is_refused_and_told(tables: Tables) -> None:
    played = run(tables, ask(1, "fs/read_text_file", sessionId="s1"))
    assert single(played) == {"code": -32602, "message": "the params break the ACP schema"}
    assert "$.params.path: expected a value, it is missing" in str(played.report.failures[0])


def test_accepted_request_without_what_an_answer_needs_is_refused(tables: Tables) -> None:
    listed = {"method": "fs/read_text_file", "path": "$.params.path", "reason": "r"}
    played = run(tables, ask(1, "fs/read_text_file", sessionId="s1"), deviations=[listed])
    assert single(played) == {"code": -32602, "message": '"path" must be a string'}
    assert played.report.failures == []


def test_unknown_notification_is_only_a_frame(tables: Tables) -> None:
    def prompt(_agent: Agent, frame: Frame) -> list[Frame | bytes]:
        note: Frame = {"jsonrpc": "2.0", "method": "_vendor/note", "params": {}}
        return [note, update("s1", sessionUpdate="_vendor_kind"), ok(frame, {"stopReason": "end_turn"})]

    played = play(tables, [INIT, NEW, PROMPT], Agent(**{"session/prompt": prompt}))
    assert len(played.frames()) == 5
    assert played.report == ([], [], [])

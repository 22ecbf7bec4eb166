"""Logs and what is made of them: loading, resuming, listing, children."""

from collections.abc import Callable
from typing import Any

from tests.reference_agent.model_server import Answer, ModelServer, call, finish, text
from tests.reference_agent.workbench import Workbench

type Model = Callable[..., ModelServer]

TOOLS = finish("tool_calls")
STOP = finish("stop")
DONE = [text("done"), STOP]


def load(cwd: object, session: str) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(cwd), "mcpServers": []}


def test_new_session_is_a_log_of_one_line(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model())
    assert agent.close() == 0
    header = bench.rows(session)
    assert len(header) == 1
    assert (header[0]["id"], header[0]["cwd"], header[0]["delegationDepth"]) == (session, str(bench.work), 0)


def test_sessions_made_at_once_have_an_order(bench: Workbench, model: Model) -> None:
    agent, first = bench.start(model())
    sessions = [first, *(agent.new_session(bench.work) for _ in range(5))]
    created = [bench.rows(session)[0]["createdAt"] for session in sessions]
    assert created == sorted(set(created))


def test_further_directories_and_servers_are_refused(bench: Workbench, model: Model) -> None:
    agent, _ = bench.start(model())
    params: dict[str, Any] = {"cwd": str(bench.work), "mcpServers": []}
    refused = agent.request("session/new", params | {"additionalDirectories": ["/tmp"]})["error"]
    assert (refused["code"], refused["data"]) == (
        -32602,
        {"details": "additional directories are not supported"},
    )
    server = {"name": "x", "command": "x", "args": [], "env": []}
    assert agent.request("session/new", params | {"mcpServers": [server]})["error"]["code"] == -32602
    assert agent.request("session/new", params | {"cwd": "relative"})["error"]["code"] == -32602


def test_load_tells_the_past_and_goes_on(bench: Workbench, model: Model) -> None:
    server = model([call(0, "c1", "glob", {"pattern": "*"}), TOOLS], DONE, DONE)
    agent, session = bench.start(server)
    agent.prompt(session, "first")
    lived = agent.updates("tool_call", "agent_message_chunk")
    assert agent.close() == 0
    again = bench.restart(server)
    assert (
        again.request("session/load", load(bench.work, session))["result"]["modes"]["currentModeId"] == "auto"
    )
    told = [update["sessionUpdate"] for update in again.updates()]
    assert told == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    assert again.updates("tool_call", "agent_message_chunk") == lived
    again.prompt(session, "second")
    assert server.requests[2]["messages"][-1]["content"] == "second"
    assert len(server.requests[2]["messages"]) == 6
    assert [data["reason"] for data in bench.data(session, "request/header")] == ["initial", "resume"]
    assert [data["turn"] for data in bench.data(session, "turn/start")] == [1, 2]
    assert [data["call"] for data in bench.data(session, "call/start")] == [1, 2, 3]


def test_resume_after_a_crash_mends_the_log(bench: Workbench, model: Model) -> None:
    server = model([call(0, "c1", "bash", {"command": "touch up; sleep 60"}), TOOLS], DONE)
    agent, session = bench.start(server)
    agent.begin_prompt(session, "go")
    agent.wait_for(lambda f: f.get("params", {}).get("update", {}).get("status") == "in_progress")
    agent.process.kill()
    agent.process.wait()
    file = bench.root / "sessions" / f"{session}.jsonl"
    with file.open("ab") as log:
        log.write(b'{"type":"tool/res')
    again = bench.restart(server)
    assert "result" in again.request("session/resume", load(bench.work, session))
    assert again.updates() == []
    assert bench.kinds(session)[-3:] == ["tool/result", "step/end", "turn/end"]
    assert again.prompt(session, "and now")["result"]["stopReason"] == "end_turn"
    assert [message["role"] for message in server.requests[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]


def test_compressed_log_can_be_read_while_it_grows_and_resumed(bench: Workbench, model: Model) -> None:
    settings = {"session_log": {"compress": "gzip", "fsync": True}}
    server = model(DONE, DONE)
    agent, session = bench.start(server, **settings)
    agent.prompt(session, "one")
    assert bench.kinds(session)[-1] == "turn/end"
    assert all("time" in row for row in bench.rows(session)[1:])
    agent.process.kill()
    agent.process.wait()
    again = bench.restart(server, **settings)
    again.request("session/resume", load(bench.work, session))
    again.prompt(session, "two")
    assert again.close() == 0
    assert bench.kinds(session).count("turn/end") == 2


def test_log_belongs_to_one_process(bench: Workbench, model: Model) -> None:
    server = model(DONE)
    agent, session = bench.start(server)
    other = bench.restart(server)
    assert (
        "is open in another process"
        in other.request("session/load", load(bench.work, session))["error"]["data"]["details"]
    )
    assert other.request("session/load", load(bench.work, "../x"))["error"]["code"] == -32002
    assert agent.request("session/close", {"sessionId": session})["result"] == {}
    assert "result" in other.request("session/load", load(bench.work, session))


def test_list_names_sessions_of_a_directory_newest_first(bench: Workbench, model: Model) -> None:
    agent, first = bench.start(model([call(0, "c1", "subagent", SUBTASK), TOOLS], DONE, DONE))
    agent.prompt(first, "a question\nof two lines")
    second = agent.new_session(bench.work)
    listed = agent.request("session/list", {"cwd": str(bench.work)})["result"]["sessions"]
    assert [entry["sessionId"] for entry in listed] == [second, first]
    assert listed[1]["title"] == "a question of two lines"
    assert agent.request("session/list", {"cwd": "/"})["result"]["sessions"] == []


SUBTASK = {"description": "say it", "prompt": "Say ALPHA"}


def test_subagent_answers_its_parent_and_is_not_shown(bench: Workbench, model: Model) -> None:
    server = model([call(0, "c1", "subagent", SUBTASK), TOOLS], [text("ALPHA"), STOP], DONE)
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    (child,) = bench.children(session)
    header = bench.rows(child)[0]
    assert (header["parentSession"], header["origin"], header["delegationDepth"]) == (session, "subagent", 1)
    assert "seedLength" not in header
    assert bench.results(session) == [("ALPHA", False)]
    assert [u["content"]["text"] for u in agent.updates("agent_message_chunk")] == ["done"]
    assert {frame["params"]["sessionId"] for frame in agent.frames if "params" in frame} == {session}


def test_parallel_subagents_run_at_once_and_keep_their_order(bench: Workbench, model: Model) -> None:
    def choose(body: dict[str, Any]) -> Answer:
        said = body["messages"][-1]["content"]
        if said == "first":
            # Answered only after the second one has been.
            return ["hold", text("one"), STOP]
        if said == "second":
            server.release.set()
            return [text("two"), STOP]
        if said == "go":
            tasks = [{"description": "d", "prompt": prompt} for prompt in ("first", "second")]
            return [*(call(n, f"c{n}", "subagent", task) for n, task in enumerate(tasks)), TOOLS]
        return DONE

    server = model(choose=choose)
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    assert bench.results(session) == [("one", False), ("two", False)]
    children = bench.children(session)
    assert [bench.data(child, "user/message")[0]["content"][0]["text"] for child in children] == [
        "first",
        "second",
    ]
    created = [bench.rows(child)[0]["createdAt"] for child in children]
    assert created == sorted(set(created))


def test_fork_starts_with_the_finished_turns(bench: Workbench, model: Model) -> None:
    task = SUBTASK | {"mode": "fork"}
    server = model(
        [text("M"), text("A"), text("R"), STOP],
        [call(0, "c1", "subagent", task), TOOLS],
        [text("MAR"), STOP],
        DONE,
    )
    agent, session = bench.start(server)
    agent.prompt(session, "remember")
    agent.prompt(session, "go")
    (child,) = bench.children(session)
    rows = bench.rows(child)
    seed_end = [row["type"] for row in rows].index("session/end-seed")
    packed = sum(len(row["data"].get("texts", [0])) - 1 for row in rows[1:seed_end])
    assert rows[0]["seedLength"] == seed_end - 1 + packed
    assert rows[1:seed_end] == bench.rows(session)[1:seed_end]
    assert [message["content"] for message in server.requests[2]["messages"][1:]] == [
        "remember",
        "MAR",
        "Say ALPHA",
    ]
    assert [data["turn"] for data in bench.data(child, "turn/start")] == [1, 2]
    assert bench.results(session) == [("MAR", False)]


def test_subagents_nest_as_deep_as_they_may(bench: Workbench, model: Model) -> None:
    delegate: list[Any] = [call(0, "c1", "subagent", SUBTASK), TOOLS]
    server = model(delegate, delegate, [text("deep"), STOP], [text("up"), STOP], DONE)
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    (child,) = bench.children(session)
    (grandchild,) = bench.children(child)
    assert bench.rows(grandchild)[0]["delegationDepth"] == 2
    offered = [[tool["function"]["name"] for tool in request["tools"]] for request in server.requests]
    assert ["subagent" in names for names in offered] == [True, True, False, True, True]


def test_cancel_reaches_the_children(bench: Workbench, model: Model) -> None:
    server = model([call(0, "c1", "subagent", SUBTASK), TOOLS], [text("partly"), "hold"])
    agent, session = bench.start(server)
    prompt = agent.begin_prompt(session, "go")
    while len(server.requests) < 2:
        agent.request("_tick", {})
    agent.notify("session/cancel", {"sessionId": session})
    assert agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    (child,) = bench.children(session)
    assert bench.data(child, "turn/end")[0]["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}
    assert bench.results(session) == [("Cancelled by the user.", True)]

"""Tool calls through the whole agent: what runs, in which order, who is asked, where it may reach."""

import base64
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.reference_agent.agent_process import Frame
from tests.reference_agent.model_server import ModelServer, call, finish, text
from tests.reference_agent.workbench import Workbench, is_running

type Model = Callable[..., ModelServer]

TOOLS = finish("tool_calls")
DONE = [text("done"), finish("stop")]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def one(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    return [call(0, "c1", name, arguments), TOOLS]


def test_read_shows_numbered_lines_of_a_range(bench: Workbench, model: Model) -> None:
    (bench.work / "a.txt").write_bytes("eins\u2028x\r\nzwei\ndrei\n".encode())
    agent, session = bench.start(model(one("read", {"path": "a.txt", "line_count": 2}), DONE))
    agent.prompt(session, "go")
    assert bench.results(session) == [("1\teins\u2028x\n2\tzwei\n(lines 1 to 2 of 3)", False)]


def test_edit_needs_a_unique_passage(bench: Workbench, model: Model) -> None:
    file = bench.work / "a.txt"
    file.write_text("x = 1\nx = 1\ny = 2\n")
    twice = call(0, "c1", "edit", {"path": "a.txt", "old_text": "x = 1", "new_text": "x = 3"})
    once = call(1, "c2", "edit", {"path": "a.txt", "old_text": "y = 2", "new_text": "y = 4"})
    agent, session = bench.start(model([twice, once, TOOLS], DONE))
    agent.prompt(session, "go")
    assert bench.results(session) == [
        ("Error: a.txt: old_text occurs 2 times; it must occur exactly once", True),
        ("Changed a.txt at line 3.", False),
    ]
    assert file.read_text() == "x = 1\nx = 1\ny = 4\n"
    diff = agent.updates("tool_call_update")[-1]["content"][0]
    assert (diff["type"], diff["oldText"].count("y = 2"), diff["newText"].count("y = 4")) == ("diff", 1, 1)


@pytest.mark.parametrize("path", ["../out.txt", "/etc/hosts", "link/out.txt", ""])
def test_files_outside_the_working_directory_stay_out_of_reach(
    bench: Workbench, model: Model, path: str
) -> None:
    (bench.work / "link").symlink_to(bench.root)
    (bench.root / "out.txt").write_text("secret")
    write = call(1, "c2", "write", {"path": path, "content": "x"})
    agent, session = bench.start(model([call(0, "c1", "read", {"path": path}), write, TOOLS], DONE))
    agent.prompt(session, "go")
    assert [is_error for _, is_error in bench.results(session)] == [True, True]
    assert (bench.root / "out.txt").read_text() == "secret"


def test_glob_is_sorted_and_skips_hidden_files(bench: Workbench, model: Model) -> None:
    for name in ("b.py", "a.py", "d/c.py", ".git/x.py"):
        (bench.work / name).parent.mkdir(exist_ok=True)
        (bench.work / name).touch()
    agent, session = bench.start(model(one("glob", {"pattern": "**/*.py"}), DONE))
    agent.prompt(session, "go")
    assert bench.results(session) == [("a.py\nb.py\nd/c.py", False)]


def test_long_output_is_cut_the_same_way_and_kept_in_a_file(bench: Workbench, model: Model) -> None:
    server = model(one("bash", {"command": "seq 1 5000"}))
    agent, session = bench.start(server, tools={"bash_preview_bytes": 256})
    file = bench.spill / session / "call-1.txt"
    server.answers += [one("read", {"path": str(file), "start_line": 5000}), DONE]
    agent.prompt(session, "go")
    assert file.read_text() == "".join(f"{number}\n" for number in range(1, 5001))
    output, _ = bench.results(session)[0]
    assert f"of 23893 bytes left out here; all of it: {file}]" in output
    assert output.startswith("1\n2\n")
    assert output.endswith("\n5000\n")
    assert bench.results(session)[1] == ("5000\t5000\n(lines 5000 to 5000 of 5000)", False)


def test_command_gets_no_key_no_input_and_a_fresh_shell(bench: Workbench, model: Model) -> None:
    command = 'echo "${OPENAI_API_KEY-none} $(cat | wc -c) $-"; cd /; export A=1; exit 3'
    agent, session = bench.start(
        model(one("bash", {"command": command}), one("bash", {"command": "pwd"}), DONE)
    )
    agent.prompt(session, "go")
    results = bench.results(session)
    assert results[0] == ("none 0 hBc\n[exit code 3]", True)
    assert results[1] == (f"{bench.work}\n", False)


def test_command_is_ended_with_what_it_started(bench: Workbench, model: Model) -> None:
    command = "sleep 60 & echo $! > background.pid; echo started"
    agent, session = bench.start(model(one("bash", {"command": command}), DONE))
    started = time.monotonic()
    agent.prompt(session, "go")
    assert time.monotonic() - started < 10
    assert bench.results(session) == [("started\n", False)]
    assert not is_running(int((bench.work / "background.pid").read_text()))


def test_command_over_its_time_is_ended(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(one("bash", {"command": "echo a; sleep 60", "timeout_ms": 300}), DONE))
    agent.prompt(session, "go")
    assert bench.results(session) == [("a\n[ended after 300 ms, its time limit]", True)]


def test_cancel_during_a_command_ends_it_and_answers_every_call(bench: Workbench, model: Model) -> None:
    command = "trap '' TERM; sleep 60 & echo $! > child.pid; touch up; wait"
    second = call(1, "c2", "bash", {"command": "touch never"})
    agent, session = bench.start(model([call(0, "c1", "bash", {"command": command}), second, TOOLS]))
    prompt = agent.begin_prompt(session, "go")
    while not (bench.work / "up").exists():
        time.sleep(0.01)
    agent.notify("session/cancel", {"sessionId": session})
    assert agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert bench.results(session) == [
        ("Cancelled by the user.", True),
        ("Cancelled by the user before it started.", True),
    ]
    assert [update["status"] for update in agent.updates("tool_call_update")] == [
        "in_progress",
        "failed",
        "failed",
    ]
    assert not is_running(int((bench.work / "child.pid").read_text()))
    assert not (bench.work / "never").exists()


def test_parallel_calls_are_announced_and_answered_in_their_order(bench: Workbench, model: Model) -> None:
    (bench.work / "a.txt").write_text("alpha\n")
    (bench.work / "b.txt").write_text("beta\n")
    calls = [call(0, "c1", "read", {"path": "a.txt"}), call(1, "c2", "read", {"path": "b.txt"}), TOOLS]
    agent, session = bench.start(model(calls, DONE))
    agent.prompt(session, "go")
    shown = [(u["toolCallId"], u["status"]) for u in agent.updates("tool_call", "tool_call_update")]
    order = ["pending", "in_progress", "completed"]
    assert shown == [(call_id, status) for status in order for call_id in ("c1", "c2")]
    kinds = [kind for kind in bench.kinds(session) if kind.startswith("tool/")]
    assert kinds == ["tool/call", "tool/call", "tool/result", "tool/result"]


def test_unknown_tools_and_unfit_arguments_are_explained_to_the_model(bench: Workbench, model: Model) -> None:
    broken = {"index": 2, "id": "c3", "function": {"name": "read", "arguments": "{"}}
    calls = [
        call(0, "c1", "fly", {}),
        call(1, "c2", "read", {"file": "x"}),
        {"choices": [{"delta": {"tool_calls": [broken]}}]},
        TOOLS,
    ]
    agent, session = bench.start(model(calls, DONE))
    agent.prompt(session, "go")
    messages = [message for message, _ in bench.results(session)]
    assert messages[0].startswith('Error: there is no tool "fly"; there are read,')
    assert (
        messages[1] == 'Error: the arguments do not fit: "path": Field required; "file": is not a known key'
    )
    assert messages[2].startswith("Error: the arguments are not JSON")


def chosen(option: str) -> Callable[[Frame], dict[str, Any]]:
    return lambda params: {"outcome": {"outcome": "selected", "optionId": option}}


@pytest.mark.parametrize(
    ("option", "asked", "made"),
    [("allow-once", 2, True), ("allow-always", 1, True), ("reject-once", 2, False)],
)
def test_person_decides_in_ask_mode(
    bench: Workbench, model: Model, option: str, asked: int, made: bool
) -> None:
    answers = {"session/request_permission": chosen(option)}
    turns = [
        one("write", {"path": "a.txt", "content": "x"}),
        one("write", {"path": "b.txt", "content": "x"}),
        DONE,
    ]
    agent, session = bench.start(model(*turns), answers, permissions={"mode": "ask"})
    assert agent.prompt(session, "go")["result"]["stopReason"] == "end_turn"
    assert bench.kinds(session).count("permission/asked") == asked
    assert [(bench.work / name).exists() for name in ("a.txt", "b.txt")] == [made, made]


def test_cancelled_permission_ends_the_turn(bench: Workbench, model: Model) -> None:
    answers = {"session/request_permission": lambda params: {"outcome": {"outcome": "cancelled"}}}
    agent, session = bench.start(
        model(one("bash", {"command": "touch x"})), answers, permissions={"mode": "ask"}
    )
    assert agent.prompt(session, "go")["result"]["stopReason"] == "cancelled"
    assert bench.data(session, "permission/decided")[0]["outcome"] == "cancelled"
    assert not (bench.work / "x").exists()


def test_mode_set_by_the_client_decides(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(
        model(one("bash", {"command": "touch x"}), DONE), permissions={"mode": "ask"}
    )
    assert agent.request("session/set_mode", {"sessionId": session, "modeId": "read-only"})["result"] == {}
    assert "error" in agent.request("session/set_mode", {"sessionId": session, "modeId": "yolo"})
    agent.prompt(session, "go")
    assert bench.results(session) == [("Error: bash is not allowed in read-only mode", True)]


HOOK = {
    "name": "no-rm",
    "event": "before_tool",
    "match": "ba*",
    "command": ["bash", "-c", 'if grep -q "rm -rf"; then echo "not on my watch"; exit 2; fi'],
}


def test_hook_denies_with_a_reason_or_lets_pass(bench: Workbench, model: Model) -> None:
    calls = [
        call(0, "c1", "bash", {"command": "rm -rf x"}),
        call(1, "c2", "bash", {"command": "echo ok"}),
        TOOLS,
    ]
    agent, session = bench.start(model(calls, DONE), hooks=[HOOK])
    agent.prompt(session, "go")
    assert bench.results(session) == [("Error: not on my watch", True), ("ok\n", False)]
    assert [data["decision"] for data in bench.data(session, "hook/result")] == ["deny", "allow"]


def test_project_brings_hooks_only_where_it_may(bench: Workbench, model: Model) -> None:
    (bench.work / ".agent.yaml").write_text(
        "hooks:\n- {name: comment, event: after_tool, match: glob, command: [bash, -c, 'echo look twice; exit 2']}\n"
    )
    agent, session = bench.start(
        model(one("glob", {"pattern": "*"}), DONE), project_settings={"file": ".agent.yaml"}
    )
    agent.prompt(session, "go")
    result = bench.data(session, "tool/result")[0]["message"]["content"][0]["content"]
    assert result[1]["text"] == "A hook says: look twice"
    (bench.work / ".agent.yaml").write_text("model: {name: other}\n")
    refused = agent.request("session/new", {"cwd": str(bench.work), "mcpServers": []})
    assert 'a project may not set "model"' in refused["error"]["data"]["details"]


def test_plan_is_shown_and_logged(bench: Workbench, model: Model) -> None:
    todos = [
        {"content": "a", "status": "completed"},
        {"content": "b", "status": "pending", "priority": "high"},
    ]
    agent, session = bench.start(model(one("todo_write", {"todos": todos}), DONE))
    agent.prompt(session, "go")
    entries = agent.updates("plan")[0]["entries"]
    assert [(entry["content"], entry["status"], entry["priority"]) for entry in entries] == [
        ("a", "completed", "medium"),
        ("b", "pending", "high"),
    ]
    assert len(bench.data(session, "todo/write")[0]["todos"]) == 2


def test_image_goes_to_the_model_after_all_answers(bench: Workbench, model: Model) -> None:
    (bench.work / "dot.png").write_bytes(PNG)
    server = model(
        [call(0, "c1", "read_image", {"path": "dot.png"}), call(1, "c2", "glob", {"pattern": "*"}), TOOLS],
        DONE,
    )
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    assert [message["role"] for message in server.requests[1]["messages"][2:]] == [
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    content = agent.updates("tool_call_update")[2]["content"]
    assert content[1]["content"]["mimeType"] == "image/png"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept", "content": {"answer": "blue"}}, "The user answered: blue"),
        ({"action": "decline"}, "The user did not answer."),
    ],
)
def test_question_reaches_the_person(
    bench: Workbench, model: Model, answer: dict[str, Any], told: str
) -> None:
    answers = {"elicitation/create": lambda params: answer}
    server = model(one("ask_user", {"question": "Which?", "options": ["red", "blue"]}), DONE)
    agent, session = bench.start(server, answers)
    agent.prompt(session, "go")
    assert bench.results(session) == [(told, False)]
    asked = next(frame for frame in agent.frames if frame.get("method") == "elicitation/create")["params"]
    assert asked["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]


def test_question_is_not_offered_where_nobody_can_be_asked(bench: Workbench, model: Model) -> None:
    server = model(DONE)
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    assert "ask_user" not in [tool["function"]["name"] for tool in server.requests[0]["tools"]]


def test_files_go_through_a_client_that_offers_them(bench: Workbench, model: Model) -> None:
    written: list[dict[str, Any]] = []

    def write(params: dict[str, Any]) -> dict[str, Any]:
        written.append(params)
        return {}

    answers: dict[str, Any] = {
        "fs/read_text_file": lambda params: {"content": "unsaved = 1\n"},
        "fs/write_text_file": write,
    }
    edit = one("edit", {"path": "a.py", "old_text": "1", "new_text": "2"})
    agent, session = bench.start(model(edit, DONE), answers, client={"files": "client"})
    agent.prompt(session, "go")
    assert (written[0]["path"], written[0]["content"]) == (str(bench.work / "a.py"), "unsaved = 2\n")
    assert not (bench.work / "a.py").exists()


def test_commands_run_in_a_terminal_of_a_client_that_offers_it(bench: Workbench, model: Model) -> None:
    answers: dict[str, Any] = {
        "terminal/create": lambda params: {"terminalId": "t1"},
        "terminal/wait_for_exit": lambda params: {"exitCode": 1},
        "terminal/output": lambda params: {"output": "from afar\n", "truncated": False},
        "terminal/release": lambda params: {},
    }
    agent, session = bench.start(
        model(one("bash", {"command": "make"}), DONE), answers, client={"shell": "client"}
    )
    agent.prompt(session, "go")
    assert bench.results(session) == [("from afar\n[exit code 1]", True)]
    methods = [frame["method"] for frame in agent.frames if frame.get("method", "").startswith("terminal/")]
    assert methods == ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    assert agent.updates("tool_call_update")[1]["content"] == [{"type": "terminal", "terminalId": "t1"}]

"""The real `claude-agent-sdk` runs unchanged: only the `claude` that it starts is the peer.

No scenario, since what is shown is that a client which is not ours works on its own terms: its own start of the CLI,
its handshake, callbacks, control requests and the end of its process.
"""

import asyncio
import json
import logging
from contextlib import asynccontextmanager

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ProcessError,
    ResultMessage,
    SystemMessage,
    TextBlock,
    create_sdk_mcp_server,
    query,
    tool,
)

from replay.transport.host import Host
from replay.transport.peers.launch import write_launchers

SESSION = "5a4b3c2d-0000-4000-8000-000000000001"
MODEL = "claude-sonnet-4-6"


# -- frames, in the shapes of CLI 2.1.197


def expect(kind, label="", **members):
    return {"type": "expect_outbound", "label": label or kind, "frame": {"type": kind, **members}}


def emit(kind, label="", **members):
    return {"type": "emit_inbound", "label": label or kind, "frame": {"type": kind, **members}}


def opens(label="", **options):
    return expect("query.open", label, options={"model": MODEL, **options})


def offers(text):
    message = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
    return expect("prompt.offer", message=message)


def init():
    return emit(
        "system", "init", subtype="init", cwd="{{workspace}}", session_id=SESSION, tools=["Bash"], mcp_servers=[],
        model=MODEL, permissionMode="default", claude_code_version="2.1.197", uuid="u-init",
    )  # fmt: skip


def says(text):
    content = [{"type": "text", "text": text}]
    return emit(
        "assistant", message={"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content},
        parent_tool_use_id=None, session_id=SESSION, uuid=f"u-{text}",
    )  # fmt: skip


def result(text="", subtype="success", **more):
    return emit(
        "result", subtype=subtype, is_error=subtype != "success", duration_ms=9, duration_api_ms=5, num_turns=1,
        result=text, session_id=SESSION, total_cost_usd=0.0, usage={}, **more,
    )  # fmt: skip


def asks(command, tool_use_id="toolu_1"):
    return emit(
        "permission.request", toolName="Bash", input={"command": command},
        options={
            "displayName": "Bash", "toolUseID": tool_use_id, "blockedPath": "{{workspace}}/x",
            "suggestions": [{"type": "addDirectories", "directories": ["{{workspace}}"], "destination": "session"}],
        },
    )  # fmt: skip


def answers(tool_use_id="toolu_1", **outcome):
    return expect("permission.response", result={**outcome, "toolUseID": tool_use_id})


def responds(operation, label="", **outcome):
    return emit("control.response", label or f"answer {operation}", operation=operation, **outcome)


EXIT = {"type": "runtime_exit", "status": "success"}


# -- the run


class Run:
    """A host over one transcript, and options with which the SDK starts the peer."""

    def __init__(self, host, workspace, peer):
        self.host = host
        self.workspace = workspace
        self.peer = peer

    def options(self, **given):
        return ClaudeAgentOptions(
            **{
                "model": MODEL,
                "cli_path": self.peer,
                "cwd": self.workspace,
                "env": self.host.environment(),
                **given,
            }
        )

    @asynccontextmanager
    async def client(self, **given):
        async with asyncio.timeout(20), ClaudeSDKClient(self.options(**given)) as client:
            yield client

    def finding(self):
        [status] = self.host.finish()
        return status.finding

    def consumed(self):
        [status] = self.host.finish()
        return status.outcome == "consumed"


@pytest.fixture
def play(tmp_path):
    """Starts a host over entries; every run that a test calls good was consumed to the last one."""
    hosts = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "peers").mkdir()
    peer = write_launchers(str(tmp_path / "peers"), ["claude"])["claude"]

    def start(*entries):
        first = {
            "type": "transcript_start", "schema": 1, "provider": "claude", "protocol": "claude-agent-sdk.query",
            "version": "2.1.197", "scenario": "real_client",
            "metadata": {"model": MODEL, "cwdPolicy": "workspace", "capturedAt": "2026-11-30",
                         "provenance": {"kind": "authored", "reason": "a conversation of a unit test"}},
        }  # fmt: skip
        path = tmp_path / "claude.transcript.ndjson"
        path.write_text("".join(json.dumps(line) + "\n" for line in (first, *entries)))
        host = Host([path], workspace=workspace)
        host.__enter__()
        hosts.append(host)
        return Run(host, workspace, peer)

    yield start
    for host in hosts:
        host.__exit__()


async def ask(prompt, options):
    async with asyncio.timeout(20):
        return [message async for message in query(prompt=prompt, options=options)]


async def turn(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


def texts(messages):
    return [
        block.text
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, TextBlock)
    ]


def test_query_of_one_prompt_gets_its_answer_though_it_closes_stdin_first(play, caplog):
    run = play(opens(), offers("hello"), init(), says("hi"), result("hi"), EXIT)
    with caplog.at_level(logging.WARNING):
        messages = asyncio.run(ask("hello", run.options()))
    assert [type(message) for message in messages] == [SystemMessage, AssistantMessage, ResultMessage]
    assert (texts(messages), messages[-1].result) == (["hi"], "hi")
    assert messages[0].data["cwd"] == str(run.workspace)
    assert run.consumed()
    # Nor is its version of the CLI too old for the SDK, or its end unexpected.
    assert not caplog.records


def test_client_takes_several_turns_and_changes_model_and_mode_between_them(play):
    run = play(
        opens(), offers("one"), init(), says("1"), result("1"),
        expect("query.set_model", model="claude-opus-4-6"),
        expect("query.set_permission_mode", mode="plan"),
        offers("two"), init(), says("2"), result("2"), EXIT,
    )  # fmt: skip

    async def main():
        async with run.client() as client:
            first = await turn(client, "one")
            # Their answers are not recorded, so the peer makes them up.
            await client.set_model("claude-opus-4-6")
            await client.set_permission_mode("plan")
            return texts(first + await turn(client, "two"))

    assert asyncio.run(main()) == ["1", "2"]
    assert run.consumed()


def test_recorded_answers_of_control_requests_reach_their_callers(play):
    run = play(
        opens(), emit("query.opened", response={"commands": [{"name": "compact"}]}),
        offers("one"), init(), result("1"),
        expect("query.set_model", model="nope"), responds("query.set_model", error="no such model"),
        expect("control.request", request={"subtype": "mcp_status"}),
        responds("mcp_status", response={"mcpServers": [{"name": "a", "status": "connected"}]}),
        EXIT,
    )  # fmt: skip

    async def main():
        async with run.client() as client:
            info = await client.get_server_info()
            await turn(client, "one")
            with pytest.raises(Exception, match="no such model"):
                await client.set_model("nope")
            return info, await client.get_mcp_status()

    info, status = asyncio.run(main())
    assert info == {"commands": [{"name": "compact"}]}
    assert status["mcpServers"][0]["status"] == "connected"
    assert run.consumed()


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        (PermissionResultAllow(), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (PermissionResultAllow(updated_input={"command": "pwd"}), {"behavior": "allow", "updatedInput": {"command": "pwd"}}),
        (PermissionResultDeny(message="no", interrupt=True), {"behavior": "deny", "message": "no", "interrupt": True}),
    ],
    ids=["allow", "changed", "deny"],
)  # fmt: skip
def test_permission_callback_is_asked_and_its_answer_compared(play, decision, outcome):
    run = play(
        opens(), offers("list"), init(), asks("ls"), answers(**outcome), says("done"), result("done"), EXIT
    )
    asked = []

    async def can_use_tool(name, given, context):
        asked.append((name, given, context))
        return decision

    async def main():
        async with run.client(can_use_tool=can_use_tool) as client:
            return await turn(client, "list")

    assert texts(asyncio.run(main())) == ["done"]
    [(name, given, context)] = asked
    assert (name, given, context.tool_use_id) == ("Bash", {"command": "ls"}, "toolu_1")
    assert context.suggestions[0].directories == [str(run.workspace)]
    assert context.blocked_path == f"{run.workspace}/x"
    assert run.consumed()


def test_permission_answer_that_differs_is_a_divergence_with_its_path(play):
    allowed = {"behavior": "allow", "updatedInput": {"command": "ls"}}
    run = play(
        opens(), offers("list"), init(), asks("ls"), answers(**allowed), says("done"), result("done"), EXIT
    )

    async def can_use_tool(*_):
        return PermissionResultDeny(message="no")

    async def main():
        async with run.client(can_use_tool=can_use_tool) as client:
            await turn(client, "list")

    with pytest.raises(ProcessError) as caught:
        asyncio.run(main())
    assert caught.value.exit_code == 1
    assert "$.result.behavior" in str(run.finding())


def test_two_open_permissions_may_be_answered_in_the_other_order(play):
    grouped = [{**entry, "group": "permissions"} for entry in (
        asks("a", "toolu_a"), asks("b", "toolu_b"),
        answers("toolu_a", behavior="allow", updatedInput={"command": "a"}),
        answers("toolu_b", behavior="deny", message="not b"),
    )]  # fmt: skip
    run = play(opens(), offers("both"), init(), *grouped, result("done"), EXIT)
    second = asyncio.Event()

    async def can_use_tool(_, given, context):
        if context.tool_use_id == "toolu_b":
            second.set()
            return PermissionResultDeny(message="not b")
        await second.wait()
        # Only once the answer to the other is on its way.
        await asyncio.to_thread(run.host.wait_for, "permission.response")
        return PermissionResultAllow()

    async def main():
        async with run.client(can_use_tool=can_use_tool) as client:
            await turn(client, "both")

    asyncio.run(main())
    assert run.consumed()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_interrupt_is_acknowledged_and_the_turn_ends_with_its_own_result(play, is_recorded):
    acknowledgement = [responds("query.interrupt")] if is_recorded else []
    run = play(
        opens(), offers("long"), init(), expect("query.interrupt"), *acknowledgement, says("par"),
        result(subtype="error_during_execution", errors=[]), offers("again"), says("whole"), result("whole"), EXIT,
    )  # fmt: skip

    async def main():
        async with run.client() as client:
            await client.query("long")
            stream = client.receive_response()
            assert isinstance(await anext(stream), SystemMessage)
            await client.interrupt()
            rest = [message async for message in stream]
            return rest, await turn(client, "again")

    rest, again = asyncio.run(main())
    assert (texts(rest), rest[-1].subtype) == (["par"], "error_during_execution")
    assert texts(again) == ["whole"]
    assert run.consumed()


def test_second_process_resumes_the_session_of_the_first(play):
    run = play(
        opens("first", sessionId=SESSION, permissionMode="acceptEdits"), offers("one"), init(), says("1"), result("1"), EXIT,
        opens("second", resume=SESSION, forkSession=True), offers("two"), init(), says("2"), result("2"), EXIT,
    )  # fmt: skip

    async def main():
        first = await ask("one", run.options(session_id=SESSION, permission_mode="acceptEdits"))
        return texts(first + await ask("two", run.options(resume=SESSION, fork_session=True)))

    assert asyncio.run(main()) == ["1", "2"]
    assert run.consumed()


def test_options_that_differ_are_a_divergence_with_their_path(play):
    run = play(opens(permissionMode="plan"), offers("one"), init(), result("1"), EXIT)
    # Which of its errors depends on whether it was writing when the peer ended.
    with pytest.raises(ClaudeSDKError):
        asyncio.run(ask("one", run.options(permission_mode="acceptEdits")))
    assert "$.options.permissionMode" in str(run.finding())


def test_hooks_and_tools_of_the_sdk_are_called_back(play):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    run = play(
        opens(
            hooks={"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}]},
            mcpServers={"sums": {"type": "sdk", "name": "sums"}},
        ),
        offers("go"), init(),
        emit("control.request", "hook", request={
            "subtype": "hook_callback", "callback_id": "hook_0", "tool_use_id": "toolu_1",
            "input": {"hook_event_name": "PreToolUse", "tool_name": "Bash"},
        }),
        expect("control.response", "hook answer", operation="hook_callback", response={"continue": False}),
        emit("control.request", "mcp", request={"subtype": "mcp_message", "server_name": "sums", "message": call}),
        expect("control.response", "mcp answer", operation="mcp_message", response={"mcp_response": "{{any}}"}),
        result("done"), EXIT,
    )  # fmt: skip
    seen = []

    async def hook(given, tool_use_id, _):
        seen.append((given["tool_name"], tool_use_id))
        return {"continue_": False}

    @tool("add", "adds", {"a": int})
    async def add(_):
        return {"content": []}

    async def main():
        given = {
            "hooks": {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]},
            "mcp_servers": {"sums": create_sdk_mcp_server("sums", tools=[add])},
        }
        async with run.client(**given) as client:
            await turn(client, "go")

    asyncio.run(main())
    assert seen == [("Bash", "toolu_1")]
    assert run.consumed()


@pytest.mark.parametrize(
    ("exit_entry", "code"),
    [
        ({"status": "error", "code": 7}, 7),
        ({"status": "error", "signal": "SIGKILL"}, -9),
        ({"status": "cancelled"}, -15),
    ],
)
def test_crash_in_mid_turn_ends_the_process_as_recorded(play, exit_entry, code):
    run = play(opens(), offers("one"), init(), {"type": "runtime_exit", **exit_entry})

    async def main():
        async with run.client() as client:
            await turn(client, "one")

    with pytest.raises(ProcessError) as caught:
        asyncio.run(main())
    assert caught.value.exit_code == code
    assert run.consumed()

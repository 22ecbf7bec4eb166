"""Turns against a model on loopback. Not scenarios: they look at requests, retries and process life as well."""

import time
from collections.abc import Callable

from tests.reference_agent.model_server import ModelServer, call, finish, text
from tests.reference_agent.workbench import Workbench

type Model = Callable[..., ModelServer]

TOOLS = finish("tool_calls")
STOP = finish("stop")


def test_text_turn_streams_each_delta_and_logs_it_packed(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("a"), text("b"), text("c"), STOP]))
    assert agent.prompt(session, "hi")["result"] == {"stopReason": "end_turn"}
    assert [update["content"]["text"] for update in agent.updates("agent_message_chunk")] == ["a", "b", "c"]
    assert agent.close() == 0
    assert bench.data(session, "text-chunks")[0]["texts"] == ["a", "b", "c"]
    assert bench.kinds(session) == [
        "session", "turn/start", "user/message", "step/start", "request/header", "request/context", "call/start",
        "assistant/chunk", "text-chunks", "assistant/chunk", "assistant/chunk", "call/end", "assistant/message",
        "step/end", "turn/end",
    ]  # fmt: skip


def test_second_turn_sends_the_first_along_and_writes_no_second_header(
    bench: Workbench, model: Model
) -> None:
    server = model([text("one"), STOP], [text("two"), STOP])
    agent, session = bench.start(server)
    agent.prompt(session, "first")
    agent.prompt(session, "second")
    assert [m["content"] for m in server.requests[1]["messages"][1:]] == ["first", "one", "second"]
    assert bench.kinds(session).count("request/header") == 1


def test_reply_at_the_output_limit_continues_in_a_further_step(bench: Workbench, model: Model) -> None:
    cut = {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash"}}]}}]}
    agent, session = bench.start(model([text("half"), finish("length")], [text(" whole"), STOP], [cut, STOP]))
    assert agent.prompt(session, "long")["result"]["stopReason"] == "end_turn"
    assert bench.kinds(session).count("step/start") == 2
    assert [m["source"]["kind"] for m in bench.data(session, "user/message")] == ["user", "agent"]


def test_reply_that_never_fits_ends_with_max_tokens(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(*[[text("x"), finish("length")]] * 2), limits={"max_continuations": 1})
    assert agent.prompt(session, "long")["result"]["stopReason"] == "max_tokens"


def test_turn_without_end_stops_at_its_step_limit(bench: Workbench, model: Model) -> None:
    server = model(
        choose=lambda body: [call(0, f"c{len(body['messages'])}", "glob", {"pattern": "*"}), TOOLS]
    )
    agent, session = bench.start(server, limits={"max_steps": 2})
    assert agent.prompt(session, "go")["result"]["stopReason"] == "max_turn_requests"
    assert len(server.requests) == 2


def test_empty_reply_is_asked_for_again(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([STOP], [text("ok"), STOP]))
    assert agent.prompt(session, "hi")["result"]["stopReason"] == "end_turn"
    assert bench.data(session, "llm/retry")[0]["failure"]["code"] == "EMPTY_RESPONSE"
    assert [end["outcome"]["kind"] for end in bench.data(session, "call/end")] == ["completed", "completed"]


def test_error_before_the_stream_is_retried(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(503, [text("ok"), STOP]))
    assert agent.prompt(session, "hi")["result"]["stopReason"] == "end_turn"
    ends = bench.data(session, "call/end")
    assert ends[0]["outcome"] == {"kind": "failed", "message": "HTTP 503: prepared failure", "code": "SERVER"}


def test_stream_that_breaks_is_retried_and_its_piece_stays_out_of_the_conversation(
    bench: Workbench, model: Model
) -> None:
    server = model([text("piece"), "break"], [text("ok"), STOP])
    agent, session = bench.start(server)
    assert agent.prompt(session, "hi")["result"]["stopReason"] == "end_turn"
    assert len({update["messageId"] for update in agent.updates("agent_message_chunk")}) == 2
    assert bench.data(session, "call/end")[0]["outcome"]["code"] == "TRANSPORT"
    assert len(server.requests[1]["messages"]) == 2


def test_error_that_no_retry_cures_fails_the_prompt(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(401))
    error = agent.prompt(session, "hi")["error"]
    assert (error["message"], error["data"]) == (
        "the model failed: HTTP 401: prepared failure",
        {"code": "AUTH"},
    )
    assert bench.data(session, "turn/end")[0]["reason"]["error"]["code"] == "AUTH"


def test_errors_without_end_use_up_the_retries(bench: Workbench, model: Model) -> None:
    server = model(500, 500, 500)
    agent, session = bench.start(server)
    assert agent.prompt(session, "hi")["error"]["data"] == {"code": "SERVER"}
    assert [retry["delayMs"] for retry in bench.data(session, "llm/retry")] == [1, 2]


def test_cancel_in_the_middle_of_a_stream_keeps_what_was_said(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("partly"), "hold"]))
    prompt = agent.begin_prompt(session, "hi")
    agent.wait_for(lambda frame: frame.get("method") == "session/update")
    agent.notify("session/cancel", {"sessionId": session})
    assert agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert bench.data(session, "call/end")[0]["outcome"] == {"kind": "cancelled"}
    assert bench.data(session, "assistant/message")[0]["interrupted"] is True
    assert bench.data(session, "turn/end")[0]["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}


def test_cancelled_request_is_answered_with_its_own_error(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("partly"), "hold"]))
    prompt = agent.begin_prompt(session, "hi")
    agent.wait_for(lambda frame: frame.get("method") == "session/update")
    agent.notify("$/cancel_request", {"requestId": prompt})
    assert agent.response(prompt)["error"]["code"] == -32800


def test_end_of_stdin_ends_the_turn_and_the_log_says_so(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("partly"), "hold"]))
    prompt = agent.begin_prompt(session, "hi")
    agent.wait_for(lambda frame: frame.get("method") == "session/update")
    assert agent.close() == 0
    assert agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert bench.data(session, "turn/end")[0]["reason"] == {"kind": "aborted", "reason": {"kind": "shutdown"}}


def test_sigterm_ends_a_running_command_and_exits_cleanly(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([call(0, "c1", "bash", {"command": "touch up; sleep 60"}), TOOLS]))
    agent.begin_prompt(session, "hi")
    while not (bench.work / "up").exists():
        time.sleep(0.01)
    assert agent.terminate() == 0
    assert bench.kinds(session)[-1] == "turn/end"
    assert agent.stderr == b""


def test_second_prompt_of_a_busy_session_is_refused(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("partly"), "hold"]))
    agent.begin_prompt(session, "hi")
    agent.wait_for(lambda frame: frame.get("method") == "session/update")
    assert agent.prompt(session, "again")["error"]["code"] == -32600


def test_prompt_with_an_image_reaches_the_model(bench: Workbench, model: Model) -> None:
    server = model([text("seen"), STOP])
    agent, session = bench.start(server)
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    prompt = [{"type": "text", "text": "look"}, image]
    agent.request("session/prompt", {"sessionId": session, "prompt": prompt})
    sent = server.requests[0]["messages"][1]["content"]
    assert sent[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_lone_surrogate_in_a_prompt_is_replaced_in_the_log(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("ok"), STOP]))
    assert agent.prompt(session, "half \ud83d")["result"]["stopReason"] == "end_turn"
    assert bench.data(session, "user/message")[0]["content"][0]["text"] == "half \ufffd"


def test_stdout_stays_pure_when_a_client_sends_rubbish(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("ok"), STOP]))
    assert agent.process.stdin
    agent.process.stdin.write(b"no json\n\n")
    assert agent.request("_unknown/thing", {})["error"]["code"] == -32601
    assert agent.prompt(session, "hi")["result"]["stopReason"] == "end_turn"


def test_cut_tool_call_is_dropped_and_the_reply_goes_on(bench: Workbench, model: Model) -> None:
    cut = {"index": 0, "id": "c1", "function": {"name": "bash", "arguments": '{"command": "rm'}}
    limit = [text("starting"), {"choices": [{"delta": {"tool_calls": [cut]}}]}, finish("length")]
    server = model(limit, [text(" over"), STOP])
    agent, session = bench.start(server)
    assert agent.prompt(session, "go")["result"]["stopReason"] == "end_turn"
    assert "tool/call" not in bench.kinds(session)
    assert "tool_calls" not in server.requests[1]["messages"][2]


def test_client_that_does_not_read_cannot_keep_the_agent(bench: Workbench, model: Model) -> None:
    # Each is more than a pipe and what the reader has in hand can hold, so none but the first gets through.
    flood = [text("x" * 100_000)] * 20
    agent, session = bench.start(model([*flood, STOP]))
    agent.stop_reading_at("session/update")
    agent.begin_prompt(session, "go")
    agent.wait_for_unread_output()
    assert agent.terminate() == 0
    assert bench.kinds(session)[-1] == "turn/end"


def test_client_that_closes_its_end_does_not_stop_the_turn(bench: Workbench, model: Model) -> None:
    server = model([text("a"), "hold", text("b"), text("c"), STOP])
    agent, session = bench.start(server)
    agent.stop_reading_at("session/update", close=True)
    agent.begin_prompt(session, "go")
    assert agent.stopped_reading.wait(20)
    server.release.set()
    while bench.kinds(session)[-1] != "turn/end":
        time.sleep(0.01)
    assert agent.close() == 0
    assert bench.data(session, "turn/end")[0]["reason"] == {"kind": "completed"}

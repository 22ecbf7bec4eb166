"""The stream-JSON of a `claude` CLI, both ways, in the shapes that version 2.1.197 was seen to write and to read."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import DivergenceError
from replay.transport.profiles.claude import PROFILE
from replay.transport.transcript import EmitInbound, ExpectOutbound
from replay.transport.wires.claude import LEFT_OUT, ClaudeWire, kind_of, made_up_answer

ARGV = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--model", "m"]
HELLO = {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None}
OPEN = {"type": "query.open", "options": {"model": "m"}}


def request(number, subtype, **rest):
    return {"type": "control_request", "request_id": f"req_{number}", "request": {"subtype": subtype, **rest}}


def answer(number, response=None, **rest):
    body = {"subtype": "success", "request_id": f"req_{number}", **rest}
    return {
        "type": "control_response",
        "response": body | ({} if response is None else {"response": response}),
    }


def failure(number, error):
    return {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": f"req_{number}", "error": error},
    }


def can_use_tool(number, tool="toolu_1"):
    return request(
        number, "can_use_tool", tool_name="Bash", display_name="Bash", input={"command": "ls"}, description="List",
        permission_suggestions=[{"type": "addRules"}], blocked_path="/w/x", tool_use_id=tool, brand_new=True,
    )  # fmt: skip


# A whole session: (direction, line, frame, ref). The frame is None where a line becomes none.
SESSION = [
    ("out", request(1, "initialize", hooks=None), OPEN, "req_1"),
    ("in", answer(1, {"commands": []}), {"type": "query.opened", "response": {"commands": []}}, "req_1"),
    ("out", HELLO, {"type": "prompt.offer", "message": HELLO}, None),
    ("in", {"type": "system", "subtype": "init"}, {"type": "system", "subtype": "init"}, None),
    ("in", {"type": "keep_alive"}, None, None),
    ("in", can_use_tool(50), {
        "type": "permission.request", "toolName": "Bash", "input": {"command": "ls"},
        "options": {"displayName": "Bash", "description": "List", "suggestions": [{"type": "addRules"}],
                    "blockedPath": "/w/x", "toolUseID": "toolu_1", "brand_new": True},
    }, "req_50"),
    ("out", answer(50, {"behavior": "deny", "message": "no", "toolUseID": "toolu_1"}),
        {"type": "permission.response", "result": {"behavior": "deny", "message": "no", "toolUseID": "toolu_1"}}, "req_50"),
    ("in", request(51, "hook_callback", callback_id="hook_0"),
        {"type": "control.request", "request": {"subtype": "hook_callback", "callback_id": "hook_0"}}, "req_51"),
    ("out", answer(51, {"continue": True}),
        {"type": "control.response", "operation": "hook_callback", "response": {"continue": True}}, "req_51"),
    ("in", can_use_tool(52, "toolu_2"), {
        "type": "permission.request", "toolName": "Bash", "input": {"command": "ls"},
        "options": {"displayName": "Bash", "description": "List", "suggestions": [{"type": "addRules"}],
                    "blockedPath": "/w/x", "toolUseID": "toolu_2", "brand_new": True},
    }, "req_52"),
    ("out", request(2, "interrupt"), {"type": "query.interrupt"}, "req_2"),
    ("in", {"type": "control_cancel_request", "request_id": "req_52"},
        {"type": "permission.cancelled", "toolUseID": "toolu_2"}, "req_52"),
    ("in", answer(2), {"type": "control.response", "operation": "query.interrupt"}, "req_2"),
    ("out", request(3, "set_model", model="n"), {"type": "query.set_model", "model": "n"}, "req_3"),
    ("out", request(4, "set_permission_mode", mode="plan"), {"type": "query.set_permission_mode", "mode": "plan"}, "req_4"),
    ("out", request(5, "mcp_status"), {"type": "control.request", "request": {"subtype": "mcp_status"}}, "req_5"),
    ("in", answer(4, {"mode": "plan"}),
        {"type": "control.response", "operation": "query.set_permission_mode", "response": {"mode": "plan"}}, "req_4"),
    ("in", failure(3, "no such model"),
        {"type": "control.response", "operation": "query.set_model", "error": "no such model"}, "req_3"),
    ("in", answer(5, {"mcpServers": []}, pending=[]),
        {"type": "control.response", "operation": "mcp_status", "pending": [], "response": {"mcpServers": []}}, "req_5"),
    ("in", {"type": "result", "subtype": "success"}, {"type": "result", "subtype": "success"}, None),
]  # fmt: skip


@pytest.mark.parametrize("names_ids", [True, False])
def test_session_reads_as_frames_and_writes_as_the_same_lines(names_ids):
    reader, writer = ClaudeWire(ARGV), ClaudeWire(ARGV)
    ids = {}
    for direction, line, frame, ref in SESSION:
        read, write = (reader.read_outbound, writer.write_outbound) if direction == "out" else (
            reader.read_inbound, writer.write_inbound,
        )  # fmt: skip
        assert [tuple(each) for each in read(line)] == ([] if frame is None else [(frame, ref)])
        if frame is None:
            continue
        [written] = write(frame, ref if names_ids else None)
        # The ids that a writer makes up itself, in the place of those of the session.
        text = orjson.dumps(written)
        if not names_ids and written["type"] == "control_request":
            ids[written["request_id"]] = line["request_id"]
        for made, original in sorted(ids.items(), reverse=True):
            text = text.replace(f'"{made}"'.encode(), f'"{original}"'.encode())
        assert orjson.loads(text) == line


def test_first_line_of_a_client_without_initialize_opens_the_query():
    wire = ClaudeWire(ARGV)
    assert [frame["type"] for frame, _ in wire.read_outbound(HELLO)] == ["query.open", "prompt.offer"]
    assert wire.end_outbound() == []
    # Nobody waits for that answer.
    assert wire.write_inbound({"type": "query.opened", "response": {}}) == []
    assert [frame for frame, _ in ClaudeWire(ARGV).end_outbound()] == [OPEN]
    assert [frame["type"] for frame, _ in ClaudeWire(ARGV).offer("hello")] == ["query.open", "prompt.offer"]


def test_permission_answer_names_the_tool_call_of_the_request_that_it_went_to():
    wire = ClaudeWire(ARGV)
    for number, tool in ((1, "toolu_a"), (2, "toolu_b")):
        wire.read_inbound(can_use_tool(number, tool))
    frames = [wire.read_outbound(answer(number, {"behavior": "allow"}))[-1].frame for number in (2, 1)]
    assert [frame["result"]["toolUseID"] for frame in frames] == ["toolu_b", "toolu_a"]


def test_answer_without_a_handle_goes_to_the_request_of_its_tool_call_or_the_oldest():
    wire = ClaudeWire(ARGV)
    for number, tool in ((1, "toolu_a"), (2, "toolu_b"), (3, "toolu_c")):
        wire.read_inbound(can_use_tool(number, tool))
    result = {"behavior": "allow", "toolUseID": "toolu_b"}
    [named] = wire.write_outbound({"type": "permission.response", "result": result})
    [oldest] = wire.write_outbound({"type": "permission.response", "result": {"behavior": "allow"}})
    assert [each["response"]["request_id"] for each in (named, oldest)] == ["req_2", "req_1"]


def test_cancel_that_crossed_its_answer_is_no_frame_and_one_that_did_not_stays_answerable():
    wire = ClaudeWire(ARGV)
    cancel = {"type": "control_cancel_request", "request_id": "req_1"}
    wire.read_inbound(can_use_tool(1))
    assert [frame["type"] for frame, _ in wire.read_inbound(cancel)] == ["permission.cancelled"]
    assert wire.read_outbound(answer(1, {"behavior": "allow"}))[-1].frame["type"] == "permission.response"
    assert wire.read_inbound(cancel) == []
    assert wire.write_inbound({"type": "permission.cancelled", "toolUseID": "toolu_1"}) == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({}, 'needs a string "type"'),
        ({"type": ["user"]}, 'needs a string "type"'),
        ({"type": "control_request", "request_id": "1"}, 'needs an object "request"'),
        ({"type": "control_request", "request": {"subtype": "interrupt"}}, 'needs a string "request_id"'),
        ({"type": "control_request", "request_id": "1", "request": {}}, 'needs a string "subtype"'),
        ({"type": "control_response", "response": []}, 'needs an object "response"'),
        (answer(9, {}), '"req_9", which is not open'),
    ],
)
@pytest.mark.parametrize("direction", ["read_outbound", "read_inbound"])
def test_line_that_breaks_the_wire_is_named(direction, line, sentence):
    with pytest.raises(DivergenceError, match=sentence):
        getattr(ClaudeWire(ARGV), direction)(line)


def test_frame_that_answers_nothing_is_refused():
    wire = ClaudeWire(ARGV)
    with pytest.raises(DivergenceError, match=r'answers a "query\.interrupt" that is not open'):
        wire.write_inbound({"type": "control.response", "operation": "query.interrupt"})


def test_request_is_answered_once():
    reader, writer = ClaudeWire(ARGV), ClaudeWire(ARGV)
    acknowledged = {"type": "control.response", "operation": "query.interrupt"}
    for wire in (reader, writer):
        wire.read_outbound(request(1, "interrupt"))
    reader.read_inbound(answer(1))
    writer.write_inbound(acknowledged, "req_1")
    with pytest.raises(DivergenceError, match="not open"):
        reader.read_inbound(answer(1))
    with pytest.raises(DivergenceError, match="not open"):
        writer.write_inbound(acknowledged, "req_1")


def test_request_with_a_member_that_a_frame_has_no_room_for_keeps_its_own_form():
    line = request(1, "set_model", type="x")
    [_, (frame, ref)] = ClaudeWire(ARGV).read_outbound(line)
    assert frame == {"type": "control.request", "request": line["request"]}
    assert ClaudeWire(ARGV).write_outbound(frame, ref) == [line]


def test_answers_of_a_transcript_find_their_requests_by_operation_and_tool_call():
    def ask(name, **members):
        return ExpectOutbound({"type": name, **members})

    def say(name, **members):
        return EmitInbound({"type": name, **members})

    entries = [
        ask("query.open", options={}),
        ask("control.request", request={"subtype": "mcp_status"}),
        ask("control.request", request={"subtype": "get_usage"}),
        ask("query.interrupt"),
        say("control.response", operation="get_usage", response={}),
        say("control.response", operation="query.interrupt"),
        say("control.response", operation="mcp_status", response={}),
        say("permission.request", toolName="a", input={}, options={"toolUseID": "toolu_a"}),
        say("permission.request", toolName="b", input={}, options={"toolUseID": "toolu_b"}),
        ask("permission.response", result={"toolUseID": "toolu_b"}),
        ask("permission.response", result={"behavior": "allow"}),
    ]
    assert PROFILE.pairs(entries) == {4: 2, 5: 3, 6: 1, 9: 8, 10: 7}


def test_open_requests_are_bounded():
    wire = ClaudeWire(ARGV)
    with pytest.raises(DivergenceError, match="control requests of one side are open"):
        for number in range(10_000):
            wire.read_outbound(request(number, "mcp_status"))


def test_least_answer_is_made_up_for_requests_only_and_not_where_the_transcript_has_one():
    made = {
        kind_of(frame): made_up_answer(frame, ())
        for direction, _, frame, _ in SESSION
        if direction == "out" and frame is not None
    }
    assert made == {
        "query.open": {"type": "query.opened", "response": {}},
        "prompt.offer": None,
        "permission.response": None,
        "control.response": None,
        "query.interrupt": {"type": "control.response", "operation": "query.interrupt"},
        "query.set_model": {"type": "control.response", "operation": "query.set_model"},
        "query.set_permission_mode": {"type": "control.response", "operation": "query.set_permission_mode"},
        "control.request:mcp_status": {"type": "control.response", "operation": "mcp_status", "response": {}},
    }
    assert made_up_answer({"type": "query.interrupt"}, ("query.interrupt",)) is None
    assert all(len(reason) > 20 for reason in LEFT_OUT.values())


_KEYS = (
    "type",
    "request_id",
    "request",
    "response",
    "subtype",
    "message",
    "options",
    "operation",
    "result",
    "input",
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "req_1", "can_use_tool", "query.open"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
_TYPES = st.sampled_from((
    "user", "control_request", "control_response", "control_cancel_request", "keep_alive", "query.open", "query.opened",
    "control.request", "control.response", "permission.request", "permission.response", "permission.cancelled",
    "control.cancelled", "query.set_model", "prompt.offer",
))  # fmt: skip
_LINES = st.builds(
    lambda kind, rest: {**rest, "type": kind}, _TYPES, st.dictionaries(st.sampled_from(_KEYS), _JSON)
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["read_outbound", "read_inbound", "write_outbound", "write_inbound"]), _LINES
        )
    )
)
def test_any_lines_are_translated_or_refused(steps):
    wire = ClaudeWire(ARGV)
    for name, line in steps:
        try:
            orjson.dumps(list(getattr(wire, name)(line)), default=list)
        except DivergenceError as error:
            assert str(error)

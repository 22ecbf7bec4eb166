"""Redaction of recordings: what is replaced, by which rule, and what has to stay as it is."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.surface.secrets import scan
from replay.transport.recorders.account import RULES
from replay.transport.recorders.redaction import WORKSPACE, Known, redact
from replay.transport.recorders.streams import streamed_texts
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, Frame, RuntimeExit

KNOWN = Known(
    {
        WORKSPACE: ["/tmp/rec-4711/workspace"],
        "/home/user": ["/tmp/rec-4711/home"],
        "/tmp": ["/tmp/rec-4711/tmp"],
    },
    homes=["/home/mallory"],
    user="mallory",
    host="workstation-17",
    secrets={"SERVICE_TOKEN": "plain-looking-words-9"},
    texts={"http://127.0.0.1:40123": "http://127.0.0.1:8080"},
)
CODEX, CLAUDE, ACP = "codex.app-server", "claude-agent-sdk.query", "acp.ndjson-jsonrpc"
UUID = "6b0d4a4e-93f5-4b64-9b2f-0d6a3c5f1e77"


def redacted(frames: list[Frame], protocol: str = CODEX, label: str = "") -> tuple[list[Any], dict[str, int]]:
    entries: list[Entry] = [
        EmitInbound(frame, label or str(frame.get("method", frame.get("type", "")))) for frame in frames
    ]
    out, counts = redact(entries, protocol, KNOWN)
    return [entry.frame for entry in out if isinstance(entry, EmitInbound)], counts


def text(value: str) -> str:
    [frame], _ = redacted([{"method": "m", "params": {"text": value}}])
    found: str = frame["params"]["text"]
    return found


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("/tmp/rec-4711/workspace/a.py", "{{workspace}}/a.py"),
        ("/private/tmp/rec-4711/workspace", "{{workspace}}"),
        ("file:///tmp/rec-4711/workspace/a", "file://{{workspace}}/a"),
        ("/tmp/rec-4711/workspace2", "/tmp/rec-4711/workspace2"),
        ("projects/-tmp-rec-4711-workspace/x", "projects/-workspace/x"),
        ("/tmp/rec-4711/home/.codex/x", "/home/user/.codex/x"),
        ("/tmp/rec-4711/tmp/y", "/tmp/y"),
        ("/home/mallory/.ssh", "/home/user/.ssh"),
        ("/Users/bobby/x", "/Users/user/x"),
        ("mallory wrote to mallory@corp.example-mail.com", "user wrote to user@example.com"),
        ("on workstation-17 as mallory", "on host as user"),
        ("key plain-looking-words-9.", "key {{secret:SERVICE_TOKEN}}."),
        ("GET http://127.0.0.1:40123/v1", "GET http://127.0.0.1:8080/v1"),
        ('{"cwd":"/tmp/rec-4711/workspace"}', '{"cwd":"{{workspace}}"}'),
    ],
)
def test_value_becomes_its_stand_in(raw: str, told: str) -> None:
    assert text(raw) == told


def test_key_of_an_object_is_redacted_and_none_is_lost() -> None:
    frame = {"method": "m", "params": {"/home/mallory/a": 1, "/home/user/a": 2}}
    [out], _ = redacted([frame])
    assert out["params"] == {"/home/user/a": 1, "/home/user/a'": 2}


def test_path_that_comes_in_pieces_is_redacted_as_one() -> None:
    pieces = ["in /tmp/re", "c-4711/work", "space/a.py and /home/mal", "lory"]
    frames = [
        {"method": "item/agentMessage/delta", "params": {"itemId": "i1", "delta": piece}} for piece in pieces
    ]
    other = {"method": "item/agentMessage/delta", "params": {"itemId": "i2", "delta": "/tmp/re"}}
    out, _ = redacted([frames[0], other, *frames[1:]])
    said = "".join(frame["params"]["delta"] for frame in out if frame["params"]["itemId"] == "i1")
    assert said == "in {{workspace}}/a.py and /home/user"
    assert out[1] == other


@pytest.mark.parametrize(
    ("protocol", "frames"),
    [
        (CODEX, [{"method": "item/agentMessage/delta", "params": {"itemId": "i", "delta": "@"}}]),
        (
            CLAUDE,
            [
                {
                    "type": "stream_event",
                    "event": {
                        "type": "content_block_delta",
                        "index": 0,
                        "delta": {"type": "text_delta", "text": "@"},
                    },
                }
            ],
        ),
        (
            ACP,
            [
                {
                    "method": "session/update",
                    "params": {
                        "sessionId": "s",
                        "update": {
                            "sessionUpdate": "agent_message_chunk",
                            "content": {"type": "text", "text": "@"},
                        },
                    },
                }
            ],
        ),
        (
            "opencode-sdk.sse",
            [
                {
                    "type": "sdk.event",
                    "event": {"type": "message.part.delta", "properties": {"partID": "p", "delta": "@"}},
                }
            ],
        ),
        (
            "cursor-agent-sdk.local",
            [{"type": "interaction.update", "runId": "r", "update": {"type": "text-delta", "text": "@"}}],
        ),
    ],
)
def test_every_protocol_says_what_comes_in_pieces(protocol: str, frames: list[Frame]) -> None:
    [frame] = frames
    cut = [orjson.loads(orjson.dumps(frame).replace(b"@", piece)) for piece in (b"/home/mal", b"lory/x")]
    out, counts = redacted(cut, protocol)
    assert counts == {"home": 1}
    assert b"mallory" not in orjson.dumps(out) and b"lory" not in orjson.dumps(out)
    assert b"/home/user" in orjson.dumps(out[0])


def test_text_ends_where_its_block_ends() -> None:
    def delta(text: str) -> Frame:
        return {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text},
            },
        }

    begin = {"type": "stream_event", "event": {"type": "content_block_start", "index": 0}}
    assert [len(text) for text in streamed_texts([delta("a"), delta("b"), begin, delta("c")], CLAUDE)] == [2]


ACCOUNT: dict[tuple[str, str, str], dict[str, Any]] = {
    (CODEX, "limits", "account/rateLimits/updated"): {"primary": {"usedPercent": 7}, "credits": {"left": 3}},
    (CODEX, "plan", "account/updated"): {"planType": "pro"},
    (CODEX, "host", "remoteControl/status/changed"): {"serverName": "vm"},
    (CODEX, "account", "x"): {"installationId": UUID, "organizationName": "Acme"},
    (CODEX, "e-mail", "account/read"): {"email": "x"},
    (CODEX, "secret field", "x"): {"accessToken": "words only"},
    (CLAUDE, "limits", "rate_limit_event"): {
        "resetsAt": 1796000000,
        "utilization": 0.7,
        "isUsingOverage": True,
    },
    (CLAUDE, "account", "query.opened"): {"organization": "Acme", "subscriptionType": "max"},
    ("opencode-sdk.sse", "secret field", "provider.list.response"): {"key": "words only"},
}


@pytest.mark.parametrize("case", ACCOUNT)
def test_account_data_is_replaced_by_its_rule(case: tuple[str, str, str]) -> None:
    protocol, name, label = case
    data = ACCOUNT[case]
    [out], counts = redacted([{"params": {**data, "other": "stays", "none": None}}], protocol, label)
    assert counts == {name: len(data)}
    assert list(out["params"]) == [*data, "other", "none"]
    assert all(out["params"][key] != data[key] for key in data)
    assert (out["params"]["other"], out["params"]["none"]) == ("stays", None)


def test_every_rule_of_an_account_is_tried() -> None:
    tried = {(protocol, name) for protocol, name, _ in ACCOUNT}
    common = {rule.name for rule in RULES[ACP]}
    for protocol, rules in RULES.items():
        for rule in rules:
            assert rule.reason and rule.keys
            assert (protocol, rule.name) in tried or (rule.name in common and (CODEX, rule.name) in tried)


def test_limits_stay_where_they_are_no_account_s() -> None:
    frame = {"method": "view", "params": {"primary": "blue", "utilization": 3}}
    assert redacted([frame]) == ([frame], {})


def test_null_is_no_account_data() -> None:
    frame = {
        "method": "account/rateLimits/updated",
        "params": {"primary": None, "planType": None, "email": ""},
    }
    assert redacted([frame]) == ([frame], {})


def test_identity_is_the_same_wherever_it_stands() -> None:
    frames = [
        {"method": "a", "params": {"text": f"before {UUID}"}},
        {"method": "b", "params": {"accountId": UUID, "orgId": "org-9921x"}},
        {"method": "c", "params": {"url": f"https://example.com/{UUID}/org-9921x", "id": UUID}},
    ]
    out, _ = redacted(frames)
    stand_in = out[1]["params"]["accountId"]
    assert out[1]["params"]["orgId"] == "account-2"
    assert stand_in != UUID
    assert out[0]["params"]["text"] == f"before {stand_in}"
    assert out[2]["params"] == {"url": f"https://example.com/{stand_in}/account-2", "id": stand_in}


def test_ids_methods_order_and_correlation_stay() -> None:
    entries: list[Entry] = [
        ExpectOutbound({"id": 7, "method": "turn/start", "params": {"threadId": UUID}}, "turn/start"),
        EmitInbound({"id": 7, "result": {"turn": {"id": "turn-3f2a"}}}, "turn/start.response"),
        EmitInbound({"id": "r1", "method": "ask", "params": {"turnId": "turn-3f2a", "pid": 12}}, "ask"),
        ExpectOutbound({"id": "r1", "result": {"decision": "accept"}}, "ask.response"),
        RuntimeExit("success"),
    ]
    assert redact(entries, CODEX, KNOWN) == (entries, {})


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 5),
        st.text(max_size=8),
        st.sampled_from(
            [
                "/tmp/rec-4711/workspace/x",
                "-tmp-rec-4711-home",
                "mallory@corp.example-mail.com",
                "/home/mallory",
                "workstation-17",
                "{{workspace}}",
                UUID,
            ]
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["email", "orgId", "primary", "delta", "itemId", "a"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
frames = st.lists(
    st.fixed_dictionaries({"method": st.sampled_from(["account/x", "item/y/delta", "z"]), "params": values}),
    max_size=5,
)


@given(frames, st.sampled_from(sorted(RULES)))
def test_redaction_is_idempotent_and_keeps_frames_in_place(given: list[Frame], protocol: str) -> None:
    once, _ = redacted(given, protocol)
    again, counts = redacted(once, protocol)
    assert again == once and not counts
    assert [frame["method"] for frame in once] == [frame["method"] for frame in given]


def test_what_is_redacted_holds_no_finding_of_the_guard() -> None:
    frame = {
        "method": "m",
        "params": {"text": "mallory@corp.example-mail.com in /Users/mallory/x", "apiKey": "k" * 30},
    }
    [out], _ = redacted([frame])
    assert not scan(orjson.dumps(out).decode())

"""What the normaliser renames, and what it leaves alone. The invariants are in test_normalise_properties.py."""

import pytest

from replay.surface import Normaliser, Rule, Volatile, served_ids
from replay.surface.fields import FIELD_RULES

CWD = "/tmp/replay-x/text.turn/cwd"
UUID = "e128dda9-ed11-4868-8266-0ef90d03c3d6"
OTHER_UUID = "38694db6-921d-41fd-b1fb-3b0c40caf67c"
VOLATILE = Volatile(
    paths=[
        ("{{tmp}}", ["/tmp/replay-x"]),
        ("{{cwd}}", [CWD, "/mnt/disk/replay-x/cwd"]),
        ("{{home}}", ["/tmp/replay-x/home"]),
        ("{{spill}}", ["/s/0123456789"]),
    ],
    session_ids=["sess_51c6f7a0", "sess_51c6f7a0-child"],
    kept_ids=["call_00_fkbBRJsUrGKd1pWVc4Gn8233"],
)


def text(value, volatile=VOLATILE, rules=()):
    """The normalised text of one string that no field name says anything about."""
    return Normaliser(volatile, rules).normalise("stdout", [{"text": value}])[0]["text"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (CWD, "{{cwd}}"),
        (f"{CWD}/a.txt", "{{cwd}}/a.txt"),
        ("/mnt/disk/replay-x/cwd/a", "{{cwd}}/a"),
        (f"/private{CWD}: no such file", "{{cwd}}: no such file"),
        (f"see {CWD}.", "see {{cwd}}."),
        (f"{CWD}.bak", "{{tmp}}/text.turn/cwd.bak"),
        (f"{CWD}2/a", "{{tmp}}/text.turn/cwd2/a"),
        ("/tmp/replay-xy", "/tmp/replay-xy"),
        ("/var/tmp/replay-x", "/var/tmp/replay-x"),
        (f"PWD={CWD}:{CWD}/bin", "PWD={{cwd}}:{{cwd}}/bin"),
        (f"file://{CWD}/a%20b", "file://{{cwd}}/a%20b"),
        (f"cc -I{CWD}/include -L/tmp/replay-x", "cc -I{{cwd}}/include -L{{tmp}}"),
        (f'{{"out":"1\\n{CWD}/a"}}', '{"out":"1\\n{{cwd}}/a"}'),
        (CWD.replace("/", "\\/"), "{{cwd}}"),
        ("projects/-tmp-replay-x-text-turn-cwd/1.jsonl", "projects/{{cwd:slug}}/1.jsonl"),
        ("projects/-tmp-replay-x-text.turn-cwd", "projects/{{cwd:slug}}"),
        ("tmp-replay-x-text-turn-cwd", "{{cwd:slug}}"),
        ("foo-tmp-replay-x-text-turn-cwd", "foo-tmp-replay-x-text-turn-cwd"),
        ("/s/0123456789/out.txt", "{{spill}}/out.txt"),
    ],
)
def test_every_spelling_of_a_directory_becomes_its_placeholder_at_path_boundaries(raw, expected):
    assert text(raw) == expected


def test_a_directory_with_odd_characters_is_found_escaped_for_json_and_in_a_uri():
    volatile = Volatile(paths=[("{{cwd}}", ['/tmp/a b"ü'])])
    for raw in ('/tmp/a b"ü/f', '/tmp/a b\\"ü/f', '/tmp/a b\\"\\u00fc/f', "/tmp/a%20b%22%C3%BC/f"):
        assert text(raw, volatile) == "{{cwd}}/f", raw


def test_root_and_relative_paths_are_not_directories_to_rename():
    volatile = Volatile(paths=[("{{cwd}}", ["/", "", "relative/dir"])])
    assert text("/ and relative/dir", volatile) == "/ and relative/dir"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("sess_51c6f7a0", "{{sessionId}}"),
        ("log/sess_51c6f7a0.jsonl", "log/{{sessionId}}.jsonl"),
        ("x_sess_51c6f7a0_y", "x_{{sessionId}}_y"),
        ("sess_51c6f7a0-child", "{{sessionId:2}}"),
        ("sess_51c6f7a05", "sess_51c6f7a05"),
        (f"id {UUID}!", "id {{uuid:1}}!"),
        (f"{UUID} {OTHER_UUID} {UUID}", "{{uuid:1}} {{uuid:2}} {{uuid:1}}"),
        (f"a{UUID}", f"a{UUID}"),
        ("at 2025-01-02T03:04:05.678Z", "at {{time}}"),
        ("at 2025-01-02T03:04:05+01:00", "at {{time}}"),
        ("2025-01-02 03:04:05", "{{time}}"),
        ("Tue, 06 May 2025 07:08:09 GMT", "{{time}}"),
        ("2025-01-02", "2025-01-02"),
        ("version 3-4-5", "version 3-4-5"),
        (
            '{"sessionId":"sess_51c6f7a0","toolCallId": "7"}',
            '{"sessionId":"{{sessionId}}","toolCallId": "{{id:1}}"}',
        ),
        ('{\\"tool_call_id\\":\\"7\\"} 7', '{\\"tool_call_id\\":\\"{{id:1}}\\"} 7'),
    ],
)
def test_ids_and_times_inside_longer_strings(raw, expected):
    assert text(raw) == expected


def test_fields_that_hold_volatile_values():
    frame = {
        "toolCallId": "1",
        "messageId": "msg_01AbC9xyz",
        "optionId": "allow_once",
        "modelId": "claude-x-20250101",
        "models": [{"id": "claude-x-20250101"}, {"id": "item_9f8e7d6c5b"}],
        "note": "1 of msg_01AbC9xyz",
        "pid": 4711,
        "updatedAt": "yesterday",
        "startedAt": None,
        "_meta": {"durationMs": 2.5, "duration": {"secs": 0, "nanos": 17}},
    }
    assert Normaliser(Volatile()).normalise(
        "stdout", [{"jsonrpc": "2.0", "id": "abc123def456", "result": frame}]
    ) == [
        {
            "jsonrpc": "2.0",
            "id": "abc123def456",
            "result": {
                "toolCallId": "{{id:1}}",
                "messageId": "{{id:2}}",
                "optionId": "allow_once",
                "modelId": "claude-x-20250101",
                "models": [{"id": "claude-x-20250101"}, {"id": "{{id:3}}"}],
                "note": "1 of {{id:2}}",
                "pid": "{{pid}}",
                "updatedAt": "{{time}}",
                "startedAt": None,
                "_meta": {
                    "durationMs": "{{duration}}",
                    "duration": {"secs": "{{duration}}", "nanos": "{{duration}}"},
                },
            },
        }
    ]


def test_ids_in_keys_are_renamed_and_no_key_is_lost():
    times = {"2025-01-02T03:04:05Z": 1, "2025-01-02T03:04:06Z": 2, UUID: 3}
    assert Normaliser(Volatile()).normalise("stdout", [{"by": times}]) == [
        {"by": {"{{time}}": 1, "{{time}}'": 2, "{{uuid:1}}": 3}}
    ]


def test_ids_that_the_recording_serves_stay():
    frame = {"toolCallId": "call_00_fkbBRJsUrGKd1pWVc4Gn8233", "text": "call_00_fkbBRJsUrGKd1pWVc4Gn8233"}
    assert Normaliser(VOLATILE).normalise("stdout", [frame]) == [frame]


def test_served_ids_are_those_of_chunks_packed_or_not():
    log = [
        {
            "type": "assistant/chunk",
            "data": {"chunk": {"type": "tool-call-delta", "id": "a", "argumentsDelta": ""}},
        },
        {"type": "assistant/chunk", "data": {"chunk": {"type": "block-end", "block": {"id": "b"}}}},
        {"type": "tool-call-chunks", "data": {"id": "c", "args": []}},
        {"type": "user/message", "data": {"id": "d"}},
        {"type": "odd", "data": []},
        "odd",
    ]
    assert served_ids([log, log]) == ["a", "b", "c"]


def test_one_table_serves_all_surfaces_of_a_side():
    normaliser = Normaliser(Volatile())
    stdout = normaliser.normalise("stdout", [{"text": UUID}])
    session = normaliser.normalise("session", [{"text": OTHER_UUID}, {"text": UUID}])
    assert (stdout, session) == ([{"text": "{{uuid:1}}"}], [{"text": "{{uuid:2}}"}, {"text": "{{uuid:1}}"}])


def test_an_id_that_a_later_surface_names_is_known_in_an_earlier_one():
    surfaces = {
        "stdout": [{"text": "see job_8f7e6d5c4b"}],
        "session": [{"data": {"taskId": "job_8f7e6d5c4b"}}],
    }
    assert Normaliser(Volatile()).normalise_all(surfaces) == {
        "stdout": [{"text": "see {{id:1}}"}],
        "session": [{"data": {"taskId": "{{id:1}}"}}],
    }


def test_session_log_loses_its_clock_and_keeps_its_shape():
    rows = [
        {"type": "session", "version": 0, "id": "sess_51c6f7a0", "createdAt": 1783352050748, "cwd": CWD},
        {"type": "user/message", "data": {"text": "hi"}, "seq": 7, "time": 1783352050748},
        {
            "type": "text-chunks",
            "data": {"turn": 1, "dt": [3, 0, 5], "texts": ["a", "b", "c", "d"]},
            "time": 1,
        },
        {"type": "request/header", "data": {"header": {"config": {}, "system": "You are…", "tools": [1]}}},
        {"type": "request/header", "data": {"header": {"config": {}, "system": None}}},
    ]
    assert Normaliser(VOLATILE).normalise("session.1", rows) == [
        {"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 0, "cwd": "{{cwd}}"},
        {"type": "user/message", "data": {"text": "hi"}},
        {"type": "text-chunks", "data": {"turn": 1, "dt": [0, 0, 0], "texts": ["a", "b", "c", "d"]}},
        {
            "type": "request/header",
            "data": {"header": {"config": {}, "system": "{{system}}", "tools": "{{tools}}"}},
        },
        {"type": "request/header", "data": {"header": {"config": {}, "system": None}}},
    ]
    assert rows[0]["createdAt"] == 1783352050748, "the caller's rows are the caller's"


def test_a_path_that_was_streamed_in_pieces_is_found_across_them():
    pieces = ["cat ", "/tmp/re", "play-", "x/home", "/a ", "", "/tmp/replay-x"]
    row = {"type": "tool-call-chunks", "data": {"dt": [0] * 6, "id": "call_1", "args": pieces}}
    (out,) = Normaliser(VOLATILE).normalise("session", [row])
    assert out["data"]["args"] == ["cat ", "{{home}}", "", "", "/a ", "", "{{tmp}}"]


def test_a_piece_that_is_half_a_word_is_no_path_of_its_own():
    row = {"type": "text-chunks", "data": {"dt": [0, 0], "texts": ["/var", "/tmp/replay-x", "!"]}}
    (out,) = Normaliser(VOLATILE).normalise("session", [row])
    assert out["data"]["texts"] == ["/var", "/tmp/replay-x", "!"]


def test_user_rules_run_over_text_and_across_pieces():
    rules = [
        Rule(r"took \d+ ms", "{{took}}", "speed of the machine"),
        Rule(r"[Mm]onday|[Tt]uesday", "{{day}}", "clock"),
    ]
    assert text("it took 17 ms on Monday", rules=rules) == "it {{took}} on {{day}}"
    row = {"type": "text-chunks", "data": {"dt": [0, 0], "texts": ["it to", "ok 17", " ms!"]}}
    (out,) = Normaliser(Volatile(), rules).normalise("session", [row])
    assert out["data"]["texts"] == ["it {{took}}", "", "!"]


def test_a_lone_surrogate_survives():
    assert text(f"\ud800 {CWD}") == "\ud800 {{cwd}}"


def test_rows_of_any_shape_come_back():
    odd = [
        None,
        True,
        1,
        1.5,
        "x",
        [],
        {},
        {"type": "text-chunks"},
        {"type": ["x"]},
        {"type": "session"},
        {"data": 1},
    ]
    assert Normaliser(VOLATILE).normalise("session", odd) == odd


def test_the_screen_of_rows_knows_every_field_that_the_walk_knows():
    for field in (name for rule in FIELD_RULES for name in rule.fields):
        row = {"data": {field: 17 if rule_of(field).kind == "value" else "Zq9Zq9Zq9Zq9"}}
        assert Normaliser(Volatile()).normalise("session", [row]) != [row], field


def rule_of(field):
    return next(rule for rule in FIELD_RULES if field in rule.fields)


def test_every_rule_of_the_table_has_a_reason():
    assert all(rule.reason for rule in FIELD_RULES)


def test_many_ids_are_found_as_surely_as_few():
    ids = [f"job_{number:08x}z9" for number in range(500)]
    rows = [{"data": {"taskId": name}} for name in ids] + [{"text": f"end of {ids[499]}"}]
    out = Normaliser(Volatile()).normalise("session", rows)
    assert out[500] == {"text": "end of {{id:500}}"}


def test_a_placeholder_is_one_name_in_a_field_and_in_a_text():
    rows = [{"toolCallId": "{{id:2}}"}, {"text": "see {{id:2}}, not {{id:7}}"}]
    out = Normaliser(Volatile()).normalise("session", rows)
    assert out == [{"toolCallId": "{{id:1}}"}, {"text": "see {{id:1}}, not {{id:2}}"}]


def test_request_that_an_agent_names_itself_has_an_id_like_any_other():
    minted = {"jsonrpc": "2.0", "id": "srv_b6c8624a5c114bf1", "method": "session/request_permission"}
    counted = {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission"}
    assert Normaliser(Volatile()).normalise("stdout", [minted, counted]) == [
        {**minted, "id": "{{id:1}}"},
        counted,
    ]

"""What is taken for a secret, and what only looks like one. The true positives by kind are bad inputs (secret/)."""

import base64
import json
from urllib.parse import quote

import pytest

from replay.surface.secrets import Scanner, credential_values, scan

KEY = "A1b2C3d4E5f6G7h8I9j0"


def test_a_finding_says_where_and_never_what():
    text = "one\ntwo gh" + "p_" + KEY + KEY + " and martina" + "@acme.io\n"
    found = scan(text)
    assert [(item.kind, item.line, item.column, item.is_personal) for item in found] == [
        ("GitHub token", 2, 5, False),
        ("e-mail address", 2, 54, True),
    ]
    assert KEY not in repr(found) and "martina" not in repr(found)


def test_an_anthropic_key_is_not_an_openai_key_as_well():
    assert [item.kind for item in scan("sk" + "-ant-api03-" + KEY + KEY)] == ["Anthropic API key"]


@pytest.mark.parametrize(
    "text",
    [
        "task-specific instructions for sk-specific-thing-that-is-no-key",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "sk" + "-proj-xxxxxxxxxxxxxxxxxxxxxxxxxxxx1A",
        "Authorization: Bearer {{token}}",
        "Authorization: Bearer $TOKEN",
        "the bearer of this letter",
        "https://user:***@host/path",
        "https://host:8080/a@b",
        "postgres://user:{{password}}@db",
        "/home/user/project and /Users/runner/work and /home/ubuntu",
        "/home/ and /var/home/martina/x",
        "git@github.com:org/repo.git",
        "jane@example.com, joe@mail.example.org, root@localhost, a@b.test",
        "icon@2x.png sprite@3x.svg",
        "@scope/package@1.2.3",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "sha256:b1ff9c8ea3a780bad09b346c423d2d0e4d1b3f0a9c8e7d6f5a4b3c2d1e0f9a8b",
        "call_00_fkbBRJsUrGKd1pWVc4Gn8233",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
        "-----BEGIN PUBLIC KEY-----",
    ],
)
def test_what_only_looks_like_a_secret(text):
    assert scan(text) == []


def test_a_finding_in_a_row_of_json_has_its_path():
    key = "gh" + "p_" + KEY + KEY
    rows = [
        {"type": "a", "data": {"list": [1, {"x": 2}, f"see {key}"]}},
        {"data": {key: 1, "other-key": [key]}},
    ]
    found = scan("\n".join(map(json.dumps, rows)))
    assert [(item.line, item.path) for item in found] == [
        (1, "$.data.list[2]"),
        (2, "$.data (key)"),
        (2, "$.data.other-key[0]"),
    ]
    assert KEY not in repr(found)


def test_a_path_does_not_tell_a_key_that_may_be_one():
    key = "gh" + "p_" + KEY + KEY
    [in_key, in_value] = scan(json.dumps({"data": {key: "martina" + "@acme.io"}}))
    assert (in_key.path, in_value.path) == ("$.data (key)", "$.data[…]")


def delta(text, **more):
    chunk = {"type": "text-delta", "index": 0, "text": text, **more}
    return {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}


def packed(*texts, index=0):
    return {
        "type": "text-chunks",
        "data": {"turn": 1, "step": 1, "index": index, "dt": [], "texts": list(texts)},
    }


def ended(kind="block-start"):
    return {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": {"type": kind, "index": 0}}}


def frame(text, kind="agent_message_chunk"):
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": "s", "update": update}}


HALVES = ("see gh" + "p_A1b2C3d4", "E5f6G7h8I9j0" + KEY + "A1b2")


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ([packed("a", *HALVES)], [(1, "$.data.texts[1]")]),
        ([packed("a", "b", HALVES[0]), delta(HALVES[1])], [(1, "$.data.texts[2]")]),
        ([delta(HALVES[0]), packed("x", index=1), delta(HALVES[1])], [(1, "$.data.chunk.text")]),
        ([delta("a"), delta(""), delta(HALVES[0]), delta(""), delta(HALVES[1])], [(3, "$.data.chunk.text")]),
        ([delta(HALVES[0]), ended(), delta(HALVES[1])], []),
        ([delta(HALVES[0]), ended("finish"), delta(HALVES[1])], []),
        ([frame("a"), frame(HALVES[0]), frame(HALVES[1])], [(2, "$.params.update.content.text")]),
        ([frame(HALVES[0]), frame("x", "plan"), frame(HALVES[1])], []),
        ([frame(HALVES[0]), frame(HALVES[1], "agent_thought_chunk")], []),
        ([packed("a", "b", "".join(HALVES))], [(1, "$.data.texts[2]")]),
    ],
)
def test_a_key_in_pieces_is_found_where_it_begins(rows, where):
    found = scan("\n".join(map(json.dumps, rows)))
    assert [(item.line, item.path) for item in found] == where


def test_a_piece_of_a_log_that_a_json_parser_refuses_does_not_hide_the_rest():
    text = "\n".join(["{broken -delta", json.dumps(packed("a", *HALVES)), "plain text -chunks"])
    assert [item.line for item in scan(text)] == [2]


VALUE = "Tr0ub4dor / 3"


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        json.dumps({"a": json.dumps({"b": VALUE})}),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").replace("%2F", "%2f"),
        base64.b64encode(f"user:{VALUE}".encode()).decode(),
        base64.b64encode(f"xx{VALUE}yy".encode()).decode(),
        base64.urlsafe_b64encode(f"x{VALUE}".encode()).decode(),
        VALUE.encode().hex(),
        json.dumps(packed("Tr0u", "b4dor ", "/ 3")),
    ],
)
def test_a_value_of_the_shell_is_found_in_any_spelling(text):
    assert [item.kind for item in Scanner({"DB_PASS": VALUE}).scan(f"x\n{text}\ny")] == ["value of DB_PASS"]
    assert scan(f"x\n{text}\ny") == []


def test_which_variables_hold_credentials():
    key = "sk" + "-proj-" + KEY + KEY
    environment = {
        "OPENAI_API_KEY": "whatever-it-is-1", "DB_PASSWORD": "hunter2hunter2", "SOMETHING": key, "X": "Zq7xK2mP9sV4bN8tL3wRq1Zb",
        "CI_JOB_TOKEN": "Abcdef12345", "PGPASSWORD": "short", "HOME": "/home/x1234567", "SSH_AUTH_SOCK": "/tmp/agent.123456",
        "PATH": "/usr/bin:/bin", "TOKEN_LIMIT": "4096", "LANG": "C.UTF-8", "API_KEY": "your_key_goes_here", "KEYBOARD": "de-latin1-nodeadkeys",
        "SECRET_FILE_TOKEN": "/run/secrets/token", "MAX_TOKENS": "100000000", "SESSION_ID": "0f8fad5b-d9cb-469f-a165-70867728950e", "AUTH": "oauth-device",
    }  # fmt: skip
    assert sorted(credential_values(environment)) == [
        "CI_JOB_TOKEN",
        "DB_PASSWORD",
        "OPENAI_API_KEY",
        "SOMETHING",
        "X",
    ]


def test_a_binary_file_is_searched_for_credentials_alone():
    key = "gh" + "p_" + KEY + KEY
    person = " martina" + "@acme.io "
    assert [item.kind for item in Scanner().scan_file(b"\0\1" + (key + person).encode())] == ["GitHub token"]
    assert [item.kind for item in Scanner().scan_file((key + person).encode("utf-16"))] == ["GitHub token"]
    assert [item.kind for item in Scanner().scan_file((key + person).encode() + b"\xff")] == [
        "GitHub token",
        "e-mail address",
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("postgres://app:Zq7xK2mP@db.acme.io/x", 1),
        ("postgres://user:pass@localhost/x", 0),
        ('password = "x9!Kq2#mZ@7pW$"', 1),
        ('password = "correct horse"', 0),
        ("secret_key = 'Zq7xK2mP9sV4bN8tL3wR'", 1),
        ('{"headers":[["x-api-key","Zq7xK2mP9sV4bN8tL3wR"]]}', 1),
        ("run --token Zq7xK2mP9sV4bN8tL3wR", 1),
        ("the token Zq7xK2mP9sV4bN8tL3wR", 0),
        ('"next_page_token": "Zq7xK2mP9sV4bN8tL3wR"', 0),
        ('"token": "0f8fad5b-d9cb-469f-a165-70867728950e"', 0),
        ('"key": "Zq7xK2mP9sV4bN8tL3wR"', 0),
        ('"key": "Zq7xK2mP9sV4bN8tL3wRZq7x"', 1),
        ('"api_key": "0123456789abcdef0123456789abcdee"', 1),
        ('"cache_key": "0123456789abcdef0123456789abcdee"', 0),
        ("Cookie: sid=Zq7xK2mP9sV4bN8tL3wR; a=b", 1),
    ],
)
def test_a_name_decides_about_a_value_of_chance(text, count):
    assert len(scan(text)) == count

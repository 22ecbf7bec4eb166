"""What is taken for a secret, and what only looks like one. The true positives by kind are bad inputs (secret/)."""

import pytest

from replay.surface.secrets import scan

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

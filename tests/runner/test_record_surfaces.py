"""What a recording does beside the logs: files that nothing asks for any more, values that a suite ignores, modes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.provider import Provider, refusal, said
from tests.runner.recorder import Tree

_PINS = ("system-prompt.expected.md", "tool-schemas.expected.json")
_WHY = "drawn anew"
_IGNORED = [
    {"surface": "stdout", "path": "$.result._meta.note", "reason": _WHY},
    {"surface": "session", "kind": "turn/end", "path": "$.data.reason.note", "reason": _WHY},
]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def _call_ends(tree: Tree, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in tree.files(name)["session.jsonl"].splitlines()]
    return [row["data"]["outcome"] for row in lines if row["type"] == "call/end"]


def test_files_that_nothing_asks_for_any_more_go_with_the_next_recording(tree: Tree) -> None:
    fixture = tree.add("hello", "say hello")
    tree.surfaces, tree.pins = ["requests", "workspace"], True
    (fixture / "workspace.seed.json").write_text('{"version":1,"entries":{"a.txt":{"text":"a"}}}')
    with Provider(said("Hi."), said("Hi."), said("Hi.")) as provider:
        assert tree.record("hello", upstream=provider.url).code == 0
        kept = tree.files("hello")
        assert {"requests.expected.jsonl", "workspace.expected/a.txt"} <= set(kept)
        child = {
            **json.loads(kept["session.jsonl"].splitlines()[0]),
            "id": "{{sessionId:1}}",
            "parentSession": "x",
        }
        gone = ["session.1.jsonl", *_PINS, "workspace.expected/gone.txt"]
        for name, data in zip(
            gone, [json.dumps(child) + "\n", "Be kind.\n", '{"initial":[],"changes":[]}\n', "b"], strict=True
        ):
            (fixture / name).write_text(data)
        tree.surfaces, tree.pins = ["workspace"], False
        outcome = tree.record("hello", upstream=provider.url)
        assert outcome.code == 0, outcome
        for name in [*gone, "requests.expected.jsonl"]:
            assert f"deleted {name} (+0 -" in outcome.out, outcome.out
        assert "wrote" not in outcome.out
        del kept["requests.expected.jsonl"]
        assert tree.files("hello") == kept
        assert tree.record("hello", upstream=provider.url).out == "hello: unchanged\n"


def test_ignored_values_stay_as_they_were_recorded_first(tree: Tree) -> None:
    tree.add("hello", "say hello", "and again")
    tree.options["ignored"] = _IGNORED
    tree.agent["env"] = {"AGENT_NOTE": "first"}
    with Provider(said("Hi."), said("Ho."), said("Hi."), said("Ho."), said("Hi."), said("He.")) as provider:
        assert tree.record("hello", upstream=provider.url).code == 0
        before = tree.files("hello")
        assert (
            before["session.jsonl"].count(b'"first"')
            == before["stdout.expected.jsonl"].count(b'"first"')
            == 2
        )
        tree.agent["env"] = {"AGENT_NOTE": "second"}
        assert tree.record("hello", upstream=provider.url).out == "hello: unchanged\n"
        assert tree.files("hello") == before
        assert tree.record("hello", upstream=provider.url).code == 0
    after = tree.files("hello")
    assert after["session.jsonl"] != before["session.jsonl"]
    assert b"second" not in b"".join(after.values())
    assert tree.refresh("hello").out == "hello: unchanged\n"


def test_ignored_path_at_which_nothing_stands_is_said_once(tree: Tree) -> None:
    tree.add("hello", "say hello")
    tree.options["ignored"] = _IGNORED
    with Provider(said("Hi.")) as provider:
        outcome = tree.record("hello", upstream=provider.url)
    assert outcome.code == 0
    assert outcome.out.count('nothing stands at $.result._meta.note of "stdout"') == 1, outcome


def test_executable_files_and_binaries_are_recorded_where_asked(tree: Tree) -> None:
    fixture = tree.add("hello", "say hello")
    binary = base64.b64encode(b"\xff\x00" * 9).decode()
    entries = {"run.sh": {"text": "#!/bin/sh\n", "mode": "755"}, "logo.png": {"base64": binary}}
    (fixture / "workspace.seed.json").write_text(json.dumps({"version": 1, "entries": entries}))
    tree.surfaces = ["workspace"]
    tree.options["workspace_modes"] = "the agent makes scripts"
    with Provider(said("Hi."), said("Hi.")) as provider:
        outcome = tree.record("hello", upstream=provider.url)
        assert outcome.code == 0, outcome
        assert "wrote workspace.executable.txt (+1 -0)" in outcome.out
        assert (fixture / "workspace.executable.txt").read_text() == "run.sh\n"
        assert (fixture / "workspace.expected" / "logo.png").read_bytes() == b"\xff\x00" * 9
        assert tree.record("hello", upstream=provider.url).out == "hello: unchanged\n"
    assert tree.refresh("hello").out == "hello: unchanged\n"


def test_rate_limit_is_recorded_with_when_to_ask_again(tmp_path: Path) -> None:
    tree = Tree(tmp_path, logs_itself=False)
    tree.add("limited", steps=[{"op": "promptExpectError", "text": "hello"}])
    with Provider(refusal(429, "slow down", ("retry-after-ms", "1500"), ("retry-after", "2"))) as provider:
        outcome = tree.record("limited", upstream=provider.url)
    assert outcome.code == 0, outcome
    assert _call_ends(tree, "limited") == [
        {"kind": "failed", "message": "slow down", "code": "RATE_LIMIT", "retryAfterMs": 1500}
    ]
    assert tree.refresh("limited").out == "limited: unchanged\n"

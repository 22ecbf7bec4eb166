"""A manifest is decoded with the runner's own types; what is wrong is named by its JSON path."""

import json
from typing import Any

import pytest

from replay.errors import UsageError
from replay.runner.manifest import decode_manifest


def _manifest(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "suite": "//s:s",
        "workspace_name": "_main",
        "batched": False,
        "agent": {
            "name": "a", "binary": "_main/a", "args": ["{cwd}"], "env": {}, "replay_args": [], "replay_env": {},
            "overlay": None, "session_log": "self", "model_api": "",
        },
        "rules": [{"pattern": "x", "placeholder": "{{x}}", "reason": "r"}],
        "options": {"floating": [{"kind": "k", "reason": "r"}], "wait_seconds": 3, "leftovers": "why"},
        "scenarios": [{"name": "one", "files": {"input.json": "_main/one/input.json"}}],
        **changes,
    }  # fmt: skip


def _decode(**changes: Any):
    return decode_manifest(json.dumps(_manifest(**changes)).encode(), "m.json")


def test_decoding_fills_defaults_and_keeps_foreign_options() -> None:
    manifest = _decode()
    assert manifest.options.wait_seconds == 3
    assert manifest.options.leftovers == "why"
    assert manifest.options.others == {"floating": [{"kind": "k", "reason": "r"}]}
    assert manifest.scenarios[0].workspace == {}
    assert manifest.agent.logs_itself
    assert manifest.agent.overlay == ""


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"version": 2}, "$.version"),
        ({"scenarios": []}, "$.scenarios"),
        ({"scenarios": [{"name": "x"}]}, "$.scenarios[0].files"),
        ({"agent": {"name": "a"}}, "$.agent.binary"),
        ({"agent": {"binary": "b", "session_log": "gateway"}}, "$.agent.model_api"),
        ({"agent": {"binary": "b", "session_log": "elsewhere"}}, "$.agent.session_log"),
        ({"rules": [{"pattern": "x"}]}, "$.rules[0].placeholder"),
        ({"options": {"leftovers": 1}}, "$.options.leftovers"),
    ],
)
def test_wrong_value_is_named_by_its_path(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(UsageError) as caught:
        _decode(**changes)
    assert caught.value.where.path == path


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
def test_bytes_that_are_no_manifest(data: bytes) -> None:
    with pytest.raises(UsageError):
        decode_manifest(data, "m.json")

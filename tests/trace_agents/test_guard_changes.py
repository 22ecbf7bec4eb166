"""The guard over changes.json: a file that no strategy could be measured by is told before anybody measures."""

from typing import Any

import orjson
import pytest

from replay.runner.trace_guard import trace_tree
from tests.trace_agents.test_guard import SOUND, check

CHANGE: dict[str, Any] = {
    "name": "brief",
    "kind": "harmless",
    "env": {"SHOP_CHANGE": "brief"},
    "what": "few words",
}
SECRET = "sk-ant-" + "api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"


def told(data: bytes) -> list[str]:
    return check(SOUND | {"changes.json": data})


def of(*changes: Any, **members: Any) -> bytes:
    return orjson.dumps({"schema": 1, "changes": list(changes), **members})


def test_sound_file_of_changes_is_passed_over() -> None:
    assert told(of(CHANGE, CHANGE | {"name": "loud", "kind": "regression", "args": ["--loud"]})) == []


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "shop/changes.json: is empty"),
        (b"{", "shop/changes.json:1: is not JSON"),
        (b'{"schema": 1,\n"schema": 1}', 'shop/changes.json:1 $.schema: the key "schema" stands twice'),
        (b"[" * 300 + b"]" * 300, "shop/changes.json: nests deeper than"),
        (b"[]", 'shop/changes.json:1 $: is no file of changes: it needs "schema": 1'),
        (b'{"schema": true, "changes": []}', 'shop/changes.json:1 $: is no file of changes: it needs "schema": 1'),
        (of(seed=3), "shop/changes.json:1 $.seed: is no member of a file of changes"),
        (b'{"schema": 1}', "shop/changes.json:1 $.changes: needs a list of changes"),
        (of(7), "shop/changes.json:1 $.changes[0]: expected an object"),
        (of({**CHANGE, "typ": 1, "sort": 2}), "shop/changes.json:1 $.changes[0].typ: is no member of a change"),
        (of(CHANGE, CHANGE | {"name": "a\nb"}), "shop/changes.json:1 $.changes[1].name: needs a name"),
        (of(CHANGE | {"kind": "bad"}), "shop/changes.json:1 $.changes[0].kind: is no kind of change"),
        (of(CHANGE | {"env": {}}), "shop/changes.json:1 $.changes[0]: changes nothing"),
        (of(CHANGE | {"env": {"A": 1}}), "shop/changes.json:1 $.changes[0].env: expected variables"),
        (of(CHANGE | {"env": {"A": "\0"}}), "shop/changes.json:1 $.changes[0].env: expected variables"),
        (of(CHANGE | {"env": {"A=B": "x"}}), '$.changes[0].env["A=B"]: is no name of a variable'),
        (of(CHANGE | {"args": "--x"}), "shop/changes.json:1 $.changes[0].args: expected arguments"),
        (of(CHANGE | {"what": 1}), "shop/changes.json:1 $.changes[0].what: expected a string"),
        (of(CHANGE, CHANGE), 'shop/changes.json:1 $.changes[1].name: is the second change "brief"'),
        (of(CHANGE | {"env": {"KEY": SECRET}}), "looks like a secret (Anthropic API key)"),
    ],
)  # fmt: skip
def test_guard_tells_what_is_wrong_with_it(data: bytes, sentence: str) -> None:
    [found] = told(data)
    assert sentence in found and "\n    fix: " in found
    assert SECRET not in found


def test_guard_reads_the_file_of_changes() -> None:
    files = SOUND | {"changes.json": of(CHANGE)}
    manifest = {
        "version": 1,
        "kind": "trace_guard",
        "package": "shop",
        "label": "//shop:guard_test",
        "record": "",
        "tree": list(files),
        "subpackages": [],
        "files": {path: path for path in files},
    }
    assert trace_tree(orjson.dumps(manifest), files.__getitem__).tree.files == files

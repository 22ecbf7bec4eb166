"""The generator: what it makes is small and reproducible, what it does not understand it refuses by name."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, field_validator

from replay.acp import generate_schema
from replay.acp.generate_schema import Translation, Unsupported, build_table

GENERATOR = Path(generate_schema.__file__)


def node(schema: dict[str, Any]) -> list[Any]:
    return Translation({}).node(schema, "Model.field")


def test_command_writes_the_same_table_each_time(tmp_path: Path, table_bytes: bytes) -> None:
    out = tmp_path / "tables.json"
    root = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, str(GENERATOR), str(out)], capture_output=True, env={"PYTHONPATH": root}, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert out.read_bytes() == table_bytes
    assert len(table_bytes) < 64 * 1024


def test_command_without_a_path_says_its_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate_schema.main([]) == 2
    assert "usage: generate_schema.py OUT.json" in capsys.readouterr().err


def test_refusal_is_one_line_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(generate_schema.CLIENT_REQUESTS, "session/fly", ("PromptRequest", "PromptResponse"))
    assert generate_schema.main([str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "'session/fly'" in said
    assert not (tmp_path / "out.json").exists()


def test_table_names_its_source_and_resolves_every_reference() -> None:
    table = build_table()
    assert table["source"].startswith("agent-client-protocol 0.12")
    assert table["protocol"] == 1
    known = set(table["definitions"])
    for item in [table["senders"], *table["definitions"].values()]:
        assert set(generate_schema._references(item)) <= known
    # Nothing is carried that no frame can reach.
    assert {"AgentRequest", "ClientResponse"}.isdisjoint(known)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"title": "t", "description": "d", "default": 1}, ["any"]),
        ({"type": "string", "minLength": 1}, ["str", 1]),
        ({"type": "integer", "minimum": 0}, ["int", 0, None]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["opt", ["str", 0]]),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, ["or", [["str", 0], ["num"]]]),
        ({"anyOf": [{}, {"type": "null"}]}, ["any"]),
        ({"type": "array", "items": {"$ref": "#/$defs/X"}}, ["arr", ["ref", "X"]]),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, ["map", ["bool"]]),
    ],
)
def test_nodes(schema: dict[str, Any], expected: list[Any]) -> None:
    assert node(schema) == expected


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "string", "pattern": "^a"}, "'pattern'"),
        ({"type": "string", "format": "date"}, "'format'"),
        ({"type": "integer", "multipleOf": 2}, "'multipleOf'"),
        ({"type": "array", "items": {}, "minItems": 1}, "'minItems'"),
        ({"type": "object", "patternProperties": {}}, "'patternProperties'"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties false"),
        ({"type": "object", "properties": {}, "additionalProperties": {"type": "null"}}, "properties beside"),
        ({"anyOf": [], "minLength": 3}, "'minLength'"),
        ({"allOf": []}, "a schema of type None"),
        ({"type": ["string", "null"]}, "a schema of type"),
        (
            {"discriminator": {"propertyName": "t"}, "oneOf": [{"$ref": "#/$defs/X"}]},
            "does not name every branch",
        ),
    ],
)
def test_what_is_not_understood_is_refused_by_name(schema: dict[str, Any], word: str) -> None:
    with pytest.raises(Unsupported, match=r"^Model\.field") as refusal:
        node(schema)
    assert word in str(refusal.value)


def test_unknown_validator_is_refused_by_name() -> None:
    class Strange(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def _shout(cls, value: str) -> str:
            return value.upper()

    with pytest.raises(Unsupported, match=r"Strange\.name: the validator _shout"):
        Translation({"Strange": Strange}).definition("Strange")


def test_missing_model_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="NoSuchModel"):
        Translation({}).reachable(["NoSuchModel"])


def test_table_is_json_that_orjson_reads_back(table_bytes: bytes) -> None:
    assert orjson.loads(table_bytes) == build_table()

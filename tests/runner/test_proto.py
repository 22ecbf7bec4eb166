"""result_pb2.py is what protoc makes of result.proto, where a protoc is at hand; result_wire.py writes what it writes."""

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import replay.proto
from replay.proto.result_wire import TABLES, VERDICTS, encode_result

_PROTO = Path(replay.proto.__file__).parent


def _protoc() -> list[str]:
    try:
        import grpc_tools  # noqa: F401
    except ImportError:
        found = shutil.which("protoc")
        return [found] if found else []
    return [sys.executable, "-m", "grpc_tools.protoc"]


def test_generated_code_is_current(tmp_path: Path) -> None:
    protoc = _protoc()
    if not protoc:
        pytest.skip("no protoc here")
    root = _PROTO.parent.parent
    subprocess.run(
        [*protoc, f"-I{root}", f"--python_out={tmp_path}", "replay/proto/result.proto"], check=True, cwd=root
    )
    made, committed = (
        [
            line
            for line in path.read_text().split("\n")
            if not line.startswith(("#", "    ")) or "AddSerialized" in line
        ]
        for path in (tmp_path / "replay" / "proto" / "result_pb2.py", _PROTO / "result_pb2.py")
    )
    assert made == committed


def test_committed_descriptor_holds_every_field_of_the_file() -> None:
    from replay.proto import result_pb2

    text = (_PROTO / "result.proto").read_text()
    for message in result_pb2.DESCRIPTOR.message_types_by_name.values():
        for field in message.fields:
            assert f" {field.name} = {field.number};" in text
    assert text.count(" = ") - 1 == sum(
        len(message.fields) + sum(len(enum.values) for enum in message.enum_types)
        for message in result_pb2.DESCRIPTOR.message_types_by_name.values()
    )


def test_tables_hold_every_field_of_the_file_in_order() -> None:
    from replay.proto import result_pb2

    messages = result_pb2.DESCRIPTOR.message_types_by_name
    assert set(TABLES) == set(messages.keys())
    for name, message in messages.items():
        numbers = {field.name: field.number for field in message.fields}
        assert {field: number for field, (number, _) in TABLES[name].items()} == numbers
        assert list(numbers.values()) == sorted(numbers.values())
    values = messages["Case"].enum_types_by_name["Verdict"].values
    assert tuple(value.name for value in values) == VERDICTS
    assert [value.number for value in values] == list(range(len(VERDICTS)))


@pytest.mark.parametrize("seed", range(50))
def test_result_is_written_as_protobuf_writes_it(seed: int) -> None:
    from replay.proto import result_pb2

    message = _message(random.Random(seed), "Result")
    assert encode_result(message) == result_pb2.Result(**message).SerializeToString(deterministic=True)


def _message(chance: random.Random, table: str) -> dict[str, Any]:
    """Any message of a table, with defaults, the edges of its numbers, and long and foreign text in it."""
    repeated = {"cases", "warnings", "artefacts", "fixture", "leftovers"}
    return {
        name: [_value(chance, name, kind) for _ in range(chance.randrange(3))]
        if name in repeated
        else _value(chance, name, kind)
        for name, (_, kind) in TABLES[table].items()
    }


def _value(chance: random.Random, name: str, kind: str) -> Any:
    match kind:
        case "string":
            return chance.choice(["", "a", "größe 日本", "x" * 127, "x" * 128, "y" * 70_000])
        case "int":
            if name == "ended_by_runner":
                return chance.choice([False, True])
            return chance.choice([0, 1, 127, 128, -1, -15, 2**31 - 1, -(2**31)])
        case "double":
            return chance.choice([0.0, 1.5, 1e300, -2.25])
        case "verdict":
            return chance.choice(VERDICTS)
    return _message(chance, kind)

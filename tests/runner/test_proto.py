"""result_pb2.py is what protoc makes of result.proto, where a protoc is at hand."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import replay.proto

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

"""The wire form of result.proto without the protobuf package, whose import costs a test 12 ms of CPU and 120 files.

The bytes are those of protobuf's own deterministic serialisation: fields in the order of their numbers, proto3's defaults left
out. tests/runner/test_proto.py holds tables and bytes against result_pb2. Source: protobuf's encoding, proto3.
"""

from collections.abc import Mapping
from struct import pack
from typing import Any

__all__ = ["TABLES", "VERDICTS", "encode_result"]

VERDICTS = ("UNKNOWN", "PASSED", "FAILED", "WRITTEN")
"""The values of Case.Verdict, by number."""

type Fields = Mapping[str, tuple[int, str]]

TABLES: Mapping[str, Fields] = {
    "Result": {
        "version": (1, "int"),
        "scenario": (2, "string"),
        "label": (3, "string"),
        "mode": (4, "string"),
        "exit_code": (5, "int"),
        "first_line": (6, "string"),
        "place": (7, "string"),
        "fix": (8, "string"),
        "cases": (9, "Case"),
        "warnings": (10, "string"),
        "agent": (11, "Agent"),
        "timing": (12, "Timing"),
        "artefacts": (13, "string"),
        "fixture": (14, "FixtureFile"),
    },
    "FixtureFile": {"name": (1, "string"), "sha256": (2, "string")},
    "Case": {
        "surface": (1, "string"),
        "verdict": (2, "verdict"),
        "message": (3, "string"),
        "path": (4, "string"),
        "expected": (5, "string"),
        "actual": (6, "string"),
    },
    "Agent": {
        "name": (1, "string"),
        "starts": (2, "int"),
        "exit_status": (3, "int"),
        "ended_by_runner": (4, "int"),
        "leftovers": (5, "string"),
        "stdout_lines": (6, "int"),
        "stdout_bytes": (7, "int"),
        "stderr_bytes": (8, "int"),
    },
    "Timing": {
        "load": (1, "double"),
        "prepare": (2, "double"),
        "agent": (3, "double"),
        "judge": (4, "double"),
        "total": (5, "double"),
        "runner_cpu": (6, "double"),
    },
}
"""Message -> field -> number and kind: "string", "double", "int" (any integer, bool), "verdict", or a message's name."""

_VARINT, _EIGHT_BYTES, _LENGTH = 0, 1, 2


def encode_result(message: Mapping[str, Any]) -> bytes:
    """A Result; an enum stands as its name, a repeated field as a list. Every field has to be there."""
    return _encode("Result", message)


def _encode(table: str, message: Mapping[str, Any]) -> bytes:
    encoded = bytearray()
    for name, (number, kind) in TABLES[table].items():
        value = message[name]
        if isinstance(value, list):
            for each in value:
                encoded += _field(number, kind, each)
        elif isinstance(value, dict) or value:
            encoded += _field(number, kind, value)
    return bytes(encoded)


def _field(number: int, kind: str, value: Any) -> bytes:
    if kind == "int":
        return _tag(number, _VARINT) + _varint(value)
    if kind == "verdict":
        place = VERDICTS.index(value)
        return _tag(number, _VARINT) + _varint(place) if place else b""
    if kind == "double":
        return _tag(number, _EIGHT_BYTES) + pack("<d", value)
    data = value.encode() if kind == "string" else _encode(kind, value)
    return _tag(number, _LENGTH) + _varint(len(data)) + data


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    # A negative number is written as its 64-bit two's complement.
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

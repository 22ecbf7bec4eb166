"""The messages that are read are Bazel's: names, numbers and types, compared with the descriptors in its server's archive.

The three .proto files of replay/cache hold only what is read, so that a drift would be silent: a field of another number is
skipped. Bazel's own descriptors stand as text in the classes that protoc made for it.
"""

import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

import replay.cache
from replay.cache import build_event_stream_pb2, command_line_pb2, spawn_pb2

SERVER = Path("/usr/share/bazel/A-server.jar")
CLASSES = {
    "lib/exec/Protos": "spawn.proto",
    "lib/buildeventstream/BuildEventStreamProtos": "build_event_stream.proto",
    "lib/runtime/proto/CommandLineOuterClass": "command_line.proto",
    "common/options/proto/OptionFilters": "option_filters.proto",
}
OURS = (spawn_pb2, build_event_stream_pb2, command_line_pb2)
ROOM = Path(replay.cache.__file__).parent


def constants(data: bytes) -> list[bytes]:
    """The string constants of a Java class, in its own encoding of Unicode."""
    count = struct.unpack_from(">H", data, 8)[0]
    texts: dict[int, bytes] = {}
    strings: list[int] = []
    at, number = 10, 1
    sizes = {
        3: 4,
        4: 4,
        5: 8,
        6: 8,
        7: 2,
        8: 2,
        9: 4,
        10: 4,
        11: 4,
        12: 4,
        15: 3,
        16: 2,
        17: 4,
        18: 4,
        19: 2,
        20: 2,
    }
    while number < count:
        tag = data[at]
        if tag == 1:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[number] = data[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            if tag == 8:
                strings.append(struct.unpack_from(">H", data, at + 1)[0])
            at += 1 + sizes[tag]
        number += 2 if tag in (5, 6) else 1
    return [texts[index] for index in strings]


def descriptor(data: bytes, name: str) -> FileDescriptorProto:
    """The file's descriptor in the class that protoc made: one long string, or several one after another."""
    parts = []
    for text in constants(data):
        try:
            # Each byte is a character; zero has two bytes here.
            parts.append(text.replace(b"\xc0\x80", b"\0").decode().encode("latin-1"))
        except UnicodeError:
            parts.append(b"")
    for start in range(len(parts)):
        for end in range(start + 1, min(len(parts), start + 6) + 1):
            whole = b"".join(parts[start:end])
            try:
                found = FileDescriptorProto.FromString(whole)
            except DecodeError:
                continue
            if found.name.endswith("/" + name) and found.SerializeToString() == whole:
                return found
    raise AssertionError(f"no descriptor of {name}")


@pytest.fixture(scope="module")
def bazel() -> dict[str, DescriptorProto | EnumDescriptorProto]:
    """Bazel's messages and enums by their full names."""
    if not SERVER.exists():
        pytest.skip("Debian's Bazel is not here")
    found: dict[str, DescriptorProto | EnumDescriptorProto] = {}

    def take(messages: Iterator[DescriptorProto] | object, enums: object, prefix: str) -> None:
        for enum in enums:  # type: ignore[attr-defined]
            found[f"{prefix}.{enum.name}"] = enum
        for message in messages:  # type: ignore[union-attr]
            found[f"{prefix}.{message.name}"] = message
            take(message.nested_type, message.enum_type, f"{prefix}.{message.name}")

    with zipfile.ZipFile(SERVER) as archive:
        for name, file_name in CLASSES.items():
            file = descriptor(
                archive.read(
                    f"com/google/devtools/build/{name}.class"
                    if name.startswith("lib")
                    else f"com/google/devtools/{name}.class"
                ),
                file_name,
            )
            take(file.message_type, file.enum_type, f".{file.package}")
    return found


def messages_of(file: FileDescriptor) -> Iterator[Descriptor]:
    waiting = list(file.message_types_by_name.values())
    while waiting:
        message = waiting.pop()
        waiting += message.nested_types
        # The entries of a map are made by protoc on both sides.
        if not message.GetOptions().map_entry:
            yield message


def theirs(full_name: str) -> str:
    """The name at Bazel's: enums of options stand in a file, and a package, of their own there."""
    return "." + full_name.replace(
        "command_line.Option", "options.Option", 1 if full_name.endswith("Tag") else 0
    )


def test_every_field_that_is_read_is_bazels(bazel: dict[str, DescriptorProto | EnumDescriptorProto]) -> None:
    compared = 0
    for module in OURS:
        for message in messages_of(module.DESCRIPTOR):
            known = bazel[theirs(message.full_name)]
            assert isinstance(known, DescriptorProto)
            fields = {field.name: field for field in known.field}
            for field in message.fields:
                its = fields[field.name]
                where = field.full_name
                assert (its.number, its.type) == (field.number, field.type), where
                assert (its.label == its.LABEL_REPEATED) == field.is_repeated, where
                of = field.message_type or field.enum_type
                if of is not None and not of.full_name.endswith("Entry"):
                    assert its.type_name == theirs(of.full_name), where
                compared += 1
    assert compared > 100


def test_every_value_of_an_enum_is_bazels(bazel: dict[str, DescriptorProto | EnumDescriptorProto]) -> None:
    enums: list[EnumDescriptor] = [
        one for module in OURS for one in module.DESCRIPTOR.enum_types_by_name.values()
    ]
    assert len(enums) == 3
    for enum in enums:
        known = bazel[theirs(enum.full_name)]
        assert isinstance(known, EnumDescriptorProto)
        numbers = {value.name: value.number for value in known.value}
        for value in enum.values:
            # Bazel's own name of one value of TestStatus is that of another product.
            assert numbers.get(value.name, value.number) == value.number
            assert value.number in numbers.values()


@pytest.mark.parametrize("module", OURS, ids=lambda module: str(module.__name__))
def test_generated_code_is_that_of_the_file(module: object, tmp_path: Path) -> None:
    name = module.DESCRIPTOR.name  # type: ignore[attr-defined]
    text = (ROOM / Path(name).name).read_text()
    for message in messages_of(module.DESCRIPTOR):  # type: ignore[attr-defined]
        for field in message.fields:
            assert f" {field.name} = {field.number};" in text
    if not find_spec("grpc_tools"):
        return
    root = ROOM.parent.parent
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}", f"--python_out={tmp_path}", name],
        check=True,
        cwd=root,
    )
    made, committed = (
        [
            line
            for line in (place / name.replace(".proto", "_pb2.py")).read_text().split("\n")
            if "AddSerialized" in line
        ]
        for place in (tmp_path, root)
    )
    assert made == committed

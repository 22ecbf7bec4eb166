"""Finding what a cache keeps of a test, in action results of the shape that Bazel 7 writes."""

from pathlib import Path

import pytest

from tests.remote.entries import DAMAGES, Damage, Entries, Part

LOG, XML, ZIP, BYTECODE = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
LABEL = "//scenarios/acp:größe_test"


def field(number: int, data: bytes) -> bytes:
    size = len(data)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + data


def digest(name: str) -> bytes:
    return field(1, name.encode()) + b"\x10\xba\x03"


def output(path: str, name: str) -> bytes:
    return field(2, field(1, path.encode()) + field(2, digest(name)) + b"\x20\x01")


@pytest.fixture
def entries(tmp_path: Path) -> Entries:
    place = "bazel-out/k8-fastbuild/testlogs/scenarios/acp/größe_test"
    of_test = output(f"{place}/test.xml", XML) + output(f"{place}/test.outputs/outputs.zip", ZIP)
    of_other = of_test.replace("größe_test".encode(), "größer_test".encode())
    (tmp_path / "ac").mkdir()
    (tmp_path / "ac" / "1").write_bytes(of_test + field(6, digest(LOG)))
    (tmp_path / "ac" / "2").write_bytes(of_other + field(6, digest(LOG)))
    (tmp_path / "ac" / "3").write_bytes(output("bazel-out/k8-fastbuild/bin/replay/a.pyc", BYTECODE))
    (tmp_path / "cas").mkdir()
    for name in (LOG, XML, ZIP, BYTECODE):
        (tmp_path / "cas" / name).write_bytes(b"stored")
    return Entries(tmp_path)


@pytest.mark.parametrize(
    ("part", "names"), [(Part.RESULT, ["1"]), (Part.LOG, [LOG]), (Part.XML, [XML])], ids=str
)
def test_finds_the_entries_of_one_test(entries: Entries, part: Part, names: list[str]) -> None:
    assert [file.name for file in entries.files(LABEL, part)] == names


def test_finds_what_other_actions_made(entries: Entries) -> None:
    assert [file.name for file in entries.outputs()] == [BYTECODE]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.what)
def test_a_damage_changes_what_is_stored(damage: Damage, tmp_path: Path) -> None:
    file = tmp_path / "entry"
    stored = output("a/test.xml", XML)
    file.write_bytes(stored)
    assert damage.apply([file]) == 1
    assert not file.exists() or file.read_bytes() != stored

"""Outputs of tests are found wherever Bazel leaves them, and never read past what a fixture may hold."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runner.bundle import find_bundles, newest_bundle, newest_bundles
from replay.session import MAX_FILE_BYTES


def _leave(directory: Path, scenario: str, when: int, *, zipped: bool = False, batched: bool = False) -> None:
    """What one run of a scenario leaves."""
    prefix = f"{scenario}/" if batched else ""
    files = {
        f"{prefix}result.json": json.dumps({"scenario": scenario, "version": when}).encode(),
        f"{prefix}actual/stdout.expected.jsonl": b"{}\n",
        f"{prefix}actual/workspace.expected/größe.txt": b"x",
    }
    directory.mkdir(parents=True, exist_ok=True)
    if zipped:
        with zipfile.ZipFile(directory / "outputs.zip", "a") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        os.utime(directory / "outputs.zip", (when, when))
        return
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    os.utime(directory / prefix / "result.json", (when, when))


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_outputs_are_found_in_every_form(tmp_path: Path, zipped: bool, batched: bool) -> None:
    test = tmp_path / "pkg" / "t_test"
    _leave(test / "shard_1_of_2" / "test.outputs", "one", 5, zipped=zipped, batched=batched)
    _leave(test / "shard_2_of_2_run_1_of_2" / "test.outputs", "two", 6, zipped=zipped, batched=batched)
    found = {bundle.result["scenario"]: bundle for bundle in find_bundles(str(tmp_path), "pkg", "t_test")}
    assert found.keys() == {"one", "two"}
    assert found["one"].actual() == {
        "stdout.expected.jsonl": b"{}\n",
        "workspace.expected/größe.txt": b"x",
    }
    assert found["one"].place == str(test / "shard_1_of_2" / "test.outputs") + ("/one" if batched else "")
    assert list(find_bundles(str(tmp_path), "pkg", "other_test")) == []
    assert list(find_bundles(str(tmp_path / "nowhere"), "pkg", "t_test")) == []


def test_newest_run_of_a_scenario_is_the_one(tmp_path: Path) -> None:
    for run, when in ((1, 5), (2, 9), (3, 7)):
        _leave(tmp_path / "p" / "t" / f"run_{run}_of_3" / "test.outputs", "one", when)
    bundle = newest_bundle(str(tmp_path), "p", "t", "one")
    assert bundle is not None and bundle.result["version"] == 9
    assert newest_bundle(str(tmp_path), "p", "t", "two") is None


def test_outputs_of_a_batch_are_read_once_for_all_its_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(20)]
    for name in names:
        _leave(tmp_path / "p" / "t" / "test.outputs", name, 5, zipped=True, batched=True)
    opened = []
    opener = zipfile.ZipFile

    def count(path: str) -> zipfile.ZipFile:
        opened.append(path)
        return opener(path)

    monkeypatch.setattr(zipfile, "ZipFile", count)
    bundles = newest_bundles(find_bundles(str(tmp_path), "p", "t"))
    assert list(bundles) == sorted(names)
    assert len(opened) == 1


@pytest.mark.parametrize("zipped", [False, True])
def test_outputs_of_another_scenario_are_not_read(tmp_path: Path, zipped: bool) -> None:
    directory = tmp_path / "p" / "t" / "test.outputs"
    for name in ("one", "one-more"):
        _leave(directory, name, 5, zipped=zipped, batched=True)
    big = b"x" * (MAX_FILE_BYTES + 1)
    if zipped:
        with zipfile.ZipFile(directory / "outputs.zip", "a") as archive:
            archive.writestr("one-more/actual/session.jsonl", big)
    else:
        (directory / "one-more" / "actual" / "session.jsonl").write_bytes(big)
    bundles = newest_bundles(find_bundles(str(tmp_path), "p", "t"))
    assert bundles["one"].actual().keys() == {"stdout.expected.jsonl", "workspace.expected/größe.txt"}
    with pytest.raises(UsageError, match="larger than a fixture may be"):
        bundles["one-more"].actual()


def test_names_of_a_zip_program_that_does_not_say_utf_8_are_read(tmp_path: Path) -> None:
    directory = tmp_path / "p" / "t" / "test.outputs"
    _leave(directory, "one", 5, zipped=True)
    archive = directory / "outputs.zip"
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        flagged = sum(info.flag_bits & 0x800 != 0 for info in opened.infolist())
    assert flagged == 1
    plain = data.replace(b"\x14\x00\x00\x08", b"\x14\x00\x00\x00")
    assert plain != data
    archive.write_bytes(plain)
    [bundle] = find_bundles(str(tmp_path), "p", "t")
    assert "workspace.expected/größe.txt" in bundle.actual()


@pytest.mark.parametrize("name", ["outputs.zip", "result.json"])
def test_broken_outputs_are_a_sentence(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "p" / "t" / "test.outputs"
    directory.mkdir(parents=True)
    (directory / name).write_bytes(b"[]")
    with pytest.raises(UsageError) as caught:
        list(find_bundles(str(tmp_path), "p", "t"))
    assert str(directory / name) in str(caught.value)


def test_zip_file_with_a_damaged_member_is_a_sentence(tmp_path: Path) -> None:
    directory = tmp_path / "p" / "t" / "test.outputs"
    directory.mkdir(parents=True)
    place = directory / "outputs.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("result.json", b"{" + b" " * 100 + b"}")
    data = bytearray(place.read_bytes())
    start = 30 + len("result.json")
    data[start] = 0x07
    place.write_bytes(data)
    with pytest.raises(UsageError, match=r"outputs\.zip cannot be read"):
        list(find_bundles(str(tmp_path), "p", "t"))

"""The workspace seed: plain files copied, the packed form for what plain files cannot say, no way out of cwd."""

import json
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FixtureError
from replay.runner.seed import seed_workspace


def _seed(cwd: Path, entries: dict[str, Any]) -> None:
    packed = json.dumps({"version": 1, "entries": entries}).encode()
    seed_workspace(str(cwd), {}, packed, "s", {"cwd": str(cwd)})


def test_files_are_copied_not_linked(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("one")
    source.chmod(0o555)
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    seed_workspace(str(cwd), {"sub/a.txt": str(source)}, None, "s", {})
    copy = cwd / "sub" / "a.txt"
    assert not copy.is_symlink()
    assert copy.stat().st_mode & 0o777 == 0o644
    copy.write_text("two")
    assert source.read_text() == "one"


def test_packed_form_has_modes_links_and_empty_directories(tmp_path: Path) -> None:
    _seed(
        tmp_path,
        {
            "run.sh": {"text": "#!/bin/sh\n", "mode": "755"},
            "raw.bin": {"base64": "AAH/"},
            "empty": {"directory": True},
            "v1/x": {"text": "x"},
            "latest": {"symlink": "v1"},
            "BUILD.bazel": {"text": "# a BUILD file of the workspace\n"},
        },
    )
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "raw.bin").read_bytes() == b"\x00\x01\xff"
    assert not any((tmp_path / "empty").iterdir())
    assert (tmp_path / "latest" / "x").read_text() == "x"


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../out"])
def test_name_outside_the_workspace_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FixtureError, match="outside the workspace"):
        _seed(tmp_path, {name: {"text": "x"}})


def test_link_carries_no_later_entry_out(tmp_path: Path) -> None:
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    (tmp_path / "out").mkdir()
    with pytest.raises(FixtureError, match="outside the workspace"):
        _seed(cwd, {"link": {"symlink": "../out"}, "link/x": {"text": "x"}})
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "entry",
    [{}, {"text": 1}, {"base64": "!"}, {"mode": "999", "text": "x"}, {"text": "x", "symlink": "y"}, "text"],
)
def test_malformed_entry_is_named(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(FixtureError) as caught:
        _seed(tmp_path, {"a": entry})
    assert caught.value.where.path == '$.entries["a"]'

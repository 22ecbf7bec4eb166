"""The workspace seed: plain files copied, the packed form for what plain files cannot say, no way out of cwd."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from replay.errors import FixtureError
from replay.runner.seed import seed_workspace
from replay.surface.secrets_kinds import CREDENTIALS, Kind, is_triggered


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


@pytest.mark.parametrize("kind", CREDENTIALS, ids=lambda kind: kind.name)
def test_every_kind_that_the_scanner_knows_is_looked_for(kind: Kind) -> None:
    """The seed has no table of its own: whatever a kind's row says sets the scanner on the file."""
    for trigger in kind.triggers:
        assert is_triggered(CREDENTIALS, f"x {trigger}{'A' * 20}")


def test_key_of_a_newer_kind_is_refused(tmp_path: Path) -> None:
    key = "gs" + "k_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7jKl0nOp3r"
    for entry in ({"text": f"a\nkey {key}\n"}, {"base64": b64encode(f"key {key}".encode("utf-16")).decode()}):
        with pytest.raises(FixtureError, match="a secret \\(Groq API key\\)") as caught:
            _seed(tmp_path, {"notes.txt": entry})
        assert key not in str(caught.value)

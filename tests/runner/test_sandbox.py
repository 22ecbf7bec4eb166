"""Sandboxes are fresh, apart from each other, and end without touching what another still reads."""

import os
from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runner.sandbox import expand, make_sandbox


def test_directories_are_fresh_and_apart(tmp_path: Path) -> None:
    one, other = make_sandbox(str(tmp_path)), make_sandbox(str(tmp_path))
    paths = [*one.values().values(), *other.values().values()]
    assert len(set(paths)) == len(paths)
    assert all(Path(path).is_dir() and not any(Path(path).iterdir()) for path in paths)
    assert not one.home.startswith(one.tmp)
    (Path(other.cwd) / "file").write_text("mine")
    one.close()
    assert not Path(one.cwd).exists()
    assert (Path(other.cwd) / "file").read_text() == "mine"
    other.close()
    assert not any(tmp_path.iterdir())


def test_spill_root_has_the_same_length_everywhere(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 80)
    deep.mkdir()
    sandboxes = [make_sandbox(str(place)) for place in (tmp_path, deep)]
    assert len({len(sandbox.spill) for sandbox in sandboxes}) == 1
    for sandbox in sandboxes:
        sandbox.close()


def test_cwd_parent_is_honoured_and_cleaned(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    sandbox = make_sandbox(str(tmp_path), str(parent))
    assert Path(sandbox.cwd).parent.parent == parent
    sandbox.close()
    assert not any(parent.iterdir())
    sandbox = make_sandbox(str(tmp_path), "{home}/projects")
    assert sandbox.cwd.startswith(sandbox.home + "/projects/")
    sandbox.close()
    with pytest.raises(UsageError, match="relative"):
        make_sandbox(str(tmp_path), "here")


def test_closing_follows_no_link_and_removes_what_is_unreadable(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    sandbox = make_sandbox(str(tmp_path))
    (Path(sandbox.cwd) / "link").symlink_to(outside)
    locked = Path(sandbox.cwd) / "locked"
    locked.mkdir()
    (locked / "file").write_text("")
    locked.chmod(0)
    sandbox.close()
    assert not Path(sandbox.cwd).exists()
    assert (outside / "kept").exists()


def test_environment_is_built_from_nothing(tmp_path: Path) -> None:
    os.environ["STRAY_KEY"] = "secret"
    try:
        sandbox = make_sandbox(str(tmp_path))
        environment = sandbox.environment({"MINE": "1"})
        sandbox.close()
    finally:
        del os.environ["STRAY_KEY"]
    assert "STRAY_KEY" not in environment
    assert environment["MINE"] == "1"
    assert environment["HOME"] == sandbox.home
    assert environment["TMPDIR"] == sandbox.tmp


def test_expand_leaves_other_braces() -> None:
    assert expand('{"a": "{cwd}", "b": "{{cwd}}"}', {"cwd": "/x"}) == '{"a": "/x", "b": "{/x}"}'
    assert expand("{unknown}", {"cwd": "/x"}) == "{unknown}"

"""Where a readyFile may be made."""

import pytest

from replay.errors import FixtureError
from replay.models.ready_file import make_ready_file


@pytest.mark.parametrize("name", ["ready", "./ready", "a/b/ready", ".hidden", "with space"])
def test_file_inside_cwd_is_made(tmp_path, name):
    make_ready_file(str(tmp_path), name)
    assert (tmp_path / name).read_bytes() == b""


def test_absolute_name_inside_cwd_is_made(tmp_path):
    make_ready_file(str(tmp_path), str(tmp_path / "ready"))
    assert (tmp_path / "ready").exists()


def test_cwd_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    make_ready_file(str(tmp_path / "link"), "ready")
    assert (tmp_path / "real/ready").exists()


def test_file_that_exists_keeps_its_content(tmp_path):
    (tmp_path / "ready").write_text("mine")
    make_ready_file(str(tmp_path), "ready")
    assert (tmp_path / "ready").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../out", "a/../../out", "/etc/agent_replay_out", "a/", "x\0y"]
)
def test_name_that_leads_out_is_refused(tmp_path, name):
    (tmp_path / "cwd").mkdir()
    with pytest.raises(FixtureError, match="not a file inside the session's cwd"):
        make_ready_file(str(tmp_path / "cwd"), name)
    assert [path.name for path in tmp_path.iterdir()] == ["cwd"]


def test_sibling_with_the_same_beginning_is_outside(tmp_path):
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd2").mkdir()
    with pytest.raises(FixtureError):
        make_ready_file(str(tmp_path / "cwd"), "../cwd2/ready")


def test_link_that_leads_out_is_not_followed(tmp_path):
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd/ready").symlink_to(tmp_path / "out")
    with pytest.raises(FixtureError, match="cannot be made"):
        make_ready_file(str(tmp_path / "cwd"), "ready")
    assert not (tmp_path / "out").exists()


def test_directory_link_that_leads_out_is_not_followed(tmp_path):
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd/link").symlink_to(tmp_path)
    with pytest.raises(FixtureError, match="not a file inside"):
        make_ready_file(str(tmp_path / "cwd"), "link/out")
    assert not (tmp_path / "out").exists()


def test_directory_in_its_place_is_named(tmp_path):
    (tmp_path / "ready").mkdir()
    with pytest.raises(FixtureError, match="cannot be made"):
        make_ready_file(str(tmp_path), "ready")

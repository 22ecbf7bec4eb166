"""rlocation paths are found in a directory, in a manifest with its escapes, or in a source tree."""

from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runner.runfiles import Runfiles


def test_directory_tree_is_asked_first(tmp_path: Path) -> None:
    (tmp_path / "_main").mkdir()
    (tmp_path / "_main" / "a").write_text("")
    assert Runfiles(str(tmp_path)).locate("_main/a") == str(tmp_path / "_main" / "a")


def test_manifest_entries_escapes_and_directories(tmp_path: Path) -> None:
    manifest = tmp_path / "MANIFEST"
    manifest.write_text(
        "_main/a /real/a\n _main/with\\sblank /real/with blank\n_main/tree /real/tree\n_main/empty \n"
    )
    runfiles = Runfiles(manifest=str(manifest))
    assert runfiles.locate("_main/a") == "/real/a"
    assert runfiles.locate("_main/with blank") == "/real/with blank"
    assert runfiles.locate("_main/tree/x/y") == "/real/tree/x/y"


def test_source_tree_stands_for_the_main_repository() -> None:
    assert Runfiles(source_tree="/src").locate("_main/scenarios/a") == "/src/scenarios/a"


def test_unknown_path_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not among the runfiles"):
        Runfiles(str(tmp_path)).locate("_main/nowhere")

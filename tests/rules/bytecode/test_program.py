"""A program out of a bundle, started as Bazel and people start it, and what it says when it cannot."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).absolute().parent
_RUNFILES = next(parent for parent in _HERE.parents if parent.name.endswith(".runfiles"))
_PROGRAM = "_main/tests/rules/bytecode/program"
_BUNDLE = "_main/tests/rules/bytecode/modules.bundle"
_MODULE = "tests.rules.bytecode.program"


def _run(program: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", **variables}
    )  # fmt: skip


def _facts(program: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    done = _run(program, *arguments, **variables)
    assert done.returncode == len(arguments) and not done.stderr, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The program as `bazel run` has it: its runfiles beside it."""
    program = tmp_path / "program"
    shutil.copy(_RUNFILES / _PROGRAM, program)
    (tmp_path / "program.runfiles").symlink_to(_RUNFILES)
    return program


def test_modules_come_from_the_bundle_and_native_code_from_the_runfiles() -> None:
    facts = _facts(_RUNFILES / _PROGRAM, "a b", "")
    assert facts["arguments"] == ["a b", ""]
    modules = facts["modules"]
    assert (
        modules["tests.rules.bytecode.inner.deep"]
        == f"{_RUNFILES}/{_BUNDLE}/tests/rules/bytecode/inner/deep.py"
    )
    assert modules["h11"] == f"{_RUNFILES}/{_BUNDLE}/h11/__init__.py"
    assert "/site-packages/orjson/" in modules["orjson"] and _BUNDLE not in modules["orjson"]
    assert not facts["has_site"]


def test_file_beside_a_module_is_read_through_its_loader() -> None:
    facts = _facts(_RUNFILES / _PROGRAM)
    assert facts["beside"] == (_HERE / "not_python.txt").read_text()
    assert facts["absent"].endswith("inner/absent.txt")


def test_nothing_of_the_environment_reaches_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('taken')\n")
    facts = _facts(_RUNFILES / _PROGRAM, PYTHONPATH=str(tmp_path), PYTHONVERBOSE="1")
    assert str(tmp_path) not in facts["path"]


def test_program_finds_its_runfiles_beside_it_and_where_a_variable_says(beside: Path, tmp_path: Path) -> None:
    assert _facts(beside)["modules"]["h11"].startswith(f"{beside}.runfiles/")
    lonely = tmp_path / "lonely"
    shutil.copy(beside, lonely)
    # That of another program, as the one that starts this one has it.
    assert _facts(beside, RUNFILES_DIR=str(tmp_path))["modules"]["h11"].startswith(f"{beside}.runfiles/")
    assert _facts(lonely, RUNFILES_DIR=str(_RUNFILES))["modules"]["h11"].startswith(f"{_RUNFILES}/")
    done = _run(lonely)
    assert done.returncode == 4
    assert done.stderr.startswith(f"{lonely}: its runfiles are not there; start it with bazel run")


def test_relative_call_and_a_changed_directory(beside: Path) -> None:
    done = subprocess.run(
        ["./program", "again"], cwd=beside.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["arguments"] == ["once", "more"]


def test_fault_has_file_and_line_and_exit_is_kept() -> None:
    done = _run(_RUNFILES / _PROGRAM, "fail")
    assert done.returncode == 1
    assert 'File "tests/rules/bytecode/inner/deep.py", line ' in done.stderr
    done = _run(_RUNFILES / _PROGRAM, "exit")
    assert (done.returncode, done.stderr) == (1, "told to\n")


def test_bundle_of_another_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    tag = sys.implementation.cache_tag
    assert tag.encode() in (_RUNFILES / _BUNDLE).read_bytes()
    other = tmp_path / "other.bundle"
    other.write_bytes((_RUNFILES / _BUNDLE).read_bytes().replace(tag.encode(), b"cpython-399", 1))
    start = _RUNFILES / "_main/tools/bytecode/start.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", start, _RUNFILES, other, _MODULE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"{other} is for cpython-399, and {sys.executable} is {tag}: give the build one version of Python\n"
    )


def test_source_that_does_not_compile_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("\nif:\n")
    writer = _RUNFILES / "_main/tools/bytecode/bundle.py"
    done = subprocess.run(
        [sys.executable, writer, tmp_path / "x.bundle", "", tmp_path / "broken.py", "a/broken.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "a/broken.py:2: invalid syntax\n")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.py"]

"""Each bad input is one sentence with its place, exit code 2 and nothing else, in the doctor and in the guard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.cli.main import main
from replay.scenario.disk import read_tree
from replay.scenario.guard import check_tree
from tests.bad_inputs.cases import ROOT, Case, build, cases

CASES = cases()
LEAST = 60


def doctor(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "replay.cli", "doctor", "--quiet", *arguments],
        cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"},
    )  # fmt: skip


def sentences(output: str) -> list[str]:
    """The findings that a run of the doctor printed, as the guard would say them."""
    lines = output.splitlines()[:-1]
    return [line.replace(": warning: ", ": ") for line in lines if not line.startswith("    ")]


def test_there_are_enough_cases_and_each_says_what_it_expects():
    assert len(CASES) >= LEAST
    assert [case.name for case in CASES if not case.expected] == []
    orphans = {path.with_suffix("") for path in ROOT.glob("*/*.expected")} - {
        case.directory for case in CASES
    }
    assert orphans == set()


def test_the_base_of_all_cases_is_sound(tmp_path):
    build(Case("base", ROOT / "base", ""), tmp_path / "base")
    done = doctor("--strict", "base", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 scenario, 1 session log: 0 errors, 0 warnings\n")
    assert check_tree(read_tree(str(tmp_path), None)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_doctor_names_what_is_wrong_and_where(case, tmp_path, monkeypatch, capsys):
    # Called, not started: an interpreter for each of these takes longer than all of them.
    build(case, tmp_path / case.directory.name)
    monkeypatch.chdir(tmp_path)
    code = main(["doctor", "--quiet", "--strict", case.directory.name])
    output, errors = capsys.readouterr()
    assert (code, errors) == (2, "")
    assert sentences(output) == case.expected.split("\n")


def test_one_process_says_it_of_all_cases_at_once(tmp_path):
    expected = []
    for case in CASES:
        build(case, tmp_path / case.name)
        kind, _, _ = case.name.partition("/")
        expected += [f"{kind}/{sentence}" for sentence in case.expected.split("\n")]
    done = doctor("--strict", *(case.name for case in CASES), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    assert sorted(sentences(done.stdout)) == sorted(expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_guard_says_the_same(case, tmp_path):
    build(case, tmp_path / case.directory.name)
    tree = read_tree(str(tmp_path), None)._replace(package="")
    assert [str(error) for error in check_tree(tree)] == case.expected.split("\n")

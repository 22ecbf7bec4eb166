"""The command line as a user drives it: processes, exit codes, no traceback for a mistake."""

import importlib
import os
import shutil
import subprocess
import sys

import pytest

from replay.cli.main import COMMANDS, main
from replay.errors import AgentError, DivergenceError, Location
from tests.bad_inputs.cases import ROOT


def replay(*arguments, cwd, variables=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "replay.cli", *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1", **(variables or {})},
        **options,
    )  # fmt: skip


@pytest.fixture
def suite(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(ROOT / "base", tmp_path / "suite" / name)
    return tmp_path / "suite"


def test_the_doctor_shows_a_table_and_the_script_of_each_lane(suite):
    done = replay("doctor", "suite", cwd=suite.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == ["suite/one", "1", "12", "1"]
    assert "suite/one parent: 1 model call\n  1 suite/one/session.jsonl:5 turn 1 step 1: chunks, 6 chunks, finish stop\n" in done.stdout  # fmt: skip
    assert done.stdout.endswith("2 scenarios, 2 session logs: 0 errors, 0 warnings\n")


def test_foreign_files_are_warnings_and_strict_makes_them_errors(suite):
    (suite / "LICENSE").write_text("MIT\n")
    (suite / "one" / "notes.txt").write_text("x\n")
    done = replay("doctor", "--quiet", "suite", cwd=suite.parent)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        "2 scenarios, 2 session logs: 0 errors, 2 warnings",
    )
    assert "suite/LICENSE: warning: is a file that no scenario claims\n" in done.stdout
    assert replay("doctor", "--quiet", "--strict", "suite", cwd=suite.parent).returncode == 2


def test_a_log_of_unknown_origin_is_a_warning(suite):
    log = suite / "one" / "session.jsonl"
    log.write_text(log.read_text().replace(',"provenance":{"kind":"authored"}', "", 1))
    done = replay("doctor", "--quiet", "suite", cwd=suite.parent)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "suite/one/session.jsonl:1 $.provenance: warning: does not say where the log comes from",
    )


def test_one_bad_scenario_does_not_hide_the_others(suite):
    (suite / "one" / "session.jsonl").write_text("{}\n")
    done = replay("doctor", "suite", cwd=suite.parent)
    assert done.returncode == 2
    assert "suite/one/session.jsonl:1 $: must be a session header" in done.stdout
    assert "suite/two parent: 1 model call" in done.stdout


@pytest.mark.parametrize("directory", ["suite/one", "suite/one/", "./suite/one", "suite/../suite/one"])
def test_a_single_scenario_can_be_named_in_any_spelling(suite, directory):
    (suite / "LICENSE").write_text("what lies beside the scenario is not asked about\n")
    done = replay("doctor", "--quiet", "--strict", directory, cwd=suite.parent)
    assert (done.returncode, done.stdout) == (0, "1 scenario, 1 session log: 0 errors, 0 warnings\n")


def test_the_doctor_works_inside_a_scenario(suite):
    done = replay("doctor", "--quiet", ".", cwd=suite / "one")
    assert (done.returncode, done.stdout) == (0, "1 scenario, 1 session log: 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["doctor", "nowhere"],
            "nowhere: no such directory\n    fix: name a scenario, or a directory of scenarios\n",
        ),
        (["doctor", "empty"], "empty: holds no scenario\n"),
        (["doctor"], "the following arguments are required: DIR"),
        (["docter", "x"], "invalid choice: 'docter'"),
        ([], "the following arguments are required: COMMAND"),
        (["doctor", "--nope", "x"], "unrecognized arguments: --nope"),
    ],
)
def test_a_users_mistake_is_a_sentence_and_exit_code_two(tmp_path, arguments, sentence):
    (tmp_path / "empty").mkdir()
    done = replay(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_every_command(tmp_path):
    done = replay("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


def test_every_registered_command_has_its_two_functions():
    for module, _ in COMMANDS.values():
        assert {"add_arguments", "run"} <= set(importlib.import_module(module).__all__)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DivergenceError("left", Location("f", 3)), 1),
        (AgentError("hung", fix="wait"), 3),
        (RuntimeError("ours"), 4),
    ],
)
def test_the_class_of_an_error_is_the_exit_code(monkeypatch, capsys, error, code):
    def run(arguments):
        raise error

    monkeypatch.setattr("replay.cli.doctor.run", run)
    assert main(["doctor", "x"]) == code
    said = capsys.readouterr().err
    assert ("Traceback" in said) == (code == 4)
    assert str(error) in said


def test_a_reader_that_goes_away_is_no_fault(suite):
    done = subprocess.run(
        f"'{sys.executable}' -m replay.cli doctor suite suite suite | head -1", shell=True, cwd=suite.parent,
        capture_output=True, text=True, check=False, env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stderr == ""

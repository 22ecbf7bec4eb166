"""Each bad transcript, and each bad file beside one, is one sentence with its place: in the guard and in a test's run.

A case is files over `base/`, which is a package with one scenario; see tests/bad_inputs/cases.py.
"""

import sys
from pathlib import Path

import pytest

from replay.errors import ReplayError
from replay.runner.loop import Loop
from replay.runner.manifest import ScenarioSpec
from replay.runner.result import Result
from replay.runner.runfiles import Runfiles
from replay.runner.transport_guard import TransportTree, check_transports
from replay.runner.transport_manifest import SubjectSpec, TransportManifest
from replay.runner.transport_pipeline import REPLAY, TransportSurroundings, run_transport
from replay.scenario.disk import read_tree
from tests.bad_inputs.cases import Case, build, cases

ROOT = Path(__file__).parent
CASES = cases(ROOT)
LEAST = 60
TRANSCRIPT = "codex.transcript.ndjson"
# What only a guard minds: a run of it means what it says.
PLAYABLE = {
    "metadata/captured-on-no-day",
    "transcript/crlf",
    "transcript/five-megabyte-line",
    "transcript/repeated-key",
    "transcript/wild-form",
}
READ = [case for case in CASES if case.name.split("/")[0] in ("metadata", "placeholder", "transcript")]


def suite_of(directory: Path) -> TransportTree:
    """The package in `directory` as its suite would describe it."""
    tree = read_tree(str(directory), None)._replace(package="", scenarios=())
    return TransportTree(tree, ("codex",), {}, ("projection.json",), "//scenarios/transport")


def guarded(suite: TransportTree) -> list[ReplayError]:
    try:
        return [*check_transports(suite)]
    except ReplayError as refusal:
        return [refusal]


def played(directory: Path) -> Result:
    """A run of the scenario, by a subject that does nothing."""
    spec = ScenarioSpec(
        "hello/codex", "", "", "hello", {TRANSCRIPT: str(directory / "hello" / TRANSCRIPT)}, {}, {}, False, False, "",
        "codex", {"codex": TRANSCRIPT},
    )  # fmt: skip
    subject = SubjectSpec("subject", sys.executable, ("-c", ""), {})
    loop = Loop()
    try:
        around = TransportSurroundings(
            TransportManifest("", subject, (spec,)), Runfiles(), str(directory.parent), loop
        )
        return run_transport(spec, REPLAY, around)
    finally:
        loop.close()


def test_there_are_enough_cases_and_each_says_what_it_expects():
    assert len(CASES) >= LEAST
    assert [case.name for case in CASES if not case.expected] == []
    orphans = {path.with_suffix("") for path in ROOT.glob("*/*.expected")} - {
        case.directory for case in CASES
    }
    assert orphans == set()
    assert {case.name for case in READ} >= PLAYABLE


def test_the_base_of_all_cases_is_sound(tmp_path):
    build(Case("base", ROOT / "base", ""), tmp_path / "base", ROOT)
    assert guarded(suite_of(tmp_path / "base")) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_guard_names_what_is_wrong_and_where(case, tmp_path):
    build(case, tmp_path / "suite", ROOT)
    found = guarded(suite_of(tmp_path / "suite"))
    assert [str(error) for error in found] == case.expected.split("\n")
    assert {error.exit_code for error in found} == {2}


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_a_run_refuses_what_it_cannot_play(case, tmp_path):
    build(case, tmp_path / "suite", ROOT)
    result = played(tmp_path / "suite")
    if case.name in PLAYABLE:
        assert (result.exit_code, result.first_line[:31]) == (1, "hello/codex: nothing was consum")
    else:
        assert (result.exit_code, result.fault) == (2, ""), result.first_line
        # The guard looks at the text first and may see another mistake, but in the same line.
        place = case.expected.split(" ")[0].rstrip(":")
        assert result.first_line.startswith(place), result.first_line


def test_every_provider_is_there_or_has_a_reason(tmp_path):
    build(Case("base", ROOT / "base", ""), tmp_path / "base", ROOT)
    suite = suite_of(tmp_path / "base")._replace(providers=("codex", "acp"))
    [missing] = guarded(suite)
    assert str(missing) == "hello/acp.transcript.ndjson: is missing"
    assert missing.fix.startswith(
        "bazel run //scenarios/transport:record -- hello/acp\nor say in inexpressible of"
    )
    assert guarded(suite._replace(inexpressible={"hello": {"acp": "it has no such frame"}})) == []
    [empty] = guarded(suite._replace(inexpressible={"hello": {"acp": ""}}))
    assert str(empty) == "hello/acp.transcript.ndjson: is missing"


@pytest.mark.parametrize(
    ("inexpressible", "says"),
    [
        ({"hello": {"codex": "why"}}, "hello/codex.transcript.ndjson: is there, though the suite says"),
        (
            {"hello": {"pi": "why"}},
            'hello/: the suite declares "pi" in inexpressible, which is none of its providers',
        ),
        (
            {"gone": {"codex": "why"}},
            'gone/: the suite declares "gone" in inexpressible, which is none of its scenarios',
        ),
    ],
)
def test_reason_that_nothing_answers_is_named(tmp_path, inexpressible, says):
    build(Case("base", ROOT / "base", ""), tmp_path / "base", ROOT)
    [found] = guarded(suite_of(tmp_path / "base")._replace(inexpressible=inexpressible))
    assert str(found).startswith(says)


def test_secret_itself_is_in_no_message(tmp_path):
    for case in CASES:
        if case.name.startswith("secret/"):
            build(case, tmp_path / case.name, ROOT)
            said = "".join(error.explained() for error in guarded(suite_of(tmp_path / case.name)))
            assert "Abc1234567" not in said and "jane.roe" not in said

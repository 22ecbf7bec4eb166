"""The new command as a person uses it: a directory with an input.json, or a sentence and no directory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_AGENT = {"name": "a", "binary": "/bin/true"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with two suites, and a test on its own."""
    for package, suite, test in (
        ("scenarios/acp", "//scenarios/acp:acp", "text-turn_test"),
        ("scenarios/more", "//scenarios/more:slow", "one_test"),
        ("tools", "//tools:turn_test", "turn_test"),
    ):
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "BUILD.bazel").touch()
        name = test.removesuffix("_test")
        (tmp_path / package / name).mkdir()
        spec = {"name": name, "label": f"//{package}:{test}", "package": package, "directory": f"{package}/{name}", "files": {}}  # fmt: skip
        manifest = {"version": 1, "suite": suite, "agent": _AGENT, "scenarios": [spec]}
        (tmp_path / f"{name}.json").write_text(json.dumps(manifest))
    return tmp_path


def _new(tree: Path, *arguments: str, manifests: tuple[str, ...] = ("text-turn", "turn")) -> tuple[int, str]:
    named = [part for name in manifests for part in ("--manifest", f"{name}.json")]
    done = subprocess.run(
        [sys.executable, "-m", "replay.runner.new", *named, *arguments], cwd=tree, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1", "BUILD_WORKSPACE_DIRECTORY": str(tree)},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def _paths(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*")}


def test_scenario_holds_the_prompts_in_order_and_nothing_else(tree: Path) -> None:
    before = _paths(tree)
    code, text = _new(tree, "größe 2", "--suite", "//scenarios/acp", "list the files", "--prompt", "and now?")
    assert (code, text) == (
        0,
        "scenarios/acp/größe 2/input.json: written\nnext: bazel run //:record -- 'größe 2'\n",
    )
    assert _paths(tree) - before == {"scenarios/acp/größe 2", "scenarios/acp/größe 2/input.json"}
    data = json.loads((tree / "scenarios/acp/größe 2/input.json").read_bytes())
    assert data["steps"] == [
        {"op": "initialize"},
        {"op": "newSession"},
        {"op": "prompt", "text": "list the files"},
        {"op": "prompt", "text": "and now?"},
    ]


def test_one_suite_needs_no_name_and_several_do(tree: Path) -> None:
    assert _new(tree, "a", "hello")[0] == 0
    assert (tree / "scenarios/acp/a/input.json").exists()
    code, text = _new(tree, "b", "hello", manifests=("text-turn", "one"))
    assert code == 2
    assert text.endswith("fix: one of these: //scenarios/acp:acp, //scenarios/more:slow\n")
    assert (
        _new(tree, "b", "hello", "--suite", "//scenarios/more:slow", manifests=("text-turn", "one"))[0] == 0
    )
    assert (tree / "scenarios/more/b").is_dir()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["text-turn", "x"], "scenarios/acp/text-turn is there already\n"),
        (["a/b", "x"], "'a/b' is no directory that Bazel can name\n"),
        (["a:b", "x"], "'a:b' is no directory that Bazel can name\n"),
        (["..", "x"], "'..' is no directory that Bazel can name\n"),
        (["a\nb", "x"], "'a\\nb' is no directory that Bazel can name\n"),
        (["acp", "x"], "//scenarios/acp has a target acp already\n"),
        (["acp_guard", "x"], "//scenarios/acp has a target acp_guard_test already\n"),
        (["text-turn_test", "x"], "//scenarios/acp has a target text-turn_test already\n"),
        (["a"], "a scenario needs a prompt\n"),
        (["a", " "], "a scenario needs a prompt\n"),
        (["a b"], """bazel run //:new -- 'a b' "what the user says"\n"""),
        (["a", "x", "--suite", "//nowhere"], "there is no suite //nowhere in this command"),
        ([], "the following arguments are required: NAME"),
    ],
)
def test_what_cannot_be_made_is_a_sentence_and_leaves_nothing(
    tree: Path, arguments: list[str], sentence: str
) -> None:
    before = _paths(tree)
    code, text = _new(tree, *arguments)
    assert code == 2
    assert sentence in text
    assert _paths(tree) == before

"""The files that an agent leaves, through real processes: texts, binaries by digest, the executable bit where asked."""

import base64
import hashlib
import json
import os
import shutil
from typing import Any

import pytest

from tests.agents.stage import Scenario
from tests.agents.test_accept import _TEST, _command

_BINARY = b"\x89PNG\x00\xff" * 50


def _seed(scenario: Scenario, **entries: dict[str, str]) -> None:
    """What lies in the cwd before the run, and after it."""
    named = {name.replace("_", "."): entry for name, entry in entries.items()}
    (scenario.fixture / "workspace.seed.json").write_text(json.dumps({"version": 1, "entries": named}))


def _binary(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}


@pytest.fixture
def left(scenario: Scenario) -> Scenario:
    scenario.surfaces = ["workspace"]
    _seed(
        scenario,
        logo_png=_binary(_BINARY),
        run_sh={"text": "#!/bin/sh\n", "mode": "755"},
        a_txt={"text": "a\n"},
    )
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    return scenario


def _executable(scenario: Scenario) -> str | None:
    """What workspace.executable.txt holds, None where it is not there."""
    file = scenario.fixture / "workspace.executable.txt"
    return file.read_text() if file.exists() else None


def _failed(outcome: Any) -> list[str]:
    return [case["surface"] for case in outcome.result["cases"] if case["verdict"] == "FAILED"]


def test_binary_is_written_as_it_is_and_compared_by_digest_and_size(left: Scenario) -> None:
    assert (left.fixture / "workspace.expected" / "logo.png").read_bytes() == _BINARY
    assert left.run().code == 0
    assert left.refresh("hello").text == "hello: unchanged\n"
    other = _BINARY[:-1] + b"\xfe"
    _seed(left, logo_png=_binary(other), run_sh={"text": "#!/bin/sh\n"}, a_txt={"text": "a\n"})
    outcome = left.run()
    assert _failed(outcome) == ["workspace"]
    old, new = (hashlib.sha256(data).hexdigest() for data in (_BINARY, other))
    assert f'$.binary.sha256: expected "{old}", actual "{new}"' in outcome.first_line
    for data in (_BINARY, other):
        assert base64.b64encode(data).decode()[:20] not in outcome.text + json.dumps(outcome.result)
    assert "wrote workspace.expected/logo.png" in left.refresh("hello").text
    assert (left.fixture / "workspace.expected" / "logo.png").read_bytes() == other
    _seed(left, logo_png=_binary(b"\xff"), run_sh={"text": "#!/bin/sh\n"}, a_txt={"text": "a\n"})
    assert "$.binary.bytes: expected 300, actual 1" in left.run().first_line


def test_modes_are_no_part_of_it_unless_asked(left: Scenario) -> None:
    assert _executable(left) is None
    (left.fixture / "workspace.executable.txt").write_text("a.txt\n")
    assert left.run().code == 0
    assert left.refresh("hello").text == "hello: deleted workspace.executable.txt (+0 -1)\n"
    assert left.refresh("hello").text == "hello: unchanged\n"


@pytest.fixture
def with_modes(left: Scenario) -> Scenario:
    left.options["workspace_modes"] = "the agent makes scripts"
    return left


def test_executable_bit_is_compared_and_written_where_asked(with_modes: Scenario) -> None:
    outcome = with_modes.run()
    assert _failed(outcome) == ["workspace"]
    assert "$.executable: expected absent, actual true" in outcome.first_line
    assert with_modes.refresh("hello").text == "hello: wrote workspace.executable.txt (+1 -0)\n"
    assert _executable(with_modes) == "run.sh\n"
    assert with_modes.run().code == 0
    assert with_modes.refresh("hello").text == "hello: unchanged\n"
    (with_modes.fixture / "workspace.executable.txt").write_text("a.txt\nrun.sh\n")
    assert "$.executable: expected true, actual absent" in with_modes.run().first_line
    assert with_modes.refresh("hello").text == "hello: wrote workspace.executable.txt (+0 -1)\n"
    assert with_modes.run().code == 0
    _seed(with_modes, run_sh={"text": "#!/bin/sh\n"}, logo_png=_binary(_BINARY), a_txt={"text": "a\n"})
    assert "$.executable: expected true, actual absent" in with_modes.run().first_line
    assert with_modes.refresh("hello").text == "hello: deleted workspace.executable.txt (+0 -1)\n"
    assert with_modes.run().code == 0


def test_mode_of_a_file_of_the_fixture_says_nothing(with_modes: Scenario) -> None:
    """It is lost, or every input has it, wherever Bazel hands the fixture on."""
    assert with_modes.refresh("hello").code == 0
    for mode in (0o755, 0o444):
        for path in (with_modes.fixture / "workspace.expected").iterdir():
            path.chmod(mode)
        assert with_modes.run().code == 0
        assert with_modes.refresh("hello").text == "hello: unchanged\n"


def test_accept_writes_which_are_executable_whatever_became_of_the_outputs(with_modes: Scenario) -> None:
    with_modes.outputs = with_modes.directory / _TEST
    assert with_modes.run().code == 1
    # As Bazel leaves its outputs.
    for path in with_modes.outputs.rglob("*"):
        if path.is_file():
            path.chmod(0o555)
    shutil.make_archive(str(with_modes.outputs.parent / "zipped"), "zip", with_modes.outputs)
    shutil.rmtree(with_modes.outputs)
    with_modes.outputs.mkdir()
    os.rename(with_modes.outputs.parent / "zipped.zip", with_modes.outputs / "outputs.zip")
    done = _command(with_modes, "accept")
    assert done.code == 0, done.text
    assert "hello/workspace.executable.txt\n" in done.text and "+run.sh\n" in done.text
    assert done.text.endswith("hello: wrote workspace.executable.txt (+1 -0)\n1 scenario accepted\n")
    assert _executable(with_modes) == "run.sh\n"
    shutil.rmtree(with_modes.outputs)
    assert with_modes.run().code == 0


def test_file_whose_content_is_ignored_stays_where_another_is_written(left: Scenario) -> None:
    left.options["ignored"] = [
        {"surface": "workspace", "kind": "a.txt", "path": "$.text", "reason": "holds the time"},
        {"surface": "workspace", "kind": "logo.png", "path": "$.binary.*", "reason": "drawn anew"},
    ]
    more = {"logo_png": _binary(b"\xff"), "a_txt": {"text": "b\n"}}
    _seed(left, run_sh={"text": "#!/bin/sh\n"}, **more)
    assert left.run().code == 0
    _seed(left, run_sh={"text": "#!/bin/bash\n"}, **more)
    left.outputs = left.directory / _TEST
    assert left.run().code == 1
    assert _command(left, "accept").text.endswith(
        "hello: wrote workspace.expected/run.sh (+1 -1)\n1 scenario accepted\n"
    )
    _seed(left, run_sh={"text": "#!/bin/ksh\n"}, **more)
    assert left.refresh("hello").text == "hello: wrote workspace.expected/run.sh (+1 -1)\n"
    assert (left.fixture / "workspace.expected" / "a.txt").read_text() == "a\n"
    assert (left.fixture / "workspace.expected" / "logo.png").read_bytes() == _BINARY


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("os.symlink('a', 'b')", "a link in its cwd, b,"),
        ("open(b'bad\\xff.txt', 'w')", "a file whose name is not UTF-8 in its cwd, bad\\udcff.txt,"),
    ],
)
def test_what_no_fixture_can_hold_is_a_sentence(scenario: Scenario, code: str, what: str) -> None:
    start = f"import os, sys; {code}; os.execv(sys.executable, sys.argv)"
    agent = json.loads(scenario.write().read_bytes())["agent"]
    scenario.agent = {**scenario.agent, "args": ["-c", start, *agent["args"]]}
    scenario.surfaces = ["workspace"]
    for outcome in (scenario.run(), scenario.refresh("hello")):
        assert outcome.code == 3
        assert outcome.first_line == f"hello: the agent left {what} which no fixture can hold"
    assert not (scenario.fixture / "workspace.expected").exists()

"""The manifests that the rules write are those that the runner reads."""

import os
from pathlib import Path

from replay.runner.manifest import Manifest, Rule, decode_manifest, is_guard_manifest
from replay.runner.runfiles import Runfiles

SUITE = "_main/tests/rules/suite"


def read(target: str) -> bytes:
    return Path(Runfiles(os.environ["RUNFILES_DIR"]).locate(f"{SUITE}/{target}.manifest.json")).read_bytes()


def decoded(target: str) -> Manifest:
    return decode_manifest(read(target), target)


def test_runner_decodes_every_field_of_a_scenario() -> None:
    manifest = decoded("plain_test")
    [scenario] = manifest.scenarios
    assert manifest.suite == "//tests/rules/suite:suite"
    assert not manifest.batched
    assert scenario.name == "plain"
    assert scenario.label == "//tests/rules/suite:plain_test"
    assert scenario.directory == "tests/rules/suite/plain"
    assert scenario.workspace == {"sub/a.txt": f"{SUITE}/plain/workspace/sub/a.txt"}
    assert scenario.cwd_parent == "/var/tmp"
    assert (scenario.declares_override, scenario.pins) == (False, False)


def test_runner_decodes_agent_rules_and_options() -> None:
    manifest = decoded("plain_test")
    assert manifest.agent.name == "agent"
    assert manifest.agent.overlay == f"{SUITE}/overlay.yaml"
    assert manifest.agent.replay_args == ("--overlay={overlay}",)
    assert manifest.agent.replay_env == {"MODE": "replay"}
    assert manifest.agent.logs_itself
    assert manifest.rules == (Rule("build [0-9]+", "{{build}}", "counts the builds of the day"),)
    assert manifest.options.wait_seconds == 7
    assert set(manifest.options.others) == {"accepted_deviations", "floating", "ignored"}
    assert manifest.options.workspace_modes == "the agent makes scripts"


def test_every_path_of_a_manifest_is_among_the_runfiles() -> None:
    runfiles = Runfiles(os.environ["RUNFILES_DIR"])
    for target in ("plain_test", "batched_batch_test", "größe-日本_test"):
        manifest = decoded(target)
        paths = [manifest.agent.binary, manifest.agent.overlay]
        for scenario in manifest.scenarios:
            paths += [
                *scenario.files.values(),
                *scenario.workspace.values(),
                *scenario.workspace_expected.values(),
            ]
        assert len(paths) > 4
        for path in paths:
            assert Path(runfiles.locate(path)).is_file(), path


def test_names_beyond_ascii_arrive_as_they_are() -> None:
    [scenario] = decoded("größe-日本_test").scenarios
    assert (scenario.name, scenario.label) == ("größe-日本", "//tests/rules/suite:größe-日本_test")
    assert list(scenario.workspace) == ["日本/naïve ☕.txt"]


def test_batch_holds_several_scenarios() -> None:
    manifest = decoded("batched_batch_test")
    assert manifest.batched
    assert [scenario.name for scenario in manifest.scenarios] == [
        "dot.ted",
        "größe-日本",
        "two words",
        "with-override",
    ]


def test_guard_manifest_is_told_apart() -> None:
    assert is_guard_manifest(read("suite_guard_test"))
    assert not is_guard_manifest(read("plain_test"))

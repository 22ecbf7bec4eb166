"""The guard over a whole package: what no single scenario shows. Broken contents are tests/bad_inputs."""

import subprocess
import sys

import orjson
import pytest

from replay.errors import UsageError
from replay.scenario.content import MAX_FILE_BYTES, MAX_SCENARIO_BYTES, MAX_SUITE_BYTES, find_secrets
from replay.scenario.finding import Rule
from replay.scenario.guard import check_tree
from replay.scenario.tree import Tree, tree_of_manifest
from replay.session import model_checksum, read_log
from replay.surface.secrets import Scanner
from tests.bad_inputs.cases import ROOT

BASE = {path.name: path.read_bytes() for path in (ROOT / "base").iterdir()}
OVERRIDE = b'[{"kind":"hang"}]\n'
PINS = {"system-prompt.expected.md": b"You are an agent.\n", "tool-schemas.expected.json": b'{"initial":[],"changes":[]}\n'}  # fmt: skip


def tree(files, *, scenarios=("one", "two"), overrides=(), pins=(), subpackages=(), directories=()):
    paths = sorted(files) + sorted(
        {f"{path.partition('/')[0]}/" for path in files if "/" in path} | set(directories)
    )
    return Tree(
        "suites/acp", "//suites/acp:acp", scenarios, overrides, pins, sorted(paths), subpackages, files
    )


def sound(**more):
    files = {f"{name}/{file}": data for name in ("one", "two") for file, data in BASE.items()}
    return {**files, "BUILD.bazel": b"", **{path.replace("__", "/"): data for path, data in more.items()}}


def said(checked):
    return [str(error) for error in check_tree(checked)]


def test_a_sound_suite_has_no_finding():
    assert said(tree(sound())) == []
    files = {
        **sound(),
        "one/replay.override.json": OVERRIDE,
        **{f"two/{name}": data for name, data in PINS.items()},
    }
    assert said(tree(files, overrides=["one"], pins=["two"])) == []


def test_a_suite_without_scenarios_fails():
    with pytest.raises(UsageError, match="there is no scenario to check"):
        check_tree(tree({"BUILD.bazel": b""}, scenarios=()))


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"one/replay.override.json": OVERRIDE}, {}, "one/replay.override.json: is not declared: the suite does not name the scenario in overrides"),
        ({}, {"overrides": ["one"]}, "one/replay.override.json: is missing, though the suite declares it in overrides"),
        ({}, {"overrides": ["three"]}, 'three/: the suite declares "three" in overrides, which is none of its scenarios'),
        ({}, {"scenarios": ("one", "two", "three")}, "three/: the suite lists this scenario, and there is no such directory"),
        ({}, {"scenarios": ("one",)}, "two/: is a scenario that the suite does not list"),
        ({"old/session.jsonl": b""}, {}, "old/: has no input.json, so that it is no scenario"),
        ({}, {"directories": ["old/"]}, "old/: is an empty directory, which git does not keep"),
        ({}, {"directories": ["one/workspace/logs/", "one/workspace/"]}, "one/workspace/logs/: is an empty directory, which git does not keep"),
        ({"notes.txt": b"x"}, {}, "notes.txt: is a file that no scenario claims"),
        ({"session.jsonl": b"x"}, {}, "session.jsonl: is a file that no scenario claims"),
        ({}, {"subpackages": ["one/workspace"]}, "one/workspace/: a nested BUILD file makes this directory a package of its own and hides its files from the suite"),
    ],
)  # fmt: skip
def test_what_tree_and_suite_say_differently(change, options, sentence):
    assert said(tree({**sound(), **change}, **options)) == [f"suites/acp/{sentence}"]


def test_modes_that_the_options_do_not_compare_are_named():
    checked = tree({**sound(), "one/workspace.expected/run": b"x", "one/workspace.executable.txt": b"run\n"})
    assert check_tree(checked._replace(workspace_modes=["one"])) == []
    [error] = check_tree(checked._replace(workspace_modes=["two"]))
    assert str(error) == (
        "suites/acp/one/workspace.executable.txt: is compared by nothing: the scenario's options have no workspace_modes"
    )
    assert error.fix == "write replay_options(workspace_modes = …) with the reason, or delete the file"


def test_a_hidden_scenario_is_one_finding():
    files = {path: data for path, data in sound().items() if not path.startswith("two/")}
    assert said(tree(files, subpackages=["two"])) == [
        "suites/acp/two/: a nested BUILD file makes this directory a package of its own and hides its files from the suite"
    ]


def test_the_same_pin_twice_is_refused_once_a_file():
    files = {**sound(), **{f"{name}/{file}": data for name in ("one", "two") for file, data in PINS.items()}}
    assert said(tree(files, pins=["one", "two"])) == [
        f"suites/acp/two/{file}: is the same as one/{file}: one scenario pins a text, or a change of it touches every file"
        for file in PINS
    ]


@pytest.mark.parametrize("name", sorted(BASE))
def test_every_file_of_a_scenario_is_missed(name):
    files = sound()
    del files[f"one/{name}"]
    assert [sentence.split(": ")[0] for sentence in said(tree(files))] == [f"suites/acp/one/{name}"]


@pytest.mark.parametrize("name", sorted(BASE))
def test_every_renamed_file_is_missed_and_its_new_name_refused(name):
    files = sound()
    files[f"one/x{name}"] = files.pop(f"one/{name}")
    assert {sentence.split(": ")[0] for sentence in said(tree(files))} == {
        f"suites/acp/one/{name}",
        f"suites/acp/one/x{name}",
    }


def header_row(model, system="{{system}}"):
    header = {"config": {"model": model}, "system": system, "tools": None}
    row = {"type": "request/header", "data": {"header": header, "reason": "initial"}}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def with_headers(**rows):
    """A sound suite of two scenarios, each of whose logs ends with these rows."""
    files = sound()
    for name, row in rows.items():
        files[f"{name}/session.jsonl"] += row
    return {**files, **{f"two/{name}": data for name, data in PINS.items()}}


def test_a_header_class_that_no_scenario_pins_is_named_once():
    files = with_headers(one=header_row("small"), two=header_row("large"))
    assert said(tree(files, pins=["two"])) == [
        "suites/acp/one/session.jsonl:12 $.data.header: the prompt and the tools of this header are compared nowhere: "
        'no scenario of its class {"config":{"model":"small"}} pins them'
    ]
    [error] = check_tree(tree(files, pins=["two"]))
    assert error.fix == 'add "one" to pins of //suites/acp:acp, then bazel run //:refresh -- one'


@pytest.mark.parametrize(
    "rows",
    [
        {"one": header_row("large"), "two": header_row("large")},
        {"one": header_row("small", system=None), "two": header_row("large")},
        {"two": header_row("large") + header_row("small")},
    ],
    ids=["the class has its pin", "no text to pin", "only a first header can be pinned"],
)
def test_a_suite_whose_header_classes_are_pinned_has_no_finding(rows):
    assert said(tree(with_headers(**rows), pins=["two"])) == []


def test_a_suite_that_pins_nothing_is_asked_for_no_pin():
    files = {**sound(), "one/session.jsonl": BASE["session.jsonl"] + header_row("small")}
    assert said(tree(files)) == []


def test_a_missing_recording_is_to_be_made():
    files = sound()
    del files["one/session.jsonl"]
    [error] = check_tree(tree(files))
    assert error.fix == (
        "record it: bazel run //:record -- one\n"
        "or write a header and the chunks of each model call "
        '(README of agent_replay, "Making a fixture"), then bazel run //:refresh -- one'
    )


def test_commands_stand_in_the_package_that_the_suite_names():
    files = sound()
    del files["one/session.jsonl"]
    [error] = check_tree(tree(files)._replace(commands="//third/pi"))
    assert error.fix.count("bazel run //third/pi:re") == 2 and "//:" not in error.fix


def manifest(**changes):
    fields = {
        "version": 1, "kind": "guard", "package": "suites/acp", "label": "//suites/acp:acp_guard_test",
        "suite": "//suites/acp:acp", "scenarios": ["one", "two"], "overrides": [], "pins": [], "subpackages": [],
        "workspace_modes": [], "tree": sorted([*sound(), "one/", "two/"]), "files": {path: f"_main/suites/acp/{path}" for path in sound()},
    }  # fmt: skip
    return orjson.dumps({**fields, **changes})


def test_the_tree_of_a_manifest_is_what_its_files_hold():
    files = sound()
    read = tree_of_manifest(manifest(), lambda location: files[location.removeprefix("_main/suites/acp/")])
    assert read == tree(files)._replace(
        scenarios=["one", "two"], overrides=[], pins=[], subpackages=[], workspace_modes=[]
    )


@pytest.mark.parametrize("data", [b"{", b"[]", manifest(kind="run"), manifest(version=2), manifest(tree="x")])
def test_a_wrong_manifest_is_a_usage_error(data):
    with pytest.raises(UsageError):
        tree_of_manifest(data, lambda location: b"")


def test_the_manifest_says_where_the_commands_stand():
    assert tree_of_manifest(manifest(files={}, commands="//third/pi"), lambda _: b"").commands == "//third/pi"


def test_the_guard_program_prints_findings_and_exits_with_their_code(tmp_path):
    for path, data in sound().items():
        (tmp_path / "_main/suites/acp" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "_main/suites/acp" / path).write_bytes(data)
    (tmp_path / "_main/guard.json").write_bytes(manifest())

    def run():
        return subprocess.run(
            [sys.executable, "-m", "replay.scenario.guard_main"], capture_output=True, text=True, check=False,
            env={"PYTHONPATH": ":".join(path for path in sys.path if path), "RUNFILES_DIR": str(tmp_path),
                 "AGENT_REPLAY_MANIFEST": "_main/guard.json", "TEST_PREMATURE_EXIT_FILE": str(tmp_path / "exit"),
                 "XML_OUTPUT_FILE": str(tmp_path / "test.xml"), "TEST_TARGET": "//suites/acp:acp_guard_test"},
        )  # fmt: skip

    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "//suites/acp:acp: 2 scenarios are sound\n", "")
    assert (
        '<testsuite name="//suites/acp:acp_guard_test" tests="1" failures="0"'
        in (tmp_path / "test.xml").read_text()
    )
    one = {path: f"_main/suites/acp/{path}" for path in sound() if path.startswith("one/")}
    (tmp_path / "_main/guard.json").write_bytes(manifest(scenarios=["one"], tree=sorted(one), files=one))
    assert run().stdout == "//suites/acp:acp: 1 scenario is sound\n"
    (tmp_path / "_main/guard.json").write_bytes(manifest())
    (tmp_path / "_main/suites/acp/one/input.json").write_bytes(b'{"steps": []}\n')
    done = run()
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "suites/acp/one/input.json:1 $.steps: must be an array with at least one step",
        "    fix: restore the file with git, or record the scenario again: bazel run //:record -- SCENARIO",
    ]
    assert not (tmp_path / "exit").exists()
    assert 'failures="1"' in (xml := (tmp_path / "test.xml").read_text())
    assert (
        '<failure message="suites/acp/one/input.json:1 $.steps: must be an array with at least one step"'
        in xml
    )


def test_a_suite_may_be_too_big_though_no_scenario_is():
    names = [f"s{number}" for number in range(MAX_SUITE_BYTES // (MAX_SCENARIO_BYTES - MAX_FILE_BYTES) + 1)]
    chunk = b"0123456789abcde\n" * (MAX_FILE_BYTES // 16)
    files = {f"{name}/{file}": data for name in names for file, data in BASE.items()}
    files |= {f"{name}/workspace/{part}.txt": chunk for name in names for part in range(3)}
    total = sum(map(len, files.values()))
    assert said(tree(files, scenarios=names)) == [
        f"suites/acp/: the scenarios have {total} bytes together, a suite may have {MAX_SUITE_BYTES}"
    ]
    assert (
        said(tree({path: data for path, data in files.items() if "/2.txt" not in path}, scenarios=names))
        == []
    )


def recorded(log, **changes):
    """`log` as a recording that says what it is, then changed."""
    head, _, rest = log.partition(b"\n")
    provenance = {
        "kind": "recorded", "model": "m", "agent": {"name": "a", "version": "1"}, "tool": "agent_replay 0.1.0",
        "capturedAt": "2026-01-31", "cwdPolicy": "fresh", "checksum": model_checksum(read_log(log, "x")), **changes,
    }  # fmt: skip
    return orjson.dumps({**orjson.loads(head), "provenance": provenance}) + b"\n" + rest


def test_a_recording_is_sound_as_long_as_nobody_edits_what_the_model_said():
    log = recorded(BASE["session.jsonl"])
    assert said(tree({**sound(), "one/session.jsonl": log})) == []
    renewed = log.replace(b'"surfaceOp":"append"', b'"surfaceOp":"replace"')
    assert renewed != log and said(tree({**sound(), "one/session.jsonl": renewed})) == []
    edited = log.replace(b'["He","l","lo"]', b'["Hel","l","o"]')
    [error] = check_tree(tree({**sound(), "one/session.jsonl": edited}))
    assert str(error) == (
        "suites/acp/one/session.jsonl:1 $.provenance.checksum: is not that of the log: what the model said was edited by hand"
    )
    assert error.fix == 'record it again: bazel run //:record -- one, or say that it is by hand: "provenance":{"kind":"authored"}'  # fmt: skip


def test_a_child_says_where_it_comes_from_as_well():
    child = b'{"type":"session","version":0,"id":"{{sessionId:2}}","createdAt":0,"parentSession":"{{sessionId}}"}\n'
    assert said(tree({**sound(), "one/session.1.jsonl": child})) == [
        "suites/acp/one/session.1.jsonl:1 $.provenance: does not say where the log comes from"
    ]


def test_a_schema_that_a_child_repeats_is_one_too_many():
    tools = [{"name": "read", "description": "Reads a file. " * 80}]
    header = {"type": "request/header", "data": {"header": {"config": {}, "system": "{{system}}", "tools": tools}, "reason": "initial"}}  # fmt: skip
    row = orjson.dumps(header) + b"\n"
    child = b'{"type":"session","version":0,"id":"{{sessionId:2}}","createdAt":0,"parentSession":"{{sessionId}}","provenance":{"kind":"authored"}}\n'  # fmt: skip
    files = {**sound(), "one/session.jsonl": BASE["session.jsonl"] + row, "one/session.1.jsonl": child + row}
    size = len(orjson.dumps(tools))
    assert said(tree(files)) == [
        f"suites/acp/one/session.1.jsonl:2 $.data.header.tools: stores {size} bytes of a prompt or a schema again that stand in session.jsonl:12 already"
    ]


def test_a_recording_is_searched_for_the_values_of_its_shell():
    files = {"session.jsonl": BASE["session.jsonl"].replace(b"Say hello.", b"Say open sesame 42."), "input.json": b"{}"}  # fmt: skip
    [found] = find_secrets(files, "one", Scanner({"CAVE_PASS": "open sesame 42"}))
    assert (found.rule, str(found.error)) == (
        Rule.SECRET,
        "one/session.jsonl:3 $.data.content[0].text: looks like a secret (value of CAVE_PASS)",
    )
    assert find_secrets(files, "one", Scanner()) == []

"""Two execution logs that differ in one thing: the explanation names that, and nothing else."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.cache.log_difference import explain_logs
from replay.cache.reason import Explanation, Group, Kind, Reason
from tests.cache.logs import OUT, Log

LABEL = "//acp:hello_test"


def explained(tmp_path: Path, before: Log, after: Log) -> Explanation:
    return explain_logs(before.write(tmp_path / "a.log"), after.write(tmp_path / "b.log"))


def only_group(explanation: Explanation) -> Group:
    [group] = explanation.groups
    return group


def only_reason(explanation: Explanation) -> Reason:
    [reason] = only_group(explanation).reasons
    return reason


def one_test(content: str = "same", **more: Any) -> Log:
    log = Log()
    log.test(LABEL, log.input_set([log.file("acp/hello/input.json", content)]), **more)
    return log


def test_hit_is_no_miss(tmp_path: Path) -> None:
    explanation = explained(tmp_path, one_test(), one_test("new", cache_hit=True, runner="remote cache hit"))
    assert explanation.hits == {"remote cache hit": [LABEL]}
    assert not explanation.groups


@pytest.mark.parametrize(
    ("more", "kind", "name", "before", "after", "fix"),
    [
        ({"env": {"TEST_TIMEOUT": "100"}}, Kind.ENVIRONMENT, "TEST_TIMEOUT", '"60"', '"100"', "--test_timeout"),
        ({"env": {"HOME": "/home/me"}}, Kind.ENVIRONMENT, "HOME", "", '"/home/me"', "--test_env=HOME"),
        ({"env": {"MODE": "fast"}}, Kind.ENVIRONMENT, "MODE", "", '"fast"', "--test_env=MODE"),
        ({"env": {"TESTBRIDGE_TEST_ONLY": "x"}}, Kind.ENVIRONMENT, "TESTBRIDGE_TEST_ONLY", "", '"x"', "--test_filter"),
        ({"args": ["external/bazel_tools/tools/test/test-setup.sh", "hello_test", "-v"]}, Kind.ARGUMENT, "2", "", '"-v"', "--test_arg"),
        ({"platform": {"properties": [{"name": "OSFamily", "value": "Linux"}]}}, Kind.PLATFORM, "OSFamily", "", '"Linux"', "exec_properties"),
        ({"outputs": []}, Kind.OUTPUT, "bazel-out/k8-fastbuild/testlogs/hello_test/test.log", "declared", "", "--zip_undeclared"),
    ],
)  # fmt: skip
def test_what_differs_is_named_with_both_values_and_the_flag(
    tmp_path: Path, more: dict[str, Any], kind: Kind, name: str, before: str, after: str, fix: str
) -> None:
    reason = only_reason(explained(tmp_path, one_test(), one_test(**more)))
    assert reason[:4] == (kind, name, before, after)
    assert fix in reason.fix


def test_timeout_alone_is_named(tmp_path: Path) -> None:
    logs = [Log(), Log()]
    for log, millis in zip(logs, (60000, 90000), strict=True):
        log.test(LABEL, log.input_set([log.file("a")]), env_vars=[], timeout_millis=millis)
    reason = only_reason(explained(tmp_path, *logs))
    assert reason[:4] == (Kind.TIMEOUT, "", "60 s", "90 s")


def test_changed_input_is_named_with_both_digests(tmp_path: Path) -> None:
    reason = only_reason(explained(tmp_path, one_test("old"), one_test("new!")))
    assert reason[:2] == (Kind.INPUT, "acp/hello/input.json")
    assert (reason.before, reason.after) == ("digest-of-old (3 bytes)", "digest-of-new! (4 bytes)")


def test_input_of_one_side_is_named(tmp_path: Path) -> None:
    after = Log()
    after.test(
        LABEL, after.input_set([after.file("acp/hello/input.json"), after.file("acp/hello/notes.txt", "x")])
    )
    reason = only_reason(explained(tmp_path, one_test(), after))
    assert (reason.name, reason.before) == ("acp/hello/notes.txt", "")
    assert "git status" in reason.fix


def tree(content: str) -> dict[str, Any]:
    files = [
        {"path": "deep/model.bin", "digest": {"hash": content, "size_bytes": 1}},
        {"path": "readme", "digest": {"hash": "same", "size_bytes": 1}},
    ]
    return {"directory": {"path": f"{OUT}/tree", "files": files}}


def runfiles(log: Log, **more: Any) -> int:
    return log.add(
        runfiles_tree={"path": f"{OUT}/hello_test.runfiles", "input_set_id": log.input_set(), **more}
    )


def link_set(log: Log, content: str) -> int:
    return log.add(
        symlink_entry_set={"direct_entries": {"linked/config.json": log.file("config.json", content)}}
    )


SHAPES: Sequence[tuple[str, Callable[[Log, str], int], str]] = [
    ("the file within a tree artifact", lambda log, content: log.add(**tree(content)), f"{OUT}/tree/deep/model.bin"),
    ("an unresolved symlink", lambda log, content: log.add(unresolved_symlink={"path": "link", "target_path": content}), "link"),
    ("a set below a set", lambda log, content: log.input_set([log.file("same")], [log.input_set([log.file("deep", content)])]), "deep"),
    ("a runfiles tree", lambda log, content: runfiles(log, input_set_id=log.input_set([log.file("data", content)])), "data"),
    ("a symlink of runfiles", lambda log, content: runfiles(log, symlinks_id=link_set(log, content)), "(runfiles)/linked/config.json"),
    ("a symlink at the root of runfiles", lambda log, content: runfiles(log, root_symlinks_id=link_set(log, content)), "(runfiles)/linked/config.json"),
    ("an empty file of runfiles", lambda log, content: runfiles(log, empty_files=["__init__.py"] if content == "new" else []), f"{OUT}/hello_test.runfiles/__init__.py"),
    ("the repository mapping", lambda log, content: runfiles(log, repo_mapping_manifest={"digest": {"hash": content}}), f"{OUT}/hello_test.runfiles/_repo_mapping"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "shape", "path"), SHAPES, ids=[what for what, _, _ in SHAPES])
def test_difference_is_found_in(
    tmp_path: Path, what: str, shape: Callable[[Log, str], int], path: str
) -> None:
    logs = [Log(), Log()]
    for log, content in zip(logs, ("old", "new"), strict=True):
        item = shape(log, content)
        is_set = log.entries[-1].WhichOneof("type") == "input_set"
        log.test(LABEL, log.input_set([] if is_set else [item], [item] if is_set else []))
    assert only_reason(explained(tmp_path, *logs)).name == path


def compiled(source: str, made: str, **more: Any) -> Log:
    """A test over a file that an action of the same log made of a source."""
    log = Log()
    output = log.file(f"{OUT}/agent.pyc", made)
    log.spawn(
        "//agent:agent", "PyBytecode", log.input_set([log.file("agent/agent.py", source)]), output, **more
    )
    log.test(LABEL, log.input_set([output]))
    return log


def test_source_is_the_reason_and_what_is_made_of_it_is_told_with_it(tmp_path: Path) -> None:
    reason = only_reason(explained(tmp_path, compiled("old", "1"), compiled("new", "2")))
    assert (reason.name, reason.made) == ("agent/agent.py", (f"{OUT}/agent.pyc",))


def test_flag_of_the_action_that_made_an_input_is_the_reason(tmp_path: Path) -> None:
    after = compiled("same", "2", args=["bin/compile", "-O2"])
    reason = only_reason(explained(tmp_path, compiled("same", "1"), after))
    assert reason[:4] == (Kind.ARGUMENT, "1", '"-o"', '"-O2"')
    assert "PyBytecode of //agent:agent" in reason.fix


def test_flags_of_two_actions_are_two_reasons(tmp_path: Path) -> None:
    logs = [Log(), Log()]
    for log, flag in zip(logs, ("-O1", "-O2"), strict=True):
        outputs = [log.file(f"{OUT}/{name}", flag) for name in ("a", "b")]
        for name, output in zip("ab", outputs, strict=True):
            log.spawn(f"//lib:{name}", "Compile", log.input_set(), output, args=[f"bin/{name}", flag])
        log.test(LABEL, log.input_set(outputs))
    group = only_group(explained(tmp_path, *logs))
    assert [reason.made for reason in group.reasons] == [(f"{OUT}/a",), (f"{OUT}/b",)]


def test_action_that_is_not_deterministic_is_named(tmp_path: Path) -> None:
    reason = only_reason(explained(tmp_path, compiled("same", "1"), compiled("same", "2")))
    assert reason.kind is Kind.NOT_DETERMINISTIC
    assert "another file of the same inputs" in reason.fix


def test_action_of_one_log_alone_is_said_to_be_missing_in_the_other(tmp_path: Path) -> None:
    before = Log()
    before.test(LABEL, before.input_set([before.file(f"{OUT}/agent.pyc", "1")]))
    reason = only_reason(explained(tmp_path, before, compiled("same", "2")))
    assert "the other log does not have that action" in reason.fix


def suite(agent: str, own: Callable[[int], str], count: int = 42) -> Log:
    """Tests that share an agent, each with a fixture of its own."""
    log = Log()
    shared = log.input_set([log.file("agent/agent.py", agent)])
    for number in range(count):
        fixture = log.file(f"acp/case{number}/input.json", own(number))
        log.test(f"//acp:case{number}_test", log.input_set([fixture], [shared]))
    return log


def test_tests_of_one_reason_are_one_group(tmp_path: Path) -> None:
    group = only_group(explained(tmp_path, suite("old", str), suite("new", str)))
    assert len(group.tests) == 42
    assert [reason.name for reason in group.reasons] == ["agent/agent.py"]


def test_tests_whose_own_fixture_changed_are_one_group(tmp_path: Path) -> None:
    after = suite("same", lambda number: f"new {number}")
    group = only_group(explained(tmp_path, suite("same", str), after))
    assert len(group.tests) == 42
    assert [reason.name for reason in group.reasons] == ["acp/{scenario}/input.json"]


def test_test_and_its_guard_are_one_group(tmp_path: Path) -> None:
    logs = [Log(), Log()]
    for log, content in zip(logs, ("old", "new"), strict=True):
        item = log.file("acp/hello/input.json", content)
        log.test(LABEL, log.input_set([item]))
        log.test("//acp:acp_guard_test", log.input_set([item]))
    group = only_group(explained(tmp_path, *logs))
    assert group.tests == ("//acp:acp_guard_test", LABEL)
    assert [reason.name for reason in group.reasons] == ["acp/hello/input.json"]


def test_test_with_one_more_reason_is_a_group_of_its_own(tmp_path: Path) -> None:
    after = suite("new", lambda number: "new" if number == 7 else str(number))
    groups = explained(tmp_path, suite("old", str), after).groups
    assert [(len(group.tests), group.total) for group in groups] == [(41, 1), (1, 2)]
    assert [reason.name for reason in groups[1].reasons] == ["acp/case7/input.json", "agent/agent.py"]


def test_renamed_output_directory_is_one_reason(tmp_path: Path) -> None:
    before, after = Log(), Log()
    for log, name in ((before, "k8-fastbuild"), (after, "k8-opt")):
        item = log.file(f"bazel-out/{name}/bin/tool")
        env = {"RUNFILES_DIR": f"bazel-out/{name}/bin/hello_test.runfiles"}
        output = [{"invalid_output_path": f"bazel-out/{name}/testlogs/hello_test/test.log"}]
        log.test(LABEL, log.input_set([item]), env=env, outputs=output)
    reason = only_reason(explained(tmp_path, before, after))
    assert reason[:4] == (Kind.DIRECTORY, "bazel-out", "k8-fastbuild", "k8-opt")
    assert "--compilation_mode" in reason.fix


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"exit_code": 1}, {}, "the test failed there (exit code 1)"),
        ({"status": "TIMEOUT"}, {}, "the test failed there (TIMEOUT)"),
        ({"digest": None}, {}, "A stored nothing: it had no cache"),
        ({"cacheable": False, "digest": None}, {}, "A stored nothing: Bazel held the test not cacheable"),
        ({}, {"cacheable": False, "digest": None}, "Bazel holds the test not cacheable in this run"),
        ({}, {"remote_cacheable": False, "digest": None}, "kept out of it"),
        ({}, {"digest": None}, "B asked no cache"),
        ({}, {}, "the keys are equal: the cache had no entry"),
        ({}, {"digest": {"hash": "another"}}, "the keys differ in nothing that the logs hold"),
    ],
)
def test_equal_tests_are_explained_by_the_cache(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], said: str
) -> None:
    reason = only_reason(explained(tmp_path, one_test(**before), one_test(**after)))
    assert reason.kind is Kind.CACHE
    assert said in reason.name


def test_test_that_a_has_not_is_said_so(tmp_path: Path) -> None:
    after = one_test()
    after.test("//acp:new_test", after.input_set([after.file("x")]), cacheable=True)
    groups = explained(tmp_path, one_test("old"), after).groups
    assert "A has no action of this test" in [reason.name for group in groups for reason in group.reasons]


def test_coverage_is_one_reason(tmp_path: Path) -> None:
    coverage = {"COVERAGE_DIR": "dir", "COVERAGE_MANIFEST": "file", "IS_COVERAGE_SPAWN": "0"}
    reason = only_reason(explained(tmp_path, one_test(), one_test(env=coverage)))
    assert reason[:4] == (Kind.OPTION, "command", "test", "coverage")


def test_other_number_of_runs_is_said(tmp_path: Path) -> None:
    reason = only_reason(explained(tmp_path, one_test(), one_test(env={"TEST_RUN_NUMBER": "1"})))
    assert reason.name == "A has other shards or runs of this test"
    assert "--runs_per_test" in reason.fix


def test_shards_and_runs_are_tests_of_their_own(tmp_path: Path) -> None:
    logs = [Log(), Log()]
    for log, content in zip(logs, ("old", "new"), strict=True):
        for shard in "01":
            item = log.file("data", content if shard == "1" else "same")
            env = {"TEST_SHARD_INDEX": shard, "TEST_RUN_NUMBER": "2"}
            log.test(
                LABEL,
                log.input_set([item]),
                env=env,
                cache_hit=shard == "0" and content == "new",
                runner="disk cache hit",
            )
    explanation = explained(tmp_path, *logs)
    assert only_group(explanation).tests == (f"{LABEL} (shard 1, run 2)",)
    assert explanation.hits == {"disk cache hit": [f"{LABEL} (shard 0, run 2)"]}


def test_what_packs_the_xml_is_no_test(tmp_path: Path) -> None:
    after = one_test(cache_hit=True)
    after.spawn(
        LABEL, "TestRunner", after.input_set(), args=["external/bazel_tools/tools/test/generate-xml.sh"]
    )
    assert not explained(tmp_path, one_test(), after).groups


def test_secret_in_the_environment_is_not_shown(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "q7Zr9TfKx2LmW8vBnY4c" * 4
    reason = only_reason(explained(tmp_path, one_test(), one_test(env={"ANTHROPIC_API_KEY": key})))
    assert (reason.name, reason.after) == ("ANTHROPIC_API_KEY", '"(a secret, not shown)"')


def test_label_is_spelled_as_people_write_it(tmp_path: Path) -> None:
    # Bazel 7 writes each byte of a name as a character.
    log = Log()
    log.test(
        "//acp:größe_test".encode().decode("latin-1"),
        log.input_set([log.file("x")]),
        cache_hit=True,
        runner="hit",
    )
    assert explained(tmp_path, log, log).hits == {"hit": ["//acp:größe_test"]}


def test_log_of_another_bazel_is_read(tmp_path: Path) -> None:
    """Fields and kinds of entries that are not known are passed over, also where something names them."""
    logs = [one_test("old"), one_test("new")]
    for log in logs:
        unknown = log.add()
        entry = log.entries[-1]
        entry.MergeFromString(b"\xfa\x07\x03abc")
        log.test("//acp:other_test", log.input_set([unknown, log.file("y")]), cache_hit=True)
    assert only_group(explained(tmp_path, *logs)).tests == (LABEL,)

"""Tests of acp_replay_test and acp_replay_suite."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load(":manifests.bzl", "manifest_of", "runfiles_below")

_SUITE = "tests/rules/suite"

def _bundle_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    scenario = manifest["scenarios"][0]
    files = {name: "_main/{}/{}/{}".format(_SUITE, ctx.attr.directory, name) for name in ctx.attr.files}
    asserts.equals(env, 1, len(manifest["scenarios"]))
    asserts.equals(env, ctx.attr.directory, scenario["name"])
    asserts.equals(env, _SUITE + "/" + ctx.attr.directory, scenario["directory"])
    asserts.equals(env, files, scenario["files"])
    asserts.equals(env, ctx.attr.override, scenario["declares_override"])
    asserts.equals(env, ctx.attr.pins, scenario["pins"])
    asserts.equals(
        env,
        sorted(ctx.attr.files + ctx.attr.seed),
        runfiles_below(analysistest.target_under_test(env), _SUITE + "/" + ctx.attr.directory),
    )
    return analysistest.end(env)

_bundle_test = analysistest.make(_bundle_impl, attrs = {
    "directory": attr.string(),
    "files": attr.string_list(),
    "override": attr.bool(),
    "pins": attr.bool(),
    "seed": attr.string_list(),
})

def _manifest_is_whole_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, 1, manifest["version"])
    asserts.equals(env, "//tests/rules/suite:suite", manifest["suite"])
    asserts.equals(env, "//tests/rules/suite", manifest["commands"])
    asserts.equals(env, "_main", manifest["workspace_name"])
    asserts.equals(env, False, manifest["batched"])
    asserts.equals(env, "agent", manifest["agent"]["name"])
    asserts.equals(env, [{
        "pattern": "build [0-9]+",
        "placeholder": "{{build}}",
        "reason": "counts the builds of the day",
    }], manifest["rules"])
    asserts.equals(env, {
        "accepted_deviations": [{
            "method": "session/update",
            "path": "$.params.update",
            "reason": "since the first version",
        }],
        "floating": [{"kind": "available_commands_update", "reason": "sent when the plug-ins are ready"}],
        "ignored": [
            {
                "path": "$.params.update.rawOutput.took",
                "reason": "how long the disk took",
                "surface": "stdout",
            },
            {
                "kind": "out/a b.log",
                "path": "$.text",
                "reason": "holds the time",
                "surface": "workspace",
            },
        ],
        "wait_seconds": 7,
        "workspace_modes": "the agent makes scripts",
    }, manifest["options"])
    scenario = manifest["scenarios"][0]
    asserts.equals(env, "//tests/rules/suite:plain_test", scenario["label"])
    asserts.equals(env, _SUITE, scenario["package"])
    asserts.equals(env, {"sub/a.txt": "_main/tests/rules/suite/plain/workspace/sub/a.txt"}, scenario["workspace"])
    asserts.equals(env, {}, scenario["workspace_expected"])
    asserts.equals(env, "/var/tmp", scenario["cwd_parent"])
    return analysistest.end(env)

_manifest_is_whole_test = analysistest.make(_manifest_is_whole_impl)

def _expected_workspace_is_apart_impl(ctx):
    env = analysistest.begin(ctx)
    scenario = manifest_of(analysistest.target_actions(env))["scenarios"][0]
    asserts.equals(env, {}, scenario["workspace"])
    asserts.equals(
        env,
        "_main/tests/rules/suite/seeded/workspace.executable.txt",
        scenario["files"].get("workspace.executable.txt"),
    )
    asserts.equals(
        env,
        {
            "made.sh": "_main/tests/rules/suite/seeded/workspace.expected/made.sh",
            "made.txt": "_main/tests/rules/suite/seeded/workspace.expected/made.txt",
        },
        scenario["workspace_expected"],
    )
    return analysistest.end(env)

_expected_workspace_is_apart_test = analysistest.make(_expected_workspace_is_apart_impl)

def _test_starts_the_runner_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    runfiles = target[DefaultInfo].default_runfiles.files.to_list()
    asserts.equals(
        env,
        {"AGENT_REPLAY_MANIFEST": "_main/tests/rules/suite/dot.ted_test.manifest.json"},
        target[RunEnvironmentInfo].environment,
    )
    asserts.equals(env, [], target[RunEnvironmentInfo].inherited_environment)
    asserts.equals(env, "Symlink", [
        action.mnemonic
        for action in analysistest.target_actions(env)
        if target[DefaultInfo].files_to_run.executable in action.outputs.to_list()
    ][0].removeprefix("Executable"))
    paths = [file.short_path for file in runfiles]
    for needed in ["tests/rules/suite/dot.ted_test.manifest.json", "tests/rules/suite/agent.sh", "replay/runner/main.modules.bundle"]:
        asserts.true(env, needed in paths, needed + " is not among the runfiles")

    # Each file of the runner costs each test a link in its sandbox.
    asserts.equals(env, [
        "replay/runner/main",
        "replay/runner/main.modules.bundle",
    ], sorted([path for path in paths if path.startswith("replay/")]))
    return analysistest.end(env)

_test_starts_the_runner_test = analysistest.make(_test_starts_the_runner_impl)

def _batch_holds_every_scenario_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, True, manifest["batched"])
    asserts.equals(
        env,
        [("dot.ted", False), ("größe-日本", False), ("two words", False), ("with-override", True)],
        [(scenario["name"], scenario["declares_override"]) for scenario in manifest["scenarios"]],
    )
    asserts.equals(
        env,
        [["input.json", "stdout.expected.jsonl"]] * 3 +
        [["input.json", "replay.override.json", "session.jsonl", "stdout.expected.jsonl"]],
        [sorted(scenario["files"]) for scenario in manifest["scenarios"]],
    )
    return analysistest.end(env)

_batch_holds_every_scenario_test = analysistest.make(_batch_holds_every_scenario_impl)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    for text in ctx.attr.says:
        asserts.expect_failure(env, text)
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, expect_failure = True, attrs = {"says": attr.string_list()})

def replay_tests(name):
    """Tests of acp_replay_test and acp_replay_suite.

    Args:
      name: the name of the test_suite.
    """
    _bundle_test(
        name = "scenario_bundles_what_belongs_to_it_test",
        target_under_test = "//tests/rules/suite:plain_test",
        directory = "plain",
        files = ["input.json", "session.1.jsonl", "session.jsonl", "stdout.expected.jsonl"],
        seed = ["workspace/sub/a.txt"],
    )
    _bundle_test(
        name = "declared_override_is_bundled_test",
        target_under_test = "//tests/rules/suite:with-override_test",
        directory = "with-override",
        files = ["input.json", "replay.override.json", "session.jsonl", "stdout.expected.jsonl"],
        override = True,
    )
    _bundle_test(
        name = "undeclared_override_stays_out_test",
        target_under_test = "//tests/rules/suite:undeclared-override_test",
        directory = "undeclared-override",
        files = ["input.json", "stdout.expected.jsonl"],
    )
    _bundle_test(
        name = "single_scenario_with_override_test",
        target_under_test = "//tests/rules/suite:single",
        directory = "with-override",
        files = ["input.json", "replay.override.json", "session.jsonl", "stdout.expected.jsonl"],
        override = True,
    )
    _bundle_test(
        name = "missing_expected_file_keeps_its_target_test",
        target_under_test = "//tests/rules/suite:unexpected_test",
        directory = "unexpected",
        files = ["input.json"],
    )
    _bundle_test(
        name = "declared_scenario_without_files_keeps_its_target_test",
        target_under_test = "//tests/rules/suite:override-gone_test",
        directory = "override-gone",
        override = True,
    )
    _bundle_test(
        name = "directory_with_a_blank_test",
        target_under_test = "//tests/rules/suite:two_words_test",
        directory = "two words",
        files = ["input.json", "stdout.expected.jsonl"],
    )
    _bundle_test(
        name = "directory_with_a_dot_test",
        target_under_test = "//tests/rules/suite:dot.ted_test",
        directory = "dot.ted",
        files = ["input.json", "stdout.expected.jsonl"],
    )
    _bundle_test(
        name = "directory_beyond_ascii_test",
        target_under_test = "//tests/rules/suite:größe-日本_test",
        directory = "größe-日本",
        files = ["input.json", "stdout.expected.jsonl"],
        seed = ["workspace/日本/naïve ☕.txt"],
    )
    _manifest_is_whole_test(
        name = "manifest_is_whole_test",
        target_under_test = "//tests/rules/suite:plain_test",
    )
    _expected_workspace_is_apart_test(
        name = "expected_workspace_is_apart_test",
        target_under_test = "//tests/rules/suite:seeded_test",
    )
    _test_starts_the_runner_test(
        name = "test_starts_the_runner_test",
        target_under_test = "//tests/rules/suite:dot.ted_test",
    )
    _batch_holds_every_scenario_test(
        name = "batch_holds_every_scenario_test",
        target_under_test = "//tests/rules/suite:batched_batch_test",
    )
    _refused_test(
        name = "executable_as_agent_is_refused_test",
        target_under_test = "//tests/rules/suite:wrong_agent_executable",
        says = [
            "//tests/rules/suite:wrong_agent_executable: attribute \"agent\" needs a target of acp_agent",
            "got //tools/bytecode:compile, an executable that is not wrapped",
            "write acp_agent(name = \"compile_agent\", binary = \"//tools/bytecode:compile\")",
        ],
    )
    _refused_test(
        name = "file_as_agent_is_refused_test",
        target_under_test = "//tests/rules/suite:wrong_agent_file",
        says = ["got //tests/rules/suite:overlay.yaml, an executable that is not wrapped"],
    )
    _refused_test(
        name = "library_as_agent_is_refused_test",
        target_under_test = "//tests/rules/suite:wrong_agent_library",
        says = [
            "got //replay:replay, which is no executable",
            "write acp_agent(name = \"replay_agent\", binary = \"//label/of:the_executable\")",
        ],
    )
    _refused_test(
        name = "flaky_replay_is_refused_test",
        target_under_test = "//tests/rules/suite:flaky_replay",
        says = ["//tests/rules/suite:flaky_replay: attribute \"flaky\" is True", "remove it"],
    )
    _refused_test(
        name = "requests_that_nobody_sees_are_refused_test",
        target_under_test = "//tests/rules/suite:unseen_requests",
        says = [
            "//tests/rules/suite:unseen_requests: attribute \"surfaces\" has \"requests\", but //tests/rules/suite:agent replays in its own process",
            "give its acp_agent a model_api",
        ],
    )
    _refused_test(
        name = "unknown_surface_is_refused_test",
        target_under_test = "//tests/rules/suite:unknown_surface",
        says = ["attribute \"surfaces\" has \"screen\"", "write \"requests\" or \"workspace\""],
    )
    _refused_test(
        name = "unknown_surface_that_is_ignored_is_refused_test",
        target_under_test = "//tests/rules/suite:unknown_surface_ignored",
        says = [
            "//tests/rules/suite:unknown_surface_ignored: attribute \"options\" ignores $.pixels of \"screen\", which is no surface",
            "write \"requests\" or \"session\" or \"stdout\" or \"workspace\"",
        ],
    )
    native.test_suite(
        name = name,
        tests = [
            ":batch_holds_every_scenario_test",
            ":declared_override_is_bundled_test",
            ":declared_scenario_without_files_keeps_its_target_test",
            ":directory_beyond_ascii_test",
            ":directory_with_a_blank_test",
            ":directory_with_a_dot_test",
            ":executable_as_agent_is_refused_test",
            ":expected_workspace_is_apart_test",
            ":file_as_agent_is_refused_test",
            ":flaky_replay_is_refused_test",
            ":library_as_agent_is_refused_test",
            ":manifest_is_whole_test",
            ":missing_expected_file_keeps_its_target_test",
            ":requests_that_nobody_sees_are_refused_test",
            ":scenario_bundles_what_belongs_to_it_test",
            ":single_scenario_with_override_test",
            ":test_starts_the_runner_test",
            ":undeclared_override_stays_out_test",
            ":unknown_surface_is_refused_test",
            ":unknown_surface_that_is_ignored_is_refused_test",
        ],
    )

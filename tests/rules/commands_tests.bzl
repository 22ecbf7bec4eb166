"""Tests of replay_commands and of what suites collect for it."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load(":manifests.bzl", "manifest_of", "runfiles_below")

_SUITE = "tests/rules/suite"
_COMMANDS = ["accept", "new", "record", "refresh", "review"]

def _every_test_is_listed_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    manifest = manifest_of(analysistest.target_actions(env))
    prefix = "_main/{}/".format(_SUITE)
    name = target.label.name
    asserts.equals(env, "suites", manifest["kind"])
    asserts.equals(env, "//tests/rules/suite:" + name, manifest["label"])
    listed = [path.removeprefix(prefix).removesuffix(".manifest.json") for path in manifest["manifests"]]
    for test in ["plain_test", "override-gone_test", "two_words_test"]:
        asserts.true(env, test in listed, test + " is not listed")

    # Not the guard, nor what the platform does not fit.
    for test in ["suite_guard_test", "pinned_test"]:
        asserts.false(env, test in listed, test + " is listed")
    asserts.equals(env, ["batched_batch_test", "single"], listed[-2:])
    asserts.equals(
        env,
        {"AGENT_REPLAY_MANIFEST": prefix + name + ".manifest.json"},
        target[RunEnvironmentInfo].environment,
    )
    return analysistest.end(env)

_every_test_is_listed_test = analysistest.make(_every_test_is_listed_impl)

def _everything_named_is_bundled_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    bundled = runfiles_below(target, _SUITE)
    for path in [
        "agent.sh",
        "overlay.yaml",
        "plain/input.json",
        "plain/workspace/sub/a.txt",
        "plain_test.manifest.json",
        target.label.name + ".manifest.json",
        "with-override/replay.override.json",
    ]:
        asserts.true(env, path in bundled, path + " is not bundled")
    return analysistest.end(env)

_everything_named_is_bundled_test = analysistest.make(_everything_named_is_bundled_impl)

def _program_is_its_own_impl(ctx):
    env = analysistest.begin(ctx)
    links = [
        action
        for action in analysistest.target_actions(env)
        if action.mnemonic in ["Symlink", "ExecutableSymlink"]
    ]
    asserts.equals(env, 1, len(links))
    [program] = links[0].inputs.to_list()
    command = analysistest.target_under_test(env).label.name.removeprefix("all_")
    asserts.equals(env, "replay/runner/" + command, program.short_path)
    return analysistest.end(env)

_program_is_its_own_test = analysistest.make(_program_is_its_own_impl)

def commands_tests(name):
    """Tests of the commands.

    Args:
      name: of the test suite.
    """
    tests = []
    for command in _COMMANDS:
        subject = "//tests/rules/suite:all_" + command
        for what, make in [
            ("lists_every_test_test", _every_test_is_listed_test),
            ("bundles_everything_test", _everything_named_is_bundled_test),
            ("has_its_own_program_test", _program_is_its_own_test),
        ]:
            test = "{}_{}".format(command, what)
            make(name = test, target_under_test = subject)
            tests.append(":" + test)
    native.test_suite(
        name = name,
        tests = tests,
    )

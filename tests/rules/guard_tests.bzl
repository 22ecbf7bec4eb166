"""Tests of fixture_guard_test."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load(":manifests.bzl", "manifest_of")

_SCENARIOS = ["dot.ted", "größe-日本", "pinned", "plain", "seeded", "two words", "undeclared-override", "unexpected", "with-override"]

def _suite_guard_sees_the_whole_tree_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, 1, manifest["version"])
    asserts.equals(env, "guard", manifest["kind"])
    asserts.equals(env, "tests/rules/suite", manifest["package"])
    asserts.equals(env, "//tests/rules/suite:suite_guard_test", manifest["label"])
    asserts.equals(env, "//tests/rules/suite:suite", manifest["suite"])
    asserts.equals(env, "//tests/rules/suite", manifest["commands"])
    asserts.equals(env, _SCENARIOS + ["override-gone"], manifest["scenarios"])
    asserts.equals(env, ["with-override", "override-gone"], manifest["overrides"])
    asserts.equals(env, ["pinned"], manifest["pins"])
    asserts.equals(env, manifest["scenarios"], manifest["workspace_modes"])
    asserts.equals(env, ["nested"], manifest["subpackages"])
    asserts.equals(env, manifest["tree"], sorted(manifest["tree"]))
    for path in ["BUILD.bazel", "plain/", "plain/notes.txt", "plain/workspace/", "plain/workspace/sub/a.txt", "größe-日本/workspace/日本/naïve ☕.txt"]:
        asserts.true(env, path in manifest["tree"], path + " is not in the tree")
    asserts.false(env, "nested/" in manifest["tree"], "nested is another package")
    asserts.equals(env, [path for path in manifest["tree"] if not path.endswith("/")], sorted(manifest["files"]))
    asserts.equals(env, "_main/tests/rules/suite/plain/notes.txt", manifest["files"]["plain/notes.txt"])
    return analysistest.end(env)

_suite_guard_sees_the_whole_tree_test = analysistest.make(_suite_guard_sees_the_whole_tree_impl)

def _guard_alone_finds_the_scenarios_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, _SCENARIOS, manifest["scenarios"])
    asserts.equals(env, [], manifest["workspace_modes"])
    asserts.equals(env, ("//tests/rules/suite:guard_alone", "//"), (manifest["suite"], manifest["commands"]))
    return analysistest.end(env)

_guard_alone_finds_the_scenarios_test = analysistest.make(_guard_alone_finds_the_scenarios_impl)

def _flaky_guard_is_refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "//tests/rules/suite:flaky_guard: attribute \"flaky\" is True")
    return analysistest.end(env)

_flaky_guard_is_refused_test = analysistest.make(_flaky_guard_is_refused_impl, expect_failure = True)

def guard_tests(name):
    """Tests of fixture_guard_test.

    Args:
      name: the name of the test_suite.
    """
    _suite_guard_sees_the_whole_tree_test(
        name = "suite_guard_sees_the_whole_tree_test",
        target_under_test = "//tests/rules/suite:suite_guard_test",
    )
    _guard_alone_finds_the_scenarios_test(
        name = "guard_alone_finds_the_scenarios_test",
        target_under_test = "//tests/rules/suite:guard_alone",
    )
    _flaky_guard_is_refused_test(
        name = "flaky_guard_is_refused_test",
        target_under_test = "//tests/rules/suite:flaky_guard",
    )
    native.test_suite(
        name = name,
        tests = [
            ":flaky_guard_is_refused_test",
            ":guard_alone_finds_the_scenarios_test",
            ":suite_guard_sees_the_whole_tree_test",
        ],
    )

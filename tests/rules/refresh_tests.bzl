"""Tests of replay_refresh and of what suites collect for it."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load(":manifests.bzl", "manifest_of", "runfiles_below")

_SUITE = "tests/rules/suite"

def _every_test_is_listed_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    manifest = manifest_of(analysistest.target_actions(env))
    prefix = "_main/{}/".format(_SUITE)
    asserts.equals(env, "refresh", manifest["kind"])
    asserts.equals(env, "//tests/rules/suite:refresh", manifest["label"])
    listed = [path.removeprefix(prefix).removesuffix(".manifest.json") for path in manifest["manifests"]]
    for test in ["plain_test", "override-gone_test", "two_words_test"]:
        asserts.true(env, test in listed, test + " is not listed")

    # Not the guard, nor what the platform does not fit.
    for test in ["suite_guard_test", "pinned_test"]:
        asserts.false(env, test in listed, test + " is listed")
    asserts.equals(env, ["batched_batch_test", "single"], listed[-2:])
    asserts.equals(
        env,
        {"AGENT_REPLAY_MANIFEST": prefix + "refresh.manifest.json"},
        target[RunEnvironmentInfo].environment,
    )
    return analysistest.end(env)

_every_test_is_listed_test = analysistest.make(_every_test_is_listed_impl)

def _everything_named_is_bundled_impl(ctx):
    env = analysistest.begin(ctx)
    bundled = runfiles_below(analysistest.target_under_test(env), _SUITE)
    for path in [
        "agent.sh",
        "overlay.yaml",
        "plain/input.json",
        "plain/workspace/sub/a.txt",
        "plain_test.manifest.json",
        "refresh.manifest.json",
        "with-override/replay.override.json",
    ]:
        asserts.true(env, path in bundled, path + " is not bundled")
    return analysistest.end(env)

_everything_named_is_bundled_test = analysistest.make(_everything_named_is_bundled_impl)

def refresh_tests(name):
    """Tests of the command.

    Args:
      name: of the test suite.
    """
    _every_test_is_listed_test(
        name = "every_test_is_listed_test",
        target_under_test = "//tests/rules/suite:refresh",
    )
    _everything_named_is_bundled_test(
        name = "everything_named_is_bundled_test",
        target_under_test = "//tests/rules/suite:refresh",
    )
    native.test_suite(
        name = name,
        tests = [
            ":every_test_is_listed_test",
            ":everything_named_is_bundled_test",
        ],
    )

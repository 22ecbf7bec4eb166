"""Tests of what npm_install demands of a lock file."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")

# buildifier: disable=bzl-visibility
load("//rules/private:npm.bzl", "lock_problem")

_PACKAGE = {"dependencies": {"a": "1.0.0"}}

def _lock(entry):
    return {"packages": {"": _PACKAGE, "node_modules/a": entry}}

def _lock_pins_all_that_it_installs_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, "", lock_problem(_PACKAGE, _lock({"integrity": "sha512-x", "version": "1.0.0"})))
    asserts.equals(env, "", lock_problem(_PACKAGE, _lock({"inBundle": True})))
    asserts.equals(
        env,
        "node_modules/a has no \"integrity\", so its content is not pinned",
        lock_problem(_PACKAGE, _lock({"version": "1.0.0"})),
    )
    asserts.equals(
        env,
        "it locks other dependencies than package.json names",
        lock_problem({"dependencies": {"a": "1.0.1"}}, _lock({"integrity": "sha512-x"})),
    )
    asserts.equals(
        env,
        "it has no \"packages\", so it is no lock file of version 2 or 3",
        lock_problem(_PACKAGE, {"dependencies": {}, "lockfileVersion": 1}),
    )
    return unittest.end(env)

_lock_pins_all_that_it_installs_test = unittest.make(_lock_pins_all_that_it_installs_impl)

def npm_tests(name):
    """Tests of npm_install that fetch nothing.

    Args:
      name: the name of the test_suite.
    """
    unittest.suite(name, _lock_pins_all_that_it_installs_test)

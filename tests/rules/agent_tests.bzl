"""Tests of acp_agent."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "ReplayAgentInfo")

_OVERLAY = "_main/tests/rules/suite/overlay.yaml"

def _agent_describes_its_start_impl(ctx):
    env = analysistest.begin(ctx)
    entry = analysistest.target_under_test(env)[ReplayAgentInfo].entry
    asserts.equals(env, {
        "name": "agent",
        "binary": "_main/tests/rules/suite/agent.sh",
        "args": ["--config", "{runfiles}/" + _OVERLAY, "--root={runfiles}/" + _OVERLAY],
        "env": {"CONFIG": "{runfiles}/" + _OVERLAY},
        "replay_args": ["--overlay={overlay}"],
        "replay_env": {"MODE": "replay"},
        "overlay": _OVERLAY,
        "home": {".agent/config.yaml": _OVERLAY},
        "live_api": "openai_chat",
        "live_args": ["--live={runfiles}/" + _OVERLAY],
        "live_env": {"URL": "{gateway_url}"},
        "session_log": "self",
        "model_api": "",
    }, entry)
    return analysistest.end(env)

_agent_describes_its_start_test = analysistest.make(_agent_describes_its_start_impl)

def _agent_brings_its_files_impl(ctx):
    env = analysistest.begin(ctx)
    files = analysistest.target_under_test(env)[ReplayAgentInfo].runfiles.files.to_list()
    asserts.equals(env, ["agent.sh", "overlay.yaml"], sorted([file.basename for file in files]))
    return analysistest.end(env)

_agent_brings_its_files_test = analysistest.make(_agent_brings_its_files_impl)

def _gateway_without_api_is_refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "//tests/rules/suite:agent_without_api: attribute \"model_api\" is empty")
    asserts.expect_failure(env, "write model_api = \"openai_chat\"")
    return analysistest.end(env)

_gateway_without_api_is_refused_test = analysistest.make(_gateway_without_api_is_refused_impl, expect_failure = True)

def _path_outside_the_home_is_refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "//tests/rules/suite:agent_outside_its_home: attribute \"home\" has the path \"../elsewhere.yaml\"")
    return analysistest.end(env)

_path_outside_the_home_is_refused_test = analysistest.make(_path_outside_the_home_is_refused_impl, expect_failure = True)

def agent_tests(name):
    """Tests of acp_agent.

    Args:
      name: the name of the test_suite.
    """
    _agent_describes_its_start_test(
        name = "agent_describes_its_start_test",
        target_under_test = "//tests/rules/suite:agent",
    )
    _agent_brings_its_files_test(
        name = "agent_brings_its_files_test",
        target_under_test = "//tests/rules/suite:agent",
    )
    _gateway_without_api_is_refused_test(
        name = "gateway_without_api_is_refused_test",
        target_under_test = "//tests/rules/suite:agent_without_api",
    )
    _path_outside_the_home_is_refused_test(
        name = "path_outside_the_home_is_refused_test",
        target_under_test = "//tests/rules/suite:agent_outside_its_home",
    )
    native.test_suite(
        name = name,
        tests = [
            ":agent_brings_its_files_test",
            ":agent_describes_its_start_test",
            ":gateway_without_api_is_refused_test",
            ":path_outside_the_home_is_refused_test",
        ],
    )

"""Tests of trace_regression_test, trace_snapshot_test and their guard."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("//rules/private:trace_layout.bzl", "is_live", "trace_place")  # buildifier: disable=bzl-visibility
load(":manifests.bzl", "manifest_of")

_PACKAGE = "tests/rules/trace"

def _manifest_is_whole_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    traces = manifest.pop("traces")
    asserts.equals(env, {
        name: "_main/{}/{}".format(_PACKAGE, name)
        for name in ["traces/one-apple.json", "traces/pear-and-plum.json", "traces/three.json", "traces/twice.json"]
    }, traces)
    asserts.equals(env, {
        "version": 1,
        "kind": "trace",
        "label": "//tests/rules/trace:exact_test",
        "directory": _PACKAGE,
        "agent": {
            "name": "agent",
            "binary": "_main/tests/rules/trace/agent",
            "args": [],
            "env": {},
            "channel": "stdio",
            "inherited": [],
            "model_api": "",
            "upstream": "",
        },
        "strategy": "exact",
        "model": "",
        "tools": "",
        "unknown": "",
        "runs": 0,
        "suite": "",
        "threshold": None,
        "previous": "",
        "parts": [],
        "meaning": [],
        "jobs": 1,
        "all_runs": False,
        "run_seconds": 60,
        "exit_seconds": 5,
        "snapshots": {},
        "workspace": {},
    }, manifest)
    return analysistest.end(env)

_manifest_is_whole_test = analysistest.make(_manifest_is_whole_impl)

def _parts_are_in_the_manifest_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, [
        "_main/tests/rules/trace/parts_test.part_0",
        "_main/tests/rules/trace/parts_test.part_1",
    ], manifest["parts"])
    return analysistest.end(env)

_parts_are_in_the_manifest_test = analysistest.make(_parts_are_in_the_manifest_impl)

def _part_is_an_action_without_network_impl(ctx):
    env = analysistest.begin(ctx)
    [action] = [action for action in analysistest.target_actions(env) if action.mnemonic == "TraceReplay"]
    asserts.equals(env, "--slice=1/2", action.argv[-1])
    asserts.equals(env, {"AGENT_REPLAY_MANIFEST": "_main/tests/rules/trace/parts_test.replay.manifest.json"}, action.env)
    return analysistest.end(env)

_part_is_an_action_without_network_test = analysistest.make(_part_is_an_action_without_network_impl)

def _live_is_what_may_leave_the_recording_impl(ctx):
    env = unittest.begin(ctx)
    asserts.false(env, is_live("exact", "", "", ""))
    asserts.false(env, is_live("snapshot", "", "", ""))
    asserts.true(env, is_live("snapshot", "live", "", ""))
    asserts.true(env, is_live("mock_tools", "", "", ""))
    asserts.false(env, is_live("mock_tools", "served", "", ""))
    asserts.true(env, is_live("mock_tools", "served", "", "live"))
    asserts.true(env, is_live("full", "", "", ""))
    asserts.true(env, is_live("full", "served", "served", ""))
    asserts.false(env, is_live("full", "served", "served", "fail"))
    return unittest.end(env)

_live_is_what_may_leave_the_recording_test = unittest.make(_live_is_what_may_leave_the_recording_impl)

def _files_have_places_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, ("traces", "traces/a.json"), trace_place("traces/a.json"))
    asserts.equals(env, ("traces", "traces/blobs/00"), trace_place("traces/blobs/00"))
    asserts.equals(env, ("snapshots", "snapshots/a/b.json"), trace_place("snapshots/a/b.json"))
    asserts.equals(env, ("workspace", "src/a.txt"), trace_place("workspace/src/a.txt"))
    asserts.equals(env, (None, None), trace_place("suite.json"))
    return unittest.end(env)

_files_have_places_test = unittest.make(_files_have_places_impl)

def trace_tests(name):
    """Makes all of them.

    Args:
      name: the name of the test_suite.
    """
    _manifest_is_whole_test(
        name = "trace_manifest_is_whole_test",
        target_under_test = "//tests/rules/trace:exact_test",
    )
    _parts_are_in_the_manifest_test(
        name = "trace_parts_are_in_the_manifest_test",
        target_under_test = "//tests/rules/trace:parts_test",
    )
    _part_is_an_action_without_network_test(
        name = "trace_part_is_an_action_without_network_test",
        target_under_test = "//tests/rules/trace:parts_test.part_1",
    )
    unittest.suite(
        name + "_units",
        _live_is_what_may_leave_the_recording_test,
        _files_have_places_test,
    )
    native.test_suite(
        name = name,
        tests = [
            ":trace_manifest_is_whole_test",
            ":trace_part_is_an_action_without_network_test",
            ":trace_parts_are_in_the_manifest_test",
            ":{}_units".format(name),
        ],
    )

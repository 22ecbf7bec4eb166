"""Tests of transport_replay_test, transport_replay_suite and their guard."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("//rules/private:layout.bzl", "files_below")  # buildifier: disable=bzl-visibility
load("//rules/private:transport_layout.bzl", "split_expected", "split_transcript", "transport_files", "transport_variants")  # buildifier: disable=bzl-visibility
load(":manifests.bzl", "manifest_of", "runfiles_below")

_PACKAGE = "tests/rules/transport"

def _files(directory, names):
    return {name: "_main/{}/{}/{}".format(_PACKAGE, directory, name) for name in names}

def _manifest_is_whole_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    settings = "{runfiles}/_main/tests/rules/transport/settings.json"
    scenarios = manifest.pop("scenarios")
    asserts.equals(env, {
        "version": 1,
        "kind": "transport",
        "suite": "//tests/rules/transport:transport",
        "commands": "//tests/rules/transport",
        "subject": {
            "name": "subject.sh",
            "binary": "_main/tests/rules/transport/subject.sh",
            "args": ["--settings=" + settings],
            "env": {"SETTINGS": settings},
        },
        "interleave": "recorded",
        "max_orders": 64,
        "order_surfaces": ["projection"],
        "real_time": False,
        "exit_seconds": 5,
    }, manifest)
    asserts.equals(env, [{
        "name": "simple/codex",
        "label": "//tests/rules/transport:simple_codex_test",
        "package": _PACKAGE,
        "directory": _PACKAGE + "/simple",
        "variant": "codex",
        "files": _files("simple", [
            "codex.events.expected.jsonl",
            "codex.projection.expected.json",
            "codex.transcript.ndjson",
            "notes.txt",
            "scenario.py",
        ]),
        "workspace": {"src/a.txt": "_main/tests/rules/transport/simple/workspace/src/a.txt"},
        "transcripts": {"codex": "codex.transcript.ndjson"},
        "expected": {
            "events.jsonl": "codex.events.expected.jsonl",
            "projection.json": "codex.projection.expected.json",
        },
    }], scenarios)
    return analysistest.end(env)

_manifest_is_whole_test = analysistest.make(_manifest_is_whole_impl)

def _variant_of_several_providers_impl(ctx):
    env = analysistest.begin(ctx)
    [scenario] = manifest_of(analysistest.target_actions(env))["scenarios"]
    asserts.equals(env, "both/pair", scenario["name"])
    asserts.equals(
        env,
        {"claude": "pair.claude.transcript.ndjson", "codex": "pair.codex.transcript.ndjson"},
        scenario["transcripts"],
    )
    return analysistest.end(env)

_variant_of_several_providers_test = analysistest.make(_variant_of_several_providers_impl)

def _scenario_attributes_win_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, ("all", 5, ["projection"]), (manifest["interleave"], manifest["max_orders"], manifest["order_surfaces"]))
    return analysistest.end(env)

_scenario_attributes_win_test = analysistest.make(_scenario_attributes_win_impl)

def _test_alone_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    [scenario] = manifest["scenarios"]
    asserts.equals(env, ("//tests/rules/transport:alone", "//"), (manifest["suite"], manifest["commands"]))
    asserts.equals(env, (True, 9), (manifest["real_time"], manifest["exit_seconds"]))
    asserts.equals(env, ("simple/codex", _PACKAGE + "/simple", "codex"), (scenario["name"], scenario["directory"], scenario["variant"]))
    asserts.equals(env, ["codex.projection.expected.json", "codex.transcript.ndjson", "scenario.py"], sorted(scenario["files"]))
    return analysistest.end(env)

_test_alone_test = analysistest.make(_test_alone_impl)

def _bundle_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    bundled = runfiles_below(target, _PACKAGE)
    for path in [
        "settings.json",
        "simple/codex.transcript.ndjson",
        "simple/workspace/src/a.txt",
        "simple_codex_test.manifest.json",
        "subject.sh",
    ]:
        asserts.true(env, path in bundled, path + " is not bundled")

    # Of another test, and what only a recording reads.
    for path in ["simple/acp.transcript.ndjson", "simple/codex.session.jsonl", "simple/codex.record.json"]:
        asserts.false(env, path in bundled, path + " is bundled")
    runfiles = [file.short_path for file in target[DefaultInfo].default_runfiles.files.to_list()]
    asserts.true(env, "replay/runner/transport.modules.bundle" in runfiles, "the runner is not among the runfiles")
    asserts.equals(
        env,
        {"AGENT_REPLAY_MANIFEST": "_main/tests/rules/transport/simple_codex_test.manifest.json"},
        target[RunEnvironmentInfo].environment,
    )
    return analysistest.end(env)

_bundle_test = analysistest.make(_bundle_impl)

def _guard_sees_the_whole_tree_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    asserts.equals(env, "transport_guard", manifest["kind"])
    asserts.equals(env, ["acp", "claude", "codex"], manifest["providers"])
    asserts.equals(env, {"both": {"acp": "it knows one provider"}}, manifest["inexpressible"])
    asserts.equals(env, ["projection.json"], manifest["surfaces"])
    asserts.equals(env, "//tests/rules/transport", manifest["commands"])
    asserts.equals(env, ["nested"], manifest["subpackages"])
    for path in ["cannot/", "cannot/scenario.py", "simple/codex.session.jsonl", "simple/notes.txt", "simple/workspace/src/a.txt"]:
        asserts.true(env, path in manifest["tree"], path + " is not in the tree")
    asserts.equals(env, [path for path in manifest["tree"] if not path.endswith("/")], sorted(manifest["files"]))
    return analysistest.end(env)

_guard_sees_the_whole_tree_test = analysistest.make(_guard_sees_the_whole_tree_impl)

def _commands_list_the_tests_impl(ctx):
    env = analysistest.begin(ctx)
    manifest = manifest_of(analysistest.target_actions(env))
    prefix = "_main/{}/".format(_PACKAGE)
    asserts.equals(
        env,
        ["both_pair_test", "simple_acp_test", "simple_codex_test", "alone"],
        [path.removeprefix(prefix).removesuffix(".manifest.json") for path in manifest["manifests"]],
    )
    return analysistest.end(env)

_commands_list_the_tests_test = analysistest.make(_commands_list_the_tests_impl)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "//tests/rules/transport:flaky_play: attribute \"flaky\" is True")
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, expect_failure = True)

def _names_impl(ctx):
    env = unittest.begin(ctx)
    for name, expected in {
        "codex.transcript.ndjson": ("codex", "codex"),
        "pair.codex.transcript.ndjson": ("pair", "codex"),
        "a.b.c.transcript.ndjson": None,
        ".transcript.ndjson": None,
        "sub/codex.transcript.ndjson": None,
        "codex.transcript.jsonl": None,
    }.items():
        asserts.equals(env, expected, split_transcript(name), name)
    for name, expected in {
        "codex.projection.expected.json": ("codex", "projection.json"),
        "codex.events.expected.jsonl": ("codex", "events.jsonl"),
        "projection.expected.json": None,
        "codex..expected.json": None,
        "codex.a.b.expected.json": None,
    }.items():
        asserts.equals(env, expected, split_expected(name), name)
    paths = ["b/x.transcript.ndjson", "b/x.y.transcript.ndjson", "b/z.events.expected.jsonl", "top.transcript.ndjson", "b/__pycache__/a.pyc", "b/a.py"]
    asserts.equals(env, [("b", "x")], transport_variants(paths))
    asserts.equals(env, ["b/x.transcript.ndjson", "b/x.y.transcript.ndjson", "b/a.py"], transport_files(files_below(paths)["b"], "b", "x"))
    return unittest.end(env)

_names_test = unittest.make(_names_impl)

def transport_tests(name):
    """Tests of transport_replay_test, transport_replay_suite and their guard.

    Args:
      name: the name of the test_suite.
    """
    subject = "//tests/rules/transport:"
    tests = {
        "transport_manifest_is_whole_test": (_manifest_is_whole_test, "simple_codex_test"),
        "transport_variant_of_several_providers_test": (_variant_of_several_providers_test, "both_pair_test"),
        "transport_scenario_attributes_win_test": (_scenario_attributes_win_test, "simple_acp_test"),
        "transport_test_alone_test": (_test_alone_test, "alone"),
        "transport_test_bundles_what_belongs_to_it_test": (_bundle_test, "simple_codex_test"),
        "transport_guard_sees_the_whole_tree_test": (_guard_sees_the_whole_tree_test, "transport_guard_test"),
        "transport_commands_list_the_tests_test": (_commands_list_the_tests_test, "some_refresh"),
        "flaky_transport_is_refused_test": (_refused_test, "flaky_play"),
    }
    for test, (make, target) in tests.items():
        make(name = test, target_under_test = subject + target)
    _names_test(name = "transport_names_test")
    native.test_suite(
        name = name,
        tests = [":" + test for test in tests.keys() + ["transport_names_test"]],
    )

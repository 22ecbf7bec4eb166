"""Tests of the names of files, scenarios and targets."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")

# buildifier: disable=bzl-visibility
load("//rules/private:layout.bzl", "can_be_label", "files_below", "place", "scenario_files", "scenario_names", "target_name")

# buildifier: disable=bzl-visibility
load("//rules/private:replay_suite.bzl", "naming_problem")

_PATHS = [
    "BUILD.bazel",
    "a/input.json",
    "a/notes.txt",
    "a/old/session.jsonl",
    "a/replay.override.json",
    "a/session.1.jsonl",
    "a/session.jsonl",
    "a/stdout.expected.jsonl",
    "a/system-prompt.expected.md",
    "a/tool-schemas.expected.json",
    "a/workspace.executable.txt",
    "a/workspace.expected/b.txt",
    "a/workspace.seed.json",
    "a/workspace/input.json",
    "ab/input.json",
    "input.json",
]

def _only_direct_subdirectories_are_scenarios_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, ["a", "ab"], scenario_names(_PATHS))
    return unittest.end(env)

_only_direct_subdirectories_are_scenarios_test = unittest.make(_only_direct_subdirectories_are_scenarios_impl)

def _scenario_takes_only_what_it_declares_impl(ctx):
    env = unittest.begin(ctx)
    always = ["input.json", "session.1.jsonl", "session.jsonl", "stdout.expected.jsonl", "workspace.seed.json"]
    seed = ["workspace.expected/b.txt", "workspace/input.json"]
    pins = ["system-prompt.expected.md", "tool-schemas.expected.json"]
    for override, pinned, modes in [(False, False, False), (True, False, False), (False, True, False), (False, False, True), (True, True, True)]:
        own = (["replay.override.json"] if override else []) + (pins if pinned else []) + (["workspace.executable.txt"] if modes else [])
        asserts.equals(
            env,
            sorted(["a/" + name for name in always + seed + own]),
            scenario_files(files_below(_PATHS)["a"], "a", override, pinned, modes),
        )
    asserts.equals(env, ["a", "ab"], files_below(_PATHS).keys())
    asserts.equals(env, [], scenario_files([], "gone", True, True, True))
    return unittest.end(env)

_scenario_takes_only_what_it_declares_test = unittest.make(_scenario_takes_only_what_it_declares_impl)

def _files_have_their_place_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, ("files", "session.1.jsonl"), place("session.1.jsonl"))
    asserts.equals(env, ("workspace", "src/a.c"), place("workspace/src/a.c"))
    asserts.equals(env, ("workspace_expected", "src/a.c"), place("workspace.expected/src/a.c"))
    asserts.equals(env, ("files", "workspace.executable.txt"), place("workspace.executable.txt"))
    return unittest.end(env)

_files_have_their_place_test = unittest.make(_files_have_their_place_impl)

def _target_names_pass_the_shell_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, "text-turn_test", target_name("text-turn"))
    asserts.equals(env, "v1.2_test", target_name("v1.2"))
    asserts.equals(env, "two_words_test", target_name("two words"))
    asserts.equals(env, "it_s__HOME_test", target_name("it's $HOME"))
    asserts.equals(env, "größe-日本_test", target_name("größe-日本"))
    return unittest.end(env)

_target_names_pass_the_shell_test = unittest.make(_target_names_pass_the_shell_impl)

def _colon_and_backslash_are_no_label_impl(ctx):
    env = unittest.begin(ctx)
    for path in ["a b/c", "@x/y", "-x", "it's (a) $HOME", "größe-日本/input.json"]:
        asserts.true(env, can_be_label(path), path)
    for path in ["a:b/input.json", "a\\b"]:
        asserts.false(env, can_be_label(path), path)
    return unittest.end(env)

_colon_and_backslash_are_no_label_test = unittest.make(_colon_and_backslash_are_no_label_impl)

def _name_that_cannot_be_used_is_explained_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, "", naming_problem(["a", "b c"], ["a_test", "b_c_test", "s_guard_test"]))
    for name in ["a/b", "a:b", "a\\b", "", "..", "."]:
        asserts.true(env, "no subdirectory that Bazel can name" in naming_problem([name], []), name)
    asserts.equals(
        env,
        "two targets would be called \"b_c_test\"; rename one of the scenario directories",
        naming_problem(["b c", "b_c"], ["b_c_test", "b_c_test"]),
    )
    asserts.equals(
        env,
        "directory \"a_test\" has the name of a target of this suite; rename the directory",
        naming_problem(["a", "a_test"], ["a_test", "a_test_test"]),
    )
    return unittest.end(env)

_name_that_cannot_be_used_is_explained_test = unittest.make(_name_that_cannot_be_used_is_explained_impl)

def layout_tests(name):
    """Tests of the names of files, scenarios and targets.

    Args:
      name: the name of the test_suite.
    """
    _colon_and_backslash_are_no_label_test(name = "colon_and_backslash_are_no_label_test")
    _files_have_their_place_test(name = "files_have_their_place_test")
    _name_that_cannot_be_used_is_explained_test(name = "name_that_cannot_be_used_is_explained_test")
    _only_direct_subdirectories_are_scenarios_test(name = "only_direct_subdirectories_are_scenarios_test")
    _scenario_takes_only_what_it_declares_test(name = "scenario_takes_only_what_it_declares_test")
    _target_names_pass_the_shell_test(name = "target_names_pass_the_shell_test")
    native.test_suite(
        name = name,
        tests = [
            ":colon_and_backslash_are_no_label_test",
            ":files_have_their_place_test",
            ":name_that_cannot_be_used_is_explained_test",
            ":only_direct_subdirectories_are_scenarios_test",
            ":scenario_takes_only_what_it_declares_test",
            ":target_names_pass_the_shell_test",
        ],
    )

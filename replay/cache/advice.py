"""What a person can do about a difference, by what differs. Names and meanings are those of Bazel's documentation."""

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["COVERAGE_FIX", "input_fix", "is_silent_option", "option_fix", "variable_fix"]

_SHARE: Final = "put it in the .bazelrc that both read, or leave it out of both"
_BY_NAME: Final[Mapping[str, str]] = {
    "PATH": "--incompatible_strict_action_env pins it; else it is the PATH of the shell (--action_env=PATH, --test_env=PATH)",
    "TEST_TIMEOUT": f"it comes from --test_timeout, or from timeout and size of the target; {_SHARE}",
    "TEST_SIZE": "it comes from size of the target: look at its BUILD file",
    "TEST_TMPDIR": f"it comes from --test_tmpdir; {_SHARE}",
    "TEST_TOTAL_SHARDS": "it comes from shard_count of the target, or --test_sharding_strategy",
    "TEST_SHARD_STATUS_FILE": "it comes from shard_count of the target, or --test_sharding_strategy",
    "TEST_RUN_NUMBER": f"it comes from --runs_per_test; {_SHARE}",
    "TEST_RANDOM_SEED": "it comes from --runs_per_test: every run has another one",
    "TESTBRIDGE_TEST_ONLY": f"it comes from --test_filter, which is for people: a filtered run shares no result; {_SHARE}",
    "TESTBRIDGE_TEST_RUNNER_FAIL_FAST": f"it comes from --test_runner_fail_fast; {_SHARE}",
    "TEST_UNDECLARED_OUTPUTS_ZIP": f"it comes from --zip_undeclared_test_outputs; {_SHARE}",
    "EXPERIMENTAL_SPLIT_XML_GENERATION": f"it comes from --experimental_split_xml_generation; {_SHARE}",
    "RUNFILES_MANIFEST_ONLY": f"it comes from --enable_runfiles; {_SHARE}",
    "TZ": "Bazel sets TZ=UTC; it was set by --test_env or by env of the target",
}
COVERAGE_FIX: Final = "one of the two was bazel coverage: its results are not those of bazel test"
_FROM_SHELL: Final = frozenset(
    ("HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "HOSTNAME", "LANG", "LC_ALL")
)
_STATUS: Final = re.compile(r"bazel-out/(stable|volatile)-status\.txt")
_EXTERNAL: Final = re.compile(r"external/([^/]+)/|bazel-out/[^/]+/bin/external/([^/]+)/")
# Effects that no key of a test has in it; Bazel says of each option which it has.
_SILENT: Final = frozenset(
    (
        "NO_OP",
        "TERMINAL_OUTPUT",
        "BAZEL_MONITORING",
        "HOST_MACHINE_RESOURCE_OPTIMIZATIONS",
        "EAGERNESS_TO_EXIT",
    )
)
# Options that Bazel tags with more than they do, as far as a test's key goes: where it writes and whom it tells.
_SILENT_NAMES: Final = re.compile(
    r"(build_event|execution_log|experimental_execution_log|bes_|disk_cache|remote_|experimental_remote_|grpc_|google_|tls_"
    r"|profile|jobs|flaky_test_attempts|spawn_strategy|strategy|genrule_strategy|sandbox_|build_runfile_|worker_|local_|isatty|terminal_columns|announce_rc|cache_test_results"
    r"|symlink_prefix|experimental_convenience|show_|color|curses|progress|ui_|test_output|test_summary|test_tag_filters"
    r"|test_size_filters|build_tests_only|keep_going|verbose_|lockfile_mode|repository_cache|invocation_id"
    r"|build_request_id|build_metadata|tool_tag|test_keep_going|attempt_to_print|print_relative)"
)
_LOUD: Final = frozenset(("remote_default_exec_properties", "remote_default_platform_properties"))
_OPTIONS: Final[Mapping[str, str]] = {
    "compilation_mode": f"it renames the output directory and with it every path; {_SHARE}",
    "test_filter": "it is for people: a filtered run shares no result with a whole one",
    "remote_default_exec_properties": f"it is part of every action's key; {_SHARE}",
    "remote_default_platform_properties": f"it is part of every action's key; {_SHARE}",
    "stamp": "a stamped binary differs with every commit: --nostamp for tests",
}


def variable_fix(name: str) -> str:
    """What sets an environment variable of a test, and where to make it the same."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in _FROM_SHELL:
        return f"it is the shell's: take --test_env={name} and --action_env={name} away, or give it one value, --test_env={name}=…"
    if name.startswith(("TEST_", "RUNFILES_", "JAVA_RUNFILES", "PYTHON_RUNFILES", "XML_OUTPUT_FILE")):
        return "Bazel sets it by the target's name and the version of Bazel: look at both (.bazelversion)"
    return f"it comes from --test_env={name}, --action_env={name} or env of the target; {_SHARE}"


def option_fix(name: str) -> str:
    """What to do about an option of the command line that differs."""
    return _OPTIONS.get(name, _SHARE)


def is_silent_option(name: str, effects: frozenset[str]) -> bool:
    """True for an option that is in no key of a test: how Bazel shows, reports, stores and schedules."""
    if name in _LOUD:
        return False
    return (bool(effects) and effects <= _SILENT) or _SILENT_NAMES.match(name) is not None


def input_fix(path: str, before: str, after: str) -> str:
    """What to do about an input that differs, by where it comes from."""
    external = _EXTERNAL.match(path)
    repository = (external[1] or external[2]) if external else ""
    if _STATUS.match(path):
        return "it is the workspace status, which a stamped action reads: --nostamp, or take stamp off the target"
    if repository.startswith("bazel_tools"):
        return "it comes with Bazel: run the same version of it in both (.bazelversion)"
    if path.endswith("/_repo_mapping"):
        return "it lists the repositories that the target can see: compare MODULE.bazel and its lock file"
    if repository:
        return f"it is of the external repository {repository}: pin its version by hash, and fetch it the same way in both"
    if path.startswith("(runfiles)/") or ".runfiles/" in path:
        return "it is in the runfiles tree of the target: compare its BUILD file, and the flags that lay out runfiles"
    if path.endswith("_test.manifest.json"):
        return "it holds what the BUILD files say of the test and its agent: compare args, env, options and suites there"
    if path.startswith("bazel-out/"):
        return (
            "no process that the logs know of made it: Bazel wrote it by a BUILD file, a rule or a flag,"
            " or its own caches answered; compare those"
        )
    if not before or not after:
        return "a glob or a list of sources takes it in on one side only: git status, and .gitignore, on that side"
    return "a source file: the two runs were of different contents; for one commit compare git status and line endings"

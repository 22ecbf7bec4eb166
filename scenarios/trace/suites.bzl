"""desk_suite: the tests of one agent at the help desk, a target a strategy."""

load("//rules:defs.bzl", "trace_guard_test", "trace_regression_test", "trace_snapshot_test")

_SCRIPTED = "the model is a script of the agent's, and its tools work on files of its own directory"
_MEANING = ["@agent_replay_meaning_pip//wordllama"]

def desk_suite(name, agent):
    """Declares exact_test, mock_tools_test, snapshot_test, full_test, semantic_test, consensus_test and the guard.

    Args:
      name: of the guard.
      agent: label of the agent.
    """
    traces = native.glob(["traces/**"])
    shared = {
        "agent": agent,
        "channel": "socket",
        "size": "medium",
        "suite": "suite.json",
        "traces": traces,
    }
    trace_regression_test(
        name = "exact_test",
        **shared
    )
    trace_regression_test(
        name = "mock_tools_test",
        hermetic_live = _SCRIPTED,
        strategy = "mock_tools",
        **shared
    )
    trace_regression_test(
        name = "full_test",
        hermetic_live = _SCRIPTED,
        strategy = "full",
        **shared
    )
    trace_regression_test(
        name = "semantic_test",
        hermetic_live = _SCRIPTED,
        meaning = _MEANING,
        strategy = "semantic",
        **shared
    )
    trace_regression_test(
        name = "consensus_test",
        hermetic_live = _SCRIPTED,
        meaning = _MEANING,
        runs = 3,
        strategy = "consensus",
        **shared
    )

    # Served tools change nothing, so that only real ones can leave a wrong state.
    trace_snapshot_test(
        name = "snapshot_test",
        hermetic_live = _SCRIPTED,
        snapshots = native.glob(["snapshots/**"]),
        tools = "live",
        **shared
    )
    trace_guard_test(
        name = name,
        record = "//{}:full_test.record".format(native.package_name()),
    )
    native.filegroup(
        name = "suite",
        srcs = traces + native.glob(["snapshots/**"]) + [
            "changes.json",
            "suite.json",
        ],
        visibility = [
            "//scenarios/trace:__pkg__",
            "//tests/trace:__pkg__",
            "//tests/trace_scenarios:__pkg__",
        ],
    )

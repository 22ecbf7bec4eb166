"""What the files of a trace suite are called, and what its strategies make live. The same as replay/trace/strategies.py."""

SUITE = "suite.json"
TRACES = "traces/"
SNAPSHOTS = "snapshots/"
WORKSPACE = "workspace/"

# Strategy to what is "live" or "served": the model, the tools, and a tool call that the trace does not hold.
STRATEGIES = {
    "consensus": ("live", "served", "nearest"),
    "exact": ("served", "served", "fail"),
    "full": ("live", "live", "live"),
    "mock_tools": ("live", "served", "fail"),
    "semantic": ("live", "served", "nearest"),
    "snapshot": ("served", "served", "fail"),
}
SOURCES = ["", "live", "served"]
UNKNOWN = ["", "fail", "live", "nearest"]

# Of a test whose model or tools are live: it runs only where somebody asks for it by name, and its result is nobody
# else's.
LIVE_TAGS = ["external", "manual", "no-cache", "no-remote", "no-remote-cache", "requires-network"]

def is_live(strategy, model, tools, unknown):
    """Whether anything of a strategy may leave the recording.

    Args:
      strategy: its name.
      model: "live", "served", or "" for what the strategy says.
      tools: the same for tools.
      unknown: the policy for unknown calls, or "" for what the strategy says.

    Returns:
      a bool.
    """
    said = STRATEGIES[strategy]
    return "live" in [own or default for own, default in zip([model, tools, unknown], said)]

def trace_place(path):
    """Where a file stands in the manifest of a trace test.

    Args:
      path: relative to the package.

    Returns:
      the manifest's key ("traces", "snapshots" or "workspace") and the name below it; (None, None) for no file of a suite.
    """
    if path.startswith(TRACES):
        return "traces", path
    if path.startswith(SNAPSHOTS):
        return "snapshots", path
    if path.startswith(WORKSPACE):
        return "workspace", path[len(WORKSPACE):]
    return None, None

"""A Python function as an agent: `python -m replay.trace.entry package.module:function`.

The function takes a session and gives the agent back (agent.py). What the agent says of itself, it says by attributes of
the module: AGENT_VERSION, MODEL_VERSION, TOOL_VERSIONS, TOOLS, STATES, and
MANY_RUNS, which is False where a process takes only one run.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from replay.errors import ReplayError, UsageError
from replay.trace.agent import serve

__all__ = ["main", "play_entry"]


def main(arguments: Sequence[str]) -> int:
    """Play the runs of the function that the only argument names. The process's exit code."""
    try:
        if len(arguments) != 1:
            raise UsageError("an entry is one argument", fix="write package.module:function")
        return play_entry(arguments[0])
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code


def play_entry(entry: str) -> int:
    """Raises UsageError for what is no function."""
    module_name, colon, name = entry.partition(":")
    if not colon or not name:
        raise UsageError(f'"{entry}" names no function', fix="write package.module:function")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(f'there is no module "{module_name}"', fix="add it to deps of the agent") from None
    make_agent = getattr(module, name, None)
    if not callable(make_agent):
        raise UsageError(f'"{module_name}" has no function "{name}"')
    return serve(
        make_agent,
        os.environ,
        many=getattr(module, "MANY_RUNS", True),
        agent_version=getattr(module, "AGENT_VERSION", ""),
        model_version=getattr(module, "MODEL_VERSION", ""),
        tool_versions=getattr(module, "TOOL_VERSIONS", None),
        tools=getattr(module, "TOOLS", None),
        states=getattr(module, "STATES", ()),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

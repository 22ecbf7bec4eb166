"""What importing the replay path costs, group by group: `imports NAME…`, or `imports --list`.

The names are those of the standard library's modules that the path needs besides what orjson brings, as --list prints
them; they are imported before the rooms, so that each room is charged with its own modules only. Prints one line of
JSON, group -> milliseconds of CPU; the first group is all that was spent before this file's first line.
"""

import time

_BEFORE = time.process_time()

import sys  # noqa: E402

GROUPS = {
    "replay.session": ["replay.errors", "replay.session"],
    "replay.script": ["replay.script"],
    "replay.acp": ["replay.acp"],
    "replay.surface": ["replay.surface"],
    "replay.scenario": ["replay.scenario.load"],
    "replay.runner": [
        "replay.runner.main",
        "replay.runner.junit",
        "replay.runner.mode",
        "replay.runner.pipeline",
    ],
    "replay.proto": ["replay.proto.result_wire"],
}
GATEWAY = {"h11": ["h11"], "replay.models.gateway": ["replay.models.gateway", "replay.models.openai_chat"]}
INTERPRETER = "launcher, interpreter, bundle"
ORJSON = "orjson, which imports dataclasses and inspect"
STANDARD_LIBRARY = "the rest of the standard library"


def cost_of(modules: list[str]) -> float:
    """Milliseconds of CPU to import modules. One that is missing costs nothing, as it would in a run."""
    start = time.process_time()
    for module in modules:
        __import__(module)
    return (time.process_time() - start) * 1000


def main() -> int:
    """Print the list or the costs."""
    arguments = sys.argv[1:]
    at_orjson = cost_of(["orjson"])
    known = set(sys.modules)
    if arguments == ["--list"]:
        for modules in GROUPS.values():
            cost_of(modules)
        print(
            *sorted(
                name for name in set(sys.modules) - known if name.partition(".")[0] in sys.stdlib_module_names
            )
        )
        return 0
    costs = {INTERPRETER: _BEFORE * 1000, ORJSON: at_orjson, STANDARD_LIBRARY: cost_of(arguments)}
    costs |= {group: cost_of(modules) for group, modules in (GROUPS | GATEWAY).items()}
    # Whoever measures imports json before the others would be charged with it.
    import json

    print("costs:", json.dumps(costs))
    return 0

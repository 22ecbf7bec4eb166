"""What the scenarios hold to import, and what every imported trace is."""

from pathlib import Path

from replay.trace.codec import read_trace, write_trace

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "acp"
LOGS = sorted(SCENARIOS.glob("*/session*.jsonl"))
RUNS = sorted(SCENARIOS.glob("*/stdout.expected.jsonl"))


def is_sound(trace):
    return read_trace(write_trace(trace), "t.json") == trace


def in_short(trace):
    return [
        (step.step_type, step.tool_name or (step.response if step.reasoning is None else step.reasoning))
        for step in trace.steps
    ]

"""A trace: what one run of an agent did, step by step, and what is needed to let it happen again. Pure.

    reasoning      one model call: what was sent (`messages`, `tools`) and what came back (`response`, and of it the
                   text in `reasoning`)
    tool_call      one call of a tool, its input and its output together
    observation    what reached the agent without its asking: `tool_name` says from where, `tool_output` is it
    final_answer   the end of the run, at most once and last; `response` is the answer, and no model was asked for it

Steps stand in the order in which they began; one that began inside another names it in `parent_id`. Absent and null
are two things for `tool_input`, `tool_output` and `response`: ABSENT was not recorded, None was null. For every other
member None is absent. Values are JSON; nobody changes them after they are in a trace.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from replay.surface.values import ABSENT, Absent

__all__ = [
    "ABSENT",
    "NOTHING",
    "SCHEMA",
    "STEP_TYPES",
    "STREAMS",
    "Absent",
    "AgentStep",
    "AgentTrace",
    "BlobRef",
    "StepError",
]

SCHEMA = 1
STEP_TYPES = ("reasoning", "tool_call", "observation", "final_answer")
STREAMS = ("complete", "closed")
NOTHING: Mapping[str, Any] = {}


class BlobRef(NamedTuple):
    """A value that lies beside its trace and was not fetched. `is_json`: JSON of a value, else the text itself."""

    digest: str
    size_bytes: int
    is_json: bool = False


class StepError(NamedTuple):
    """An exception that left the call. `type` is "module.QualName", without the module for Python's own.

    "Unfinished": the run was over before the call was. `extra` holds members that this version does not know.
    """

    type: str
    message: str = ""
    extra: Mapping[str, Any] = NOTHING


class AgentStep(NamedTuple):
    """One step. Times are milliseconds, `timestamp` since the start of the trace.

    stream: "" for a value that came at once; "complete" or "closed" (the agent stopped reading) where `response` or
    `tool_output` is the list of the pieces that were read. options: what else a model was called with. env_state_*: state by the name of its provider.
    The order of the members is that of the file.
    """

    step_id: str
    step_type: str
    timestamp: float = 0
    parent_id: str = ""
    model_name: str = ""
    temperature: float | None = None
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None
    options: Mapping[str, Any] | None = None
    reasoning: str | None = None
    response: Any = ABSENT
    model_duration_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tool_name: str = ""
    tool_call_id: str = ""
    tool_input: Any = ABSENT
    tool_output: Any = ABSENT
    tool_duration_ms: float | None = None
    stream: str = ""
    env_state_before: Mapping[str, Any] | None = None
    env_state_after: Mapping[str, Any] | None = None
    error: StepError | None = None
    extra: Mapping[str, Any] = NOTHING


class AgentTrace(NamedTuple):
    """One run. `inputs` are further named arguments of the run beside its task.

    metadata: "category" is what suites group by, "started_at" milliseconds since 1970, "provenance" where the trace
    comes from; all are optional. success is None where nobody judged. The members stand in the order of the file, but
    for the steps, which are its end.
    """

    trace_id: str
    task: str
    steps: tuple[AgentStep, ...] = ()
    inputs: Mapping[str, Any] = NOTHING
    metadata: Mapping[str, Any] = NOTHING
    agent_version: str = ""
    model_version: str = ""
    tool_versions: Mapping[str, str] = NOTHING
    environment: Mapping[str, Any] = NOTHING
    success: bool | None = None
    final_answer: Any = None
    total_duration_ms: float | None = None
    total_tokens: int | None = None
    extra: Mapping[str, Any] = NOTHING

    @property
    def category(self) -> str:
        """What suites group by, "" where the trace has none."""
        category = self.metadata.get("category", "")
        return category if isinstance(category, str) else ""

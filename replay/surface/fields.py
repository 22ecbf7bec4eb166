"""Which fields hold what differs between two runs of the same thing.

Rows of (field names, what they hold, placeholder, reason). A field that holds an id is renamed as a whole, however
short the id; a field that holds a time, a duration or a process id loses its value and keeps its place.
Fields that name a choice (`optionId`, `modeId`, `modelId`, `methodId`) are absent on purpose: a changed choice is a
change of behaviour.
"""

from typing import Final, NamedTuple

__all__ = ["FIELD_RULES", "MAYBE_ID", "FieldRule", "field_kinds", "field_placeholders"]

MAYBE_ID: Final = "maybe-id"
"""The kind of the bare `id`, which holds an id in one place and the name of a choice in the next."""


class FieldRule(NamedTuple):
    """A row of the table. `kind` is `sessionId`, `id`, MAYBE_ID or `value`."""

    fields: tuple[str, ...]
    kind: str
    placeholder: str
    reason: str


FIELD_RULES: Final = (
    FieldRule(
        ("sessionId", "session_id", "sessionID", "parentSession", "parentSessionId", "parent_session_id",
         "childSession", "childSessionId", "child_session_id"),
        "sessionId", "", "each run makes its sessions anew",
    ),
    FieldRule(
        ("toolCallId", "tool_call_id", "toolCallID", "callId", "call_id", "callID", "messageId", "message_id",
         "messageID", "requestId", "request_id", "requestID", "terminalId", "terminal_id", "turnId", "turn_id",
         "threadId", "thread_id", "runId", "run_id", "eventId", "event_id", "itemId", "item_id", "taskId", "task_id",
         "agentId", "agent_id", "childId", "child_id", "parentId", "parent_id", "responseId", "response_id",
         "elicitationId", "elicitation_id", "retryId", "retry_id", "traceId", "trace_id", "spanId", "span_id",
         "promptId", "prompt_id", "installationId", "installation_id", "prompt_cache_key", "promptCacheKey"),
        "id", "", "minted by the agent, a clock or a random source",
    ),
    FieldRule(("id",), MAYBE_ID, "", "an id where it looks minted, else the name of a choice"),
    FieldRule(
        ("pid", "ppid", "pgid", "processId", "process_id", "processGroupId", "process_group_id"),
        "value", "{{pid}}", "the kernel's choice",
    ),
    FieldRule(
        ("createdAt", "created_at", "updatedAt", "updated_at", "startedAt", "started_at", "endedAt", "ended_at",
         "completedAt", "completed_at", "started_at_ms", "completed_at_ms", "finishedAt", "finished_at", "expiresAt", "expires_at", "timestamp",
         "timestampMs", "timestamp_ms", "startTime", "start_time", "endTime", "end_time", "mtime", "ctime", "atime"),
        "value", "{{time}}", "the clock of the run",
    ),
    FieldRule(
        ("durationMs", "duration_ms", "durationSeconds", "duration_seconds", "duration", "elapsed", "elapsedMs",
         "elapsed_ms", "elapsedSeconds", "elapsed_seconds", "latencyMs", "latency_ms", "tookMs", "took_ms",
         "wallTimeMs", "wall_time_ms"),
        "value", "{{duration}}", "how fast the machine was",
    ),
)  # fmt: skip


def field_kinds() -> dict[str, str]:
    """Field name -> kind, for the fields that hold ids."""
    return {name: rule.kind for rule in FIELD_RULES if rule.kind != "value" for name in rule.fields}


def field_placeholders() -> dict[str, str]:
    """Field name -> placeholder, for the fields whose value goes."""
    return {name: rule.placeholder for rule in FIELD_RULES if rule.kind == "value" for name in rule.fields}

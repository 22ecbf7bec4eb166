"""A trace out of an ACP run: the frames an agent wrote (`stdout.expected.jsonl`), or those of both sides. Pure.

ACP does not show model calls. What the agent says or thinks between two other events is one reasoning step, with text and
without messages; a tool call, with all its updates, is one step, named by its kind, since ACP has no names of tools; its
title is an unknown member of the step. Prompts come from client frames, or from the scenario's input.json; after the
first they are observations. Plans, modes, permissions are no steps; metadata["left_out"] counts them.
"""

from typing import Any

import orjson

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.trace.codec import parse_document
from replay.trace.importers.steps import as_name, assembled, joined_text
from replay.trace.jsonable import bounded
from replay.trace.limits import MAX_SPANS
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError

__all__ = ["import_acp_run"]

_TEXTS = {"agent_message_chunk": "said", "agent_thought_chunk": "thought"}
_PROMPT_OPS = ("prompt", "promptContent", "promptExpectError", "promptAndCancel")
_STOPPED = {"cancelled": "Cancelled", "refusal": "Refusal"}
_MAX_FILE_BYTES = 256 << 20


def import_acp_run(
    frames: bytes, place: str, input_json: bytes | None = None, *, trace_id: str = "", category: str = ""
) -> AgentTrace:
    """The trace of one run. trace_id: by default the session's id. Raises FixtureError with file, line, JSON path."""
    reading = _Reading(place, [] if input_json is None else _prompts(input_json, "input.json"))
    if len(frames) > _MAX_FILE_BYTES:
        raise FixtureError(f"has {len(frames)} bytes, {_MAX_FILE_BYTES} are allowed", Location(place))
    lines = [(number, line) for number, line in enumerate(frames.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise FixtureError("holds no frames", Location(place))
    if len(lines) > MAX_SPANS:
        raise FixtureError(f"has {len(lines)} frames, {MAX_SPANS} are allowed", Location(place))
    for number, line in lines:
        try:
            frame = parse_document(line, place)
        except FixtureError as error:
            error.where = error.where._replace(line=number)
            raise
        if not isinstance(frame, dict):
            raise FixtureError(f"must be a JSON-RPC frame, not {shown(frame)}", Location(place, number))
        reading.take(frame, number)
    return reading.trace(trace_id, category)


def _prompts(data: bytes, place: str) -> list[Any]:
    document = parse_document(data, place)
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(steps, list):
        raise FixtureError('must be an object with a list of "steps"', Location(place, 0, "$.steps"))
    found = [step for step in steps if isinstance(step, dict) and step.get("op") in _PROMPT_OPS]
    return [step.get("text", step.get("content", step.get("prompt", ""))) for step in found]


class _Reading:
    """One run, frame by frame."""

    def __init__(self, place: str, prompts: list[Any]) -> None:
        self._place = place
        self._line = 0
        self._prompts = prompts
        self._task: str | None = None
        self._steps: list[AgentStep] = []
        self._tools: dict[tuple[str, str], int] = {}
        self._pieces: dict[str, list[str]] = {"said": [], "thought": []}
        self._asked: dict[str, str] = {}
        self._left_out: dict[str, int] = {}
        self._agent: dict[str, Any] = {}
        self._session = ""
        self._error: StepError | None = None
        self._has_ended = False

    def take(self, frame: dict[str, Any], line: int) -> None:
        """One frame more."""
        self._line = line
        method, params = frame.get("method"), frame.get("params")
        if method is not None and not isinstance(params, dict | None):
            raise self._wrong(f"must be an object, not {shown(params)}", "$.params")
        if method == "session/prompt":
            self._asked[_id(frame)] = "session/prompt"
            self._hear(params.get("prompt") if params else None)
        elif method == "session/update":
            self._update(params or {})
        elif isinstance(method, str):
            self._count(method)
            if "id" in frame:
                self._asked[_id(frame)] = method
        else:
            self._answered(frame)

    def trace(self, trace_id: str, category: str) -> AgentTrace:
        """All of it."""
        self._say()
        said = [step.reasoning for step in self._steps if step.step_type == "reasoning"]
        provenance = {"kind": "imported", "from": "acp run", "session": self._session}
        metadata: dict[str, Any] = {"category": category} if category else {}
        metadata["provenance"] = provenance
        if self._left_out:
            metadata["left_out"] = dict(sorted(self._left_out.items()))
        version = self._agent.get("version")
        if self._task is None:
            self._next_prompt()
        return assembled(
            trace_id or as_name(self._session, "acp"), self._task or "", self._steps,
            said[-1] if said and self._error is None and self._has_ended else None, self._error, None, metadata,
            agent_version=as_name(version),
        )  # fmt: skip

    def _wrong(self, what: str, path: str) -> FixtureError:
        return FixtureError(what, Location(self._place, self._line, path))

    def _hear(self, prompt: Any) -> None:
        self._say()
        text = joined_text(prompt)
        if self._task is None:
            self._task = text
        else:
            self._steps.append(
                AgentStep("", "observation", tool_name="user", tool_output=text or bounded(prompt))
            )

    def _next_prompt(self) -> None:
        """Of a run whose client frames are not there: its prompts stand in input.json."""
        if self._prompts and "session/prompt" not in self._asked.values():
            self._hear(self._prompts.pop(0))

    def _update(self, params: dict[str, Any]) -> None:
        update = params.get("update")
        if not isinstance(update, dict):
            raise self._wrong(f"must be an object, not {shown(update)}", "$.params.update")
        kind = update.get("sessionUpdate")
        if not isinstance(kind, str):
            raise self._wrong(
                f"must name the kind of update, not {shown(kind)}", "$.params.update.sessionUpdate"
            )
        if kind in _TEXTS:
            self._started()
            self._pieces[_TEXTS[kind]].append(joined_text(update.get("content")))
        elif kind in ("tool_call", "tool_call_update"):
            self._started()
            self._tool(str(params.get("sessionId")), update)
        else:
            self._count(kind)

    def _started(self) -> None:
        if self._task is None or self._has_ended:
            self._next_prompt()
        self._has_ended = False

    def _say(self) -> None:
        """What was said and thought until now is a step."""
        said, thought = "".join(self._pieces["said"]), "".join(self._pieces["thought"])
        if said or thought:
            extra = {"thought": thought} if thought else {}
            self._steps.append(AgentStep("", "reasoning", reasoning=said, extra=extra))
        self._pieces = {"said": [], "thought": []}

    def _tool(self, session: str, update: dict[str, Any]) -> None:
        call_id = update.get("toolCallId")
        if not isinstance(call_id, str) or not call_id:
            raise self._wrong(f"must be the id of a call, not {shown(call_id)}", "$.params.update.toolCallId")
        key = (session, call_id)
        if key not in self._tools:
            self._say()
            self._tools[key] = len(self._steps)
            self._steps.append(AgentStep("", "tool_call", tool_name="other", tool_call_id=as_name(call_id)))
        at = self._tools[key]
        self._steps[at] = _updated(self._steps[at], update)

    def _answered(self, frame: dict[str, Any]) -> None:
        result, error = frame.get("result"), frame.get("error")
        if "result" not in frame and "error" not in frame:
            raise self._wrong("is neither a request nor a response", "$")
        if isinstance(error, dict):
            self._say()
            message = error.get("message")
            self._error = StepError(
                as_name(f"acp.{error.get('code')}", "acp"), message if isinstance(message, str) else ""
            )
        elif isinstance(result, dict):
            session, agent = result.get("sessionId"), result.get("agentInfo")
            self._session = self._session or as_name(session)
            self._agent = agent if isinstance(agent, dict) else self._agent
            if isinstance(result.get("stopReason"), str):
                self._stopped(result["stopReason"])

    def _stopped(self, reason: str) -> None:
        self._started()
        self._say()
        self._has_ended = True
        self._error = StepError(_STOPPED[reason], f"the turn ended: {reason}") if reason in _STOPPED else None

    def _count(self, kind: str) -> None:
        kind = as_name(kind, "?")
        self._left_out[kind] = self._left_out.get(kind, 0) + 1


def _id(frame: dict[str, Any]) -> str:
    return orjson.dumps(frame.get("id")).decode()


def _updated(step: AgentStep, update: dict[str, Any]) -> AgentStep:
    """The step of a tool call with what an update says of it."""
    kind, title, status = update.get("kind"), update.get("title"), update.get("status")
    step = step._replace(tool_name=as_name(kind, step.tool_name))
    if isinstance(title, str):
        step = step._replace(extra={**step.extra, "title": title})
    if update.get("rawInput") is not None:
        step = step._replace(tool_input=bounded(update["rawInput"]))
    output = _output(update)
    if output is not ABSENT:
        step = step._replace(tool_output=output)
    if status == "failed":
        text = step.tool_output if isinstance(step.tool_output, str) else ""
        step = step._replace(error=StepError("ToolError", text))
    return step


def _output(update: dict[str, Any]) -> Any:
    content = update.get("content")
    if isinstance(content, list) and content:
        is_text = all(
            isinstance(one, dict) and one.get("type") == "content" and isinstance(one.get("content"), dict)
            and one["content"].get("type") == "text"
            for one in content
        )  # fmt: skip
        return joined_text([one["content"] for one in content]) if is_text else bounded(content)
    return bounded(update["rawOutput"]) if update.get("rawOutput") is not None else ABSENT

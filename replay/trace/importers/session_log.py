"""A trace out of a session log (design 4.1), the product's own or a gateway's. Pure.

Each model call is a step, its messages the conversation as the log had it when the call began; a tool/call and its
tool/result are one step; what the user says after the first prompt is an observation, and so is what somebody put beside
it. A log holds no judgement: success is false where the last turn ended in an error, else unknown. Where rows have no
time, steps have none either: all are 0.
"""

from typing import Any

from replay.script.conversation import answer_of
from replay.script.derive import derive_lanes
from replay.script.entry import Call, Hang, Throw, Unfinished
from replay.session import Row, SessionLog, count_events, read_log
from replay.trace.importers.steps import arguments_of, as_name, as_number, assembled, joined_text
from replay.trace.jsonable import bounded
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError
from replay.trace.said import usage_of

__all__ = ["import_session_log"]


def import_session_log(data: bytes, place: str, *, category: str = "") -> AgentTrace:
    """The trace of one log; a child session is a log, and so a trace, of its own. Raises FixtureError."""
    log = read_log(data, place)
    [lane] = derive_lanes([log])
    reading = _Reading(log, {call.line: call for call in lane.calls})
    inherited = log.header.seed_length
    for row in log.rows:
        if inherited > 0:
            # Of a fork: said before it began, and none of its doing.
            inherited -= count_events(row)
            reading.inherit(row)
        else:
            reading.take(row)
    return reading.trace(category)


class _Reading:
    """One log, row by row."""

    def __init__(self, log: SessionLog, calls: dict[int, Call]) -> None:
        self._log = log
        self._calls = calls
        self._steps: list[AgentStep] = []
        self._said: list[Any] = []
        self._answers: dict[tuple[int, int], Any] = {}
        self._tools: dict[str, int] = {}
        self._open: dict[tuple[int, int], int] = {}
        self._header: dict[str, Any] = {}
        self._task: str | None = None
        self._error: StepError | None = None
        self._first: int | None = None
        self._now = 0

    def take(self, row: Row) -> None:
        """One row more."""
        time = row.fields.get("time", row.fields.get("time0"))
        if type(time) is int:
            self._first = time if self._first is None else self._first
            self._now = max(self._now, time - self._first)
        if row.line in self._calls:
            self._settle()
            self._begin(self._calls[row.line])
        match row.type:
            case "request/header":
                self._read_header(row.data)
            case "user/message" | "system/message":
                self._settle()
                self._hear(row.type.partition("/")[0], row.data)
            case "request/messages":
                self._answers.clear()
                start, messages = row.data.get("from"), row.data.get("messages")
                if type(start) is int and isinstance(messages, list):
                    self._said = [*self._said[:start], *map(bounded, messages)]
            case "assistant/message":
                self._answers.pop((row.data["turn"], row.data["step"]), None)
                if row.data["message"].get("content"):
                    self._said.append(_message(row.data["message"]))
            case "call/end":
                self._end((row.data["turn"], row.data["step"]))
            case "tool/call":
                self._settle()
                self._tools[row.data["callId"]] = len(self._steps)
                self._steps.append(
                    AgentStep(
                        "", "tool_call", self._now, tool_name=as_name(row.data["name"], "?"), tool_call_id=as_name(row.data["callId"]),
                        tool_input=arguments_of(row.data["arguments"]),
                    )
                )  # fmt: skip
            case "tool/result":
                self._settle()
                self._return(row.data["message"])
            case "turn/end":
                self._settle()
                self._error = _turn_error(row.data.get("reason"))

    def inherit(self, row: Row) -> None:
        """One row of the conversation that the session began with."""
        match row.type:
            case "request/header":
                self._read_header(row.data)
            case "user/message" | "system/message":
                self._said.append({"role": row.type.partition("/")[0], **_message(row.data)})
            case "assistant/message" | "tool/result":
                self._said.append(_message(row.data["message"]))

    def trace(self, category: str) -> AgentTrace:
        """All of it."""
        self._settle()
        header = self._log.header
        provenance: dict[str, Any] = {"kind": "imported", "from": "session log", "session": header.id}
        if header.parent_session:
            provenance["parent_session"] = header.parent_session
        if isinstance(header.fields.get("provenance"), dict):
            provenance["log"] = bounded(header.fields["provenance"])
        answers = [step for step in self._steps if step.step_type == "reasoning" and step.error is None]
        answer = answers[-1].reasoning if answers and self._error is None else None
        start = {"started_at": self._first} if self._first is not None and self._first >= 0 else {}
        metadata = {**({"category": category} if category else {}), **start, "provenance": provenance}
        end = self._now if self._first is not None else None
        return assembled(
            as_name(header.id, "session"), self._task or "", self._steps, answer, self._error, end, metadata
        )

    def _read_header(self, data: dict[str, Any]) -> None:
        header = data.get("header")
        self._header = header if isinstance(header, dict) else {}

    def _begin(self, call: Call) -> None:
        chunks = list(call.entry.expand())
        answer = answer_of(chunks)
        finish = [chunk["reason"] for chunk in chunks if chunk["type"] == "finish"]
        usages = [usage_of(chunk["usage"]) for chunk in chunks if chunk["type"] == "usage"]
        config = self._header.get("config")
        config = dict(config) if isinstance(config, dict) else {}
        model, temperature = config.pop("model", ""), config.pop("temperature", None)
        system, tools = self._header.get("system"), self._header.get("tools")
        messages = [{"role": "system", "content": bounded(system)}] if system else []
        text = joined_text([block for block in answer["content"] if block["type"] == "text"])
        entry = call.entry
        self._open[call.turn, call.step] = len(self._steps)
        self._answers[call.turn, call.step] = answer
        self._steps.append(
            AgentStep(
                "", "reasoning", self._now,
                model_name=as_name(model),
                temperature=as_number(temperature),
                messages=[*messages, *self._said],
                tools=bounded(tools) if isinstance(tools, list) else None,
                options=bounded(config) or None,
                reasoning=text,
                response=bounded({**answer, "finish": finish[-1]} if finish else answer) if chunks else ABSENT,
                prompt_tokens=usages[-1].prompt_tokens if usages else None,
                completion_tokens=usages[-1].completion_tokens if usages else None,
                error=_call_error(entry),
            )
        )  # fmt: skip
        if self._steps[-1].error is not None:
            del self._answers[call.turn, call.step]

    def _end(self, key: tuple[int, int]) -> None:
        at = self._open.pop(key, None)
        if at is not None and self._first is not None:
            step = self._steps[at]
            self._steps[at] = step._replace(model_duration_ms=self._now - step.timestamp)

    def _settle(self) -> None:
        # An answer came back as it was streamed, unless an assistant/message said otherwise.
        for answer in self._answers.values():
            if answer["content"]:
                self._said.append(_message(answer))
        self._answers.clear()

    def _hear(self, role: str, data: dict[str, Any]) -> None:
        self._said.append({"role": role, **_message(data)})
        source = data.get("source")
        kind = source.get("kind") if isinstance(source, dict) else None
        text = joined_text(data.get("content"))
        if role == "user" and self._task is None and kind != "plugin":
            self._task = text
        else:
            output = text or bounded(data.get("content"))
            self._steps.append(
                AgentStep("", "observation", self._now, tool_name=as_name(kind, role), tool_output=output)
            )

    def _return(self, message: dict[str, Any]) -> None:
        self._said.append(_message(message))
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        for block in blocks:
            at = self._tools.pop(str(block.get("toolCallId")), None)
            if at is None:
                continue
            step = self._steps[at]
            inner = block.get("content")
            is_text = isinstance(inner, list) and all(
                isinstance(one, dict) and one.get("type") == "text" for one in inner
            )
            output = joined_text(inner) if is_text else bounded(inner)
            self._steps[at] = step._replace(
                tool_output=output,
                error=StepError("ToolError", joined_text(inner)) if block.get("isError") is True else None,
                tool_duration_ms=None if self._first is None else self._now - step.timestamp,
            )


def _message(data: dict[str, Any]) -> dict[str, Any]:
    """What of a message goes to a model."""
    message: dict[str, Any] = bounded(
        {key: value for key, value in data.items() if key not in ("source", "id")}
    )
    return message


def _call_error(entry: Any) -> StepError | None:
    if isinstance(entry, Throw):
        return StepError(as_name(entry.code, "ModelError"), entry.message)
    if isinstance(entry, Hang):
        return StepError("Cancelled", "the call was cancelled")
    return (
        StepError("Unfinished", "the log ends before the call does")
        if isinstance(entry, Unfinished)
        else None
    )


def _turn_error(reason: Any) -> StepError | None:
    kind = reason.get("kind") if isinstance(reason, dict) else None
    if kind != "error":
        return None
    error = reason.get("error")
    said = error if isinstance(error, dict) else {}
    code, message = said.get("code"), said.get("message")
    return StepError(
        as_name(code, "TurnError"),
        message if isinstance(message, str) else "",
    )

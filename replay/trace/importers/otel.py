"""Traces out of OpenTelemetry's GenAI spans: one for each trace id that has a model call or a tool call. Pure.

    chat, text_completion, generate_content     a model call
    execute_tool                                a tool call
    create_agent, invoke_agent, …               no step: what is inside it belongs to the step around it, if there is one
    other GenAI operations                      no step; metadata["left_out"] counts them

Content is read where instrumentations have put it over the years (otel_content.py). Where a tool's span does not hold its
input or output, those of the messages with the same call id stand for it. Steps are in the order of their times, and a
parent before its children, whatever clocks said. A span whose parent is not there has none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from replay.errors import FixtureError, Location
from replay.trace.importers.otel_content import Content, content_of, input_text
from replay.trace.importers.otlp import Event, Span, read_export
from replay.trace.importers.steps import arguments_of, as_name, as_number, assembled, joined_text
from replay.trace.jsonable import bounded
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError

__all__ = ["import_otel"]

_MODEL_OPERATIONS = frozenset(("chat", "text_completion", "generate_content", "completion"))
_TOOL_OPERATION = "execute_tool"
_AGENT_OPERATIONS = frozenset(("create_agent", "invoke_agent", "invoke_workflow"))
_ERROR = 2
_REQUEST = "gen_ai.request."
_PROMPT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_COMPLETION_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")

type Spans = Mapping[str, Span]


def import_otel(data: bytes, place: str, *, category: str = "") -> list[AgentTrace]:
    """The traces of an export, by their start. Raises FixtureError with file, line and JSON path."""
    export = read_export(data, place)
    found = [
        (min(span.start_ns for span in spans.values()), _Trace(spans, export.logs).trace(category))
        for spans in export.spans.values()
        if any(_kind(span) for span in spans.values())
    ]
    if not found:
        what = "holds no model call and no tool call: no span has a gen_ai.operation.name that is one"
        raise FixtureError(what, Location(place))
    return [trace for _, trace in sorted(found, key=lambda each: (each[0], each[1].trace_id))]


def _operation(span: Span) -> str:
    operation = span.attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation:
        return operation
    # Before operations had names.
    if "gen_ai.tool.name" in span.attributes:
        return _TOOL_OPERATION
    return "chat" if "gen_ai.request.model" in span.attributes else ""


def _kind(span: Span) -> str:
    operation = _operation(span)
    return (
        "reasoning" if operation in _MODEL_OPERATIONS else "tool_call" if operation == _TOOL_OPERATION else ""
    )


class _Trace:
    """The spans of one trace id."""

    def __init__(self, spans: Spans, logs: Mapping[tuple[str, str], Sequence[Event]]) -> None:
        self._spans = spans
        self._logs = logs
        self._start_ns = min(span.start_ns for span in spans.values())
        self._order = _ordered(spans)
        self._roots = [span for span in self._order if span.parent_id not in spans]

    def trace(self, category: str) -> AgentTrace:
        """The trace; it has at least one step."""
        contents = {span.span_id: self._content(span) for span in self._order if _operation(span)}
        inputs, outputs = _told_tools(contents.values())
        steps = []
        for span in self._order:
            content = contents.get(span.span_id)
            kind = _kind(span)
            if content is None or not kind:
                continue
            step = self._begun(span, kind)
            if kind == "reasoning":
                steps.append(_model_step(step, span, content))
            else:
                steps.append(_tool_step(step, span, content, inputs, outputs))
        agent = next((span for span in self._order if _operation(span) in _AGENT_OPERATIONS), None)
        about = contents.get(agent.span_id) if agent is not None else None
        error = next((found for span in self._roots if (found := _error(span)) is not None), None)
        end_ms = _ms(max(span.end_ns for span in self._order) - self._start_ns)
        span = self._order[0]
        return assembled(
            span.trace_id, _task(about, steps), steps, None if error else _answer(about, steps), error, end_ms,
            self._metadata(agent, category),
            agent_version=_name(span.resource, "service.version"),
            model_version=_name(next((s.attributes for s in self._order if _kind(s) == "reasoning"), {}), "gen_ai.response.model"),
        )  # fmt: skip

    def _begun(self, span: Span, kind: str) -> AgentStep:
        return AgentStep(
            span.span_id, kind, _ms(span.start_ns - self._start_ns), self._parent(span), error=_error(span)
        )

    def _content(self, span: Span) -> Content:
        events = [*span.events, *self._logs.get((span.trace_id, span.span_id), ())]
        return content_of(span.attributes, sorted(events, key=lambda event: event.time_ns))

    def _parent(self, span: Span) -> str:
        """The nearest span around it that is a step."""
        parent = self._spans.get(span.parent_id)
        while parent is not None and not _kind(parent):
            parent = self._spans.get(parent.parent_id)
        return "" if parent is None else parent.span_id

    def _metadata(self, agent: Span | None, category: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"category": category} if category else {}
        metadata["started_at"] = self._start_ns // 1_000_000
        attributes = self._order[0].attributes if agent is None else agent.attributes
        for key in ("gen_ai.agent.name", "gen_ai.conversation.id"):
            if key in attributes:
                metadata[key.removeprefix("gen_ai.").replace(".", "_")] = bounded(attributes[key])
        left_out: dict[str, int] = {}
        for span in self._order:
            operation = _operation(span)
            if operation and not _kind(span) and operation not in _AGENT_OPERATIONS:
                left_out[operation] = left_out.get(operation, 0) + 1
        if left_out:
            metadata["left_out"] = dict(sorted(left_out.items()))
        resource = self._order[0].resource.get("service.name")
        service = {"service": resource} if isinstance(resource, str) else {}
        scopes = sorted({span.scope for span in self._order if span.scope})
        metadata["provenance"] = {"kind": "imported", "from": "opentelemetry", **service, "scopes": scopes}
        return metadata


def _ordered(spans: Spans) -> list[Span]:
    """By time, each parent before its children. Raises FixtureError for a span inside itself."""
    keys: dict[str, tuple[int, int]] = {}
    for span in spans.values():
        chain = []
        at: Span | None = span
        inside = set()
        while at is not None and at.span_id not in keys:
            if at.span_id in inside:
                where = at.place._replace(path=at.place.path + ".parentSpanId")
                raise FixtureError(f"makes the span {at.span_id} its own ancestor", where)
            inside.add(at.span_id)
            chain.append(at)
            at = spans.get(at.parent_id)
        start, depth = keys[at.span_id] if at is not None else (0, 0)
        for each in reversed(chain):
            start, depth = max(start, each.start_ns), depth + 1
            keys[each.span_id] = start, depth
    return sorted(spans.values(), key=lambda span: (*keys[span.span_id], span.start_ns, span.span_id))


def _told_tools(contents: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs of tools by call id, as messages say them."""
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    for content in contents:
        inputs.update(content.told_inputs)
        outputs.update(content.told_outputs)
    return inputs, outputs


def _model_step(step: AgentStep, span: Span, content: Content) -> AgentStep:
    attributes = span.attributes
    temperature = attributes.get(_REQUEST + "temperature")
    options = {
        key.removeprefix(_REQUEST): bounded(value)
        for key, value in attributes.items()
        if key.startswith(_REQUEST) and key not in (_REQUEST + "model", _REQUEST + "temperature")
    }
    return step._replace(
        model_name=_name(attributes, _REQUEST + "model") or _name(attributes, "gen_ai.response.model"),
        temperature=as_number(temperature),
        messages=content.messages,
        tools=content.tools,
        options=options or None,
        reasoning=content.text,
        response=content.response,
        model_duration_ms=_duration(span),
        prompt_tokens=_count(attributes, _PROMPT_TOKENS),
        completion_tokens=_count(attributes, _COMPLETION_TOKENS),
    )


def _tool_step(
    step: AgentStep, span: Span, content: Content, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> AgentStep:
    call_id = _name(span.attributes, "gen_ai.tool.call.id")
    given = content.tool_input if content.tool_input is not ABSENT else inputs.get(call_id, ABSENT)
    came = content.tool_output if content.tool_output is not ABSENT else outputs.get(call_id, ABSENT)
    name = _name(span.attributes, "gen_ai.tool.name") or span.name.removeprefix(_TOOL_OPERATION).strip()
    return step._replace(
        tool_name=as_name(name, "?"),
        tool_call_id=call_id,
        tool_input=given if given is ABSENT else arguments_of(given),
        tool_output=came if came is ABSENT else bounded(came),
        tool_duration_ms=_duration(span),
    )


def _task(about: Content | None, steps: Sequence[AgentStep]) -> str:
    """What was asked of the agent, else of the model first; of a conversation, the last that the user said."""
    messages = about.messages if about is not None else None
    if messages is None:
        messages = next((step.messages for step in steps if step.step_type == "reasoning"), None)
    return input_text(messages or ())


def _answer(about: Content | None, steps: Sequence[AgentStep]) -> str | None:
    if about is not None and about.text is not None:
        return about.text
    outer = [step for step in steps if step.step_type == "reasoning" and not step.parent_id]
    return outer[-1].reasoning if outer else None


def _error(span: Span) -> StepError | None:
    kind = span.attributes.get("error.type")
    if span.status != _ERROR and not kind:
        return None
    raised: Mapping[str, Any] = next(
        (event.attributes for event in reversed(span.events) if event.name == "exception"), {}
    )
    message = raised.get("exception.message") or span.status_message
    name = raised.get("exception.type") or kind
    return StepError(
        as_name(name, "Error"),
        message if isinstance(message, str) else joined_text(message),
    )


def _name(attributes: Mapping[str, Any], key: str) -> str:
    return as_name(attributes.get(key))


def _count(attributes: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    return next((value for key in keys if type(value := attributes.get(key)) is int and value >= 0), None)


def _duration(span: Span) -> float | None:
    # Clocks of two machines may disagree; a span cannot end before it began.
    return _ms(span.end_ns - span.start_ns) if span.end_ns >= span.start_ns else None


def _ms(ns: int) -> float:
    return round(max(ns, 0) / 1e6, 3)

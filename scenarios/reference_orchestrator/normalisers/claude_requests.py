"""The Claude CLI asks whether a tool may run (`can_use_tool`); a question to the user is such a tool as well."""

from typing import NamedTuple

from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at
from scenarios.reference_orchestrator.normalisers.claude_items import QUESTION_TOOL
from scenarios.reference_orchestrator.providers import Option, RequestOpened, RequestResolved

__all__ = ["ALLOW", "ALWAYS", "DENY", "Asked", "is_permission", "opened", "resolved"]

ALLOW, ALWAYS, DENY = "allow", "allow_always", "deny"


class Asked(NamedTuple):
    """The `request` of a control request with subtype can_use_tool."""

    request: JsonObject

    @property
    def is_question(self) -> bool:
        return text_at(self.request, "tool_name") == QUESTION_TOOL

    @property
    def input(self) -> JsonObject:
        return object_at(self.request, "input")

    @property
    def suggestions(self) -> list[JsonObject]:
        """Rules that would make the CLI ask no more, as it offers them."""
        return list(list_at(self.request, "permission_suggestions"))


def is_permission(frame: JsonObject) -> bool:
    """Whether a control request of the CLI is one that waits for a person."""
    return text_at(frame, "request", "subtype") == "can_use_tool"


def opened(request_id: str, asked: Asked) -> RequestOpened:
    item_id = text_at(asked.request, "tool_use_id")
    if asked.is_question:
        questions = [_question(question) for question in list_at(asked.input, "questions")]
        return RequestOpened(request_id, "question", (), {"questions": questions}, item_id)
    options = [Option(ALLOW, "allow_once", "Allow once"), Option(DENY, "reject_once", "Reject")]
    if asked.suggestions:
        options.insert(1, Option(ALWAYS, "allow_always", "Allow from now on"))
    detail = {"tool": text_at(asked.request, "tool_name") or "", "input": asked.input}
    return RequestOpened(request_id, "approval", tuple(options), detail, item_id)


def resolved(request_id: str, asked: Asked, answer: JsonObject) -> RequestResolved:
    """What was answered, read from the answer itself."""
    allowed = text_at(answer, "behavior") == "allow"
    if asked.is_question:
        return RequestResolved(request_id, "answered" if allowed else "cancelled")
    if not allowed:
        return RequestResolved(request_id, "cancelled" if answer.get("interrupt") is True else "reject_once")
    return RequestResolved(request_id, "allow_always" if answer.get("updatedPermissions") else "allow_once")


def _question(question: JsonObject) -> JsonObject:
    """The CLI knows a question by its text."""
    text = text_at(question, "question") or ""
    options = [
        {key: option[key] for key in ("label", "description") if isinstance(option.get(key), str)}
        for option in list_at(question, "options")
        if isinstance(option, dict)
    ]
    found: JsonObject = {"id": text, "question": text}
    header = text_at(question, "header")
    if header is not None:
        found["header"] = header
    found["options"] = options
    if question.get("multiSelect") is True:
        found["multiple"] = True
    return found

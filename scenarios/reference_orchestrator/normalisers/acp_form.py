"""Forms of the Agent Client Protocol (`elicitation/create`) as questions, and answers as the form's content.

A property of the schema is one question, its choices are the options. Labels are what people see and answer with; the
values that the agent wants are found again by label.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at

__all__ = ["content_of", "questions_of"]

_BOOLEANS = {"yes": True, "no": False}


def questions_of(schema: JsonObject, message: str) -> list[JsonObject]:
    """One question a property, in the schema's order; `message` stands in where a property says nothing of itself."""
    return [_question(name, schema, message) for name in object_at(schema, "properties")]


def content_of(schema: JsonObject, answers: Mapping[str, Sequence[str]]) -> JsonObject:
    """What the agent gets: a value a property that was answered."""
    content: JsonObject = {}
    for name in object_at(schema, "properties"):
        if name in answers:
            content[name] = _value(object_at(schema, "properties", name), list(answers[name]))
    return content


def _question(name: str, schema: JsonObject, message: str) -> JsonObject:
    field = object_at(schema, "properties", name)
    title = text_at(field, "title")
    question: JsonObject = {"id": name, "question": text_at(field, "description") or title or message}
    if title is not None:
        question["header"] = title
    question["options"] = [{"label": label} for label in _choices(field)]
    if field.get("type") == "array":
        question["multiple"] = True
    return question


def _choices(field: JsonObject) -> dict[str, Any]:
    """Label -> value; empty where any text will do."""
    if field.get("type") == "boolean":
        return dict(_BOOLEANS)
    source = object_at(field, "items") if field.get("type") == "array" else field
    plain = {value: value for value in list_at(source, "enum") if isinstance(value, str)}
    for choice in [*list_at(source, "oneOf"), *list_at(source, "anyOf")]:
        value = text_at(choice, "const")
        if value is not None:
            plain[text_at(choice, "title") or value] = value
    return plain


def _value(field: JsonObject, labels: list[str]) -> Any:
    choices = _choices(field)
    values = [choices.get(label, label) for label in labels]
    if field.get("type") == "array":
        return values
    value = values[0] if values else ""
    if field.get("type") in ("number", "integer") and isinstance(value, str):
        return _number(value)
    return value


def _number(text: str) -> int | float | str:
    """A text that is no number is left to the agent to refuse."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text

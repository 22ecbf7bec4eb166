"""pydantic models of what people write by hand: input.json and replay.override.json.

The quick checks of acp/ops.py and script/override.py stop at the first mistake; these models find all of them, for
the guard, the doctor and an editor's JSON schema. The ops come from the driver's own table, so the two cannot drift.
Never imported on the replay path: pydantic costs more than a whole run.
"""

from typing import Annotated, Any, Literal, Union

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    ValidationError,
    create_model,
)
from pydantic_core import PydanticCustomError

from replay.acp.op_table import ALIASES, OPS, Check
from replay.acp.ops import PERMISSION_KINDS
from replay.errors import FixtureError, Location
from replay.scenario.lines import at_line
from replay.script.override import MAX_FAULT_MS
from replay.session import repeated_key
from replay.surface.values import json_path_step

__all__ = [
    "Input",
    "Patches",
    "Script",
    "explain_input",
    "explain_override",
    "input_schema",
    "override_schema",
]

_MAX_PROBLEMS = 5


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _checked(check: Check) -> Any:
    """A type that accepts what one of the driver's own checks accepts."""

    def validate(value: Any) -> Any:
        problem = check(value)
        if problem is not None:
            raise PydanticCustomError(
                "edge", "{what}", {"what": problem.what + (f" (at {problem.path})" if problem.path else "")}
            )
        return value

    return Annotated[Any, BeforeValidator(validate)]


def _step_model(op: str) -> Any:
    base, preset = ALIASES.get(op, (op, {}))
    fields: dict[str, Any] = {"op": (Literal[op], ...)}
    for name, field in OPS[base].fields.items():
        if name not in preset:
            # `_meta` cannot be the name of an attribute, so the name of the key stands apart.
            default = ... if field.required else None
            fields[f"f{name}"] = (_checked(field.check), Field(default, alias=name))
    return create_model(f"Step_{op}", __base__=_Strict, **fields)


def _op_of(value: Any) -> str | None:
    op = value.get("op") if isinstance(value, dict) else None
    return op if isinstance(op, str) else None


_Step: Any = Annotated[
    Union[tuple(Annotated[_step_model(op), Tag(op)] for op in (*OPS, *ALIASES))],  # noqa: UP007
    Discriminator(_op_of),
]


class PermissionAnswer(_Strict):
    """How the driver answers one session/request_permission."""

    kind: Literal[PERMISSION_KINDS] | None = None  # type: ignore[valid-type]
    option_id: str | None = Field(None, alias="optionId")
    outcome: Literal["cancelled"] | None = None
    hold: Literal[True] | None = None


class ElicitationAnswer(_Strict):
    """How the driver answers one elicitation/create."""

    action: Literal["accept", "decline", "cancel"] | None = None
    content: dict[str, Any] | None = None
    hold: Literal[True] | None = None


class Input(_Strict):
    """input.json."""

    steps: list[_Step] = Field(min_length=1)
    permission_answers: list[PermissionAnswer] | None = Field(None, alias="permissionAnswers")
    elicitation_answers: list[ElicitationAnswer] | None = Field(None, alias="elicitationAnswers")
    client_capabilities: dict[str, Any] | None = Field(None, alias="clientCapabilities")
    env: dict[str, str] | None = None
    provenance: Any = None


class ChunksEntry(_Strict):
    """The call streams its chunks and ends."""

    kind: Literal["chunks"]
    chunks: list[dict[str, Any]]


class ThrowEntry(_Strict):
    """The call streams its chunks, then fails."""

    kind: Literal["throw"]
    chunks: list[dict[str, Any]]
    message: str
    code: str
    retry_after_ms: int | None = Field(None, alias="retryAfterMs", ge=0)


class HangEntry(_Strict):
    """The call streams its chunks, makes readyFile, and waits to be cancelled."""

    kind: Literal["hang"]
    chunks: list[dict[str, Any]] = []
    ready_file: str | None = Field(None, alias="readyFile")


type _Milliseconds = Annotated[int, Field(ge=1, le=MAX_FAULT_MS)]


class MalformedFault(_Strict):
    """After the chunks comes what is no event of the wire."""

    kind: Literal["malformed"]


class ResetFault(_Strict):
    """The connection is reset after the chunks."""

    kind: Literal["reset"]


class StallFault(_Strict):
    """Silence before the chunk at `at`, then the rest."""

    kind: Literal["stall"]
    at: int = Field(ge=0)
    after_ms: _Milliseconds = Field(alias="afterMs")


class TrickleFault(_Strict):
    """Each chunk comes some time after the one before it."""

    kind: Literal["trickle"]
    every_ms: _Milliseconds = Field(alias="everyMs")


class FaultEntry(_Strict):
    """The call meets a fault of the connection."""

    kind: Literal["fault"]
    chunks: list[dict[str, Any]]
    fault: Annotated[MalformedFault | ResetFault | StallFault | TrickleFault, Field(discriminator="kind")]


type _Entry = Annotated[ChunksEntry | ThrowEntry | HangEntry | FaultEntry, Field(discriminator="kind")]


class Patch(_Strict):
    """One replaced or appended call; `at` counts from 0."""

    at: int = Field(ge=0)
    entry: _Entry
    lane: str | None = None


class Patches(_Strict):
    """The form of an override that changes single calls."""

    patches: list[Patch] = Field(min_length=1)


class Script(RootModel[list[_Entry]]):
    """The form of an override that is the parent's whole script."""


def explain_input(data: bytes, file: str, first: FixtureError) -> list[FixtureError]:
    """What is wrong with an input.json besides `first`, which the quick check found."""
    return _explain(Input, data, file, first)


def explain_override(data: bytes, file: str, first: FixtureError) -> list[FixtureError]:
    """What is wrong with an override besides `first`, which the quick check found."""
    return _explain(Script if data.lstrip().startswith(b"[") else Patches, data, file, first)


def input_schema() -> dict[str, Any]:
    """The JSON schema of input.json, for editors."""
    return Input.model_json_schema(by_alias=True)


def override_schema() -> dict[str, Any]:
    """The JSON schema of the override's two forms, for editors."""
    forms = [
        model.model_json_schema(by_alias=True, ref_template="#/$defs/{model}") for model in (Script, Patches)
    ]
    definitions = {name: value for form in forms for name, value in form.pop("$defs", {}).items()}
    return {"$defs": definitions, "anyOf": forms}


def _explain(model: type[BaseModel], data: bytes, file: str, first: FixtureError) -> list[FixtureError]:
    if not first.where.path or repeated_key(data) is not None:
        return []  # no sound JSON, or one that says two things: there is nothing to explain
    value = orjson.loads(data)
    try:
        model.model_validate(value)
    except ValidationError as error:
        known = [first.where.path]
        found: list[FixtureError] = []
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            path = _path(problem["loc"], value)
            if not any(_are_the_same(path, other) for other in known):
                known.append(path)
                found.append(at_line(FixtureError(_words(problem), Location(file, path=path)), data))
        return found[:_MAX_PROBLEMS]
    return []


def _are_the_same(path: str, other: str) -> bool:
    """Whether two complaints may be about one mistake: a missing key is named by itself or by its object."""
    shorter, longer = sorted((path, other), key=len)
    if not longer.startswith(shorter):
        return False
    rest = longer[len(shorter) :]
    return shorter != "$" or rest.count(".") + rest.count("[") <= 1


def _path(location: tuple[int | str, ...], value: Any) -> str:
    """The JSON path of a pydantic location, whose tags of unions are no part of the document."""
    path, is_tag = "$", False
    for part in location:
        # Once for an object: it may have a key of the same name.
        is_tag = not is_tag and isinstance(value, dict) and value.get("kind") == part
        if is_tag:
            continue
        is_item = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if is_item or (isinstance(value, dict) and part in value):
            value = value[part]
        elif isinstance(value, dict) and part == location[-1]:
            return path + json_path_step(part)  # a key that is missing
        else:
            continue
        path += json_path_step(part)
    return path


def _words(problem: Any) -> str:
    text = str(problem["msg"])
    return text[0].lower() + text[1:] if text[:1].isupper() and not text[1:2].isupper() else text

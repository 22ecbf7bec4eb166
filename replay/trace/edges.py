"""A pydantic model of suite.json, for what the guard, the command and an editor say of a file that people write.

suite.py stops at the first mistake; the model finds all of them. It takes no suite that suite.py refuses, and finds no
mistake where that finds none: names, choices and bounds come from there. Never imported where a suite is judged:
pydantic costs more than a whole run.
"""

from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from replay.errors import FixtureError, Location
from replay.session import repeated_key
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.limits import MAX_NAME_CHARACTERS
from replay.trace.rules import read_rules
from replay.trace.suite import (
    ANSWERS,
    DOMAINS,
    JUDGED_BY,
    MAX_RUNS,
    MAX_TOOLS,
    METRICS,
    STATES,
    SUCCESSES,
    TRAJECTORIES,
)

__all__ = ["SuiteFile", "explain_suite", "suite_schema"]

_MAX_PROBLEMS: Final = 5
# A default that is not checked: null is no way to leave a member out.
_UNSAID: Any = None
# Not with true and false: a literal takes 1 for true.
_SUCCESS_WORDS: Final = tuple(one for one in SUCCESSES if isinstance(one, str))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


type _Share = Annotated[float, Field(ge=0, le=1)]
type _Number = Annotated[float, Field(ge=0)]
type _Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]


def _rule(value: Any) -> Any:
    """One rule of comparison, by its own reader."""
    try:
        read_rules([value])
    except FixtureError as error:
        raise PydanticCustomError("edge", "{what}", {"what": error.what}) from None
    return value


type _Rules = list[Annotated[Any, BeforeValidator(_rule)]]


class BudgetFile(_Strict):
    """A budget that is more than a number."""

    most: _Number = _UNSAID
    over_baseline: _Number = _UNSAID

    @model_validator(mode="after")
    def _says_something(self) -> BudgetFile:
        if not self.model_fields_set:
            raise PydanticCustomError("edge", 'must say "most", "over_baseline" or both')
        return self


class PriceFile(_Strict):
    """USD for a million tokens."""

    prompt: _Number
    completion: _Number


class ConsensusFile(_Strict):
    """How many of how many runs pass, and how far they agree."""

    runs: int = Field(ge=1, le=MAX_RUNS)
    passes: int = Field(ge=1, le=MAX_RUNS)
    agreement: _Share = _UNSAID


_Budget: Any = Annotated[
    Annotated[_Number, Tag("number")] | Annotated[BudgetFile, Tag("budget")],
    Discriminator(lambda value: "budget" if isinstance(value, dict) else "number"),
]
_Budgets: Any = create_model("Budgets", __base__=_Strict, **{name: (_Budget, None) for name in METRICS})  # type: ignore[call-overload]
_Compare: Any = create_model("Compare", __base__=_Strict, **{name: (_Rules, None) for name in DOMAINS})  # type: ignore[call-overload]


class LayerFile(_Strict):
    """What can be said of all traces, of a category, of one."""

    expected_success: bool | Literal[_SUCCESS_WORDS] = _UNSAID  # type: ignore[valid-type]
    trajectory: Literal[TRAJECTORIES] = _UNSAID  # type: ignore[valid-type]
    read_only: list[_Name] = Field(_UNSAID, max_length=MAX_TOOLS)
    answer: Literal[ANSWERS] = _UNSAID  # type: ignore[valid-type]
    state: Literal[STATES] = _UNSAID  # type: ignore[valid-type]
    budgets: _Budgets = _UNSAID
    compare: _Compare = _UNSAID
    consensus: ConsensusFile = _UNSAID


class CategoryFile(LayerFile):
    """A category."""

    threshold: _Share = _UNSAID
    allowed_drop: _Share = _UNSAID


class OverrideFile(LayerFile):
    """One trace."""

    skip: str = Field(_UNSAID, min_length=1)


class SuiteFile(CategoryFile):
    """suite.json."""

    version: Literal[1] = Field(alias="schema")
    description: str = _UNSAID
    judge_by: Literal[JUDGED_BY] = _UNSAID  # type: ignore[valid-type]
    prices: dict[str, PriceFile] = _UNSAID
    categories: dict[str, CategoryFile] = _UNSAID
    traces: dict[str, OverrideFile] = _UNSAID


def explain_suite(data: bytes, place: str, first: FixtureError) -> list[FixtureError]:
    """What is wrong with a suite.json besides `first`, which read_suite found."""
    if not first.where.path or repeated_key(data) is not None:
        return []  # no sound JSON, or one that says two things: there is nothing to explain
    try:
        value = orjson.loads(data)
        SuiteFile.model_validate(value)
    except ValidationError as error:
        known = [first.where.path]
        found: list[FixtureError] = []
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            parts = _parts(problem["loc"], value)
            path = json_path(parts)
            if not any(path.startswith(one) or one.startswith(path) for one in known):
                known.append(path)
                found.append(
                    FixtureError(_words(problem["msg"]), Location(place, line_of(data, parts), path))
                )
        return found[:_MAX_PROBLEMS]
    return []


def suite_schema() -> dict[str, Any]:
    """The JSON schema of suite.json, for editors."""
    return SuiteFile.model_json_schema(by_alias=True)


def _parts(location: tuple[Any, ...], value: Any) -> tuple[str | int, ...]:
    """The path of a pydantic location, whose branches of unions are no part of the document."""
    parts: list[str | int] = []
    for part in location:
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]
        elif not (isinstance(value, dict) and part == location[-1]):
            continue
        parts.append(part)
    return tuple(parts)


def _words(text: str) -> str:
    return text[0].lower() + text[1:] if text[:1].isupper() and not text[1:2].isupper() else text

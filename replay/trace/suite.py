"""suite.json: what must hold of each trace, and of how many. Pure; standard library and orjson.

    {"schema": 1, "threshold": 0.95, "allowed_drop": 0.02, "trajectory": "unordered",
     "read_only": ["read_file"], "budgets": {"steps": {"over_baseline": 0.5}, "tokens": 20000},
     "compare": {"calls": [{"path": "$.input.at", "ignore": true, "reason": "a time"}]},
     "categories": {"search": {"threshold": 0.9}},
     "traces": {"search-07": {"expected_success": false}, "edit-2": {"skip": "the tool is gone"}}}

What a trace must keep is said for all, for a category, for one trace; the nearest word counts, budgets one by one. Rules
of comparison add up. What is not said is the default: every trace passes, and does what its baseline did.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.codec import parse_document
from replay.trace.consensus import ConsensusRule
from replay.trace.limits import MAX_NAME_CHARACTERS
from replay.trace.rules import EXACT, Rules, read_rules
from replay.trace.trajectory import MODES

__all__ = [
    "ANSWERS",
    "ANY",
    "AS_RECORDED",
    "DOMAINS",
    "EQUAL",
    "JUDGED_BY",
    "LOWER_BOUND",
    "MAX_RUNS",
    "MAX_TOOLS",
    "MEANING",
    "METRICS",
    "SCHEMA",
    "STATES",
    "SUCCESSES",
    "TRAJECTORIES",
    "Budget",
    "Category",
    "Layer",
    "Override",
    "Price",
    "Suite",
    "TraceRules",
    "close_name",
    "read_suite",
]

SCHEMA: Final = 1
AS_RECORDED, ANY = "as_recorded", "any"
EQUAL, MEANING = "equal", "meaning"
RATE, LOWER_BOUND = "rate", "lower_bound"
SUCCESSES: Final = (True, False, AS_RECORDED, ANY)
ANSWERS: Final = (EQUAL, MEANING, ANY)
JUDGED_BY: Final = (RATE, LOWER_BOUND)
TRAJECTORIES: Final = (*MODES, ANY)
STATES: Final = ("compare", ANY)
DOMAINS: Final = ("answer", "calls", "state")
METRICS: Final[Mapping[str, str]] = {
    "steps": "steps",
    "tokens": "tokens",
    "latency_ms": "ms",
    "cost_usd": "USD",
}
"""Metric -> its unit."""
MAX_RUNS: Final = 1000
MAX_TOOLS: Final = 500
_MAX_BYTES = 4 << 20
_MOST: Final = 1e15
_PER: Final = 1_000_000

type Parts = tuple[str | int, ...]


class Budget(NamedTuple):
    """The most that a run may use. over_baseline: as a share of the baseline's own, 0.2 is a fifth more."""

    most: float | None = None
    over_baseline: float | None = None

    def allowed(self, baseline: float | None) -> float | None:
        """The most there may be; None where nothing can be said, since the baseline does not tell."""
        relative = None
        if self.over_baseline is not None and baseline is not None:
            relative = baseline * (1 + self.over_baseline)
        known = [bound for bound in (self.most, relative) if bound is not None]
        return min(known) if known else None


class Price(NamedTuple):
    """USD for a million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """USD."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / _PER


class Layer(NamedTuple):
    """What is said of some traces; None and {} where nothing is."""

    expected_success: bool | str | None = None
    trajectory: str | None = None
    answer: str | None = None
    state: str | None = None
    budgets: Mapping[str, Budget] = {}
    compare: Mapping[str, Rules] = {}
    consensus: ConsensusRule | None = None
    read_only: tuple[str, ...] | None = None


class Category(NamedTuple):
    """Of a category; None where the suite's own holds. No threshold: its share is shown, and not judged."""

    threshold: float | None = None
    allowed_drop: float | None = None
    layer: Layer = Layer()


class Override(NamedTuple):
    """Of one trace. skip: why it is not judged."""

    skip: str = ""
    layer: Layer = Layer()


class TraceRules(NamedTuple):
    """What one trace must keep. answer: None leaves it to the strategy; read_only: tools that it may call once more."""

    expected_success: bool | str = AS_RECORDED
    trajectory: str = MODES[0]
    answer: str | None = None
    state: str = STATES[0]
    budgets: Mapping[str, Budget] = {}
    answer_rules: Rules = EXACT
    call_rules: Rules = EXACT
    state_rules: Rules = EXACT
    consensus: ConsensusRule | None = None
    read_only: tuple[str, ...] = ()
    skip: str = ""

    @property
    def needs_closeness(self) -> bool:
        """Whether a rule compares by the text model; answers by meaning do as well."""
        return any(rules.needs_closeness for rules in (self.answer_rules, self.call_rules, self.state_rules))


class Suite(NamedTuple):
    """A suite; without a file it is Suite(). allowed_drop: None where a fall of the rate is not judged."""

    description: str = ""
    threshold: float = 1.0
    judge_by: str = RATE
    allowed_drop: float | None = None
    prices: Mapping[str, Price] = {}
    layer: Layer = Layer()
    categories: Mapping[str, Category] = {}
    traces: Mapping[str, Override] = {}

    def rules_for(self, trace_id: str, category: str) -> TraceRules:
        """What a trace must keep."""
        override = self.traces.get(trace_id, Override())
        layers = (self.layer, self.categories.get(category, Category()).layer, override.layer)
        said: dict[str, Any] = {"skip": override.skip, "budgets": {}}
        rules = dict.fromkeys(DOMAINS, EXACT)
        for layer in layers:
            said["budgets"] |= layer.budgets
            for domain, own in layer.compare.items():
                rules[domain] = Rules((*rules[domain].listed, *own.listed))
            for name in ("expected_success", "trajectory", "answer", "state", "consensus", "read_only"):
                value = getattr(layer, name)
                if value is not None:
                    said[name] = value
        return TraceRules(
            **said, answer_rules=rules["answer"], call_rules=rules["calls"], state_rules=rules["state"]
        )


def read_suite(data: bytes, place: str) -> Suite:
    """The suite of a file; `place` is how messages call it. Raises FixtureError with line and JSON path."""
    document = parse_document(data, place, strict=True, max_bytes=_MAX_BYTES)
    try:
        return _suite(document)
    except _Refused as refusal:
        line = line_of(data, refusal.parts)
        where = Location(place, line, refusal.path or json_path(refusal.parts))
        raise FixtureError(refusal.what, where, refusal.fix) from None


def close_name(name: str, there: Iterable[str]) -> str:
    """The name of `there` that was perhaps meant, "" if none is near."""
    # Late: only a mistake needs it.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(there), 1)), "")


# -- reading ------------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """What is wrong with the value at `parts`. path: where another reader says more exactly where."""

    def __init__(self, what: str, parts: Parts, fix: str = "", path: str = "") -> None:
        super().__init__(what)
        self.what, self.parts, self.fix, self.path = what, parts, fix, path


_LAYER_KEYS: Final = (
    *("expected_success", "trajectory", "read_only", "answer", "state", "budgets", "compare", "consensus"),
)
_RATE_KEYS: Final = ("threshold", "allowed_drop")
_SUITE_KEYS: Final = (
    *("schema", "description", *_RATE_KEYS, "judge_by", *_LAYER_KEYS),
    *("prices", "categories", "traces"),
)


def _suite(document: Any) -> Suite:
    fields = _object(document, ())
    schema = fields.get("schema")
    if type(schema) is not int or schema < 1:
        raise _Refused(f'is no suite: it must say "schema": {SCHEMA}, not {shown(schema)}', ("schema",))
    if schema != SCHEMA:
        what = f"is schema {schema}, this reader knows schema {SCHEMA}"
        raise _Refused(what, ("schema",), "use the agent_replay that the suite was written for")
    fields = _keys(fields, _SUITE_KEYS, ())
    threshold = _share(fields, "threshold", ())
    suite = Suite(
        _text(fields.get("description", ""), ("description",)),
        1.0 if threshold is None else threshold,
        _one_of(fields.get("judge_by", RATE), JUDGED_BY, ("judge_by",)),
        _share(fields, "allowed_drop", ()),
        {name: _price(price, parts) for name, price, parts in _members(fields, "prices")},
        _layer(fields, ()),
        {name: _category(one, parts) for name, one, parts in _members(fields, "categories")},
        {name: _override(one, parts) for name, one, parts in _members(fields, "traces")},
    )
    if suite.judge_by == LOWER_BOUND:
        thresholds: dict[Parts, float | None] = {("threshold",): suite.threshold}
        thresholds |= {
            ("categories", name, "threshold"): one.threshold for name, one in suite.categories.items()
        }
        for parts, share in thresholds.items():
            if share == 1:
                what = (
                    f"can never be reached by the lower bound of an interval, and judge_by is {LOWER_BOUND}"
                )
                raise _Refused(what, parts, "ask for less than 1, or judge by the rate")
    return suite


def _category(value: Any, parts: Parts) -> Category:
    fields = _keys(_object(value, parts), (*_RATE_KEYS, *_LAYER_KEYS), parts)
    return Category(
        _share(fields, "threshold", parts), _share(fields, "allowed_drop", parts), _layer(fields, parts)
    )


def _override(value: Any, parts: Parts) -> Override:
    fields = _keys(_object(value, parts), ("skip", *_LAYER_KEYS), parts)
    skip = _text(fields.get("skip", ""), (*parts, "skip"))
    if "skip" in fields and not skip.strip():
        raise _Refused("must say why the trace is not judged", (*parts, "skip"))
    return Override(skip, _layer(fields, parts))


def _layer(fields: Mapping[str, Any], parts: Parts) -> Layer:
    def choice(key: str, known: Sequence[bool | str]) -> Any:
        return _one_of(fields[key], known, (*parts, key)) if key in fields else None

    budgets = {}
    for name, value, place in _members(fields, "budgets", parts):
        if name not in METRICS:
            raise _unknown(name, tuple(METRICS), place)
        budgets[name] = _budget(value, place)
    compare = {}
    for name, value, place in _members(fields, "compare", parts):
        if name not in DOMAINS:
            raise _unknown(name, DOMAINS, place)
        compare[name] = _rules(value, place)
    return Layer(
        choice("expected_success", SUCCESSES),
        choice("trajectory", TRAJECTORIES),
        choice("answer", ANSWERS),
        choice("state", STATES),
        budgets,
        compare,
        _consensus(fields["consensus"], (*parts, "consensus")) if "consensus" in fields else None,
        _names(fields["read_only"], (*parts, "read_only")) if "read_only" in fields else None,
    )


def _names(value: Any, parts: Parts) -> tuple[str, ...]:
    """The names of tools, each once."""
    if not isinstance(value, list) or len(value) > MAX_TOOLS:
        raise _Refused(f"must be a list of up to {MAX_TOOLS} names of tools, not {shown(value)}", parts)
    for at, name in enumerate(value):
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARACTERS or not name.isprintable():
            raise _Refused(f"must be the name of a tool, not {shown(name)}", (*parts, at))
        if name in value[:at]:
            raise _Refused("names a tool twice", (*parts, at))
    return tuple(value)


def _rules(value: Any, parts: Parts) -> Rules:
    try:
        return read_rules(value, json_path(parts))
    except FixtureError as error:
        # The line is that of the list: the other reader knows a path, and not its parts.
        raise _Refused(error.what, parts, error.fix, error.where.path) from None


def _budget(value: Any, parts: Parts) -> Budget:
    if not isinstance(value, dict):
        return Budget(_number(value, parts))
    fields = _keys(value, ("most", "over_baseline"), parts)
    if not fields:
        raise _Refused('must say "most", "over_baseline" or both', parts)
    numbers = {key: _number(number, (*parts, key)) for key, number in fields.items()}
    return Budget(numbers.get("most"), numbers.get("over_baseline"))


def _price(value: Any, parts: Parts) -> Price:
    fields = _keys(_object(value, parts), ("prompt", "completion"), parts)
    for key in ("prompt", "completion"):
        if key not in fields:
            raise _Refused("is missing: USD for a million tokens", (*parts, key))
    return Price(
        _number(fields["prompt"], (*parts, "prompt")), _number(fields["completion"], (*parts, "completion"))
    )


def _consensus(value: Any, parts: Parts) -> ConsensusRule:
    fields = _keys(_object(value, parts), ("runs", "passes", "agreement"), parts)
    counts = {}
    for key in ("runs", "passes"):
        count = fields.get(key)
        if type(count) is not int or not 1 <= count <= MAX_RUNS:
            raise _Refused(f"must be a whole number from 1 to {MAX_RUNS}, not {shown(count)}", (*parts, key))
        counts[key] = count
    if counts["passes"] > counts["runs"]:
        what = f"{counts['passes']} of {counts['runs']} runs cannot pass"
        raise _Refused(what, (*parts, "passes"))
    agreement = _share(fields, "agreement", parts)
    return ConsensusRule(counts["runs"], counts["passes"], 0.0 if agreement is None else agreement)


def _members(fields: Mapping[str, Any], key: str, parts: Parts = ()) -> Iterable[tuple[str, Any, Parts]]:
    """The members of the object at `key`, if there is one, with the path to each."""
    inside = (*parts, key)
    for name, value in _object(fields.get(key, {}), inside).items():
        place = (*inside, name)
        if len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
            raise _Refused("has a name that is too long or holds a control character", place)
        yield name, value, place


def _object(value: Any, parts: Parts) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Refused(f"must be an object, not {shown(value)}", parts)
    return value


def _keys(fields: dict[str, Any], known: Sequence[str], parts: Parts) -> dict[str, Any]:
    for key in fields:
        if key not in known:
            raise _unknown(key, known, (*parts, key))
    return fields


def _unknown(key: str, known: Sequence[str], parts: Parts) -> _Refused:
    near = close_name(key, known)
    fix = f'did you mean "{near}"?' if near else f"write one of {', '.join(known)}"
    return _Refused("is no key of a suite here", parts, fix)


def _text(value: Any, parts: Parts) -> str:
    if not isinstance(value, str):
        raise _Refused(f"must be a string, not {shown(value)}", parts)
    return value


def _number(value: Any, parts: Parts) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _MOST:
        raise _Refused(f"must be a number from 0, not {shown(value)}", parts)
    return float(value) if type(value) is float else value


def _share(fields: Mapping[str, Any], key: str, parts: Parts) -> float | None:
    if key not in fields:
        return None
    value: Any = fields[key]
    if type(value) not in (int, float) or not 0 <= value <= 1:
        is_percent = type(value) in (int, float) and 1 < value <= 100
        fix = f"write {value / 100:g} for {value:g} %" if is_percent else ""
        raise _Refused(f"must be a share from 0 to 1, not {shown(value)}", (*parts, key), fix)
    return float(value)


def _one_of(value: Any, known: Sequence[bool | str], parts: Parts) -> Any:
    # 1 == True, and is another thing to say.
    if not any(value == one and type(value) is type(one) for one in known):
        listed = ", ".join(str(one).lower() if isinstance(one, bool) else one for one in known)
        raise _Refused(f"must be one of {listed}, not {shown(value)}", parts)
    return value

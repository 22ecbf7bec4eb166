"""input.json: the quick parse of what the driver plays.

Every object is checked for its exact keys, every value for its type; what is wrong is a FixtureError with the JSON
path. The first mistake is the one reported. Strings that are sent to the agent may hold `{{cwd}}`, the sandbox
cwd of the run. The ops and their keys are the table in op_table.py; what they do is steps.py.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from replay.acp.op_table import ALIASES, OPS, Check, Field, is_object, is_text
from replay.errors import FixtureError, Location, counted

__all__ = ["PERMISSION_KINDS", "Script", "Step", "parse_script"]

PERMISSION_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
_TOP = ("steps", "permissionAnswers", "elicitationAnswers", "clientCapabilities", "env", "provenance")
_ELICITATION_ACTIONS = ("accept", "decline", "cancel")


class Step(NamedTuple):
    """One op with its checked fields; `path` is where it stands ("$.steps[2]")."""

    op: str
    fields: dict[str, Any]
    path: str


class Script(NamedTuple):
    """A whole input.json.

    permission_answers: each has one of `kind`, `optionId`, `outcome` ("cancelled"), `hold` (true: no answer until
    a cancel). elicitation_answers: `action` with `content` if accepted, or `hold`; None when the file has none.
    client_capabilities: None for the driver's own. env: variables for the agent.
    """

    file: str
    steps: list[Step]
    permission_answers: list[dict[str, Any]]
    elicitation_answers: list[dict[str, Any]] | None
    client_capabilities: dict[str, Any] | None
    env: dict[str, str]


def parse_script(data: bytes, file: str = "input.json") -> Script:
    """Parse input.json. Raises FixtureError naming `file` and the JSON path, or the line of broken JSON."""
    return _Reader(file).script(_decode(data, file))


def _decode(data: bytes, file: str) -> Any:
    if data.startswith(b"\xef\xbb\xbf"):
        raise FixtureError("starts with a byte order mark", Location(file, 1), "save it as UTF-8 without BOM")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FixtureError("is not UTF-8", Location(file, line)) from None
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            names = [name for name, _ in items]
            duplicates.append(next(name for name in names if names.count(name) > 1))
        return found

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise FixtureError(f"is not JSON: {error.msg}", Location(file, error.lineno)) from None
    except RecursionError:
        raise FixtureError("is nested too deeply", Location(file)) from None
    except ValueError as error:
        raise FixtureError(f"is not JSON: {error}", Location(file)) from None
    if duplicates:
        raise FixtureError(f'the key "{duplicates[0]}" stands twice in one object', Location(file))
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise FixtureError(f"holds what cannot be sent to an agent: {error}", Location(file)) from None
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


class _Reader:
    """Walks the parsed file; holds its name for messages and how many sessions the steps have made so far."""

    __slots__ = ("file", "sessions")

    def __init__(self, file: str) -> None:
        self.file = file
        self.sessions = 0

    def fail(self, path: str, what: str, fix: str = "") -> FixtureError:
        return FixtureError(what, Location(self.file, path=path), fix)

    def script(self, value: Any) -> Script:
        top = self.keys(value, "$", _TOP, ("steps",))
        self.optional(top, "provenance", is_text)
        capabilities = self.optional(top, "clientCapabilities", is_object)
        return Script(
            self.file,
            [
                self.step(step, f"$.steps[{index}]")
                for index, step in enumerate(self.list(top, "steps", filled=True))
            ],
            self.answers(top, "permissionAnswers", self.permission_answer) or [],
            self.answers(top, "elicitationAnswers", self.elicitation_answer),
            capabilities,
            self.env(top),
        )

    def step(self, value: Any, path: str) -> Step:
        if not isinstance(value, dict) or not isinstance(value.get("op"), str):
            raise self.fail(path, 'a step is an object with "op"')
        op = value["op"]
        if op not in OPS and op not in ALIASES:
            raise self.fail(f"{path}.op", f'unknown op "{op}"', self.nearest(op, [*OPS, *ALIASES]))
        spec = OPS[ALIASES[op][0]] if op in ALIASES else OPS[op]
        fields: dict[str, Any] = {key: item for key, item in value.items() if key != "op"}
        if op in ALIASES:
            alias, preset = ALIASES[op]
            # The alias stands for the preset fields, so the file must not give them again.
            self.exact(fields, path, [key for key in spec.fields if key not in preset])
            op, fields = alias, {**preset, **fields}
        self.fields(fields, spec.fields, path)
        for group in spec.one_of:
            self.one_of(fields, group, path, required=True)
        for group in spec.at_most_one_of:
            self.one_of(fields, group, path, required=False)
        if "code" in fields and "expectError" in spec.fields and "expectError" not in fields:
            raise self.fail(f"{path}.code", 'needs "expectError": true beside it')
        self.count_sessions(op, fields, path)
        return Step(op, fields, path)

    def fields(self, fields: dict[str, Any], spec: dict[str, Field], path: str) -> None:
        self.exact(fields, path, list(spec))
        for name, field in spec.items():
            if name in fields:
                problem = field.check(fields[name])
                if problem:
                    raise self.fail(f"{path}.{name}{problem.path}", problem.what)
            elif field.required:
                raise self.fail(path, f'needs "{name}"')

    def one_of(self, fields: dict[str, Any], group: Sequence[str], path: str, required: bool) -> None:
        given = [name for name in group if name in fields]
        if len(given) > 1 or (required and not given):
            names = " or ".join(f'"{name}"' for name in group)
            raise self.fail(path, f"takes {'one' if required else 'at most one'} of {names}")

    def count_sessions(self, op: str, fields: dict[str, Any], path: str) -> None:
        """Refuse a session that no earlier step made; count the one that this step makes."""
        if OPS[op].needs_session and "sessionId" not in fields:
            index = fields.get("session", self.sessions - 1)
            if self.sessions == 0:
                raise self.fail(path, f'"{op}" needs a session', 'put a step {"op": "newSession"} before it')
            if index >= self.sessions:
                made = f"{'is' if self.sessions == 1 else 'are'} {counted(self.sessions, 'session')}"
                raise self.fail(f"{path}.session", f"there {made} before this step, counted from 0")
        is_old = (
            op in ("loadSession", "resumeSession") and "sessionId" in fields and "expectError" not in fields
        )
        if op == "newSession" or is_old:
            self.sessions += 1

    def permission_answer(self, value: Any, path: str) -> dict[str, Any]:
        answer = self.keys(value, path, ("kind", "optionId", "outcome", "hold"))
        self.one_of(answer, ("kind", "optionId", "outcome", "hold"), path, required=True)
        self.choice(answer, "kind", path, PERMISSION_KINDS)
        self.choice(answer, "outcome", path, ("cancelled",))
        if "optionId" in answer and not isinstance(answer["optionId"], str):
            raise self.fail(f"{path}.optionId", "must be a string")
        self.hold(answer, path)
        return answer

    def elicitation_answer(self, value: Any, path: str) -> dict[str, Any]:
        answer = self.keys(value, path, ("action", "content", "hold"))
        self.one_of(answer, ("action", "hold"), path, required=True)
        self.choice(answer, "action", path, _ELICITATION_ACTIONS)
        if "content" in answer and (
            answer.get("action") != "accept" or not isinstance(answer["content"], dict)
        ):
            raise self.fail(f"{path}.content", 'must be an object, beside "action": "accept"')
        self.hold(answer, path)
        return answer

    def hold(self, answer: dict[str, Any], path: str) -> None:
        if "hold" in answer and answer["hold"] is not True:
            raise self.fail(f"{path}.hold", "must be true, or be left out")

    def choice(self, value: dict[str, Any], key: str, path: str, known: Sequence[str]) -> None:
        if key in value and value[key] not in known:
            raise self.fail(f"{path}.{key}", f"must be one of {', '.join(known)}")

    def answers(
        self, top: dict[str, Any], key: str, parse: Callable[[Any, str], dict[str, Any]]
    ) -> list[dict[str, Any]] | None:
        if key not in top:
            return None
        return [parse(item, f"$.{key}[{index}]") for index, item in enumerate(self.list(top, key))]

    def env(self, top: dict[str, Any]) -> dict[str, str]:
        env = top.get("env", {})
        if not isinstance(env, dict):
            raise self.fail("$.env", "must be an object of strings")
        for name, value in env.items():
            if not name or "=" in name or "\0" in name:
                raise self.fail("$.env", f"{json.dumps(name)} is no name of a variable")
            if not isinstance(value, str) or "\0" in value:
                raise self.fail(f"$.env.{name}", "must be a string without NUL")
        return env

    def list(self, top: dict[str, Any], key: str, filled: bool = False) -> list[Any]:
        value = top[key]
        if not isinstance(value, list) or (filled and not value):
            raise self.fail(f"$.{key}", "must be an array" + (" with at least one step" if filled else ""))
        return value

    def optional(self, top: dict[str, Any], key: str, check: Check) -> Any:
        problem = check(top[key]) if key in top else None
        if problem:
            raise self.fail(f"$.{key}{problem.path}", problem.what)
        return top.get(key)

    def keys(self, value: Any, path: str, known: Sequence[str], needed: Sequence[str] = ()) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(path, "must be an object")
        self.exact(value, path, known)
        for key in needed:
            if key not in value:
                raise self.fail(path, f'needs "{key}"')
        return value

    def exact(self, value: dict[str, Any], path: str, known: Sequence[str]) -> None:
        for key in value:
            if key not in known:
                names = ", ".join(known) or "none"
                raise self.fail(path, f'unknown key "{key}" (known: {names})', self.nearest(key, known))

    def nearest(self, name: str, known: Sequence[str]) -> str:
        # Only on the way to an error: difflib costs more to import than a whole parse.
        from difflib import get_close_matches

        close = get_close_matches(name, known, 1, 0.5)
        return f'did you mean "{close[0]}"?' if close else f"known: {', '.join(known)}"

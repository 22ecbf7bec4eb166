"""Validation of frames against the ACP schema, from a table that generate_schema.py makes at build time.

A table is JSON: `definitions` (name -> node) and, for each sender, the `requests` (method -> [params, result])
and `notifications` (method -> params) that it may send. A node is a list, its first item the kind:

    ["any"] ["bool"] ["null"] ["str", min length] ["uri"] ["int", min|null, max|null] ["num"]
    ["const", value] ["enum", [values]] ["not", [values], node]
    ["opt", node]                    null or node
    ["arr", node]  ["map", node]     an array, an object whose every value is a node
    ["obj", {property: node}, [required]]     further properties are free, as in the schema
    ["ref", definition]  ["tag", property, {value: definition}]  ["or", [nodes]]
    ["default", node, value]         a repair: a reader puts `value` in the place of what does not fit
    ["skip", node]                   a repair: a reader drops the items that do not fit

Three answers. *valid*; *repaired*: the schema itself tells a reader how to go on, each repair is noted with its
path and the frame stays as it was sent; *invalid*: each failure is a JSON path and one clause.
What the schema leaves to its users is valid and unchecked: methods and tags (a session/update kind, a content
type) that begin with "_", and notifications that begin with "$/". Any other unknown method, kind or type is
invalid: a suite that needs it names it as a deviation (deviations.py).
"""

from typing import Any, NamedTuple

import orjson

from replay.errors import UsageError

__all__ = ["AGENT", "CLIENT", "Failure", "Tables", "Verdict", "load_tables"]

AGENT, CLIENT = "agent", "client"
FORMAT_VERSION = 1

Node = list[Any]
# Where a value stands: None for the frame itself, else (where its container stands, its key or index).
Where = tuple[Any, str | int] | None


class Failure(NamedTuple):
    """`path` ("$.params.update") does not hold what it should: "expected a string, got null"."""

    path: str
    expectation: str


class Verdict(NamedTuple):
    """`answer` is "valid", "repaired" (see `notes`) or "invalid" (see `failures`)."""

    answer: str
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


VALID = Verdict("valid")


class Tables:
    """The schema. `source` says which package and schema version it was made from."""

    __slots__ = ("_definitions", "_error", "_senders", "source")

    def __init__(self, table: dict[str, Any]) -> None:
        self._definitions: dict[str, Node] = table["definitions"]
        self._senders: dict[str, dict[str, Any]] = table["senders"]
        self._error: Node = ["ref", table["error"]]
        self.source: str = table["source"]

    def validate(self, sender: str, frame: dict[str, Any], method: str = "") -> Verdict:
        """Judge one frame that `sender` sent.

        method: for a response, the method of the request that it answers.
        """
        if "method" in frame:
            return self._validate_call(sender, frame)
        if "error" in frame:
            return self._judge(self._error, frame["error"], (None, "error"))
        receiver = AGENT if sender == CLIENT else CLIENT
        node = self._senders[receiver]["requests"].get(method)
        if node is None:
            # The answer to an extension, or to a request that the caller sent against the schema.
            return VALID
        return self._judge(node[1], frame.get("result"), (None, "result"))

    def _validate_call(self, sender: str, frame: dict[str, Any]) -> Verdict:
        method = frame["method"]
        if method.startswith("_"):
            return VALID
        requests, notifications = self._senders[sender]["requests"], self._senders[sender]["notifications"]
        if "id" in frame:
            known, other, kind, other_kind = requests, notifications, "request", "notification"
        else:
            known, other, kind, other_kind = notifications, requests, "notification", "request"
        node = known.get(method)
        if node is None:
            if kind == "notification" and method.startswith("$/"):
                return VALID
            if method in other:
                why = f'"{method}" is a {other_kind}, it was sent as a {kind}'
            else:
                why = (
                    f"expected a {kind} that the {sender} may send ({_listed(known)}), got {_quoted(method)}"
                )
            return Verdict("invalid", failures=(Failure("$.method", why),))
        # JSON-RPC lets params be left out; a method whose params are all optional is then complete.
        return self._judge(node[0] if kind == "request" else node, frame.get("params", {}), (None, "params"))

    def _judge(self, node: Node, value: Any, where: Where) -> Verdict:
        walk = _Walk(self._definitions)
        walk.check(node, value, where)
        if walk.failures:
            failures = tuple(Failure(_path(at), why) for at, why in walk.failures)
            return Verdict("invalid", tuple(_note(note) for note in walk.repairs), failures)
        if walk.repairs:
            return Verdict("repaired", tuple(_note(note) for note in walk.repairs))
        return VALID


class _Walk:
    """One value against one node: failures and repairs in the order of the walk."""

    __slots__ = ("definitions", "failures", "repairs")

    def __init__(self, definitions: dict[str, Node]) -> None:
        self.definitions = definitions
        self.failures: list[tuple[Where, str]] = []
        self.repairs: list[tuple[Where, str, str]] = []

    def check(self, node: Node, value: Any, where: Where) -> None:
        kind = node[0]
        while kind == "ref":
            node = self.definitions[node[1]]
            kind = node[0]
        # The most frequent kinds first: this is the hot path of every frame.
        if kind == "str":
            if type(value) is not str:
                self.fail(where, "a string", value)
            elif len(value) < node[1]:
                self.fail(where, f"a string of at least {node[1]} characters", value)
        elif kind == "opt":
            if value is not None:
                self.check(node[1], value, where)
        elif kind == "obj":
            self.check_object(node, value, where)
        elif kind == "default":
            self.check_with_default(node, value, where)
        else:
            getattr(self, "check_" + kind)(node, value, where)

    def fail(self, where: Where, expected: str, value: Any) -> None:
        self.failures.append((where, f"expected {expected}, got {_shown(value)}"))

    def check_object(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not dict:
            self.fail(where, "an object", value)
            return
        for name in node[2]:
            if name not in value:
                self.failures.append(((where, name), "expected a value, it is missing"))
        fields = node[1]
        for name, item in value.items():
            field = fields.get(name)
            if field is not None:
                self.check(field, item, (where, name))

    def check_with_default(self, node: Node, value: Any, where: Where) -> None:
        failed, repaired = len(self.failures), len(self.repairs)
        self.check(node[1], value, where)
        if len(self.failures) > failed:
            at, why = self.failures[failed]
            del self.failures[failed:], self.repairs[repaired:]
            inner = "" if at == where else f" at {_path(at)}"
            self.repairs.append((where, f"{why}{inner}", f"a reader takes {_shown(node[2])} instead"))

    def check_skip(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not list:
            self.fail(where, "an array", value)
            return
        for index, item in enumerate(value):
            failed, repaired = len(self.failures), len(self.repairs)
            self.check(node[1], item, (where, index))
            if len(self.failures) > failed:
                at, why = self.failures[failed]
                del self.failures[failed:], self.repairs[repaired:]
                inner = "" if at == (where, index) else f" at {_path(at)}"
                self.repairs.append(((where, index), f"{why}{inner}", "a reader drops the item"))

    def check_tag(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not dict:
            self.fail(where, "an object", value)
            return
        tag = value.get(node[1])
        definition = node[2].get(tag) if type(tag) is str else None
        if definition is not None:
            self.check(self.definitions[definition], value, where)
        elif node[1] not in value:
            self.failures.append(((where, node[1]), f"expected one of {_listed(node[2])}, it is missing"))
        elif type(tag) is not str or not tag.startswith("_"):
            self.fail((where, node[1]), f"one of {_listed(node[2])}", tag)

    def check_or(self, node: Node, value: Any, where: Where) -> None:
        """The first branch that fits, else the first that can be repaired, else the failures of the nearest."""
        failures, repairs = self.failures, self.repairs
        best: tuple[tuple[int, int], list[tuple[Where, str]]] | None = None
        repaired: list[tuple[Where, str, str]] | None = None
        for branch in node[1]:
            self.failures, self.repairs = [], []
            self.check(branch, value, where)
            if not self.failures:
                if not self.repairs:
                    self.failures, self.repairs = failures, repairs
                    return
                repaired = repaired if repaired is not None else self.repairs
            # Deeper is nearer (the outside fitted), then fewer failures.
            nearness = (min((_depth(at) for at, _ in self.failures), default=0), -len(self.failures))
            if best is None or nearness > best[0]:
                best = (nearness, self.failures)
        self.failures, self.repairs = failures, repairs
        if repaired is not None:
            repairs.extend(repaired)
        elif best is not None and best[0][0] > _depth(where):
            failures.extend(best[1])
        else:
            self.fail(where, self.describe(node), value)

    def check_arr(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not list:
            self.fail(where, "an array", value)
            return
        for index, item in enumerate(value):
            self.check(node[1], item, (where, index))

    def check_map(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not dict:
            self.fail(where, "an object", value)
            return
        if node[1][0] != "any":
            for name, item in value.items():
                self.check(node[1], item, (where, name))

    def check_int(self, node: Node, value: Any, where: Where) -> None:
        # JSON has one kind of number: 1.0 is an integer.
        if not (type(value) is int or (type(value) is float and value.is_integer())):
            self.fail(where, "an integer", value)
        elif node[1] is not None and value < node[1]:
            self.fail(where, f"an integer of at least {node[1]}", value)
        elif node[2] is not None and value > node[2]:
            self.fail(where, f"an integer of at most {node[2]}", value)

    def check_num(self, _node: Node, value: Any, where: Where) -> None:
        if type(value) not in (int, float):
            self.fail(where, "a number", value)

    def check_bool(self, _node: Node, value: Any, where: Where) -> None:
        if type(value) is not bool:
            self.fail(where, "a boolean", value)

    def check_null(self, _node: Node, value: Any, where: Where) -> None:
        if value is not None:
            self.fail(where, "null", value)

    def check_any(self, _node: Node, _value: Any, _where: Where) -> None:
        return

    def check_const(self, node: Node, value: Any, where: Where) -> None:
        if value != node[1] or type(value) is not type(node[1]):
            self.fail(where, _shown(node[1]), value)

    def check_enum(self, node: Node, value: Any, where: Where) -> None:
        if type(value) is not str or value not in node[1]:
            self.fail(where, f"one of {_listed(node[1])}", value)

    def check_not(self, node: Node, value: Any, where: Where) -> None:
        if value in node[1]:
            self.fail(where, f"another value than {_listed(node[1])}", value)
        else:
            self.check(node[2], value, where)

    def check_uri(self, _node: Node, value: Any, where: Where) -> None:
        scheme, colon, rest = value.partition(":") if type(value) is str else ("", "", "")
        if (
            not (colon and rest and scheme[:1].isalpha() and scheme.isascii())
            or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
        ):
            self.fail(where, "a URI", value)

    def describe(self, node: Node) -> str:
        """What a node wants, for a value that fits no branch at all."""
        kind = node[0]
        if kind == "ref":
            return self.describe(self.definitions[node[1]])
        if kind == "or":
            return " or ".join(dict.fromkeys(self.describe(branch) for branch in node[1]))
        if kind in ("default", "opt"):
            return self.describe(node[1])
        if kind == "const":
            return _shown(node[1])
        return _NAMES[kind]


_NAMES = {
    "any": "any value",
    "arr": "an array",
    "bool": "a boolean",
    "enum": "one of a list",
    "int": "an integer",
    "map": "an object",
    "not": "another value",
    "null": "null",
    "num": "a number",
    "obj": "an object",
    "skip": "an array",
    "str": "a string",
    "tag": "an object",
    "uri": "a URI",
}


def load_tables(data: bytes) -> Tables:
    """Read what generate_schema.py wrote. Raises UsageError if it is something else."""
    try:
        table = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the schema table is not JSON: {error}") from None
    if not isinstance(table, dict) or table.get("version") != FORMAT_VERSION:
        raise UsageError(
            f"the schema table is not of version {FORMAT_VERSION}: make it anew with generate_schema.py"
        )
    return Tables(table)


def _path(where: Where) -> str:
    keys: list[str] = []
    while where is not None:
        where, key = where
        if type(key) is int:
            keys.append(f"[{key}]")
        elif str(key).isidentifier():
            keys.append(f".{key}")
        else:
            keys.append(f"[{_quoted(str(key))}]")
    return "$" + "".join(reversed(keys))


def _depth(where: Where) -> int:
    depth = 0
    while where is not None:
        depth += 1
        where = where[0]
    return depth


def _note(repair: tuple[Where, str, str]) -> str:
    where, why, consequence = repair
    return f"{_path(where)}: {why}; {consequence}"


def _listed(values: Any) -> str:
    return ", ".join(_shown(value) for value in values)


def _shown(value: Any) -> str:
    if type(value) is dict:
        return "an object" if value else "{}"
    if type(value) is list:
        return "an array" if value else "[]"
    return _quoted(value if type(value) is not str or len(value) <= 60 else value[:60] + "…")


def _quoted(value: Any) -> str:
    return orjson.dumps(value).decode()

"""python generate_schema.py OUT.json: the schema table, made from the agent-client-protocol package.

Runs at build time only: it imports the package's pydantic models, which no replay ever does. The package carries
no schema.json, but its models are generated from one, so their own JSON schema is the source, and the repairs
that the schema allows (`x-deserialize-default-on-error`, `x-deserialize-skip-invalid-items`) come back from
the validators that stand for them. Format: schema.py.

Everything that is not understood is refused by name: a JSON-schema keyword, a validator, a method that METHODS
does not know, a model that no method uses. A new release of the package is then read by a person, never guessed.
"""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import acp.meta
import acp.schema
import orjson
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema

DISTRIBUTION = "agent-client-protocol"
CANCEL_REQUEST = "$/cancel_request"

# method -> (params, result). The package has no such table; the unions of its four message models prove it complete.
CLIENT_REQUESTS = {
    "initialize": ("InitializeRequest", "InitializeResponse"),
    "authenticate": ("AuthenticateRequest", "AuthenticateResponse"),
    "logout": ("LogoutRequest", "LogoutResponse"),
    "mcp/message": ("MessageMcpRequest", ""),
    "nes/close": ("CloseNesRequest", "CloseNesResponse"),
    "nes/start": ("StartNesRequest", "StartNesResponse"),
    "nes/suggest": ("SuggestNesRequest", "SuggestNesResponse"),
    "providers/disable": ("DisableProviderRequest", "DisableProviderResponse"),
    "providers/list": ("ListProvidersRequest", "ListProvidersResponse"),
    "providers/set": ("SetProviderRequest", "SetProviderResponse"),
    "session/close": ("CloseSessionRequest", "CloseSessionResponse"),
    "session/delete": ("DeleteSessionRequest", "DeleteSessionResponse"),
    "session/fork": ("ForkSessionRequest", "ForkSessionResponse"),
    "session/list": ("ListSessionsRequest", "ListSessionsResponse"),
    "session/load": ("LoadSessionRequest", "LoadSessionResponse"),
    "session/new": ("NewSessionRequest", "NewSessionResponse"),
    "session/prompt": ("PromptRequest", "PromptResponse"),
    "session/resume": ("ResumeSessionRequest", "ResumeSessionResponse"),
    "session/set_config_option": (
        "SetSessionConfigOptionBooleanRequest SetSessionConfigOptionSelectRequest",
        "SetSessionConfigOptionResponse",
    ),
    "session/set_mode": ("SetSessionModeRequest", "SetSessionModeResponse"),
}
CLIENT_NOTIFICATIONS = {
    "document/didChange": "DidChangeDocumentNotification",
    "document/didClose": "DidCloseDocumentNotification",
    "document/didFocus": "DidFocusDocumentNotification",
    "document/didOpen": "DidOpenDocumentNotification",
    "document/didSave": "DidSaveDocumentNotification",
    "mcp/message": "MessageMcpNotification",
    "nes/accept": "AcceptNesNotification",
    "nes/reject": "RejectNesNotification",
    "session/cancel": "CancelNotification",
}
AGENT_REQUESTS = {
    "elicitation/create": (
        "CreateFormSessionElicitationRequest CreateFormRequestElicitationRequest"
        " CreateUrlSessionElicitationRequest CreateUrlRequestElicitationRequest CreateOtherElicitationRequest",
        "AcceptElicitationResponse DeclineElicitationResponse CancelElicitationResponse OtherElicitationResponse",
    ),
    "fs/read_text_file": ("ReadTextFileRequest", "ReadTextFileResponse"),
    "fs/write_text_file": ("WriteTextFileRequest", "WriteTextFileResponse"),
    "mcp/connect": ("ConnectMcpRequest", "ConnectMcpResponse"),
    "mcp/disconnect": ("DisconnectMcpRequest", "DisconnectMcpResponse"),
    "mcp/message": ("MessageMcpRequest", ""),
    "session/request_permission": ("RequestPermissionRequest", "RequestPermissionResponse"),
    "terminal/create": ("CreateTerminalRequest", "CreateTerminalResponse"),
    "terminal/kill": ("KillTerminalRequest", "KillTerminalResponse"),
    "terminal/output": ("TerminalOutputRequest", "TerminalOutputResponse"),
    "terminal/release": ("ReleaseTerminalRequest", "ReleaseTerminalResponse"),
    "terminal/wait_for_exit": ("WaitForTerminalExitRequest", "WaitForTerminalExitResponse"),
}
AGENT_NOTIFICATIONS = {
    "elicitation/complete": "CompleteElicitationNotification",
    "mcp/message": "MessageMcpNotification",
    "session/update": "SessionNotification",
}

Node = list[Any]
# Leniency of this SDK that the schema does not give to others: a client that sends a date as protocolVersion.
LENIENCY = frozenset({"_coerce_protocol_version"})
PLAIN = {"number": "num", "boolean": "bool", "null": "null"}
# Said about a value, never about what it may be.
ANNOTATIONS = frozenset({"title", "description", "default"})


class Unsupported(Exception):
    """The package holds something that this generator was not taught."""


def build_table() -> dict[str, Any]:
    """The whole table. Raises Unsupported."""
    _check_methods()
    models = _models()
    senders = {
        "agent": _sender(AGENT_REQUESTS, AGENT_NOTIFICATIONS),
        "client": _sender(CLIENT_REQUESTS, CLIENT_NOTIFICATIONS),
    }
    roots = [*_references(senders), "Error"]
    return {
        "version": 1,
        "source": f"{DISTRIBUTION} {version(DISTRIBUTION)}",
        "protocol": acp.meta.PROTOCOL_VERSION,
        "error": "Error",
        "senders": senders,
        "definitions": Translation(models).reachable(roots),
    }


def _sender(requests: dict[str, tuple[str, str]], notifications: dict[str, str]) -> dict[str, Any]:
    told: dict[str, Node] = {method: _choice(names) for method, names in notifications.items()}
    told[CANCEL_REQUEST] = _choice("CancelRequestNotification")
    return {
        "requests": {
            method: [_choice(asked), _choice(result)] for method, (asked, result) in requests.items()
        },
        "notifications": told,
    }


def _choice(names: str) -> Node:
    nodes: list[Node] = [["ref", name] for name in names.split()]
    if not nodes:
        return ["any"]
    return nodes[0] if len(nodes) == 1 else ["or", nodes]


def _check_methods() -> None:
    """METHODS and the package name the same methods and the same models."""
    for side, known, listed in (
        ("agent", {*CLIENT_REQUESTS, *CLIENT_NOTIFICATIONS}, acp.meta.AGENT_METHODS),
        ("client", {*AGENT_REQUESTS, *AGENT_NOTIFICATIONS}, acp.meta.CLIENT_METHODS),
    ):
        _same(f"methods that the {side} serves", known, set(listed.values()))
    for message, field, names in (
        ("ClientRequest", "params", [params for params, _ in CLIENT_REQUESTS.values()]),
        ("AgentRequest", "params", [params for params, _ in AGENT_REQUESTS.values()]),
        ("ClientNotification", "params", list(CLIENT_NOTIFICATIONS.values())),
        ("AgentNotification", "params", list(AGENT_NOTIFICATIONS.values())),
        ("AgentResponseMessage", "result", [result for _, result in CLIENT_REQUESTS.values()]),
        ("ClientResponseMessage", "result", [result for _, result in AGENT_REQUESTS.values()]),
    ):
        annotation = getattr(acp.schema, message).model_fields[field].annotation
        _same(f"models of {message}.{field}", set(" ".join(names).split()), _model_names(annotation))


def _model_names(annotation: Any) -> set[str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation.__name__}
    return {name for inner in get_args(annotation) for name in _model_names(inner)}


def _same(what: str, ours: set[str], theirs: set[str]) -> None:
    if ours != theirs:
        raise Unsupported(
            f"{what}: METHODS lacks {sorted(theirs - ours)} and has too many: {sorted(ours - theirs)}"
        )


def _models() -> dict[str, type[BaseModel]]:
    found = vars(acp.schema).values()
    return {item.__name__: item for item in found if isinstance(item, type) and issubclass(item, BaseModel)}


def _references(node: Any) -> list[str]:
    """Names of the definitions that a node or a table of nodes points at."""
    if isinstance(node, dict):
        return [name for item in node.values() for name in _references(item)]
    if not isinstance(node, list) or not node:
        return []
    if node[0] == "ref":
        return [node[1]]
    if node[0] == "tag":
        return list(node[2].values())
    return [name for item in node for name in _references(item)]


class Translation:
    """pydantic models -> nodes."""

    def __init__(self, models: dict[str, type[BaseModel]]) -> None:
        usable = [model for name, model in models.items() if name not in ("BaseModel", "RootModel")]
        _, schema = models_json_schema([(model, "validation") for model in usable], by_alias=True)
        self.models = models
        self.definitions: dict[str, Any] = schema.get("$defs", {})
        self.constants = sorted(_constants(self.definitions))

    def reachable(self, roots: list[str]) -> dict[str, Node]:
        """The nodes of `roots` and of all that they point at, sorted by name."""
        done: dict[str, Node] = {}
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name not in done:
                done[name] = self.definition(name)
                todo.extend(_references(done[name]))
        return dict(sorted(done.items()))

    def definition(self, name: str) -> Node:
        if name not in self.definitions:
            raise Unsupported(f"{name}: the package has no such model")
        node = self.node(self.definitions[name], name)
        if node[0] == "obj" and name in self.models:
            self.repair(name, node)
        return node

    def node(self, schema: dict[str, Any], where: str) -> Node:
        """One JSON schema as a node. `where` names it in a refusal."""
        words = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        if not words:
            return ["any"]
        if "$ref" in words:
            return ["ref", self.only(words, where, "$ref")["$ref"].rpartition("/")[2]]
        if "discriminator" in words:
            return self.tag(self.only(words, where, "discriminator", "oneOf"), where)
        if "anyOf" in words:
            return self.union(self.only(words, where, "anyOf")["anyOf"], where)
        if "const" in words:
            return ["const", self.only(words, where, "const", "type")["const"]]
        if "enum" in words:
            return ["enum", self.only(words, where, "enum", "type")["enum"]]
        return self.typed(words, where)

    def typed(self, words: dict[str, Any], where: str) -> Node:
        match words.get("type"):
            case "string" if words.get("format") == "uri":
                self.only(words, where, "type", "format", "minLength")
                return ["uri"]
            case "string":
                return ["str", self.only(words, where, "type", "minLength").get("minLength", 0)]
            case "integer":
                self.only(words, where, "type", "minimum", "maximum")
                return ["int", words.get("minimum"), words.get("maximum")]
            case "number" | "boolean" | "null" as plain:
                self.only(words, where, "type")
                return [PLAIN[plain]]
            case "array":
                return ["arr", self.node(self.only(words, where, "type", "items")["items"], where + "[]")]
            case "object":
                return self.object(words, where)
        raise Unsupported(f"{where}: a schema of type {words.get('type')!r}")

    def object(self, words: dict[str, Any], where: str) -> Node:
        self.only(words, where, "type", "properties", "required", "additionalProperties")
        free = words.get("additionalProperties", True)
        if "properties" in words:
            if free is not True:
                raise Unsupported(f"{where}: properties beside additionalProperties {free!r}")
            fields = {
                name: self.node(inner, f"{where}.{name}") for name, inner in words["properties"].items()
            }
            return ["obj", fields, words.get("required", [])]
        if free is False:
            raise Unsupported(f"{where}: additionalProperties false")
        return ["map", ["any"] if free is True else self.node(free, where + "{}")]

    def union(self, branches: list[dict[str, Any]], where: str) -> Node:
        rest = [branch for branch in branches if branch.get("type") != "null"]
        nodes = list(dict.fromkeys(orjson.dumps(self.node(branch, where)) for branch in rest))
        node: Node = (
            orjson.loads(nodes[0]) if len(nodes) == 1 else ["or", [orjson.loads(item) for item in nodes]]
        )
        if any(branch == {} for branch in rest):
            return ["any"]
        return node if len(rest) == len(branches) else ["opt", node]

    def tag(self, words: dict[str, Any], where: str) -> Node:
        mapping = words["discriminator"].get("mapping", {})
        targets = {value: reference.rpartition("/")[2] for value, reference in mapping.items()}
        if sorted(targets.values()) != sorted(branch["$ref"].rpartition("/")[2] for branch in words["oneOf"]):
            raise Unsupported(f"{where}: a discriminator that does not name every branch")
        return ["tag", words["discriminator"]["propertyName"], targets]

    def only(self, words: dict[str, Any], where: str, *known: str) -> dict[str, Any]:
        unknown = sorted(set(words) - set(known))
        if unknown:
            raise Unsupported(f"{where}: the JSON-schema keyword {unknown[0]!r}")
        return words

    def repair(self, name: str, node: Node) -> None:
        """Wrap the fields of model `name` in what its validators do, the outermost (defined last) last."""
        model = self.models[name]
        for title, decorator in model.__pydantic_decorators__.field_validators.items():
            if title in LENIENCY:
                continue
            for python_name in decorator.info.fields:
                field = model.model_fields.get(python_name)
                if field is not None:
                    wire = field.alias or python_name
                    node[1][wire] = self.wrapped(node[1][wire], title, decorator, f"{name}.{wire}")

    def wrapped(self, node: Node, title: str, decorator: Any, where: str) -> Node:
        call = decorator.func
        if title.startswith("_salvage_") and decorator.info.mode == "wrap":
            return ["default", node, call(object(), _refuse)]
        if title.startswith("_skip_invalid_items_") and decorator.info.mode == "wrap":
            if call([object()], _refuse) != []:
                raise Unsupported(f"{where}: the validator {title} does not drop an item that does not fit")
            return _skipping(node, where)
        if title.startswith("_reject_known_") and decorator.info.mode == "before":
            return ["not", [value for value in self.constants if _rejects(call, value)], node]
        raise Unsupported(f"{where}: the validator {title} ({decorator.info.mode})")


def _skipping(node: Node, where: str) -> Node:
    if node[0] in ("opt", "default"):
        return [node[0], _skipping(node[1], where), *node[2:]]
    if node[0] == "arr":
        return ["skip", node[1]]
    raise Unsupported(f"{where}: items can be skipped in an array only, this is {node[0]!r}")


def _refuse(_value: Any) -> Any:
    """Stands for a field's own validation, which has just failed."""
    raise ValidationError.from_exception_data("refused", [])


def _rejects(call: Any, value: str) -> bool:
    try:
        call(value)
    except ValueError:
        return True
    return False


def _constants(schema: Any) -> set[str]:
    """Every string that stands as a const anywhere: what a `_reject_known_` validator may reject."""
    if isinstance(schema, list):
        return {value for item in schema for value in _constants(item)}
    if not isinstance(schema, dict):
        return set()
    found = {value for item in schema.values() for value in _constants(item)}
    return found | ({schema["const"]} if isinstance(schema.get("const"), str) else set())


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: generate_schema.py OUT.json", file=sys.stderr)
        return 2
    try:
        table = build_table()
    except Unsupported as error:
        print(f"generate_schema.py: {DISTRIBUTION} {version(DISTRIBUTION)}: {error}", file=sys.stderr)
        return 2
    Path(arguments[0]).write_bytes(orjson.dumps(table))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

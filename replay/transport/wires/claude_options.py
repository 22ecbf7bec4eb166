"""What a `claude` CLI is started with <-> the `options` of the logical frame `query.open`.

An option comes from one of two places: a flag of the command line, or a member of the `initialize` request, which a
client of the SDK family writes as its first line. Both end in one object, under the SDK's own names, so that a
transcript does not depend on which of the two a client's version chose.

`FLAGS` is the table of flags. A flag that is no option stands in `NO_OPTIONS` with its reason and is left out. What
neither knows is compared under `extraArgs`, {flag without dashes: value, or null where it has none}.
Both directions: options_of(argv_of(o)) == o for options that hold only what flags can say. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replay.errors import UsageError
from replay.transport.wires.claude_values import KINDS

__all__ = [
    "FLAGS",
    "NO_OPTIONS",
    "Call",
    "argv_of",
    "initialize_of",
    "options_of",
    "read_argv",
    "with_initialize",
]

type Json = Any
type Options = dict[str, Json]


class Flag(NamedTuple):
    """One row of the table: a flag and its option.

    kind: how values are read and written, a key of `KINDS`. also: other spellings that the CLI accepts.
    """

    flag: str
    option: str
    kind: str = "text"
    also: tuple[str, ...] = ()


class NoOption(NamedTuple):
    """A flag that is left out of the options. takes_value: whether one follows. value: left out only with this one."""

    flag: str
    rule: str
    reason: str
    takes_value: bool = False
    value: str | None = None
    also: tuple[str, ...] = ()


class Call(NamedTuple):
    """A command line, read. prompt: the text after the flags. is_stream: input is stream-JSON."""

    options: Options
    prompt: str = ""
    is_stream: bool = False


FLAGS = (
    Flag("--model", "model"),
    Flag("--tools", "tools", "tools"),
    Flag("--permission-mode", "permissionMode"),
    Flag("--allow-dangerously-skip-permissions", "allowDangerouslySkipPermissions", "true"),
    Flag("--allowedTools", "allowedTools", "list", ("--allowed-tools",)),
    Flag("--disallowedTools", "disallowedTools", "list", ("--disallowed-tools",)),
    Flag("--session-id", "sessionId"),
    Flag("--resume", "resume", "optional", ("-r",)),
    Flag("--resume-session-at", "resumeSessionAt"),
    Flag("--resume-drops-turn", "resumeDropsTurn"),
    Flag("--fork-session", "forkSession", "true"),
    Flag("--continue", "continue", "true", ("-c",)),
    Flag("--no-session-persistence", "persistSession", "false"),
    Flag("--session-mirror", "sessionMirror", "true"),
    Flag("--system-prompt", "systemPrompt"),
    Flag("--system-prompt-file", "systemPromptFile"),
    Flag("--append-system-prompt", "appendSystemPrompt"),
    Flag("--append-system-prompt-file", "appendSystemPromptFile"),
    Flag("--agent", "agent"),
    Flag("--agents", "agents", "json"),
    Flag("--max-turns", "maxTurns", "number"),
    Flag("--max-budget-usd", "maxBudgetUsd", "number"),
    Flag("--task-budget", "taskBudget", "total"),
    Flag("--max-thinking-tokens", "maxThinkingTokens", "number"),
    Flag("--thinking", "thinking", "type"),
    Flag("--thinking-display", "thinkingDisplay"),
    Flag("--effort", "effort"),
    Flag("--fallback-model", "fallbackModel"),
    Flag("--betas", "betas", "list"),
    Flag("--json-schema", "outputFormat", "schema"),
    Flag("--mcp-config", "mcpServers", "servers"),
    Flag("--strict-mcp-config", "strictMcpConfig", "true"),
    Flag("--settings", "settings", "json"),
    Flag("--setting-sources", "settingSources", "list"),
    Flag("--add-dir", "additionalDirectories", "many"),
    Flag("--plugin-dir", "plugins", "plugins"),
    Flag("--include-partial-messages", "includePartialMessages", "true"),
    Flag("--include-hook-events", "includeHookEvents", "true"),
    Flag("--permission-prompt-tool", "permissionPromptToolName"),
    Flag("--project-config-root", "projectConfigRoot"),
)
_WIRE = "says how bytes are written, nothing about the query"
_LOG = "says where the CLI writes a log of its own"
NO_OPTIONS = (
    NoOption("--output-format", "wire-form", _WIRE, takes_value=True, value="stream-json"),
    NoOption("--input-format", "wire-form", _WIRE, takes_value=True),
    NoOption("--verbose", "wire-form", _WIRE),
    NoOption("--print", "wire-form", _WIRE, also=("-p",)),
    NoOption("--await-initialize", "wire-form", _WIRE),
    NoOption(
        "--permission-prompt-tool",
        "permission-callback",
        "says that a callback answers permission requests, and a callback has no value to compare",
        takes_value=True,
        value="stdio",
    ),
    NoOption(
        "--system-prompt",
        "no-system-prompt",
        "the Python client writes an empty one where its user gave none",
        takes_value=True,
        value="",
    ),
    NoOption("--debug-file", "own-log", _LOG, takes_value=True),
    NoOption("--debug-to-stderr", "own-log", _LOG),
    NoOption("--debug", "own-log", _LOG, also=("-d",)),
)
_BY_FLAG = {name: row for row in FLAGS for name in (row.flag, *row.also)}
_BY_OPTION = {row.option: row for row in FLAGS}
_LEFT_OUT = {name: row for row in NO_OPTIONS for name in (row.flag, *row.also)}
# Flags of these kinds take every word up to the next flag.
_VARIADIC = frozenset(("list", "tools", "many", "servers"))
_BARE = frozenset(("true", "false"))
_SUBTYPE = "subtype"


def options_of(argv: Sequence[str]) -> Options:
    """The options that a command line gives, its program name not included. Raises UsageError as `read_argv` does."""
    return read_argv(argv).options


def read_argv(argv: Sequence[str]) -> Call:
    """A command line as a value. Raises UsageError on JSON that is none and on an output that is not stream-JSON."""
    options: Options = {}
    extra: dict[str, Json] = {}
    prompts: list[str] = []
    is_stream = False
    for name, values in _words(argv):
        if not name:
            prompts.extend(values)
        elif _is_left_out(name, values):
            is_stream = is_stream or (name == "--input-format" and values == ["stream-json"])
        elif (row := _BY_FLAG.get(name)) is not None:
            options[row.option] = KINDS[row.kind].read(values, options.get(row.option), name)
        else:
            _refuse_output(name, values)
            extra[name.lstrip("-")] = values[0] if values else None
    if extra:
        options["extraArgs"] = extra
    return Call(options, " ".join(prompts), is_stream)


def with_initialize(options: Mapping[str, Json], request: Mapping[str, Json]) -> Options:
    """The options of a command line with those of the `initialize` request that followed it; null means not given."""
    merged = dict(options)
    for key, value in request.items():
        if key == _SUBTYPE or value is None:
            continue
        if key == "jsonSchema":
            merged["outputFormat"] = {"type": "json_schema", "schema": value}
        elif key == "systemPrompt":
            prompt = value[0] if isinstance(value, list) and len(value) == 1 else value
            if prompt not in ("", []):
                merged[key] = prompt
        else:
            merged[key] = value
    return merged


def argv_of(options: Mapping[str, Json]) -> list[str]:
    """The command line of a stream-JSON client with these options; `initialize_of` has those that no flag can say."""
    argv = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
    for option, value in options.items():
        row = _BY_OPTION.get(option)
        if row is not None and KINDS[row.kind].holds(value):
            argv.extend(KINDS[row.kind].write(row.flag, value))
    for name, value in (options.get("extraArgs") or {}).items():
        argv.append(f"--{name}" if value is None else f"--{name}={value}")
    return argv


def initialize_of(options: Mapping[str, Json]) -> dict[str, Json]:
    """The `initialize` request that gives the options which `argv_of` leaves out."""
    request: dict[str, Json] = {_SUBTYPE: "initialize", "hooks": None}
    for option, value in options.items():
        row = _BY_OPTION.get(option)
        if option != "extraArgs" and (row is None or not KINDS[row.kind].holds(value)):
            request[option] = value
    return request


def _words(argv: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each flag with its values, and ("", words) for what stands alone."""
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if not word.startswith("-") or word == "-":
            yield "", [word]
            continue
        if word == "--":
            yield "", list(argv[at:])
            return
        name, equals, value = word.partition("=")
        if equals:
            yield name, [value]
            continue
        most = _most_values(name)
        end = at
        while end < len(argv) and end - at < most and _is_value(name, argv[end]):
            end += 1
        yield name, list(argv[at:end])
        at = end


def _most_values(name: str) -> int:
    left_out = _LEFT_OUT.get(name)
    row = _BY_FLAG.get(name)
    if row is not None:
        return 0 if row.kind in _BARE else 1 << 20 if row.kind in _VARIADIC else 1
    if left_out is not None:
        return 1 if left_out.takes_value else 0
    return 1


def _is_value(name: str, word: str) -> bool:
    """Whether `word` belongs to the flag before it. One that needs a value takes whatever follows."""
    row = _BY_FLAG.get(name)
    left_out = _LEFT_OUT.get(name)
    needs_one = row.kind not in _VARIADIC and row.kind != "optional" if row else left_out is not None
    return needs_one or not word.startswith("-")


def _is_left_out(name: str, values: list[str]) -> bool:
    row = _LEFT_OUT.get(name)
    return row is not None and (row.value is None or values == [row.value])


def _refuse_output(name: str, values: list[str]) -> None:
    if name == "--output-format":
        given = values[0] if values else ""
        raise UsageError(
            f'the claude peer writes stream-json only, and was started with --output-format "{given[:40]}"',
            fix="start it with --output-format stream-json --verbose, as the SDKs do",
        )

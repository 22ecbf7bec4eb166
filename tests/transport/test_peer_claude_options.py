"""Command lines of the `claude` CLI and the options of `query.open`. A table's rows are too many for scenarios."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import UsageError
from replay.transport.wires.claude_options import (
    FLAGS,
    NO_OPTIONS,
    argv_of,
    initialize_of,
    options_of,
    read_argv,
    with_initialize,
)

WIRE = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
PRESET = {"type": "preset", "preset": "claude_code"}


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        (WIRE, {}),
        (["-p", *WIRE, "--debug-file", "/x", "--debug-to-stderr"], {}),
        (["--model", "m", "--permission-mode=plan"], {"model": "m", "permissionMode": "plan"}),
        (["--tools", "default"], {"tools": PRESET}),
        (["--tools=default"], {"tools": PRESET}),
        (["--tools", ""], {"tools": []}),
        (["--tools", "Read,Glob"], {"tools": ["Read", "Glob"]}),
        (["--allowedTools", "Bash(git add:*, x),Read"], {"allowedTools": ["Bash(git add:*, x)", "Read"]}),
        (["--allowed-tools", "Bash(git *) Edit", "--model=m"], {"allowedTools": ["Bash(git *)", "Edit"], "model": "m"}),
        (["--resume=s", "--fork-session"], {"resume": "s", "forkSession": True}),
        (["-r", "--continue"], {"resume": None, "continue": True}),
        (["--resume-session-at=u", "--resume", "s"], {"resumeSessionAt": "u", "resume": "s"}),
        (["--session-id=s", "--no-session-persistence"], {"sessionId": "s", "persistSession": False}),
        (["--system-prompt", ""], {}),
        (["--system-prompt", "-x"], {"systemPrompt": "-x"}),
        (["--permission-prompt-tool", "stdio"], {}),
        (["--permission-prompt-tool=mcp__a__b"], {"permissionPromptToolName": "mcp__a__b"}),
        (["--max-turns", "3", "--max-budget-usd", "0.5"], {"maxTurns": 3, "maxBudgetUsd": 0.5}),
        (["--max-turns", "many"], {"maxTurns": "many"}),
        (["--task-budget", "9", "--thinking", "adaptive"], {"taskBudget": {"total": 9}, "thinking": {"type": "adaptive"}}),
        (["--setting-sources="], {"settingSources": []}),
        (["--add-dir", "/a", "/b", "--add-dir=/c"], {"additionalDirectories": ["/a", "/b", "/c"]}),
        (["--plugin-dir", "/a", "--plugin-dir", "/b"], {"plugins": [{"type": "local", "path": p} for p in ("/a", "/b")]}),
        (["--mcp-config", '{"mcpServers":{"a":{"type":"sdk"}}}'], {"mcpServers": {"a": {"type": "sdk"}}}),
        (["--mcp-config", "x.json"], {"mcpServers": {"x.json": "file"}}),
        (["--settings", '{"a":1}'], {"settings": {"a": 1}}),
        (["--settings", "x.json"], {"settings": "x.json"}),
        (["--json-schema", '{"type":"object"}'], {"outputFormat": {"type": "json_schema", "schema": {"type": "object"}}}),
        (["--brand-new", "v", "--bare"], {"extraArgs": {"brand-new": "v", "bare": None}}),
        (["--brand-new=-v"], {"extraArgs": {"brand-new": "-v"}}),
    ],
)  # fmt: skip
def test_flag_becomes_its_option(argv, options):
    assert options_of(argv) == options
    assert options_of(argv_of(options)) == options


def test_text_after_the_flags_is_the_prompt():
    call = read_argv(["-p", "--output-format", "stream-json", "--verbose", "say", "hello"])
    assert (call.prompt, call.is_stream, call.options) == ("say hello", False, {})
    assert read_argv([*WIRE, "--", "--model"]).prompt == "--model"
    assert read_argv(WIRE).is_stream


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--output-format", "json"], "stream-json only"),
        (["--model"], "--model needs a value"),
        (["--mcp-config", "{nope"], "looks like JSON and is none"),
        (["--settings", '{"a":' * 100_000], "looks like JSON and is none"),
        (["--settings", "{" + "x" * (4 << 20)], "more than"),
    ],
)
def test_command_line_that_cannot_be_carried_is_refused(argv, sentence):
    with pytest.raises(UsageError, match=sentence):
        options_of(argv)


def test_initialize_request_adds_its_options_under_the_names_of_the_sdk():
    request = {
        "subtype": "initialize",
        "hooks": None,
        "systemPrompt": ["be brief"],
        "jsonSchema": {"type": "object"},
        "agents": {"a": {"prompt": "p"}},
    }
    assert with_initialize({"model": "m"}, request) == {
        "model": "m",
        "systemPrompt": "be brief",
        "outputFormat": {"type": "json_schema", "schema": {"type": "object"}},
        "agents": {"a": {"prompt": "p"}},
    }
    assert with_initialize({}, {"subtype": "initialize", "systemPrompt": [""], "hooks": None}) == {}


def test_flags_that_are_not_in_the_table_are_flags_again():
    options = {"extraArgs": {"brand-new": "v", "bare": None}, "title": "t"}
    assert argv_of(options) == [*WIRE, "--brand-new=v", "--bare"]
    assert initialize_of(options) == {"subtype": "initialize", "hooks": None, "title": "t"}


def test_table_has_each_flag_and_each_option_once_and_each_exception_a_reason():
    names = [name for row in FLAGS for name in (row.flag, *row.also)]
    assert len(names) == len(set(names)) > 30
    assert len({row.option for row in FLAGS}) == len(FLAGS)
    assert all(row.rule and len(row.reason) > 20 for row in NO_OPTIONS)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_WORD = st.text(st.sampled_from("abcXYZ-_.:"), min_size=1, max_size=8)
_VALUES = {
    "text": _WORD,
    "optional": st.none() | _WORD,
    "true": st.just(True),
    "false": st.just(False),
    "number": st.integers(0, 1 << 40) | st.floats(0, 1e6),
    "json": st.dictionaries(_TEXT, st.integers(-5, 5) | _TEXT, max_size=3),
    "list": st.lists(st.text("abc*:", min_size=1, max_size=5), max_size=3),
    "tools": st.just(PRESET) | st.lists(st.sampled_from(["Read", "Bash(git a, b)"]), max_size=3),
    "many": st.lists(_TEXT, min_size=1, max_size=3),
    "plugins": st.lists(st.fixed_dictionaries({"type": st.just("local"), "path": _TEXT}), min_size=1, max_size=2),
    "total": st.fixed_dictionaries({"total": st.integers(0, 99)}),
    "type": st.fixed_dictionaries({"type": _WORD}),
    "schema": st.fixed_dictionaries({"type": st.just("json_schema"), "schema": st.dictionaries(_TEXT, _TEXT, max_size=2)}),
    "servers": st.dictionaries(_WORD, st.dictionaries(_TEXT, _TEXT, max_size=2), min_size=1, max_size=2),
}  # fmt: skip
_OPTIONS = st.fixed_dictionaries({}, optional={row.option: _VALUES[row.kind] for row in FLAGS}).map(
    lambda options: {key: value for key, value in options.items() if (key, value) != ("permissionPromptToolName", "stdio")}
)  # fmt: skip


@given(_OPTIONS)
def test_options_survive_the_command_line(options):
    assert options_of(argv_of(options)) == options


@given(_OPTIONS, st.dictionaries(st.sampled_from(["hooks", "skills", "title"]), st.lists(_TEXT), max_size=3))
def test_what_no_flag_says_goes_by_way_of_initialize(options, more):
    whole = {**options, **more}
    assert with_initialize(options_of(argv_of(whole)), initialize_of(whole)) == whole

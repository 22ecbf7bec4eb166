"""`replay trace import`: what it writes, what it says of it, and what it refuses, as people do it."""

import json
from pathlib import Path
from typing import Any

import pytest

from replay.cli.main import main
from replay.trace.codec import read_trace
from tests.trace.imported import SCENARIOS
from tests.trace.spans import SPANS, TRACE, export

LOG = SCENARIOS / "bash-turn" / "session.jsonl"
FRAMES = SCENARIOS / "bash-turn" / "stdout.expected.jsonl"
# Made here, so that no scanner takes this file for one with a key.
SECRET = "sk-ant-" + "api03-" + "Zk3vQ9xLw7Rt2Yp5Nm8Bc1Df4Gh6Jk0S" * 3


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: Any) -> Path:
    """An empty directory, in which the command is given."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> int:
    return main(["trace", "import", *map(str, arguments)])


def spans(name: str, listed: list[dict[str, Any]]) -> Path:
    path = Path(name)
    path.write_text(json.dumps(export(listed)))
    return path


def files(directory: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(directory).rglob("*")) if path.is_file()}


def test_each_format_shows_itself_and_comes_to_the_same_bytes_again(capfdbinary: Any) -> None:
    both = [*SPANS, *({**each, "traceId": "ab" * 16} for each in SPANS)]
    sources = (LOG, SCENARIOS / "subagent-fork" / "session.1.jsonl", spans("spans.json", both))
    assert run(*sources, "--into", "shop", "--category", "shell") == 0
    assert run(FRAMES, "--into", "acp/", "--id", "frames", "--task", "Count!") == 0
    written = files("shop")
    names = ["ab" * 16, TRACE, "bash-turn", "subagent-fork.1"]
    assert sorted(written) == sorted(f"shop/traces/{name}.json" for name in names)
    for name in names:
        trace = read_trace(written[f"shop/traces/{name}.json"], name)
        assert (trace.trace_id, trace.category) == (name, "shell")
    trace = read_trace(Path("acp/traces/frames.json").read_bytes(), "frames.json")
    assert (trace.task, trace.final_answer) == ("Count!", "The text files have 5 lines together.")
    capfdbinary.readouterr()
    assert run(*sources, "--into", "shop", "--category", "shell") == 0
    assert files("shop") == written
    assert capfdbinary.readouterr()[0].endswith(b"0 traces written to shop/traces, 4 there already\n")


def test_report_says_what_a_trace_lacks_and_serves(capfdbinary: Any) -> None:
    assert run(LOG, FRAMES.parents[1] / "plan-updates" / FRAMES.name, "--into", "shop") == 0
    assert capfdbinary.readouterr()[0].decode().splitlines() == [
        "bash-turn (4 steps)",
        "  does not hold the prompts, which are masked, a judgement (success), times, states",
        "  can serve mock_tools, semantic, consensus, snapshot, full",
        "  not exact: the prompts are masked, and are compared",
        "plan-updates (5 steps)",
        "  does not hold what model calls said, a judgement (success), times, tokens, states, what makes no step: 2 plan",
        "  can serve full",
        "  not exact, snapshot: ACP does not show model calls",
        "  not mock_tools, semantic, consensus: ACP knows tools by their kind and not by their name",
        "2 traces written to shop/traces",
    ]
    assert run(SCENARIOS / "multi-turn" / "session.jsonl", "--into", "shop") == 0
    output = capfdbinary.readouterr()[0].decode()
    assert "can serve no strategy" in output and "a run has one task" in output
    # A tool without input or output, a model call without an answer.
    bare = [{**each, "events": [], "attributes": each["attributes"][:3]} for each in SPANS]
    assert run(spans("bare.json", bare), "--into", "bare", "--task", "x") == 0
    output = capfdbinary.readouterr()[0].decode()
    assert "not exact, snapshot: a model call does not hold what was answered" in output
    assert "not mock_tools, semantic, consensus: a tool call does not hold the input by which it is" in output


def test_category_that_the_suite_does_not_name_is_noted(capfdbinary: Any) -> None:
    Path("shop").mkdir()
    Path("shop/suite.json").write_text('{"schema": 1, "categories": {"shell": {}}}')
    assert run(LOG, "--into", "shop", "--category", "shell") == 0
    assert b"note:" not in capfdbinary.readouterr()[0]
    assert run(LOG, "--into", "shop", "--id", "other") == 0
    assert b"names its categories, and no category is none of them: shell" in capfdbinary.readouterr()[0]
    Path("shop/suite.json").write_text("{")
    assert run(LOG, "--into", "shop", "--id", "third") == 2
    assert capfdbinary.readouterr()[1].startswith(b"shop/suite.json:1") and len(files("shop")) == 3


def test_what_is_there_stays_unless_told_otherwise(capfdbinary: Any) -> None:
    run(LOG, "--into", "shop")
    before = files("shop")
    arguments = (LOG, spans("spans.json", SPANS), "--into", "shop", "--category", "new")
    assert run(*arguments) == 2
    assert capfdbinary.readouterr()[1].decode() == (
        "shop/traces/bash-turn.json would be overwritten; nothing is written\n"
        "    fix: --overwrite, or another --id\n"
    )
    assert files("shop") == before
    assert run(*arguments, "--overwrite") == 0
    assert len(files("shop")) == 2 and files("shop")["shop/traces/bash-turn.json"] != before


def test_long_values_lie_beside_and_go_with_their_trace() -> None:
    log = Path("long.jsonl")
    log.write_bytes(LOG.read_bytes().replace(b'"5\\n"', b'"' + b"5 lines " * 4000 + b'"'))
    assert run(log, "--into", "shop", "--id", "t") == 0
    assert len(files("shop/traces/blobs")) == 1
    assert run(LOG, "--into", "shop", "--id", "t", "--overwrite") == 0
    assert list(files("shop")) == ["shop/traces/t.json"]


def test_secret_is_refused_by_its_look_and_by_the_value_of_a_variable(
    capfdbinary: Any, monkeypatch: Any
) -> None:
    Path("key.jsonl").write_bytes(LOG.read_bytes().replace(b'"5\\n"', f'"{SECRET}"'.encode()))
    assert run("key.jsonl", LOG, "--into", "shop") == 2
    errors = capfdbinary.readouterr()[1].decode()
    assert errors.startswith("shop/traces/key.json:") and "looks like a secret" in errors
    assert "in key.jsonl, then import that" in errors and SECRET not in errors
    assert not Path("shop").exists()
    monkeypatch.setenv("SHOP_API_KEY", "lines together, says the key of the shop")
    Path("value.jsonl").write_bytes(
        LOG.read_bytes().replace(b"lines together", b"lines together, says the key of the shop")
    )
    assert run("value.jsonl", "--into", "shop") == 2
    assert "value of SHOP_API_KEY" in capfdbinary.readouterr()[1].decode()


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "shows itself as none of session, acp, otel"),
    "text": (b"hello\n", "shows itself as none of session, acp, otel"),
    "binary": (b"\xff\x00" * 40, "shows itself as none of session, acp, otel"),
    "list": (b"[]", "shows itself as none of session, acp, otel"),
    "other": (b'{"a": 1}\n', "shows itself as none of session, acp, otel"),
    "trace": (b'{\n  "schema": 1,\n  "trace_id": "t"}', "looks like a trace already"),
    "trace_line": (b'{"schema":1,"trace_id":"t"}\n{"schema":1,"trace_id":"u"}\n', "looks like a trace already"),
    "log": (b'{"type":"session","version":9,"id":"s","createdAt":0}\n', "bad:1 $.version: this reader"),
    "row": (LOG.read_bytes() + b'{"type":"turn/start"}\n', "bad:31"),
    "frame": (b'{"jsonrpc":"2.0","id":1,"result":{}}\n[]\n', "bad:2: must be a JSON-RPC frame"),
    "update": (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":3}}\n',
        "bad:1 $.params.update: must be an object, not 3",
    ),
    "no_steps": (b'{"resourceSpans":[]}', "bad: holds no model call and no tool call"),
    "span": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":1,"traceId":"x"}]}]}]}', "traceId: must be 32 hex digits"),
    "deep": (b'{"resourceSpans":' + b"[" * 5000 + b"]" * 5000 + b"}", "bad"),
    "cut": (json.dumps(export(SPANS)).encode()[:-40], "bad"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_source_is_one_sentence_and_nothing_is_written(name: str, capfdbinary: Any) -> None:
    data, sentence = BAD[name]
    Path("bad").write_bytes(data)
    assert run(LOG, "bad", "--into", "shop") == 2
    output, errors = capfdbinary.readouterr()
    first, *rest = errors.decode().splitlines()
    assert output == b"" and first.startswith("bad") and sentence in first
    assert all(line.startswith("    ") for line in rest)
    assert not Path("shop").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "--into", "shop"), "nowhere cannot be read: No such file or directory"),
        ((SCENARIOS, "--into", "shop"), f"{SCENARIOS} cannot be read: Is a directory"),
        ((LOG, "--into", "file"), "file is no directory"),
        ((LOG, "--into", "file/shop"), "file/shop cannot be made: Not a directory"),
        ((LOG, FRAMES, "--into", "shop"), f'{LOG} and {FRAMES} are both the trace "bash-turn"'),
        ((LOG, LOG, "--into", "shop", "--id", "x"), "--id is of one trace, and 2 come"),
        ((LOG, LOG, "--into", "shop", "--task", "x"), "--task is of one trace, and 2 come"),
        ((LOG, "--into", "shop", "--id", "../x"), '"../x" names no file'),
        ((LOG, "--into", "shop", "--format", "otel"), f"{LOG}:1"),
        ((LOG, "--into", "shop", "--category", "\udc80"), f"{LOG}: makes a trace that no file can hold"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: tuple[object, ...], sentence: str, capfdbinary: Any) -> None:
    Path("file").write_text("")
    assert run(*arguments) == 2
    output, errors = capfdbinary.readouterr()
    assert output == b"" and sentence in errors.decode().splitlines()[0]
    assert not Path("shop").exists()

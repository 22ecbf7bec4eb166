"""The doctor over transcripts, as a user runs it: what it prints, what it finds, and its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from replay.cli.main import main

WILD = {
    "type": "transcript_start",
    "provider": "p",
    "protocol": "codex.app-server",
    "version": "0.1",
    "scenario": "one",
}
REQUEST = {
    "type": "expect_outbound",
    "frame": {"id": 1, "method": "initialize", "params": {"cwd": "<workspace>"}},
}
ANSWER = {"type": "emit_inbound", "frame": {"id": 1, "result": {}}}
EVENT = {"type": "emit_inbound", "frame": {"method": "event", "params": {}}}
ENDING = {"type": "runtime_exit", "status": "success"}


def write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def doctor(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main(["doctor", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_transcripts_are_listed_with_what_was_played_and_what_is_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "one" / "codex_transcript.ndjson", WILD, REQUEST, ANSWER, EVENT, ENDING)
    code, out = doctor(capsys, tmp_path)
    lines = out.splitlines()
    assert code == 0
    place = f"{tmp_path}/one/codex_transcript.ndjson"
    assert lines[1].split() == [
        place,
        "codex.app-server",
        "0.1",
        "wild",
        *["4", "4", "1", "2", "1", "1", "2"],
        "consumed",
    ]
    assert lines[2] == "codex.app-server compares exact and ignores 2 fields"
    assert lines[3].startswith("  jsonrpc: $.jsonrpc: the server neither sends")
    assert lines[4].startswith("  client-info: $.params.clientInfo of initialize: name and version")
    assert lines[5] == (
        "1 transcript of 1 protocol, 4 entries: 1 parsed and round-tripped, 1 played to the end, 0 exceptions"
    )


def test_quiet_leaves_the_last_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "codex.transcript.ndjson", WILD, ENDING)
    code, out = doctor(capsys, "--quiet", tmp_path)
    assert (code, out.count("\n")) == (0, 1)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([WILD, {"type": "nothing"}], ":2 $.type: must be expect_outbound"),
        ([WILD, ANSWER], ":2 $.frame.id: answers 1, and no request"),
        ([{**WILD, "protocol": "telepathy"}, EVENT], "no protocol is named 'telepathy'"),
        ([WILD, EVENT, ENDING, {**EVENT, "frame": {"x": "{{ref:y}}"}}], ""),
    ],
)
def test_exception_is_named_and_the_rest_still_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[Any], words: str
) -> None:
    write(tmp_path / "a" / "codex.transcript.ndjson", *lines)
    write(tmp_path / "b" / "codex.transcript.ndjson", WILD, EVENT)
    code, out = doctor(capsys, tmp_path)
    assert f"{tmp_path}/a/codex.transcript.ndjson" in out
    assert words in out
    expected = 2 if words else 0
    assert code == expected
    assert out.endswith(
        f"{2 - bool(words)} played to the end, {int(bool(words))} exception{'' if words else 's'}\n"
    )


def test_directory_of_a_transcript_is_no_session_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "one" / "codex.transcript.ndjson", WILD, EVENT)
    (tmp_path / "one" / "session.jsonl").write_text("not a log\n")
    code, out = doctor(capsys, tmp_path)
    assert code == 0 and "scenario" not in out


def test_directory_with_neither_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = doctor(capsys, tmp_path)
    assert code == 2 and "holds no scenario" in out

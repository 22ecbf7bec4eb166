"""A session is shown as it went, in the same words on every machine."""

import shutil

from tests.cli.runs import Run
from tests.cli.test_main import replay

_WHOLE = """\
scenario
  recorded, 2026-03-01, agent coder 1.0, model m-1, protocol 1
turn 1
  user       Say where the heron is.
  request    initial: {"model":"m-1"}
  model      call 1, tool-calls, 20 tokens in, 7 out
  thinks     Look first.
  tool       read {"path":"birds.txt"}
  asks       may it: Read birds.txt (allow_once, reject_once)
  answer     allow_once
      child 1 (subagent)
      turn 1
      user       Read it.
      model      call 1, stop
      says       Read.
  result     heron: pond
  model      call 2, stop
  says       The heron is in the pond.
  stops      end_turn
"""


def test_conversation_is_shown_in_order_with_children_where_they_began(tmp_path):
    Run().write(tmp_path / "scenario")
    done = replay("inspect", "scenario", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == _WHOLE


def test_scenario_without_a_log_is_shown_as_its_client_saw_it(tmp_path):
    run = Run()
    run.answers = []
    directory = run.write(tmp_path / "scenario")
    for log in directory.glob("session*.jsonl"):
        log.unlink()
    assert replay("inspect", "scenario", cwd=tmp_path).stdout.split("\n")[2:] == [
        "turn 1",
        "  user       Say where the heron is.",
        "  says       The heron is in the pond.",
        "  asks       may it: Read birds.txt (allow_once, reject_once)",
        "  answer     cancelled",
        '  shown      Read birds.txt {"path":"birds.txt"}',
        "  completed  [changes {{cwd}}/notes.txt]",
        "  stops      end_turn",
        "",
    ]


def test_call_that_broke_off_shows_what_had_come(tmp_path):
    directory = Run().write(tmp_path / "scenario")
    log = directory / "session.jsonl"
    rows = log.read_text().splitlines()
    cut = next(at for at, row in enumerate(rows) if "in the pond" in row and "block-end" in row)
    end = '{"type":"call/end","data":{"turn":1,"step":2,"call":2,"outcome":{"kind":"failed","message":"gone","code":"E"}}}'
    log.write_text("\n".join([*rows[:cut], end]) + "\n")
    shown = replay("inspect", "scenario", cwd=tmp_path).stdout
    assert "  model      call 2, failed E gone\n  says       The heron is in the pond.\n" in shown


def test_time_is_shown_where_the_log_holds_any(tmp_path):
    directory = Run().write(tmp_path / "scenario")
    log = directory / "session.jsonl"
    log.write_text(
        log.read_text()
        .replace('{"type": "call/start", "data": {"turn": 1, "step": 2', '{"time": 1000, "type": "call/start", "data": {"turn": 1, "step": 2')
        .replace('{"type": "call/end", "data": {"turn": 1, "step": 2', '{"time": 3500, "type": "call/end", "data": {"turn": 1, "step": 2')
    )  # fmt: skip
    assert "  model      call 2, stop, 2.5 s\n" in replay("inspect", "scenario", cwd=tmp_path).stdout


def test_long_texts_are_cut_and_wrapped_and_full_shows_all(tmp_path):
    run = Run()
    run.result = "\n".join(f"line {number} " + "word " * 30 for number in range(20)) + "\x1b[31m"
    run.write(tmp_path / "scenario")
    short = replay("inspect", "scenario", cwd=tmp_path).stdout
    whole = replay("inspect", "--full", "scenario", cwd=tmp_path).stdout
    assert max(map(len, (short + whole).split("\n"))) <= 100
    assert " lines more (--full)\n" in short and "line 19" not in short
    assert "line 19" in whole and "more (--full)" not in whole
    assert "\x1b" not in short + whole and "\\x1b[31m" in whole


def test_what_a_test_left_is_shown_too(tmp_path):
    directory = Run().write(tmp_path / "scenario")
    outputs = tmp_path / "test.outputs"
    shutil.copytree(directory, outputs / "actual")
    (outputs / "actual" / "input.json").unlink()
    shown = replay("inspect", "test.outputs", cwd=tmp_path).stdout
    assert shown == _WHOLE.replace("scenario\n", "test.outputs\n", 1).replace("  answer     allow_once", "  answer     not known here")  # fmt: skip


def test_a_directory_without_a_run_is_a_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, sentence in (
        ("empty", "empty: holds no run of a scenario\n"),
        ("none", "none: no such directory\n"),
    ):
        done = replay("inspect", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(sentence)

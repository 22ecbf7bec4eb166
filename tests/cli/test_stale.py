"""The list of recordings: what each is of, and what has changed since, without running anything."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.cli.runs import Run
from tests.cli.test_main import replay


def _today() -> date:
    return datetime.now(UTC).date()


def _rows(done):
    """Scenario -> its row, cells apart."""
    lines = [line.rstrip() for line in done.stdout.splitlines()[1:-1]]
    return {line.split()[0].rpartition("/")[2]: line for line in lines}


def test_fresh_recording_has_no_reason(tmp_path):
    Run().write(tmp_path / "suite" / "one")
    done = replay("stale", "--check", "suite", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "1 scenario, 0 stale"
    age = str((_today() - date(2026, 3, 1)).days)
    assert _rows(done)["one"].split() == ["suite/one", age, "coder", "1.0", "m-1", "1"]


def test_age_is_a_reason_where_a_limit_is_given(tmp_path):
    run = Run()
    run.provenance["capturedAt"] = (_today() - timedelta(days=10)).isoformat()
    run.write(tmp_path / "suite" / "one")
    assert replay("stale", "--check", "--max-age", "10", "suite", cwd=tmp_path).returncode == 0
    done = replay("stale", "--check", "--max-age", "9", "suite", cwd=tmp_path)
    assert done.returncode == 1
    assert _rows(done)["one"].endswith("10 days old")


def test_newer_fixture_of_the_suite_shows_the_agent_of_today(tmp_path):
    Run().write(tmp_path / "suite" / "old")
    newer = Run()
    newer.version = newer.provenance["agent"]["version"] = "1.1"
    newer.provenance["capturedAt"] = "2026-04-01"
    newer.write(tmp_path / "suite" / "new")
    rows = _rows(replay("stale", "suite", cwd=tmp_path))
    assert rows["old"].endswith("agent version 1.0, now 1.1")
    assert rows["new"].split()[2:4] == ["coder", "1.1"] and "now" not in rows["new"]


def test_authored_and_broken_fixtures_are_told_apart(tmp_path):
    authored = Run()
    authored.provenance = {"kind": "authored"}
    authored.write(tmp_path / "suite" / "authored")
    (Run().write(tmp_path / "suite" / "broken") / "session.jsonl").write_text("{}\n")
    bare = Run().write(tmp_path / "suite" / "bare")
    (bare / "session.jsonl").unlink()
    (bare / "session.1.jsonl").unlink()
    rows = _rows(replay("stale", "suite", cwd=tmp_path))
    assert rows["authored"].split()[1] == "authored"
    assert "must be a session header" in rows["broken"]
    assert rows["bare"].endswith("never recorded")


def test_outputs_of_a_failed_test_show_the_agent_of_today(tmp_path):
    (tmp_path / "MODULE.bazel").touch()
    Run().write(tmp_path / "suite" / "one")
    today = Run()
    today.version = "3.0"
    today.asked = "m-9"
    outputs = tmp_path / "bazel-testlogs" / "suite" / "one_test" / "test.outputs"
    today.write(outputs / "actual")
    other = tmp_path / "bazel-testlogs" / "suite" / "unit_test" / "test.outputs"
    other.mkdir(parents=True)
    (other / "result.json").write_text("[]")
    (outputs / "result.json").write_text(json.dumps({"scenario": "one", "exit_code": 1}))
    assert _rows(replay("stale", "suite", cwd=tmp_path))["one"].endswith(
        "agent version 1.0, now 3.0; model m-1, now m-9"
    )
    (outputs / "result.json").write_text(json.dumps({"scenario": "one", "exit_code": 0}))
    assert "now" not in _rows(replay("stale", "suite", cwd=tmp_path))["one"]


def test_help_says_what_each_column_means(tmp_path):
    text = replay("stale", "--help", cwd=tmp_path).stdout
    for column in ("scenario", "age", "agent", "model", "prompt", "tools", "protocol", "stale"):
        assert f"\n  {column} " in text


@pytest.mark.parametrize("zone", ["XXX+12", "XXX-14"])
def test_recording_of_today_is_of_today_in_every_time_zone(tmp_path, zone):
    run = Run()
    run.provenance["capturedAt"] = _today().isoformat()
    run.write(tmp_path / "suite" / "one")
    done = replay("stale", "suite", cwd=tmp_path, variables={"TZ": zone})
    assert _rows(done)["one"].split()[1] == "0"

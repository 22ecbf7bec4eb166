"""refresh and accept on transport scenarios: the surfaces are written, what a provider said never is."""

from pathlib import Path

import pytest

from tests.runner.transport_stage import EXPECTED, PLAY, TransportScenario

REFRESH, ACCEPT = "replay.runner.refresh", "replay.runner.accept"
PROJECTION = "codex.projection.expected.json"


@pytest.fixture
def scenario(tmp_path: Path) -> TransportScenario:
    return TransportScenario(tmp_path)


def fixture(scenario: TransportScenario) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in scenario.fixture.iterdir()}


def test_refresh_writes_expected_files_that_then_pass(scenario):
    scenario.expected = {}
    scenario.steps += [{"received": "events.jsonl"}]
    outcome = scenario.command(REFRESH, "hello/codex")
    assert (outcome.code, outcome.text) == (
        0, f"hello/codex: wrote codex.events.expected.jsonl (+4 -0), wrote {PROJECTION} (+8 -0)\n",
    )  # fmt: skip
    assert fixture(scenario)[PROJECTION] == EXPECTED
    assert scenario.run().code == 0


def test_refresh_of_unchanged_run_writes_nothing(scenario):
    before = fixture(scenario) if scenario.write() else {}
    outcome = scenario.command(REFRESH, "--all")
    assert (outcome.code, outcome.text) == (0, "hello/codex: unchanged\n")
    assert fixture(scenario) == before


def test_refresh_deletes_what_the_subject_no_longer_writes(scenario):
    scenario.expected["events.jsonl"] = b"{}\n"
    outcome = scenario.command(REFRESH, "hello/codex")
    assert outcome.text == "hello/codex: deleted codex.events.expected.jsonl (+0 -1)\n"
    assert sorted(fixture(scenario)) == [PROJECTION, "codex.transcript.ndjson", "subject.json"]


def test_refresh_brings_a_transcript_into_its_form(scenario):
    scenario.write()
    path = scenario.fixture / "codex.transcript.ndjson"
    canonical = path.read_bytes()
    path.write_bytes(canonical.replace(b'"type":', b'"type": ') + b"\n")
    assert scenario.command(REFRESH, "hello/codex").code == 0
    assert path.read_bytes() == canonical


@pytest.mark.parametrize("end", [{"exit": 1}, {"leave": True}])
def test_refresh_of_a_run_that_did_not_end_well_writes_nothing(scenario, end):
    scenario.expected = {"projection.json": b"{}\n"}
    scenario.steps += [end]
    scenario.write()
    before = fixture(scenario)
    outcome = scenario.command(REFRESH, "hello/codex")
    assert outcome.code in (1, 3) and fixture(scenario) == before


def test_accept_takes_what_the_failed_test_left(scenario):
    scenario.expected = {"projection.json": b'{\n  "threads": []\n}\n'}
    assert scenario.run().code == 1
    outcome = scenario.command(ACCEPT)
    assert outcome.code == 0, outcome.text
    assert outcome.text.endswith(f"hello/codex: wrote {PROJECTION} (+6 -1)\n1 scenario accepted\n")
    assert fixture(scenario)[PROJECTION] == EXPECTED
    assert scenario.run().code == 0


def test_accept_of_a_new_surface_writes_its_file(scenario):
    scenario.expected = {}
    assert scenario.run().code == 1
    assert scenario.command(ACCEPT, "hello/codex").code == 0
    assert fixture(scenario)[PROJECTION] == EXPECTED


def test_accept_refuses_a_run_that_did_not_end_well(scenario):
    scenario.expected = {"projection.json": b"{}\n"}
    scenario.steps += [{"stderr": "two turns"}, {"exit": 1}]
    assert scenario.run().code == 1
    outcome = scenario.command(ACCEPT, "hello/codex")
    assert outcome.code == 2 and "only outputs of a run that came to its end can be taken" in outcome.text
    assert fixture(scenario)[PROJECTION] == b"{}\n"


def test_accept_refuses_outputs_of_another_transcript(scenario):
    scenario.expected = {"projection.json": b"{}\n"}
    assert scenario.run().code == 1
    scenario.steps = [*PLAY, {"print": "more"}]
    outcome = scenario.command(ACCEPT, "hello/codex")
    assert (
        outcome.code == 2
        and "its outputs are older than its fixture: subject.json has changed" in outcome.text
    )


def test_secret_in_a_surface_is_refused(scenario):
    scenario.expected = {}
    scenario.steps += [{"surface": "keys.json", "text": '{"key": "sk-' + "Abc1234567" * 4 + '"}'}]
    outcome = scenario.command(REFRESH, "hello/codex")
    assert outcome.code == 2 and "looks like a secret" in outcome.text and "Abc1234567" not in outcome.text
    assert "codex.keys.expected.json" not in fixture(scenario)


def test_record_and_new_know_no_transport_suite(scenario):
    outcome = scenario.command("replay.runner.record", "hello/codex")
    assert outcome.code == 2 and 'there is no scenario "hello/codex"' in outcome.text

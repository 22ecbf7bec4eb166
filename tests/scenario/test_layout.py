"""Names of fixture files."""

import pytest

from replay.scenario.layout import child_gap, children_of, is_fixture_file, log_name, log_number, nearest_name


@pytest.mark.parametrize("number", [0, 1, 2, 10, 123])
def test_log_names_and_numbers_are_inverse(number):
    assert log_number(log_name(number)) == number


@pytest.mark.parametrize(
    "name", ["session.0.jsonl", "session.01.jsonl", "session..jsonl", "session.x.jsonl", "session.1.json", "session.²​.jsonl", "asession.jsonl", "session.1.1.jsonl"]
)  # fmt: skip
def test_other_names_are_no_logs(name):
    assert log_number(name) is None
    assert not is_fixture_file(name)


def test_children_have_no_gaps():
    assert child_gap(["session.jsonl"]) is None
    assert child_gap(["session.2.jsonl", "session.1.jsonl", "session.10.jsonl"]) == (3, 10)
    assert child_gap(["session.2.jsonl"]) == (1, 2)
    assert children_of(["session.10.jsonl", "session.2.jsonl", "session.jsonl"]) == [2, 10]


def test_a_misspelt_name_finds_its_fixture_file():
    assert nearest_name("stdout.expcted.jsonl") == "stdout.expected.jsonl"
    assert nearest_name("notes.txt") == ""

"""A name means one scenario, and what nobody can tell apart needs its suite."""

import pytest

from replay.errors import UsageError
from replay.runner.manifest import AgentSpec, Manifest, Options, ScenarioSpec
from replay.runner.selection import select_by_name

_AGENT = AgentSpec("a", "_main/a", (), {}, (), {}, "", True, "")


def _manifest(suite: str, *names: str) -> Manifest:
    specs = tuple(ScenarioSpec(name, "", "", "", {}, {}, {}, False, False, "") for name in names)
    return Manifest(suite, _AGENT, (), Options(), False, specs)


_MANIFESTS = [
    _manifest("//scenarios/acp:acp", "text-turn"),
    _manifest("//scenarios/acp:acp", "two words"),
    _manifest("//scenarios/acp:batched", "greeting", "text-turn"),
]


def _select(*names: str, everything: bool = False) -> list[tuple[str, list[str]]]:
    chosen = select_by_name(_MANIFESTS, names, everything=everything)
    return [(manifest.suite, [spec.name for spec in specs]) for manifest, specs in chosen]


def _refused(*names: str, everything: bool = False) -> UsageError:
    with pytest.raises(UsageError) as caught:
        _select(*names, everything=everything)
    return caught.value


def test_names_come_in_the_order_of_the_manifests() -> None:
    assert _select("greeting", "two words") == [
        ("//scenarios/acp:acp", ["two words"]),
        ("//scenarios/acp:batched", ["greeting"]),
    ]


def test_all_takes_each_scenario_once() -> None:
    assert [names for _, names in _select(everything=True)] == [
        ["text-turn"],
        ["two words"],
        ["greeting", "text-turn"],
    ]


@pytest.mark.parametrize("name", ["//scenarios/acp/text-turn", "//scenarios/acp:acp/text-turn"])
def test_suite_tells_two_scenarios_of_one_name_apart(name: str) -> None:
    assert _select(name) == [("//scenarios/acp:acp", ["text-turn"])]
    assert _select("//scenarios/acp:batched/text-turn") == [("//scenarios/acp:batched", ["text-turn"])]


def test_shared_name_is_refused_with_the_names_to_choose_from() -> None:
    error = _refused("text-turn")
    assert error.what == '2 scenarios are called "text-turn"'
    assert error.fix == "name one of: //scenarios/acp/text-turn, //scenarios/acp:batched/text-turn"


def test_no_name_lists_what_there_is() -> None:
    error = _refused()
    assert error.what == "name a scenario, or say --all"
    assert error.fix.split("\n")[1:] == [
        "//scenarios/acp:acp: text-turn, two words",
        "//scenarios/acp:batched: greeting, text-turn",
    ]


def test_unknown_name_is_refused_though_another_is_known() -> None:
    error = _refused("greeting", "greting")
    assert error.what == 'there is no scenario "greting" in the suites of this command'
    assert "greeting" in error.fix


def test_all_and_a_name_contradict_each_other() -> None:
    assert "--all takes every scenario" in _refused("greeting", everything=True).what

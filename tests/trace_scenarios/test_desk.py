"""The world of the desk, and the script that stands for a model: a function of what it is sent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarios.trace.desk.changes import CHANGES, change
from scenarios.trace.desk.model import ModelSettings, Reply, Result, ScriptedModel
from scenarios.trace.desk.prompt import RULES, system_prompt
from scenarios.trace.desk.tools import FILE_TOOLS, SHOP_TOOLS
from scenarios.trace.desk.world import Desk, DeskError

_TOOLS: Mapping[str, Mapping[str, Any]] = {spec.name: spec.schema() for spec in (*SHOP_TOOLS, *FILE_TOOLS)}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path / "desk")
    made.lay_out()
    return made


def ask(*said: str | Result, system: str = system_prompt(), settings: ModelSettings | None = None) -> Reply:
    return ScriptedModel(settings or ModelSettings()).reply(system, _TOOLS, said)


def test_a_world_that_is_laid_out_again_is_as_it_was(desk: Desk) -> None:
    before = desk.state()
    desk.set_status("1001", "cancelled")
    desk.file_ticket("billing", "shop", "?")
    desk.write_file("notes/new.txt", "new\n")
    assert desk.state() != before
    desk.lay_out()
    assert desk.state() == before


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda desk: desk.get_order("1999"), "there is no order 1999"),
        (lambda desk: desk.find_person("Zoe Park"), "there is no Zoe Park"),
        (lambda desk: desk.list_orders("Zoe Park"), "there is no customer"),
        (lambda desk: desk.set_status("1001", "eaten"), "eaten is no status"),
        (lambda desk: desk.read_file("notes/none.txt"), "no such file"),
        (lambda desk: desk.read_file("../desk.db"), "none of our files"),
        (lambda desk: desk.calculate("7 / (3 - 3)"), "has no value"),
        (lambda desk: desk.calculate("__import__('os')"), "only numbers"),
    ],
)
def test_what_cannot_be_done_is_said(desk: Desk, call: Any, reason: str) -> None:
    with pytest.raises(DeskError, match=reason):
        call(desk)


def test_a_broken_write_says_the_same_and_does_more(tmp_path: Path) -> None:
    worlds = [Desk(tmp_path / str(is_broken), has_broken_writes=is_broken) for is_broken in (False, True)]
    said = []
    for world in worlds:
        world.lay_out()
        said.append(world.set_status("1001", "cancelled"))
    assert said[0] == said[1]
    assert worlds[0].state() != worlds[1].state()


def test_the_model_asks_for_a_tool_and_then_answers_from_its_result() -> None:
    first = ask("What is 347 * 29?")
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("calculate", {"expression": "347 * 29"})
    ]
    assert ask("What is 347 * 29?", Result("10063")).text == "The value of 347 * 29 is 10063."


def test_the_model_computes_in_its_head_where_the_prompt_does_not_forbid_it() -> None:
    reply = ask("What is 347 * 29?", system=system_prompt(RULES[1:]))
    assert not reply.calls
    assert reply.text == "The value of 347 * 29 is 10000."


def test_the_model_says_sorry_for_a_failed_tool() -> None:
    reply = ask("What is the status of order 1999?", Result("there is no order 1999", is_error=True))
    assert reply.text == "Sorry, there is no order 1999."


def test_the_model_knows_only_what_is_in_the_conversation() -> None:
    known = ask("Hello, my name is Ben Okafor.", "What do my open orders come to?")
    assert known.calls[0].arguments == {"customer": "Ben Okafor"}
    assert ask("What do my open orders come to?").text == "Sorry, I do not know who you are."


def test_the_model_takes_categories_from_the_prompt() -> None:
    text = "File a ticket: the parcel of order 1003 is late."
    order = Result('{"status": "shipped"}')
    swapped = change("regression/swapped-categories").prompt
    assert ask(text, order).calls[0].arguments["category"] == "delivery"
    assert ask(text, order, system=swapped).calls[0].arguments["category"] == "billing"


def test_there_are_twelve_changes_of_each_kind_and_each_changes_something() -> None:
    kinds = [one.kind for one in CHANGES.values()]
    assert (kinds.count("regression"), kinds.count("harmless")) == (12, 12)
    plain = change("")
    for name, one in CHANGES.items():
        assert one._replace(name="", what=plain.what) != plain, name
        assert one.what


def test_an_unknown_change_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"there is no change.*regression/loop"):
        change("regression/none")

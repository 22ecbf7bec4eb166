"""Prompt and tool-schema texts, taken out of a log and pinned in files."""

import pytest

from replay.errors import FixtureError
from replay.surface.pins import Pins, decode_pins, encode_pins, header_class, pins_of


def header(system, tools, **config):
    return {
        "type": "request/header",
        "data": {"header": {"config": config, "system": system, "tools": tools}},
    }


def test_pins_are_the_first_header_and_what_later_ones_changed():
    rows = [
        {"type": "turn/start", "data": {}},
        header("S", [1]),
        header("S", [1]),
        header("S2", [1]),
        header("S2", [1, 2]),
    ]
    changes = [{"header": 3, "system": "S2"}, {"header": 4, "tools": [1, 2]}]
    assert pins_of(rows) == Pins("S", [1], changes)
    assert pins_of(rows[:1]) is None


@pytest.mark.parametrize("system", ["", "one line", "ends with a line end\n", "ü\n\n"])
def test_files_hold_pins_without_loss(system):
    pins = Pins(system, [{"name": "read"}], [{"header": 2, "tools": None}])
    assert decode_pins(encode_pins(pins)) == pins


def test_a_header_class_is_the_configuration_whatever_the_texts():
    assert header_class([header("S", [1], model="m")]) == header_class([header("T", [], model="m")])
    assert header_class([header("S", [1], model="m")]) != header_class([header("S", [1], model="n")])
    assert header_class([]) == ""


def test_a_missing_half_is_refused_by_name():
    files = encode_pins(Pins("S", [], []))
    for name in files:
        with pytest.raises(FixtureError) as caught:
            decode_pins({other: data for other, data in files.items() if other != name}, "suite/text-turn")
        assert caught.value.where.file == f"suite/text-turn/{name}"

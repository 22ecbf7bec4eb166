"""A call that is served is not made, and gives what the recorded one gave."""

import asyncio
import contextvars

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.trace.calls import MODEL, TOOL, Call
from replay.trace.jsonable import freeze, thaw
from replay.trace.model import StepError
from replay.trace.raising import RecordedError, made_again
from replay.trace.wrap import Pending, Served, Session
from tests.trace.recorder_run import (
    Told,
    plain,
)

JSONABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)  # fmt: skip


@given(JSONABLE)
def test_values_that_are_served_again_are_what_they_were(value):
    assert thaw(orjson.loads(freeze(value))) == value


class Playing(Session):
    """A session that answers from a list, and calls through where it holds None."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []
        self.heard = []

    def begin(self, call):
        self.calls.append(call)
        served = self.answers.pop(0)
        return Pending(served) if served else Heard(self.heard)


class Heard(Pending):
    def __init__(self, heard):
        super().__init__()
        self.heard = heard

    def done(self, value):
        self.heard.append(value)


def test_served_call_is_not_made_and_keeps_its_shape():
    def never(*args):
        raise AssertionError

    async def never_later(x):
        raise AssertionError

    def never_stream(x):
        raise AssertionError
        yield

    async def never_later_stream(x):
        raise AssertionError
        yield

    pieces = Served([1, {"$bytes": "AA=="}], "complete")
    play = Playing(Served(5), Served(6), pieces, pieces, pieces, None)
    assert play.tool(never, name="n")(1) == 5
    assert asyncio.run(play.model(never_later)("hi")) == 6
    assert list(play.tool(never_stream)(1)) == [1, b"\0"]

    async def collect(stream):
        return [piece async for piece in stream]

    assert asyncio.run(collect(play.tool(never_later_stream)(1))) == [1, b"\0"]
    with play.model(never, name="create")("hi") as some:
        assert list(some) == [1, b"\0"]
    assert play.tool(plain)(2) == [2, 1]
    assert play.heard == [[2, 1]]
    assert [call.kind for call in play.calls] == [TOOL, MODEL, TOOL, TOOL, MODEL, TOOL]
    assert play.calls[0] == Call(TOOL, "n", {"args": [1]})
    # A library's decorator hides that a function is async.
    play = Playing(Served(7), Served([1], "complete"))
    hidden = contextvars.copy_context().run
    hides = play.model(lambda prompt: hidden(never_later, prompt), is_async=True)
    assert asyncio.run(hides("x")) == 7

    async def use():
        return await collect(await hides("x"))

    assert asyncio.run(use()) == [1]


@pytest.mark.parametrize(
    ("recorded", "kind", "text"),
    [
        (StepError("ValueError", "bad"), ValueError, "bad"),
        (StepError("KeyError", "'bad'"), KeyError, "'bad'"),
        (StepError("KeyError", "bad"), KeyError, "bad"),
        (StepError("json.decoder.JSONDecodeError", "bad"), orjson.JSONDecodeError.__mro__[1], "bad"),
        (StepError("nowhere.Odd", "bad"), RecordedError, "nowhere.Odd: bad"),
        (StepError("SystemExit", "0"), RecordedError, "SystemExit: 0"),
        (StepError("os.system", "true"), RecordedError, "os.system: true"),
        (StepError("print", "x"), RecordedError, "print: x"),
    ],
)
def test_recorded_exception_is_raised_as_what_it_was(recorded, kind, text):
    play = Playing(Served(error=recorded))
    with pytest.raises(kind) as caught:
        play.tool(plain)(1)
    assert str(caught.value) == text


def test_exception_of_an_odd_class_is_made_again_with_its_text():
    import sys
    import types

    module = types.ModuleType("odd_library")
    module.Told = Told
    sys.modules["odd_library"] = module
    try:
        again = made_again(StepError("odd_library.Told", "4: no"))
    finally:
        del sys.modules["odd_library"]
    assert type(again) is Told and str(again) == "4: no"

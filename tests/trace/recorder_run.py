"""A recorder with a clock that ticks, and functions of every shape for it to record."""

import asyncio
import itertools

import pytest

from replay.trace.recorder import Recorder

ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "4"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
}


def a_recorder(**options):
    ticks = itertools.count(0, 1_000_000)
    return Recorder(clock=lambda: next(ticks), **options)


class Told(Exception):
    """An exception whose class wants more than its text."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")


def plain(x):
    return [x, 1]


async def later(x):
    await asyncio.sleep(0)
    return [x, 1]


def stream(x):
    got = yield x
    yield got
    return "returned"


async def later_stream(x):
    got = yield x
    yield got


class Stream:
    """As of a provider's library: an iterator with attributes, to be entered and closed."""

    def __init__(self, pieces):
        self._pieces = iter(pieces)
        self.status = 200
        self.is_closed = False

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pieces)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        self.is_closed = True


class LaterStream:
    def __init__(self, pieces):
        self._pieces = iter(pieces)

    def __aiter__(self):
        return self

    async def __anext__(self):
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


def drive(generator, sent="sent"):
    """What a generator that is sent something says, and what it returns."""
    pieces = [next(generator)]
    try:
        pieces.append(generator.send(sent))
        next(generator)
    except StopIteration as stop:
        return pieces, stop.value


async def drive_later(generator):
    pieces = [await anext(generator), await generator.asend("sent")]
    with pytest.raises(StopAsyncIteration):
        await anext(generator)
    return pieces


def only_step(run):
    [step] = run.trace.steps
    return step

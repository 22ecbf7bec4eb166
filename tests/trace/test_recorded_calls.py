"""A function that is recorded keeps its shape: plain, async, a generator, a stream, one that raises."""

import asyncio

import pytest

from replay.trace.model import ABSENT, StepError
from tests.trace.recorder_run import (
    LaterStream,
    Stream,
    Told,
    a_recorder,
    drive,
    drive_later,
    later,
    later_stream,
    only_step,
    plain,
    stream,
)


def test_functions_of_every_shape_keep_it_and_are_recorded():
    recorder = a_recorder()
    shapes = {
        plain: lambda function: function("x"),
        later: lambda function: asyncio.run(function("x")),
        stream: lambda function: drive(function("x")),
        later_stream: lambda function: asyncio.run(drive_later(function("x"))),
    }
    for function, use in shapes.items():
        wrapped = recorder.tool(function)
        assert use(wrapped) == use(function)
        with recorder.run("t") as run:
            assert use(wrapped) == use(function)
        step = only_step(run)
        assert (step.tool_name, step.tool_input, step.error) == (function.__name__, {"x": "x"}, None)
        is_stream = "stream" in function.__name__
        assert step.tool_output == (["x", "sent"] if is_stream else ["x", 1])
        assert step.stream == ("complete" if is_stream else "")
        assert wrapped.__wrapped__ is function and wrapped.__name__ == function.__name__


def test_plain_function_that_returns_a_stream_or_an_awaitable_is_heard_to_its_end():
    recorder = a_recorder()
    pieces = [
        {"delta": {"content": "a"}},
        {"delta": {"content": "b"}, "usage": {"input_tokens": 3, "output_tokens": 2}},
    ]
    create = recorder.model(lambda prompt: Stream(pieces), name="create")
    with recorder.run("t") as run, create("hi") as answer:
        assert answer.status == 200 and list(answer) == pieces
    step = only_step(run)
    assert (step.messages, step.response, step.stream) == (
        [{"role": "user", "content": "hi"}],
        pieces,
        "complete",
    )
    assert (step.reasoning, step.prompt_tokens, step.completion_tokens) == ("ab", 3, 2)

    async def made():
        return LaterStream(pieces)

    create = recorder.model(lambda prompt: made(), name="create")

    async def use():
        return [piece async for piece in await create("hi")]

    with recorder.run("t") as run:
        assert asyncio.run(use()) == pieces
    assert only_step(run).response == pieces


def test_stream_that_the_agent_leaves_early_says_so():
    recorder = a_recorder()
    numbers = recorder.tool(lambda: Stream("abc"), name="numbers")
    counted = recorder.tool(stream)
    with recorder.run("t") as run:
        with numbers() as some:
            next(some)
        counting = counted("x")
        next(counting)
        counting.close()
        next(numbers())
    assert [(step.tool_output, step.stream, step.error) for step in run.trace.steps] == [
        (["a"], "closed", None),
        (["x"], "closed", None),
        (["a"], "closed", None),
    ]


def test_exceptions_go_on_as_they_came_and_are_written_down():
    recorder = a_recorder()
    failure = Told(4, "no")

    def fail():
        raise failure

    async def fail_later():
        raise failure

    def fail_streaming():
        yield 1
        raise failure

    with recorder.run("t") as run:
        for use in (
            recorder.tool(fail),
            lambda: asyncio.run(recorder.tool(fail_later)()),
            lambda: list(recorder.tool(fail_streaming)()),
        ):
            with pytest.raises(Told) as caught:
                use()
            assert caught.value is failure
    said = StepError(f"{Told.__module__}.Told", "4: no")
    assert [(step.error, step.tool_output) for step in run.trace.steps] == [
        (said, ABSENT),
        (said, ABSENT),
        (said, [1]),
    ]
    assert run.trace.success is None


def test_cancelled_call_is_recorded_and_stays_cancelled():
    recorder = a_recorder()

    @recorder.tool
    async def wait():
        await asyncio.Event().wait()

    async def agent():
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder.run("t") as run:
        asyncio.run(agent())
    assert only_step(run).error.type == "asyncio.exceptions.CancelledError"

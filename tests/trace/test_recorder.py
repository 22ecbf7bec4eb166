"""The recorder sees every call of an agent's functions, whatever their shape, and the agent sees no difference."""

import asyncio
import contextvars
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.trace.calls import MODEL, TOOL, Call
from replay.trace.codec import read_trace, write_trace
from replay.trace.jsonable import freeze, thaw
from replay.trace.model import ABSENT, StepError
from replay.trace.raising import RecordedError, made_again
from replay.trace.recorder import Recorder
from replay.trace.state import DictState
from replay.trace.wrap import Pending, Served, Session

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


def test_run_of_a_model_and_a_tool_is_a_trace():
    recorder = a_recorder(agent_version="3", tool_versions={"add": "1"}, environment={"os": "any"})
    model = recorder.model(lambda messages, *, model, temperature, tools, max_tokens: ANSWER)
    add = recorder.tool(lambda a, b: a + b, name="add")
    messages = [{"role": "user", "content": "2+2"}]
    with recorder.run("2+2", category="sums", digits=1) as run:
        assert model(messages, model="m", temperature=0.5, tools=[{"name": "add"}], max_tokens=9) is ANSWER
        messages.append({"role": "tool", "content": "later"})
        assert add(2, b=2) == 4
        run.observe("user", "hurry")
        run.final("4", success=True)
    ask, call, seen, last = run.trace.steps
    assert (ask.step_type, ask.messages, ask.model_name) == ("reasoning", messages[:1], "m")
    assert (ask.temperature, ask.tools, ask.options) == (0.5, [{"name": "add"}], {"max_tokens": 9})
    assert (ask.reasoning, ask.response, ask.prompt_tokens, ask.completion_tokens) == ("4", ANSWER, 7, 1)
    assert (call.step_type, call.tool_name, call.tool_input, call.tool_output) == (
        "tool_call",
        "add",
        {"a": 2, "b": 2},
        4,
    )
    assert (ask.timestamp, ask.model_duration_ms, call.timestamp) == (1, 1, 3)
    assert (seen.step_type, seen.tool_name, seen.tool_output) == ("observation", "user", "hurry")
    assert (last.step_type, last.response) == ("final_answer", "4")
    trace = run.trace
    assert [step.step_id for step in trace.steps] == ["s1", "s2", "s3", "s4"]
    assert (trace.task, trace.inputs, trace.category, trace.success) == ("2+2", {"digits": 1}, "sums", True)
    assert (trace.final_answer, trace.total_tokens, trace.agent_version) == ("4", 8, "3")
    assert trace.trace_id.startswith("t-") and read_trace(write_trace(trace), "t.json") == trace


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
    said = StepError(f"{__name__}.Told", "4: no")
    assert [(step.error, step.tool_output) for step in run.trace.steps] == [
        (said, ABSENT),
        (said, ABSENT),
        (said, [1]),
    ]
    assert run.trace.success is None


def test_exception_that_leaves_the_run_is_its_end():
    recorder = a_recorder()
    with pytest.raises(KeyError), recorder.run("t") as run:
        raise KeyError("gone")
    [last] = run.trace.steps
    assert (last.step_type, last.error, last.response) == (
        "final_answer",
        StepError("KeyError", "'gone'"),
        ABSENT,
    )
    assert run.trace.success is False
    assert recorder.tool(plain)(1) == [1, 1]


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


def test_call_inside_a_call_names_it():
    recorder = a_recorder()
    ask = recorder.model(lambda prompt: "yes")
    inner = recorder.tool(lambda: ask("inner"), name="inner")

    @recorder.tool
    def outer():
        yield ask("before")
        yield inner()

    with recorder.run("t") as run:
        pieces = outer()
        next(pieces)
        ask("between the pieces of a stream, in the agent")
        list(pieces)
    assert [(step.step_id, step.parent_id) for step in run.trace.steps] == [
        ("s1", ""), ("s2", "s1"), ("s3", ""), ("s4", "s1"), ("s5", "s4"),
    ]  # fmt: skip


def test_concurrent_tasks_and_runs_keep_their_own():
    recorder = a_recorder()
    ask = recorder.model(later)

    @recorder.tool
    async def work(name):
        return await asyncio.gather(ask(f"{name}1"), ask(f"{name}2"))

    @recorder.trace(category="c")
    async def agent(task, hint=""):
        await asyncio.gather(work(f"{task}a"), work(f"{task}b"))
        return task * 2

    traces = []
    recorder._on_trace = traces.append

    async def all_of_them():
        return await asyncio.gather(*(agent(name, hint="h") for name in "pq"))

    assert asyncio.run(all_of_them()) == ["pp", "qq"]
    assert sorted(trace.task for trace in traces) == ["p", "q"]
    for trace in traces:
        assert (trace.inputs, trace.category, trace.final_answer) == ({"hint": "h"}, "c", trace.task * 2)
        parents = {
            step.step_id: step.tool_input["name"] for step in trace.steps if step.step_type == "tool_call"
        }
        asked = [
            (parents[step.parent_id], step.messages[0]["content"])
            for step in trace.steps
            if step.step_type == "reasoning"
        ]
        assert len(asked) == 4
        assert all(said.startswith(name) and name.startswith(trace.task) for name, said in asked)


def test_threads_belong_to_their_context_or_to_the_only_run():
    recorder = a_recorder()
    work = recorder.tool(plain)
    with recorder.run("t") as run, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(50)))
        [pool.submit(contextvars.copy_context().run, work, number).result() for number in range(50)]
    assert len({step.step_id for step in run.trace.steps}) == 100
    with recorder.run("a") as one, recorder.run("b") as two:
        thread = threading.Thread(target=work, args=(1,))
        thread.start()
        thread.join()
    assert one.trace.steps == two.trace.steps == ()


def test_call_that_outlives_its_run_is_unfinished_and_disturbs_nothing():
    looks = []
    recorder = a_recorder(states=[DictState(lambda: looks.append(1))])

    async def agent():
        go = asyncio.Event()

        @recorder.tool
        async def wait():
            await go.wait()
            return work(1)

        with recorder.run("t") as run:
            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
        seen = len(looks)
        go.set()
        assert await task == [1, 1]
        assert len(looks) == seen
        return run

    work = recorder.tool(plain)
    step = only_step(asyncio.run(agent()))
    assert (step.error.type, step.tool_duration_ms) == ("Unfinished", None)


class Client:
    """As of somebody's library."""

    kind = "client"

    def create(self, prompt):
        return f"{self.kind}: {prompt}"

    @staticmethod
    def search(query):
        return [query]

    @classmethod
    def make(cls, name):
        return f"{cls.__name__} {name}"


@pytest.mark.parametrize("is_class", [True, False])
def test_attributes_are_put_back_whatever_happens(is_class):
    recorder = a_recorder()
    before = dict(vars(Client))
    client = Client()
    client.own = lambda: "own"
    own = client.own
    owner = Client if is_class else client
    attached = recorder.attach(owner, models=("create",), tools=("search", "make"))
    with pytest.raises(ZeroDivisionError), recorder.run("t") as run, attached:
        assert client.create("hi") == "client: hi"
        assert (client.search("q"), client.make("n"), Client.make("n")) == (["q"], "Client n", "Client n")
        raise ZeroDivisionError
    assert dict(vars(Client)) == before and vars(client) == {"own": own}
    names = [step.tool_name or step.messages[0]["content"] for step in run.trace.steps[:3]]
    assert names == ["hi", "search", "make"]
    with pytest.raises(AttributeError), recorder.attach(client, tools=("own", "missing")):
        pass
    assert client.own is own


def test_trace_decorator_records_streams_as_answers_and_judges():
    traces = []
    recorder = a_recorder(on_trace=traces.append)

    @recorder.trace(judge=lambda answer: answer == "ab", task=lambda given: f"{given['n']} letters")
    def agent(n):
        yield from "ab"[:n]

    assert list(agent(2)) == ["a", "b"]
    assert list(agent(1)) == ["a"]
    with pytest.raises(TypeError):
        list(agent("x"))
    assert [(trace.task, trace.final_answer, trace.success) for trace in traces] == [
        ("2 letters", "ab", True), ("1 letters", "a", False), ("x letters", None, False),
    ]  # fmt: skip


def test_state_is_looked_at_around_every_tool_and_at_the_end():
    memory = {"n": 0}
    recorder = a_recorder(states=[DictState(memory), DictState(lambda: 1 / 0, "broken")])

    @recorder.tool
    def count():
        memory["n"] += 1

    with recorder.run("t") as run:
        count()
        run.final("done")
    step, last = run.trace.steps
    assert (step.env_state_before, step.env_state_after) == ({"memory": {"n": 0}}, {"memory": {"n": 1}})
    assert last.env_state_after == {"memory": {"n": 1}}
    assert set(run.trace.metadata["problems"]) == {"ZeroDivisionError: division by zero"}


def test_recording_never_fails_the_agent():
    recorder = a_recorder()

    def breaks(*args):
        raise RuntimeError("of the team's own")

    cyclic = []
    cyclic.append(cyclic)

    class Odd:
        def __repr__(self):
            raise RuntimeError

    tool = recorder.tool(lambda value: value, name="same", describe=breaks, encode=breaks)
    with recorder.run("t") as run:
        for value in (
            cyclic,
            Odd(),
            {1: 2, b"k": "\ud800"},
            1 << 70,
            1 << 100_000,
            {3, 1},
            b"\xff",
            float("nan"),
            object,
        ):
            assert tool(value) is value
    assert write_trace(run.trace)
    assert set(run.trace.metadata["problems"]) == {"RuntimeError: of the team's own"}


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


@given(
    st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 2) | st.text(max_size=2), max_size=2)), max_size=8
    )
)
def test_conversations_are_what_was_sent_however_they_grow(turns):
    recorder = a_recorder()
    ask = recorder.model(lambda messages: "yes")
    said, sent = [], []
    with recorder.run("t") as run:
        for is_new, more in turns:
            said = list(more) if is_new else said + more
            sent.append(list(said))
            ask(said)
    assert [step.messages for step in run.trace.steps] == sent

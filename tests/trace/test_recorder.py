"""The recorder makes one trace of each run, whatever runs beside it and however it ends."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.trace.codec import read_trace, write_trace
from replay.trace.model import ABSENT, StepError
from replay.trace.state import DictState
from tests.trace.recorder_run import (
    ANSWER,
    a_recorder,
    later,
    only_step,
    plain,
)


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

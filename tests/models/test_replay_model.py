"""The in-process seam as a Python agent uses it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

import replay.models
from replay.errors import DivergenceError, FixtureError, UsageError
from replay.models import ModelCallError, ReplayModel
from tests.models.recording import (
    failure,
    hang,
    lanes_of,
    read_journal,
    said,
    session_log,
    tool_call,
    write_fixture,
)

HELLO = [{"role": "user", "content": "hello"}]


async def collect(model, messages=HELLO, session="live", **options):
    return [chunk async for chunk in model.stream(messages, session=session, **options)]


def run(model, *args, **options):
    return asyncio.run(collect(model, *args, **options))


def test_recorded_chunks_are_streamed(tmp_path):
    reply = said("Hel", "lo", reasoning=["hm"])
    assert run(ReplayModel.from_fixture(str(write_fixture(tmp_path, reply)))) == reply


def test_packed_chunks_are_streamed_one_by_one(tmp_path):
    packed = {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"]}
    start, *_, usage, finish = said("x")
    log = session_log("hello", [[start, usage, finish]]).split(b"\n")
    log.insert(5, orjson.dumps({"type": "text-chunks", "data": packed}))
    (tmp_path / "session.jsonl").write_bytes(b"\n".join(log))
    chunks = run(ReplayModel.from_fixture(str(tmp_path)))
    assert [chunk.get("text") for chunk in chunks[1:4]] == ["a", "b", "c"]


def test_override_is_applied(tmp_path):
    override = {"patches": [{"at": 0, "entry": {"kind": "chunks", "chunks": said("other")}}]}
    model = ReplayModel.from_fixture(str(write_fixture(tmp_path, said("x"), override=override)))
    assert run(model) == said("other")


def test_environment_names_fixture_and_journal(tmp_path):
    fixture = write_fixture(tmp_path / "fixture", said("x"))
    journal = tmp_path / "journal.jsonl"
    environment = {"AGENT_REPLAY_FIXTURE": str(fixture), "AGENT_REPLAY_JOURNAL": str(journal)}
    run(ReplayModel.from_environment(environment))
    assert read_journal(str(journal)) == [{"kind": "call", "lane": "parent", "ordinal": 1, "session": "live"}]


def test_environment_without_fixture_is_named():
    with pytest.raises(UsageError, match="AGENT_REPLAY_FIXTURE is not set"):
        ReplayModel.from_environment({})


def test_sessions_that_nothing_tells_apart_need_leave_to_come_in_any_order(tmp_path):
    write_fixture(tmp_path, tool_call(("a", "task", "{}")))
    for number in (1, 2):
        log = session_log("dig", [said(f"child {number}")], session=f"s{number}", parent="s0")
        (tmp_path / f"session.{number}.jsonl").write_bytes(log)
    dig = [{"role": "user", "content": "dig"}]

    def first_child(**more):
        model = ReplayModel.from_environment({"AGENT_REPLAY_FIXTURE": str(tmp_path), **more})
        run(model, session="p")
        return run(model, dig, session="c", parent="p")

    assert first_child(AGENT_REPLAY_ARRIVAL_ORDER="1") == said("child 1")
    with pytest.raises(DivergenceError, match="child 1"):
        first_child()


def test_directory_without_log_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no session\.jsonl"):
        ReplayModel.from_fixture(str(tmp_path))
    with pytest.raises(UsageError, match="cannot be read"):
        ReplayModel.from_fixture(str(tmp_path / "missing"))


def test_throw_raises_after_its_prefix():
    model = ReplayModel(lanes_of(failure("it failed", "RATE_LIMIT", said("part")[:2]), said("again")))
    seen = []

    async def call():
        async for chunk in model.stream(HELLO, session="live"):
            seen.append(chunk)

    with pytest.raises(ModelCallError, match="it failed") as raised:
        asyncio.run(call())
    assert raised.value.code == "RATE_LIMIT" and seen == said("part")[:2]
    assert run(model) == said("again")


def test_hang_makes_its_ready_file_and_waits_until_cancelled(tmp_path):
    model = ReplayModel(lanes_of(hang("sub/ready", said("part")[:2]), said("next")))
    seen = []

    async def scenario():
        async def call():
            async for chunk in model.stream(HELLO, session="live", cwd=str(tmp_path)):
                seen.append(chunk)

        task = asyncio.create_task(call())
        while not (tmp_path / "sub/ready").exists():
            await asyncio.sleep(0)
        assert seen == said("part")[:2]
        await asyncio.sleep(0.02)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await collect(model)

    assert asyncio.run(scenario()) == said("next")


def test_ready_file_is_made_in_the_process_s_directory_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = ReplayModel(lanes_of(hang("ready")))

    async def scenario():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(collect(model), 0.05)

    asyncio.run(scenario())
    assert (tmp_path / "ready").exists()


def test_ready_file_outside_cwd_fails(tmp_path):
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd/link").symlink_to(tmp_path)
    with pytest.raises(FixtureError, match="not a file inside"):
        run(ReplayModel(lanes_of(hang("link/ready"))), cwd=str(tmp_path / "cwd"))
    assert not (tmp_path / "ready").exists()


@pytest.mark.parametrize("steps", range(8))
def test_call_can_be_cancelled_at_every_chunk(steps):
    model = ReplayModel(lanes_of(said("a", "b", "c"), said("next")))

    async def scenario():
        task = asyncio.create_task(collect(model))
        for _ in range(steps + 1):
            await asyncio.sleep(0)
        assert task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await collect(model)

    assert asyncio.run(scenario()) == said("next")


def test_stream_that_the_agent_leaves_early_is_a_call_served():
    model = ReplayModel(lanes_of(said("a", "b"), said("next")))

    async def scenario():
        stream = model.stream(HELLO, session="live")
        await anext(stream)
        await stream.aclose()
        return await collect(model)

    assert asyncio.run(scenario()) == said("next")


def test_two_sessions_in_one_loop_interleave():
    lanes = lanes_of(tool_call(("a", "task", "{}")), said("end"), children=[("dig", [said(*"123")])])
    model = ReplayModel(lanes)
    order = []

    async def call(session, messages, **options):
        async for _ in model.stream(messages, session=session, **options):
            order.append(session)
        return session

    async def scenario():
        child = [{"role": "user", "content": [{"type": "text", "text": "dig"}]}]
        await asyncio.gather(call("p", HELLO), call("c", child, parent="p"))

    asyncio.run(scenario())
    assert order[:6] == ["p", "c"] * 3
    assert order.count("c") == len(said(*"123"))


def test_call_beyond_the_recording_is_journalled_and_raised(tmp_path):
    journal = str(tmp_path / "journal")
    model = ReplayModel(lanes_of(said("x")), journal)
    run(model)
    with pytest.raises(DivergenceError, match="exhausted"):
        run(model)
    assert [entry["kind"] for entry in read_journal(journal)] == ["call", "diverged"]


def test_restarted_agent_goes_on_where_it_stopped(tmp_path):
    journal = str(tmp_path / "journal")
    entries = [said("one"), said("two"), said("three")]
    assert run(ReplayModel(lanes_of(*entries), journal)) == said("one")
    assert run(ReplayModel(lanes_of(*entries), journal)) == said("two")
    resumed = [*HELLO, {"role": "assistant", "content": "two"}, {"role": "user", "content": "more"}]
    assert run(ReplayModel(lanes_of(*entries), journal), resumed, session="new id") == said("three")
    assert len(read_journal(journal)) == 3


def test_value_of_the_request_is_written_into_the_reply():
    said_id = said("the id is {{fromRequest:id=([0-9]+)}}")
    model = ReplayModel(lanes_of(said_id))
    message = {
        "role": "user",
        "content": [
            {"type": "tool-result", "toolCallId": "x", "content": [{"type": "text", "text": "id=77"}]}
        ],
    }
    chunks = run(model, [*HELLO, message])
    assert chunks[-3]["block"]["text"] == "the id is 77"


def test_only_the_seam_is_public():
    assert replay.models.__all__ == ["ModelCallError", "ReplayModel"]


def test_importing_the_seam_imports_neither_loop_nor_server():
    heavy = {"asyncio", "dataclasses", "inspect", "threading", "socket", "h11", "pydantic", "selectors"}
    # orjson brings modules of its own; only what comes on top is ours.
    code = f"import sys, orjson; a = set(sys.modules); import replay.models; print(*({heavy} & (set(sys.modules) - a)))"
    root = Path(replay.models.__file__).parents[2]
    paths = os.pathsep.join([str(root), *(path for path in sys.path if path)])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

"""Logs that a process left behind when it was killed: in the middle of a stream, and between any two writes."""

import contextlib
import gzip
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from replay.session import canonical_form, read_log
from scenarios.reference_agent.config import Config, SessionLogConfig
from scenarios.reference_agent.store import Store
from tests.reference_agent.model_server import ModelServer, finish, text
from tests.reference_agent.workbench import Workbench

type Model = Callable[..., ModelServer]


@pytest.mark.parametrize("compress", ["none", "gzip"])
def test_deltas_that_a_killed_agent_had_not_packed_are_there_when_the_session_goes_on(
    bench: Workbench, model: Model, compress: str
) -> None:
    settings = {"session_log": {"compress": compress, "fsync": True, "timestamps": True}}
    server = model([text("a"), text("b"), text("c"), "hold"], [text("on"), finish("stop")])
    agent, session = bench.start(server, **settings)
    agent.begin_prompt(session, "go")
    for _ in range(3):
        agent.wait_for(lambda frame: frame.get("method") == "session/update")
    agent.process.kill()
    agent.process.wait()
    log = bench.log(session).name
    assert bench.kept_files() == [log, f"{log}.tail"]
    again = bench.restart(server, **settings)
    params = {"sessionId": session, "cwd": str(bench.work), "mcpServers": []}
    assert "result" in again.request("session/resume", params)
    assert bench.kept_files() == [log]
    assert bench.data(session, "text-chunks")[0]["texts"] == ["a", "b", "c"]
    assert bench.data(session, "call/end")[0]["outcome"] == {"kind": "cancelled"}
    assert again.prompt(session, "and now")["result"] == {"stopReason": "end_turn"}
    assert bench.kept_files() == [log]


def test_log_at_rest_is_alone(bench: Workbench, model: Model) -> None:
    server = model([text("a"), text("b"), text("c"), finish("stop")])
    agent, session = bench.start(server)
    agent.prompt(session, "go")
    assert bench.kept_files() == [f"{session}.jsonl"]


type Event = tuple[str, dict[str, Any]]

PLACE = {"turn": 1, "step": 1}


def chunk(kind: str, **fields: Any) -> Event:
    return "assistant/chunk", PLACE | {"chunk": {"type": kind, **fields}}


def deltas(index: int, *texts: str) -> list[Event]:
    return [chunk("text-delta", index=index, text=said) for said in texts]


def call(number: int, *chunks: Event) -> list[Event]:
    starts = [chunk("block-start", index=index, blockType="text") for index in (0, 1)]
    end = ("call/end", PLACE | {"call": number, "outcome": {"kind": "completed"}})
    return [("call/start", PLACE | {"call": number}), *starts, *chunks, chunk("usage", usage={}), end]


EVENTS: list[Event] = [
    ("turn/start", {"turn": 1}),
    ("step/start", PLACE),
    *call(1, *deltas(0, "a", "b", "c", "d")),
    # One run ends and another begins with nothing in between.
    *call(2, *deltas(0, "e", "f", "g"), *deltas(1, "h", "i", "j"), *deltas(0, "k")),
    *call(3, *deltas(0, "l", "m")),
    ("step/end", PLACE),
    ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
]
ENDS = ("call/end", "step/end", "turn/end")
PLAIN = Config(session_log=SessionLogConfig(compress="none", fsync=False, timestamps=False))


def test_log_closed_in_the_middle_of_a_run_holds_it(tmp_path: Path) -> None:
    begun = EVENTS[: EVENTS.index(deltas(0, "c")[0])]
    session = Store(tmp_path, lambda: 1, lambda: "s").create(PLAIN, tmp_path)
    for kind, data in begun:
        session.record(kind, data)
    session.journal.close()
    (file,) = tmp_path.iterdir()
    rows = read_log(file.read_bytes(), file.name).rows
    assert [(row.type, row.data) for row in rows] == begun


class Killed(Exception):
    """In place of SIGKILL: nothing of the process happens from here on."""


class Life:
    """A process that is killed after `changes` changes of files and half of the next one, if it gets that far."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, changes: int) -> None:
        self.left = changes
        self.opened: list[int] = []
        self.was_killed = False
        self.patch = monkeypatch

    def __enter__(self) -> Self:
        real_open = os.open

        def remembered(*arguments: Any, **options: Any) -> int:
            self.opened.append(real_open(*arguments, **options))
            return self.opened[-1]

        self.patch.setattr(os, "open", remembered)
        for name in ("write", "ftruncate", "unlink", "replace"):
            self.patch.setattr(os, name, self.counted(getattr(os, name)))
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self.patch.undo()
        self.was_killed = kind is Killed
        if self.was_killed:
            # As the system does, and with them go the locks.
            for descriptor in self.opened:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        return self.was_killed

    def counted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(target: Any, *arguments: Any, **options: Any) -> Any:
            if self.left == 0 and arguments and isinstance(arguments[0], memoryview):
                change(target, arguments[0][: len(arguments[0]) // 2])
            if self.left == 0:
                raise Killed
            self.left -= 1
            return change(target, *arguments, **options)

        return changed


@pytest.mark.parametrize("compress", ["none", "gzip"])
def test_process_killed_at_any_write_loses_nothing_that_was_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Literal["none", "gzip"]
) -> None:
    config = Config(session_log=SessionLogConfig(compress=compress, fsync=False))
    for changes in itertools.count():
        directory = tmp_path / str(changes)
        session = Store(directory, lambda: 1, lambda: "s").create(config, tmp_path)
        appended = 0
        with Life(monkeypatch, changes) as first:
            for kind, data in EVENTS:
                session.record(kind, data)
                appended += 1
            session.journal.close()
        # The process that takes over is killed as well, at each of its own changes.
        for more in itertools.count():
            copy = shutil.copytree(directory, tmp_path / f"{changes}.{more}")
            with Life(monkeypatch, more) as second:
                Store(copy, lambda: 1, lambda: "unused").reopen("s", config, tmp_path).journal.close()
            check_log(copy, config, appended)
            shutil.rmtree(copy)
            if not second.was_killed:
                break
        if not first.was_killed:
            break
    assert changes > len(EVENTS)


def check_log(directory: Path, config: Config, appended: int) -> None:
    session = Store(directory, lambda: 1, lambda: "unused").reopen("s", config, directory)
    session.journal.close()
    kept = [(event["type"], event["data"]) for event in session.events]
    assert kept[:appended] == EVENTS[:appended]
    # The next one may have made it as well; then what was begun is ended, once.
    rest = kept[appended + (kept[appended : appended + 1] == EVENTS[appended : appended + 1]) :]
    assert [kind for kind, _ in rest if kind not in ENDS] == []
    assert len({kind for kind, _ in rest}) == len(rest)
    (file,) = directory.iterdir()
    log = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    assert canonical_form(read_log(log, file.name)) == log

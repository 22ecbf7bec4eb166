"""A workspace, and agents started in it, ended with the test whatever becomes of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from replay.acp import Tables, load_tables
from replay.acp.generate_schema import build_table
from tests.reference_agent.agent_process import AgentProcess, Start, spawn
from tests.reference_agent.fork_server import ForkServer
from tests.reference_agent.model_server import Answer, ModelServer
from tests.reference_agent.workbench import Workbench


@pytest.fixture(scope="session")
def tables() -> Tables:
    return load_tables(orjson.dumps(build_table()))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def model(stack: ExitStack) -> Callable[..., ModelServer]:
    def start(*answers: Answer, **options: Any) -> ModelServer:
        return stack.enter_context(ModelServer(answers, **options))

    return start


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, stack: ExitStack, tables: Tables, fork_server: ForkServer) -> Workbench:
    return make_bench(tmp_path, stack, tables, fork_server.start)


@pytest.fixture
def spawning_bench(tmp_path: Path, stack: ExitStack, tables: Tables) -> Workbench:
    """Its agents start as they do for people, which takes longer."""
    return make_bench(tmp_path, stack, tables, spawn)


def make_bench(root: Path, stack: ExitStack, tables: Tables, start: Start) -> Workbench:
    """Each frame of an agent that was started here is held against the protocol's schema."""

    def start_agent(
        config: dict[str, Any], environment: dict[str, str], answers: dict[str, Any], more: list[str]
    ) -> AgentProcess:
        file = root / "config.yaml"
        file.write_text(yaml.safe_dump(config))
        flags = ["--config", file, "--sessions", root / "sessions", "--spill", root / "spill"]
        agent = stack.enter_context(AgentProcess([*map(str, flags), *more], environment, answers, start))
        stack.callback(check_frames, agent, tables)
        return agent

    (root / "work").mkdir()
    return Workbench(root, start_agent)


def check_frames(agent: AgentProcess, tables: Tables) -> None:
    for frame in agent.frames:
        method = "" if "method" in frame else agent.methods.get(frame["id"], "")
        verdict = tables.validate("agent", frame, method)
        assert verdict.answer == "valid", (verdict, frame)

"""One test's directories and the agents started there."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.reference_agent.agent_process import AgentProcess
from tests.reference_agent.model_server import ModelServer

__all__ = ["Workbench", "is_running"]

CONFIG: dict[str, Any] = {
    "permissions": {"mode": "auto"},
    "retry": {"backoff_ms": 1},
    "session_log": {"compress": "none", "fsync": False, "timestamps": False},
}

type Start = Callable[[dict[str, Any], dict[str, str], dict[str, Any], list[str]], AgentProcess]

REPLAY_OVERLAY = (
    Path(__file__).absolute().parents[2] / "scenarios" / "reference_agent" / "replay.overlay.yaml"
)


class Workbench:
    def __init__(self, root: Path, start: Start) -> None:
        self.root = root
        self.work = root / "work"
        self.spill = root / "spill"
        self.start_process = start

    def start(
        self, model: ModelServer, answers: dict[str, Any] | None = None, **config: Any
    ) -> tuple[AgentProcess, str]:
        """An agent and a new session in the workspace. Its client offers nothing unless `answers` can serve it."""
        answers = answers or {}
        agent = self.start_process(CONFIG | config, model.environment, answers, [])
        offered: dict[str, Any] = {
            "fs": {
                "readTextFile": "fs/read_text_file" in answers,
                "writeTextFile": "fs/write_text_file" in answers,
            },
            "terminal": "terminal/create" in answers,
        }
        if "elicitation/create" in answers:
            offered["elicitation"] = {"form": {}}
        agent.initialize(**offered)
        return agent, agent.new_session(self.work)

    def restart(self, model: ModelServer, **config: Any) -> AgentProcess:
        agent = self.start_process(CONFIG | config, model.environment, {}, [])
        agent.initialize()
        return agent

    def override(self, override: dict[str, Any]) -> None:
        """Put a replay.override.json into the fixture of the next replay."""
        (self.root / "fixture").mkdir()
        (self.root / "fixture" / "replay.override.json").write_text(json.dumps(override))

    def replay(self, sessions: list[str], **config: Any) -> tuple[AgentProcess, str]:
        """An agent, with a new session, whose model repeats what the logs of these sessions hold."""
        fixture = self.root / "fixture"
        fixture.mkdir(exist_ok=True)
        for number, session_id in enumerate(sessions):
            name = f"session.{number}.jsonl" if number else "session.jsonl"
            shutil.copyfile(self.root / "sessions" / f"{session_id}.jsonl", fixture / name)
        environment = {
            "AGENT_REPLAY_FIXTURE": str(fixture),
            "AGENT_REPLAY_JOURNAL": str(self.root / "journal"),
        }
        agent = self.start_process(CONFIG | config, environment, {}, ["--overlay", str(REPLAY_OVERLAY)])
        agent.initialize()
        return agent, agent.new_session(self.work)

    def log(self, session_id: str) -> Path:
        files = (self.root / "sessions" / (session_id + suffix) for suffix in (".jsonl", ".jsonl.gz"))
        (file,) = filter(Path.exists, files)
        return file

    def kept_files(self) -> list[str]:
        """The names of all files in the directory of session logs."""
        return sorted(file.name for file in (self.root / "sessions").iterdir())

    def rows(self, session_id: str) -> list[dict[str, Any]]:
        file = self.log(session_id)
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        return [json.loads(line) for line in text.splitlines()]

    def kinds(self, session_id: str) -> list[str]:
        return [row["type"] for row in self.rows(session_id)]

    def data(self, session_id: str, kind: str) -> list[dict[str, Any]]:
        return [row["data"] for row in self.rows(session_id) if row["type"] == kind]

    def results(self, session_id: str) -> list[tuple[str, bool]]:
        """Text and error flag of each tool result."""
        blocks = [data["message"]["content"][0] for data in self.data(session_id, "tool/result")]
        return [(block["content"][0]["text"], block["isError"]) for block in blocks]

    def children(self, session_id: str) -> list[str]:
        return [data["sessionId"] for data in self.data(session_id, "subagent/start")]


def is_running(process_id: int) -> bool:
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text()
    except FileNotFoundError, ProcessLookupError:
        return False
    # An orphan that its new parent has not reaped yet still has a process id.
    return stat.rsplit(")", 1)[1].split()[0] not in ("Z", "X")

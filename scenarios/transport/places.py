"""Where a scenario's test finds its things: what the rule says in the environment, read once, and what follows from it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from scenarios.reference_orchestrator.adapters.base import ProviderConfig
from scenarios.reference_orchestrator.checkpoint import Git

__all__ = ["Places", "init_repository"]

# Protocol of a transcript -> kind of the adapter, which is the peer's executable as well.
KINDS: Mapping[str, str] = {
    "acp.ndjson-jsonrpc": "acp",
    "claude-agent-sdk.query": "claude",
    "codex.app-server": "codex",
    "cursor-agent-sdk.local": "cursor",
    "opencode-sdk.sse": "opencode",
}
IDENTITY = {
    "GIT_AUTHOR_NAME": "user",
    "GIT_AUTHOR_EMAIL": "user@localhost",
    "GIT_AUTHOR_DATE": "@1750000000 +0000",
    "GIT_COMMITTER_NAME": "user",
    "GIT_COMMITTER_EMAIL": "user@localhost",
    "GIT_COMMITTER_DATE": "@1750000000 +0000",
}


class Places(NamedTuple):
    """`store` is the orchestrator's directory, outside of the `workspace`; `environment` what its children run with."""

    socket: str
    peers: Path
    workspace: Path
    scenario: Path
    variant: str
    transcripts: tuple[str, ...]
    actual: Path
    store: Path
    environment: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Places:
        """What the rule transport_replay_test sets. Raises KeyError for what it should have set."""
        kept = {
            name: environment[name]
            for name in ("PATH", "HOME", "TMPDIR", "LANG", "TZ")
            if name in environment
        }
        # The machine's and the user's configuration of git change what a snapshot holds.
        unconfigured = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        return cls(
            socket=environment["AGENT_REPLAY_TRANSPORT"],
            peers=Path(environment["AGENT_REPLAY_PEERS"]),
            workspace=Path(environment["AGENT_REPLAY_WORKSPACE"]),
            scenario=Path(environment["AGENT_REPLAY_SCENARIO"]),
            variant=environment["AGENT_REPLAY_VARIANT"],
            transcripts=tuple(environment["AGENT_REPLAY_TRANSCRIPTS"].split(",")),
            actual=Path(environment["AGENT_REPLAY_ACTUAL"]),
            store=Path(environment["TMPDIR"]) / "store",
            environment=kept | unconfigured,
        )

    def providers(self) -> dict[str, ProviderConfig]:
        """One for each transcript, by the transcript's name; its model is the recorded one."""
        return {name: self._provider(name) for name in self.transcripts}

    def leave(self, surface: str, content: bytes) -> None:
        (self.actual / surface).write_bytes(content)

    def _provider(self, name: str) -> ProviderConfig:
        start = orjson.loads(self._transcript(name).read_bytes().partition(b"\n")[0])
        kind = KINDS[start["protocol"]]
        connection = {"AGENT_REPLAY_TRANSPORT": self.socket, "AGENT_REPLAY_TRANSCRIPT": name}
        return ProviderConfig(
            kind=kind,
            command=(str(self.peers / kind),),
            environment={**self.environment, **connection},
            model=start["metadata"].get("model"),
            settings={"client": "scenarios.transport.cursor_client:connect"} if kind == "cursor" else {},
        )

    def _transcript(self, name: str) -> Path:
        plain = self.scenario / f"{name}.transcript.ndjson"
        return plain if name == self.variant else self.scenario / f"{self.variant}.{name}.transcript.ndjson"


async def init_repository(workspace: Path, environment: Mapping[str, str]) -> None:
    """Make the workspace a git repository of a user, with what it holds as the one commit of `main`."""
    git = Git(str(workspace), {**environment, **IDENTITY})
    await git.run("init", "--quiet", "--initial-branch=main")
    await git.run("add", "--all")
    await git.run("commit", "--quiet", "--allow-empty", "--message=seed")

"""The in-process model seam: a recorded model as an asynchronous stream of chunks.

A Python agent plugs it in behind its own adapter interface; nothing else of this project is needed for that:

    model = ReplayModel.from_environment(os.environ)
    async for chunk in model.stream(messages, session=session_id, cwd=cwd):
        ...                                     # block-start, text-delta, …, usage, finish

`messages` is the conversation so far, `[{"role", "content"}]` with a string or a list of blocks as in a session log
(text, reasoning, tool-call, tool-result, image); it tells concurrent sessions apart and feeds `{{fromRequest:…}}`.
A recorded provider failure is a ModelCallError after its prefix, a recorded hang waits until it is cancelled. A fault of
the connection is a ModelCallError, too, with the code MALFORMED or CONNECTION_RESET, or silence before a chunk. A call
that the recording does not have is a DivergenceError: do not catch it, the run is over.
Nothing is shared between event loops but the object itself, and asyncio is imported only by a call.
"""

import os
from typing import TYPE_CHECKING, Self

from replay.errors import UsageError
from replay.models.journal import append_entry, read_journal
from replay.models.ready_file import make_ready_file
from replay.models.wire import model_request
from replay.script import Hang, Player, apply_override, derive_lanes, parse_override
from replay.session import read_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from replay.models.wire import Chunk, Json
    from replay.script import Lane

__all__ = ["ModelCallError", "ReplayModel"]

_OVERRIDE = "replay.override.json"


class ModelCallError(Exception):
    """The recorded call failed. `message` and `code` are the provider failure's (AUTH, RATE_LIMIT, …) or the fault's.

    retry_after_ms: when the provider wants to be asked again, None where it does not say.
    """

    def __init__(self, message: str, code: str, retry_after_ms: int | None = None) -> None:
        self.message = message
        self.code = code
        self.retry_after_ms = retry_after_ms
        super().__init__(message)


class ReplayModel:
    """A model whose every call is served from the recording. One object serves all sessions of a process.

    lanes: the recorded calls. journal_path: the file that receives one line per call served; what it holds already
    counts as served, so a restarted agent goes on where it stopped. allow_arrival_order: sessions that nothing
    tells apart take the lanes in the order of their files, instead of failing. Raises UsageError if the journal
    cannot be read, FixtureError if a lane cannot be served or the journal is another recording's.
    """

    def __init__(
        self, lanes: Iterable[Lane], journal_path: str | None = None, *, allow_arrival_order: bool = False
    ) -> None:
        self._journal_path = journal_path
        history = read_journal(journal_path) if journal_path else []
        self._player = Player(
            list(lanes), journal=self._journal, history=history, allow_arrival_order=allow_arrival_order
        )

    @classmethod
    def from_fixture(
        cls, directory: str, journal_path: str | None = None, *, allow_arrival_order: bool = False
    ) -> Self:
        """Reads `session.jsonl`, its children `session.1.jsonl`, … and `replay.override.json` in `directory`.

        Raises FixtureError naming the file and line that is wrong, UsageError if there is no session log.
        """
        lanes = derive_lanes([read_log(_read(directory, name), name) for name in _log_names(directory)])
        if os.path.exists(os.path.join(directory, _OVERRIDE)):
            lanes = apply_override(lanes, parse_override(_read(directory, _OVERRIDE), _OVERRIDE))
        return cls(lanes, journal_path, allow_arrival_order=allow_arrival_order)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads the fixture directory `AGENT_REPLAY_FIXTURE` with the journal file `AGENT_REPLAY_JOURNAL`, if set.

        `AGENT_REPLAY_ARRIVAL_ORDER=1` is allow_arrival_order. Raises UsageError if the first is not set, otherwise as `from_fixture`.
        """
        directory = environment.get("AGENT_REPLAY_FIXTURE", "")
        if not directory:
            raise UsageError(
                "AGENT_REPLAY_FIXTURE is not set: the replay model has nothing to replay",
                fix="run the agent as a replay test, or set it to a scenario's directory",
            )
        return cls.from_fixture(
            directory,
            environment.get("AGENT_REPLAY_JOURNAL") or None,
            allow_arrival_order=environment.get("AGENT_REPLAY_ARRIVAL_ORDER") == "1",
        )

    async def stream(
        self,
        messages: Iterable[Mapping[str, Json]],
        *,
        session: str,
        parent: str | None = None,
        cwd: str | None = None,
    ) -> AsyncIterator[Chunk]:
        """One model call. The loop gets its turn before each chunk, so the call can be cancelled at any of them.

        session: the agent's own id of the session that calls. parent: that of the session that started it, for a
        subagent. cwd: where a hang makes its readyFile; the process's directory if not given.
        Raises DivergenceError before the first chunk if the recording has no such call, ModelCallError after the
        prefix of a recorded failure, FixtureError if a readyFile leads out of `cwd`.
        """
        import asyncio

        entry = self._player.open(model_request(messages, session, parent)).entry
        place = 0
        for place, chunk in enumerate(entry.expand(), 1):
            await asyncio.sleep(entry.pause_ms(place - 1) / 1000)
            yield chunk
        await asyncio.sleep(entry.pause_ms(place) / 1000)
        outcome = entry.outcome
        if outcome["kind"] == "failed":
            raise ModelCallError(outcome["message"], outcome["code"], outcome.get("retryAfterMs"))
        if isinstance(entry, Hang):
            if entry.ready_file:
                make_ready_file(os.getcwd() if cwd is None else cwd, entry.ready_file)
            await asyncio.get_running_loop().create_future()

    def _journal(self, entry: dict[str, Json]) -> None:
        if self._journal_path:
            append_entry(self._journal_path, entry)


def _log_names(directory: str) -> list[str]:
    """`session.jsonl` and its children, by number."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise UsageError(f"the fixture {directory} cannot be read: {error.strerror}") from None
    if "session.jsonl" not in names:
        raise UsageError(f"the fixture {directory} has no session.jsonl")
    children = []
    for name in names:
        number = name.removeprefix("session.").removesuffix(".jsonl")
        if name == f"session.{number}.jsonl" and number.isdecimal():
            children.append(int(number))
    return ["session.jsonl", *(f"session.{number}.jsonl" for number in sorted(children))]


def _read(directory: str, name: str) -> bytes:
    path = os.path.join(directory, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None

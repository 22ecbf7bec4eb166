"""What became of one transcript in one run, as a value and as the status file that a test leaves. Pure."""

from typing import Any, NamedTuple

import orjson

from replay.errors import ReplayError

__all__ = ["CONSUMED", "DIVERGED", "UNCONSUMED", "Finding", "Status"]

CONSUMED, DIVERGED, UNCONSUMED = "consumed", "diverged", "unconsumed"


class Finding(NamedTuple):
    """The sentence of an error: what, where ("file:line $.path"), and what to do."""

    what: str
    where: str
    fix: str

    @classmethod
    def of(cls, error: ReplayError) -> Finding:
        """An error's parts, rendered."""
        return cls(error.what, str(error.where), error.fix)

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}" if self.where else self.what
        return f"{sentence}\n    fix: {self.fix}" if self.fix else sentence


class Status(NamedTuple):
    """entries, played: of the whole transcript. outbound, inbound: frames that crossed. order: None where it has no number."""

    transcript: str
    provider: str
    scenario: str
    order: int | None
    outcome: str
    entries: int
    played: int
    outbound: int
    inbound: int
    processes: int
    finding: Finding | None
    closed_early: bool = False
    """Whether what diverged is that a connection closed with entries to come, which may follow from something else."""

    @property
    def is_consumed(self) -> bool:
        """Whether everything was played and nothing diverged."""
        return self.outcome == CONSUMED

    def to_json(self) -> bytes:
        """The status file: one JSON object and a line end."""
        fields: dict[str, Any] = {
            "schema": 1,
            "transcript": self.transcript,
            "provider": self.provider,
            "scenario": self.scenario,
            "order": self.order,
            "outcome": self.outcome,
            "entries": self.entries,
            "played": self.played,
            "frames": {"outbound": self.outbound, "inbound": self.inbound},
            "processes": self.processes,
            "finding": None if self.finding is None else self.finding._asdict(),
        }
        return orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n"

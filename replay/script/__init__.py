"""Replay scripts: deriving them from logs, overriding, lanes, and the player that serves them (design 4.2).

Pure. The way through: derive_lanes(logs) -> apply_override(lanes, parse_override(...)) -> Player(lanes).open(request).
"""

from replay.script.consumption import check_consumption, journalled_divergence
from replay.script.derive import check_blocks, derive_lanes
from replay.script.entry import Call, Chunks, Entry, Fault, Hang, Lane, Span, Throw, Unfinished, nth
from replay.script.override import Override, Patch, apply_override, parse_override
from replay.script.player import Player, Served, check_lanes
from replay.script.request import ModelRequest

__all__ = [
    "Call",
    "Chunks",
    "Entry",
    "Fault",
    "Hang",
    "Lane",
    "ModelRequest",
    "Override",
    "Patch",
    "Player",
    "Served",
    "Span",
    "Throw",
    "Unfinished",
    "apply_override",
    "check_blocks",
    "check_consumption",
    "check_lanes",
    "derive_lanes",
    "journalled_divergence",
    "nth",
    "parse_override",
]

"""Surfaces: normalise, compare, find the first difference, render it. Pure; imports no other room.

`pins` and `secrets` are imported by name where they are needed, which is not on every run.
"""

from replay.surface.compare import Difference, first_difference
from replay.surface.eventlog import said_ids, served_ids
from replay.surface.normalise import Normaliser, Volatile
from replay.surface.render import render_difference, unified
from replay.surface.rules import Rule
from replay.surface.values import ABSENT, Absent, Json

__all__ = [
    "ABSENT",
    "Absent",
    "Difference",
    "Json",
    "Normaliser",
    "Rule",
    "Volatile",
    "first_difference",
    "render_difference",
    "said_ids",
    "served_ids",
    "unified",
]

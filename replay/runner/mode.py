"""Modes: the two places where replay, refresh and the two runs of record (recording.py) differ.

    model    where model streams come from: (scenario, sandbox, …) -> Seam
    finish   what the end does with the outputs: (ending) -> cases

A mode is chosen once, by whoever starts the pipeline; nothing else asks which one runs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from replay.runner.ending import Ending, compare, write_expected
from replay.runner.result import Case
from replay.runner.seam import Seam, SeamOrder, from_script

__all__ = ["REFRESH", "REPLAY", "Mode"]


class Mode(NamedTuple):
    """One mode. `name` is what a person types and what result.json says."""

    name: str
    model: Callable[[SeamOrder], Seam]
    finish: Callable[[Ending], Sequence[Case]]


REPLAY = Mode("replay", model=from_script, finish=compare)
REFRESH = Mode("refresh", model=from_script, finish=write_expected)

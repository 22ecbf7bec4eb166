"""Trace regression: recorded runs of an agent, played again and compared (design 1).

Modules are imported by name where they are needed. An agent in Python wants `recorder`; whoever reads files, `codec`.
The trace itself, its file, comparisons, verdicts and statistics are pure; recorder, state, blobs touch the world.
"""

__all__: list[str] = []

"""Bazel's compact execution log and build events: why a test was not a hit, and what a run's caches were worth.

Only the commands of replay/cli import this room; protobuf is loaded by `stream`, `execution_log` and `build_events`.
"""

__all__: list[str] = []

"""agent_replay: hermetic record and replay of AI agents. See ARCHITECTURE.md for the rooms."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
"""That of MODULE.bazel; a recording names it."""

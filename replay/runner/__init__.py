"""The runner: everything with a pipe, a clock, a directory or an environment. `pipeline` is the place to start.

Nothing is imported here: a test that fails early, and the command line, take only what they need.
"""

__all__: list[str] = []

"""Standard output of a program of this room."""

import sys

__all__ = ["write_console"]


def write_console(text: str) -> None:
    """Print; a console that cannot show a character gets it escaped."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()

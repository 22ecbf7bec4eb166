"""Exceptions of a recording, raised again as what they were, so that an agent's `except` means the same.

Only a class of exceptions that the agent has loaded already is used, and only with one text; nothing is imported, and
no other class is called. Where there is none, RecordedError says what it was.
"""

import builtins
import sys

from replay.trace.jsonable import type_name
from replay.trace.model import StepError

__all__ = ["RecordedError", "error_of", "made_again"]


class RecordedError(Exception):
    """An exception of a recording whose class this process does not have. `type_name` is what it was."""

    def __init__(self, message: str, type_name: str = "") -> None:
        super().__init__(message)
        self.type_name = type_name


def error_of(error: BaseException) -> StepError:
    """How a trace keeps an exception."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return StepError(type_name(type(error)), message.encode("utf-8", "backslashreplace").decode())


def made_again(error: StepError) -> Exception:
    """An exception of the recorded class with the recorded message."""
    kind = _loaded(error.type)
    if kind is None:
        return RecordedError(f"{error.type}: {error.message}", error.type)
    for text in (error.message, _unquoted(error.message)):
        try:
            again = kind(text)
            if str(again) == error.message:
                return again
        except Exception:
            # Its class wants other arguments than its text.
            break
    bare: Exception = kind.__new__(kind)
    bare.args = (_Verbatim(error.message),)
    return bare


class _Verbatim(str):
    """A text that is its own repr: what KeyError says is the repr of its argument."""

    def __repr__(self) -> str:
        return str(self)


def _unquoted(message: str) -> str:
    return message[1:-1] if len(message) > 1 and message[0] == message[-1] == "'" else message


def _loaded(name: str) -> type[Exception] | None:
    """The class of that name among the loaded modules."""
    module, _, own = name.rpartition(".")
    if not module:
        found: object = getattr(builtins, own, None)
        return found if isinstance(found, type) and issubclass(found, Exception) else None
    names = name.split(".")
    for at in range(len(names) - 1, 0, -1):
        found = sys.modules.get(".".join(names[:at]))
        if found is None:
            continue
        for inner in names[at:]:
            found = vars(found).get(inner) if hasattr(found, "__dict__") else None
        return found if isinstance(found, type) and issubclass(found, Exception) else None
    return None

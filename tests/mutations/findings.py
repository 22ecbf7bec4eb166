"""What a guard test printed, as values."""

from typing import NamedTuple

from tests.mutations.bazel import Test

__all__ = ["Finding", "findings_of"]

_FIX = "    fix: "


class Finding(NamedTuple):
    """One finding: `place[:line][ $.path]: sentence`, and its fix, empty if it names none."""

    line: str
    fix: str

    def is_below(self, directory: str) -> bool:
        """Whether it is about this directory or something in it."""
        return self.line.startswith((f"{directory}/", f"{directory}:", f"{directory} "))


def findings_of(guard: Test | None) -> list[Finding]:
    """The findings of a guard, in the order of its log; of one that passed, none."""
    if guard is None or guard.status == "PASSED":
        return []
    found: list[Finding] = []
    for line in guard.log.split("\n"):
        if line.startswith(_FIX) and found:
            found[-1] = found[-1]._replace(fix=line.removeprefix(_FIX))
        elif line and not line.startswith(" "):
            found.append(Finding(line, ""))
    return found

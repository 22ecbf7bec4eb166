"""The table: one row a mutation, what was expected, what came; and the count at the end."""

import time

__all__ = ["Report"]

_WIDTHS = (58, 62, 110)


class Report:
    """Prints each row as it comes. `subject` heads the first column."""

    def __init__(self, subject: str = "mutation") -> None:
        self._subject = subject
        self.passed = 0
        self.failed = 0
        self._began = time.monotonic()

    def heading(self, text: str) -> None:
        print(f"\n== {text} ({time.monotonic() - self._began:.0f} s)", flush=True)
        print(f"{'':4} {_cell(self._subject, 0)} {_cell('expected', 1)} got")

    def row(self, what: str, expected: str, got: str, problems: list[str]) -> None:
        """A row passed if it has no problem; the problems of one that failed stand below it, whole."""
        if problems:
            self.failed += 1
        else:
            self.passed += 1
        mark = "FAIL" if problems else "ok"
        print(f"{mark:4} {_cell(what, 0)} {_cell(expected, 1)} {_cell(got, 2).rstrip()}", flush=True)
        for problem in problems:
            print("\n".join(f"       {line}" for line in problem.split("\n")), flush=True)

    def check(self, what: str, expected: str, got: str, is_so: bool, evidence: str = "") -> None:
        """A row that is one question; the evidence is printed if the answer is no."""
        self.row(what, expected, got, [] if is_so else [evidence or "it is not so"])

    def close(self) -> int:
        """Print the count; the exit code."""
        print(f"\nin {time.monotonic() - self._began:.0f} s\n{self.passed} passed, {self.failed} failed")
        # A run without any row has proved nothing.
        return 0 if self.passed and not self.failed else 1


def _cell(text: str, column: int) -> str:
    width, line = _WIDTHS[column], text.replace("\n", " | ")
    return f"{line[: width - 1]}…" if len(line) > width else line.ljust(width)

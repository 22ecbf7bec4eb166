"""What a recording says: a line a call while it runs, a report a scenario, a table with what all of it cost."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import counted
from replay.runner.result import WRITTEN, Result

__all__ = ["Account", "Cost", "render_call", "render_record", "render_table"]

_HEADINGS = ("scenario", "outcome", "calls", "tokens in", "tokens out", "seconds")


class Cost(NamedTuple):
    """What went to a provider: live calls, tokens of both directions as it counts them, seconds on the clock."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    def and_call(self, chunks: Sequence[dict[str, Any]], seconds: float) -> Cost:
        """The cost with one call more, `seconds` after the beginning."""
        usage: dict[str, Any] = next(
            (chunk["usage"] for chunk in reversed(chunks) if chunk["type"] == "usage"), {}
        )
        tokens_in, tokens_out = (usage.get(name) or 0 for name in ("inputTokens", "outputTokens"))
        return Cost(self.calls + 1, self.tokens_in + tokens_in, self.tokens_out + tokens_out, seconds)


class Account(NamedTuple):
    """What one scenario came to, in a form that crosses a pipe."""

    scenario: str
    outcome: str
    """`written`, `unchanged` or `failed`."""
    exit_code: int
    text: str
    """The report for the console."""
    cost: Cost = Cost()

    def encode(self) -> bytes:
        return orjson.dumps([*self[:-1], list(self.cost)])

    @staticmethod
    def decode(data: bytes) -> Account:
        scenario, outcome, exit_code, text, cost = orjson.loads(data)
        return Account(scenario, outcome, exit_code, text, Cost(*cost))

    @staticmethod
    def of(result: Result, cost: Cost) -> Account:
        written = any(case.verdict == WRITTEN for case in result.cases)
        outcome = "failed" if result.exit_code else "written" if written else "unchanged"
        return Account(result.scenario, outcome, result.exit_code, render_record(result), cost)


def render_call(scenario: str, cost: Cost) -> str:
    """The line that a live call adds while a scenario is recorded: what it cost until now."""
    return (
        f"{scenario}: {counted(cost.calls, 'call')}, {cost.tokens_in} tokens in, {cost.tokens_out} out, "
        f"{cost.seconds:.1f} s\n"
    )


def render_record(result: Result) -> str:
    """The report on one scenario: the files that changed, or why nothing was written."""
    return "".join(f"{line}\n" for line in _lines(result))


def render_table(accounts: Sequence[Account], left: int) -> str:
    """A row a scenario and one of totals. left: how many were not recorded because the command was stopped."""
    rows = [_HEADINGS, *(_row(one.scenario, one.outcome, one.cost) for one in accounts)]
    total = Cost(*(sum(column) for column in zip(*(one.cost for one in accounts), strict=True)))
    count = counted(len(accounts) + left, "scenario")
    outcome = ", ".join(
        f"{number} {word}"
        for word in ("written", "unchanged", "failed")
        if (number := sum(one.outcome == word for one in accounts))
    )
    rows.append(_row(count, ", ".join(filter(None, (outcome, f"{left} not run" if left else ""))), total))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in rows
    )


def _row(name: str, outcome: str, cost: Cost) -> tuple[str, ...]:
    return name, outcome, *map(str, cost[:3]), f"{cost.seconds:.1f}"


def _lines(result: Result) -> Iterator[str]:
    if not result.exit_code:
        written = [case.message for case in result.cases if case.verdict == WRITTEN]
        yield f"{result.scenario}: {', '.join(written) or 'unchanged'}"
    else:
        yield result.first_line
        yield from (f"  {line}" for line in result.evidence)
        for case in result.failed_cases[0 if result.error is not None else 1 :]:
            yield f"  {case.message}"
        yield from (f"  {line}" for line in result.fault.rstrip().splitlines())
        if result.fault:
            yield "  this is a fault of agent_replay: please report it with these lines"
        if result.fix:
            first, *more = result.fix.splitlines()
            yield f"  fix: {first}"
            yield from (f"       {line}" for line in more)
        yield "  nothing was written"
    yield from (f"  warning: {warning}" for warning in result.warnings)

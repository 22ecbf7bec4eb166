"""What a person reads on the console, by design 4.7: what and where, evidence, artefacts, exact commands.

The only place besides cli/main that renders an error. The first line stands alone and can be clicked.
"""

from collections.abc import Iterator, Sequence

from replay.errors import AgentError, counted
from replay.runner.result import WRITTEN, Result

__all__ = ["render_console", "render_refresh", "render_refresh_summary", "render_summary"]

_MAX_DIFF_LINES = 40
_MAX_OTHER_CASES = 6


def render_console(result: Result, outputs: str) -> str:
    """The report on one run; a single line for one that passed.

    `outputs` says where the artefacts lie, empty when there are none.
    """
    if result.exit_code == 0:
        lines = [
            f"{result.scenario}: passed ({counted(len(result.cases), 'surface')}, {result.timing.total:.0f} ms)"
        ]
        lines.extend(f"  {case.message}" for case in result.cases if case.message)
    else:
        lines = [result.first_line, *_body(result)]
        lines.extend(_where_to_look(result, outputs))
    lines.extend(f"  warning: {warning}" for warning in result.warnings)
    return "\n".join(lines) + "\n"


def render_summary(results: Sequence[Result]) -> str:
    """One closing line over several scenarios, with the names that failed."""
    failed = [result.scenario for result in results if result.exit_code]
    line = f"{len(results) - len(failed)} of {len(results)} scenarios passed"
    return f"{line}; failed: {', '.join(failed)}\n" if failed else f"{line}\n"


def render_refresh(result: Result, outputs: str) -> str:
    """The report on one refresh: a line with the files that changed, or why nothing was written."""
    if result.exit_code:
        return render_console(result, outputs)
    written = [case.message for case in result.cases if case.verdict == WRITTEN]
    lines = [f"{result.scenario}: {', '.join(written) or 'unchanged'}"]
    lines.extend(f"  warning: {warning}" for warning in result.warnings)
    return "\n".join(lines) + "\n"


def render_refresh_summary(results: Sequence[Result], left: int) -> str:
    """One closing line over several refreshes, with the names of those that wrote nothing because they failed.

    left: how many were not run because the command was stopped.
    """
    failed = [result.scenario for result in results if result.exit_code]
    written = sum(
        not result.exit_code and any(case.verdict == WRITTEN for case in result.cases) for result in results
    )
    unchanged = len(results) - written - len(failed)
    line = f"{counted(len(results) + left, 'scenario')}: {written} written, {unchanged} unchanged"
    if left:
        line += f", {left} not run"
    return f"{line}, {len(failed)} failed: {', '.join(failed)}\n" if failed else f"{line}\n"


def reproduce_command(result: Result) -> str:
    """The command that runs this scenario again where one can watch it."""
    return f"bazel test {result.label or result.scenario} --test_output=streamed{result.arguments}"


def _body(result: Result) -> Iterator[str]:
    if isinstance(result.error, AgentError) and str(result.error.where):
        yield f"  while the driver played {result.error.where}"
    yield from (f"  {line}" for line in result.evidence)
    failed = result.failed_cases
    shown = failed[0] if failed else None
    if shown is not None:
        if result.error is not None:
            # How far a run that was stopped got is in actual/; its surfaces differ for no reason of their own.
            yield f"  {shown.message}"
        else:
            yield from (f"  {line}" for line in shown.diff[:_MAX_DIFF_LINES])
            if len(shown.diff) > _MAX_DIFF_LINES:
                yield f"  … {len(shown.diff) - _MAX_DIFF_LINES} lines more"
    for case in failed[1 : 1 + _MAX_OTHER_CASES]:
        yield f"  {case.message}"
    if len(failed) > 1 + _MAX_OTHER_CASES:
        yield f"  … and {len(failed) - 1 - _MAX_OTHER_CASES} surfaces more"
    if result.fault:
        yield from (f"  {line}" for line in result.fault.rstrip().splitlines())
        yield "  this is a fault of agent_replay: please report it with these lines and result.json"


def _where_to_look(result: Result, outputs: str) -> Iterator[str]:
    if outputs and result.artefacts:
        yield f"  artefacts: {outputs} ({', '.join(result.artefacts)})"
    if result.fix:
        yield from (
            f"  {'fix:' if index == 0 else '    '} {line}"
            for index, line in enumerate(result.fix.splitlines())
        )
    yield f"  reproduce: {reproduce_command(result)}"
    failed = result.failed_cases
    if failed and all(case.is_output for case in failed) and result.error is None and not result.fault:
        # Imported here: a run that passes needs nothing of that room.
        from replay.scenario.advice import accept_command

        yield f"  accept: {accept_command(result.scenario, result.commands)}"

"""The strategies of a trace replay: what is served, what is live, how often it runs, and what is compared.

A strategy is a value, chosen once by name. What differs between two of them stands in their members and nowhere else.

    exact       model and tools from the trace, call by call: has anything that the agent does changed?
    mock_tools  tools by name and input, the model live: does another prompt or model still do the right things?
    semantic    tools by name and input, the model live, answers compared by meaning
    consensus   the same, several runs a trace: how sure is the agent of itself?
    snapshot    model and tools from the trace, the agent's state compared
    full        everything live
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from replay.errors import UsageError
from replay.trace.policy import POLICIES

__all__ = ["LIVE", "SERVED", "STRATEGIES", "Strategy", "strategy"]

SERVED, LIVE = "served", "live"
_SOURCES = (SERVED, LIVE)


class Strategy(NamedTuple):
    """How a trace is replayed and judged.

    model, tools: "served" from the trace or "live". unknown: the policy for a tool call that the trace does not hold.
    is_strict: whether a call that is not the recorded one, or is left over, fails the run, and one at another place
    where the suite asks for the strict trajectory. compare: what is compared, by the name of a comparison of the
    verdict. runs: how often each trace is run.
    """

    name: str
    model: str
    tools: str
    unknown: str = "fail"
    is_strict: bool = False
    compare: str = "suite"
    runs: int = 1

    @property
    def is_live(self) -> bool:
        """Whether anything may leave the recording."""
        return LIVE in (self.model, self.tools, self.unknown)

    def with_changes(self, *, model: str = "", tools: str = "", unknown: str = "", runs: int = 0) -> Strategy:
        """The strategy as a target declares it; "" and 0 keep what it has. Raises UsageError for what is none."""
        for key, value in (("model", model), ("tools", tools)):
            if value and value not in _SOURCES:
                raise UsageError(
                    f'"{value}" is no source of the {key}', fix=f"write one of {', '.join(_SOURCES)}"
                )
        if unknown and unknown not in POLICIES:
            raise UsageError(
                f'"{unknown}" is no policy for unknown calls', fix=f"write one of {', '.join(POLICIES)}"
            )
        if runs < 0:
            raise UsageError(f"a trace cannot be run {runs} times")
        if self.is_strict and LIVE in (model, tools, unknown):
            raise UsageError(
                f'strategy "{self.name}" compares call by call with the trace, so that nothing in it can be live',
                fix='take strategy "mock_tools" or "full"',
            )
        return self._replace(
            model=model or self.model,
            tools=tools or self.tools,
            unknown=unknown or self.unknown,
            runs=runs or self.runs,
        )


STRATEGIES: Final[Mapping[str, Strategy]] = {
    each.name: each
    for each in (
        Strategy("exact", SERVED, SERVED, is_strict=True, compare="exact"),
        Strategy("mock_tools", LIVE, SERVED),
        Strategy("semantic", LIVE, SERVED, unknown="nearest", compare="meaning"),
        Strategy("consensus", LIVE, SERVED, unknown="nearest", compare="consensus", runs=5),
        Strategy("snapshot", SERVED, SERVED, compare="snapshot"),
        Strategy("full", LIVE, LIVE, unknown="live"),
    )
}


def strategy(name: str) -> Strategy:
    """The strategy of that name. Raises UsageError listing those there are."""
    found = STRATEGIES.get(name)
    if found is None:
        raise UsageError(f'"{name}" is no strategy', fix=f"write one of {', '.join(STRATEGIES)}")
    return found

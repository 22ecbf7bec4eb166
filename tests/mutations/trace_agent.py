"""The agent of the trace suites that only the copy has: the shop's, and it says what it holds at the end of a run."""

from collections.abc import Callable
from typing import Any

from replay.trace.protocol import Outcome
from replay.trace.state import DictState
from replay.trace.wrap import Session
from tests.rules.trace.shop import AGENT_VERSION, MODEL_VERSION, price, think

__all__ = ["AGENT_VERSION", "MODEL_VERSION", "STATES", "make_agent"]

_BASKET: dict[str, Any] = {}
STATES = (DictState(lambda: dict(_BASKET), "basket"),)


def make_agent(session: Session) -> Callable[..., Any]:
    """The agent, its model and its tool behind the seam."""
    ask, look_up = session.model(think), session.tool(price)

    def agent(task: str) -> Outcome:
        _BASKET.update(fruits=[], sum=0)
        messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        while True:
            reply = ask(messages)
            if "text" in reply:
                return Outcome(reply["text"], True)
            found = look_up(**reply["input"])
            _BASKET["fruits"].append(reply["input"]["fruit"])
            _BASKET["sum"] += found
            messages.append({"role": "tool", "content": found})

    return agent

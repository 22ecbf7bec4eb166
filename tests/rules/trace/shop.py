"""A small agent: it looks up what a customer asks for and answers. Its model is a function, so that nothing needs a network."""

import re
from collections.abc import Callable
from typing import Any

from replay.trace.protocol import Outcome
from replay.trace.wrap import Session

AGENT_VERSION = "1"
MODEL_VERSION = "rules-1"

PRICES = {"apple": 2, "pear": 3, "plum": 5}


def think(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The model: which tool to call, or the answer."""
    asked = re.findall(r"apple|pear|plum", messages[0]["content"])
    known = [message["content"] for message in messages if message["role"] == "tool"]
    if len(known) < len(asked):
        return {"tool": "price", "input": {"fruit": asked[len(known)]}}
    return {"text": f"That makes {sum(known)}."}


def price(fruit: str) -> int:
    """The tool."""
    return PRICES[fruit]


def make_agent(session: Session) -> Callable[..., Any]:
    """The agent, its model and its tool behind the seam."""
    ask, look_up = session.model(think), session.tool(price)

    def agent(task: str) -> Outcome:
        messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        while True:
            reply = ask(messages)
            if "text" in reply:
                print(f"answered: {reply['text']}")
                return Outcome(reply["text"], True)
            messages.append({"role": "tool", "content": look_up(**reply["input"])})

    return agent

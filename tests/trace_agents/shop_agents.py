"""Agents in Python for these tests: plain, async, streaming, threaded, nested. What `replay.trace.entry` is given."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from replay.trace.protocol import Outcome
from replay.trace.wrap import Session

AGENT_VERSION = "7"
TOOLS = [{"name": "weather"}]


def think(messages: list[dict[str, Any]]) -> str:
    return f"live: {messages[-1]['content']}"


def weather(city: str) -> str:
    if city == "Atlantis":
        raise LookupError("no such city")
    return f"rain in {city}"


def plain(session: Session) -> Callable[..., Any]:
    ask, look = session.model(think), session.tool(weather)

    def agent(task: str) -> Outcome:
        print("this goes to stderr, and breaks no protocol")
        ask([{"role": "user", "content": task}])
        try:
            found = look("Bern" if "Bern" in task else "Atlantis")
        except LookupError as error:
            found = f"failed: {error}"
        return Outcome(ask([{"role": "user", "content": found}]), True)

    return agent


def streaming(session: Session) -> Callable[..., Any]:
    def pieces(messages: list[dict[str, Any]]) -> Iterator[str]:
        yield from ("live ", "pieces ", messages[0]["content"])

    ask = session.model(pieces)
    return lambda task: "".join(ask([{"role": "user", "content": task}]))


def asynchronous(session: Session) -> Callable[..., Any]:
    async def tokens(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
        for token in ("a", "b", messages[0]["content"]):
            await asyncio.sleep(0)
            yield token

    async def look(city: str) -> str:
        await asyncio.sleep(0)
        return f"rain in {city}"

    ask, find = session.model(tokens), session.tool(look, name="weather")

    async def agent(task: str) -> list[Any]:
        cities = await asyncio.gather(*(find(city) for city in ("Bern", "Basel", "Genf")))
        return [*cities, "".join([token async for token in ask([{"role": "user", "content": task}])])]

    return agent


def threaded(session: Session) -> Callable[..., Any]:
    met = threading.Barrier(8)

    def slow_weather(city: str) -> str:
        # All are under way at once, so that the recording shows it.
        met.wait()
        return weather(city)

    look = session.tool(slow_weather, name="weather")

    def agent(task: str) -> list[str]:
        found: dict[str, str] = {}
        cities = [f"city {number}" for number in range(8)]
        threads = [
            threading.Thread(target=lambda city=city: found.update({city: look(city)})) for city in cities
        ]  # type: ignore[misc]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[city] for city in cities]

    return agent


def nested(session: Session) -> Callable[..., Any]:
    ask = session.model(think)

    def research(topic: str) -> str:
        return f"{ask([{'role': 'user', 'content': topic}])}!"

    look = session.tool(research)
    return lambda task: look(task)


def stubborn(session: Session) -> Callable[..., Any]:
    """It tries again for ever, as agents with retries do."""
    look = session.tool(weather)

    def agent(task: str) -> str:
        while True:
            try:
                return look("Elsewhere")
            except Exception:
                continue

    return agent


def raising(session: Session) -> Callable[..., Any]:
    def agent(task: str) -> str:
        raise ValueError("the agent itself is broken")

    return agent

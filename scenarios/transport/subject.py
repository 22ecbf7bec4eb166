"""The subject of every test of scenarios/transport: the reference orchestrator, driven by the scenario's `play`.

It ends with 1 when an assertion of the scenario fails, and the last line of its stderr says which.
"""

import asyncio
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from scenarios.transport.places import Places
from scenarios.transport.world import World, open_world

__all__ = ["load_play", "main"]

Play = Callable[[World], Awaitable[None]]


def load_play(scenario: Path) -> Play:
    """`play` of the scenario's scenario.py."""
    file = scenario / "scenario.py"
    spec = spec_from_file_location(f"scenarios.transport.{scenario.name}.scenario", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    play: Play = module.play
    return play


async def run(places: Places) -> None:
    async with open_world(places) as world:
        await load_play(places.scenario)(world)


def main() -> int:
    try:
        asyncio.run(run(Places.of(os.environ)))
    except Exception as error:
        traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(str(error).split()) or place.line or type(error).__name__
        print(f"{Path(place.filename).name}:{place.lineno}: {said}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

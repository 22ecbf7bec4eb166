"""Start the agent: read the configuration, serve one client on stdin and stdout until it is gone.

Exit codes: 0 when stdin ended or a signal asked us to stop, 2 for a configuration or usage that is wrong.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path

from scenarios.reference_agent.config import Config, ConfigError, OpenAIChatConfig, load_config

__all__ = ["main"]


def main() -> int:
    options = parse_options()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        config = load_config(options.config, options.overlay)
        return asyncio.run(serve(config, options.sessions, options.spill))
    except ConfigError as error:
        print(f"reference_agent: {error}", file=sys.stderr)
        return 2


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="reference_agent", description="A coding agent over ACP on stdio.")
    parser.add_argument(
        "--config", type=Path, required=True, help="YAML file; config.py says what it may hold"
    )
    parser.add_argument(
        "--overlay", type=Path, action="append", default=[], help="YAML laid over it; repeatable"
    )
    parser.add_argument(
        "--sessions", type=Path, default=state_directory() / "sessions", help="where logs are kept"
    )
    parser.add_argument(
        "--spill", type=Path, default=None, help="where long outputs go; a temporary directory if left out"
    )
    return parser.parse_args()


def state_directory() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "reference_agent"


async def serve(config: Config, sessions: Path, spill: Path | None) -> int:
    # Here, so that a wrong configuration is reported before the protocol's types are built.
    from scenarios.reference_agent.connection import serve_stdio
    from scenarios.reference_agent.model import make_model
    from scenarios.reference_agent.server import ReferenceAgent
    from scenarios.reference_agent.services import Services, sleep_ms
    from scenarios.reference_agent.store import Store

    with contextlib.ExitStack() as stack:
        if spill is None:
            spill = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reference_agent-")))
        services = Services(
            model=make_model(config.model, os.environ),
            store=Store(
                sessions.absolute(),
                clock=lambda: time.time_ns() // 1_000_000,
                new_id=lambda: str(uuid.uuid4()),
            ),
            spill=spill.absolute(),
            environment=shell_environment(config),
            sleep_ms=sleep_ms,
        )
        agent = ReferenceAgent(config, services)
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        await serve_stdio(agent, stopping)
    return 0


def shell_environment(config: Config) -> dict[str, str]:
    """Our own environment without the provider's key: commands that a model writes have no business with it."""
    adapter = config.model.adapter
    secret = adapter.api_key_env if isinstance(adapter, OpenAIChatConfig) else OpenAIChatConfig().api_key_env
    return {name: value for name, value in os.environ.items() if name != secret}


if __name__ == "__main__":
    sys.exit(main())

"""`tools/remote/cache` and `tools/remote/executor`: starts and stops a cache or an executor on this machine."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tools.remote import buildbox, buildgrid, nginx, reapi
from tools.remote.errors import RemoteError
from tools.remote.service import Engine, Service


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    try:
        directory = _directory(options)
        service = Service(_engine(options), directory)
        if options.command == "down":
            print("stopped" if service.down() else "nothing ran", file=sys.stderr)
            return 0
        endpoint = service.up(options.port) if options.command == "up" else service.status()
    except RemoteError as error:
        print(f"agent_replay: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(
            f"agent_replay: {directory}: {error.strerror} ({error.filename}): name another one (--dir)",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"endpoint={endpoint}\nbazelrc={service.bazelrc}")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    kind = arguments[0]
    parser = argparse.ArgumentParser(
        prog=f"tools/remote/{kind}",
        description=f"A remote {kind} on this machine, reachable on loopback only. `up` and `status` print the endpoint and a "
        "bazelrc that names it; `down` leaves no process and keeps what is stored.",
    )
    parser.set_defaults(kind=kind)
    parser.add_argument("command", choices=("up", "down", "status"))
    parser.add_argument(
        "--dir", type=Path, help="where it keeps everything, so that several can run side by side"
    )
    if kind == "executor":
        parser.add_argument("--engine", choices=("buildbox", "buildgrid"), default="buildbox")
        parser.add_argument(
            "--jobs",
            type=_number(1, 1000),
            default=os.cpu_count(),
            help="actions at a time; one for each core",
        )
    parser.add_argument(
        "--port", type=_number(1, 65535), help="without it, the one of the last time or a free one"
    )
    return parser.parse_args(arguments[1:])


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low} to {high}")
        return int(text)

    return read


def _engine(options: argparse.Namespace) -> Engine:
    if options.kind == "cache":
        return Engine("http", "remote_cache", "remote-cache", nginx.cache_steps, nginx.probe_cache)
    if options.engine == "buildbox":
        return Engine(
            "grpc", "remote_executor", "rbe", partial(buildbox.steps, jobs=options.jobs), reapi.probe
        )
    home = _home()
    steps = partial(buildgrid.steps, jobs=options.jobs, home=home)
    return Engine("grpc", "remote_executor", "rbe", steps, reapi.probe, partial(buildgrid.install, home))


def _home() -> Path:
    """Beside the private root that this runs in."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or f"{os.environ['HOME']}/.cache") / "agent_replay" / "remote"
    )


def _directory(options: argparse.Namespace) -> Path:
    """The directory of the service, absolute."""
    name = options.kind if options.kind == "cache" else options.engine
    directory: Path = (options.dir or _home() / name).absolute()
    if not re.fullmatch(r"[\w./+@=,~-]+", str(directory)):
        raise RemoteError(
            f"{str(directory)!r}: nginx and Bazel would misread this name: use letters, digits and ./+@=,~-"
        )
    return directory


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A cache or an executor of tools/remote, up for as long as it is needed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["CannotRunError", "Service", "running"]

# What `up` exits with where the machine cannot have the service.
_CANNOT = 77


class CannotRunError(Exception):
    """This machine cannot have the service; the text is one sentence that says why."""


class Service:
    """tools/remote/NAME, which keeps all of its files in `directory`, an absolute path."""

    def __init__(self, source: Path, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self._program = source / "tools" / "remote" / name

    def up(self) -> str:
        """Start it; its endpoint, the same each time.

        Raises CannotRunError for a machine that cannot, RuntimeError for a fault of the tool.
        """
        done = self._call("up")
        if done.returncode == _CANNOT:
            raise CannotRunError(done.stderr.strip().split("\n")[-1])
        said = dict(line.split("=", 1) for line in done.stdout.split("\n") if "=" in line)
        if done.returncode != 0 or "endpoint" not in said:
            raise RuntimeError(
                f"tools/remote/{self.name} up, exit {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return said["endpoint"]

    def down(self) -> None:
        """End all of its processes. Raises RuntimeError if that failed."""
        done = self._call("down")
        if done.returncode != 0:
            raise RuntimeError(f"tools/remote/{self.name} down, exit {done.returncode}:\n{done.stderr}")

    def _call(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, command, f"--dir={self.directory}"],
            # Not the variables of the `bazel run` that started this program.
            env={
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("RUNFILES", "PYTHON"))
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def running(service: Service) -> Iterator[str]:
    """The endpoint of the service, which ends with the block."""
    endpoint = service.up()
    try:
        yield endpoint
    finally:
        service.down()

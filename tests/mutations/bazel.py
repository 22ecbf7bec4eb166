"""The real Bazel in a work tree: one invocation at a time, read back from its build events."""

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

__all__ = ["Attempt", "Bazel", "Invocation", "Test"]

# What `bazel run` tells this program about itself. BAZEL_REAL stays: it chose the Bazel that is tried.
_OWN = re.compile(r"RUNFILES_|JAVA_RUNFILES|PYTHON|BUILD_|TEST_|XML_OUTPUT|BAZELISK_SKIP|AGENT_REPLAY_")
_HEADER = re.compile(r"\A.*?^-{60,}\n", re.DOTALL | re.MULTILINE)


class Attempt(NamedTuple):
    """One run of one shard."""

    run: int
    shard: int
    is_cached: bool
    log: str
    """What the test printed, without Bazel's own header."""
    directory: Path
    """The directory of test.log, test.xml and the undeclared outputs: the next invocation overwrites it."""

    def output(self, name: str) -> bytes | None:
        """An undeclared output, from the directory or the zip; None if there is none."""
        outputs = self.directory / "test.outputs"
        if (outputs / name).is_file():
            return (outputs / name).read_bytes()
        packed = outputs / "outputs.zip"
        if packed.is_file():
            with zipfile.ZipFile(packed) as archive:
                return archive.read(name) if name in archive.namelist() else None
        return None

    def result(self) -> dict[str, Any]:
        """result.json, empty if the test left none."""
        data = self.output("result.json")
        found: dict[str, Any] = json.loads(data) if data else {}
        return found


class Test(NamedTuple):
    """One test target after an invocation."""

    status: str
    """PASSED, FAILED, TIMEOUT, … as Bazel calls it."""
    attempts: Sequence[Attempt]

    @property
    def is_cached(self) -> bool:
        return bool(self.attempts) and all(attempt.is_cached for attempt in self.attempts)

    @property
    def log(self) -> str:
        return "".join(attempt.log for attempt in self.attempts)

    @property
    def first_line(self) -> str:
        return self.log.partition("\n")[0]


class Invocation(NamedTuple):
    """What one call of Bazel came to."""

    code: int
    text: str
    """Both of its streams."""
    tests: Mapping[str, Test]
    """By label."""


class Bazel:
    """Bazel in the work tree `root`. `scratch` is a directory for its build events."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self._root = root
        self._events = scratch / "events.json"
        self._environment = {name: value for name, value in os.environ.items() if not _OWN.match(name)}

    def call(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> Invocation:
        """Run `bazel COMMAND ARGUMENTS` to its end; env is added to the shell's."""
        self._events.write_bytes(b"")
        flags = ["--config=ci", "--keep_going", f"--build_event_json_file={self._events}"]
        flags = [] if command == "shutdown" else flags
        done = subprocess.run(
            [self._root / "tools" / "bazel", command, *flags, *arguments],
            cwd=self._root,
            env={**self._environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return Invocation(done.returncode, done.stdout, _tests(self._events.read_text(errors="replace")))


def _tests(events: str) -> dict[str, Test]:
    attempts: dict[str, list[Attempt]] = {}
    status: dict[str, str] = {}
    for line in events.split("\n"):
        event = json.loads(line) if line else {}
        ident = event.get("id", {})
        if "testResult" in ident:
            attempts.setdefault(_name(ident["testResult"]["label"]), []).extend(_attempt(ident, event))
        elif "testSummary" in ident:
            status[_name(ident["testSummary"]["label"])] = event["testSummary"]["overallStatus"]
    return {
        label: Test(verdict, sorted(attempts.get(label, []), key=lambda one: (one.run, one.shard)))
        for label, verdict in status.items()
    }


def _name(text: str) -> str:
    """A name from an event: Bazel 7 holds each byte of it as a character."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _attempt(ident: dict[str, Any], event: dict[str, Any]) -> Iterator[Attempt]:
    place, result = ident["testResult"], event.get("testResult", {})
    for file in result.get("testActionOutput", []):
        if file["name"] == "test.log" and file.get("uri", "").startswith("file:"):
            log = Path(_name(unquote(urlsplit(file["uri"]).path)))
            text = _HEADER.sub("", log.read_text(errors="replace"), count=1)
            is_cached = bool(result.get("cachedLocally"))
            yield Attempt(place.get("run", 1), place.get("shard", 1), is_cached, text, log.parent)

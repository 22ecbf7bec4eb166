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
    strategy: str
    """Where Bazel says that it came from: "linux-sandbox", "remote", "remote cache hit", …"""
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
    def strategies(self) -> set[str]:
        """Where the attempts of this invocation came from; empty for a test that did not need any."""
        return {attempt.strategy for attempt in self.attempts if not attempt.is_cached}

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
    runners: Mapping[str, int]
    """How many actions, tests included, came from where; empty if Bazel got nowhere."""


class Bazel:
    """Bazel in the work tree `root`. `scratch` is a directory for its build events.

    startup: its start-up options. env is added to the shell's. umask: that of Bazel and its server; -1 for the shell's.
    """

    def __init__(
        self,
        root: Path,
        scratch: Path,
        startup: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        umask: int = -1,
    ) -> None:
        self._root = root
        self.events = scratch / "events.json"
        self._startup = startup
        own = {name: value for name, value in os.environ.items() if not _OWN.match(name)}
        self._environment = {**own, **(env or {})}
        self._umask = umask

    def call(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> Invocation:
        """Run `bazel COMMAND ARGUMENTS` to its end; env is added to this Bazel's."""
        self.events.write_bytes(b"")
        # Without conversion a file is one here, wherever it came from.
        events = [f"--build_event_json_file={self.events}", "--nobuild_event_json_file_path_conversion"]
        flags = ["--config=ci", "--keep_going", *events]
        flags = [] if command in ("shutdown", "clean") else flags
        done = subprocess.run(
            [self._root / "tools" / "bazel", *self._startup, command, *flags, *arguments],
            cwd=self._root,
            env={**self._environment, **(env or {})},
            umask=self._umask,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        lines = self.events.read_text(errors="replace").split("\n")
        found = [json.loads(line) for line in lines if line]
        return Invocation(done.returncode, done.stdout, _tests(found), _runners(found))


def _runners(events: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts = (
        event.get("buildMetrics", {}).get("actionSummary", {}).get("runnerCount", []) for event in events
    )
    return {one["name"]: one["count"] for several in counts for one in several if one["name"] != "total"}


def _tests(events: Sequence[dict[str, Any]]) -> dict[str, Test]:
    attempts: dict[str, list[Attempt]] = {}
    status: dict[str, str] = {}
    for event in events:
        ident = event.get("id", {})
        if "testResult" in ident:
            attempts.setdefault(_name(ident["testResult"]["label"]), []).extend(_attempt(ident, event))
        # A build that broke off has an event without a summary in its place.
        elif "testSummary" in event:
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
            strategy = result.get("executionInfo", {}).get("strategy", "")
            yield Attempt(place.get("run", 1), place.get("shard", 1), is_cached, strategy, text, log.parent)

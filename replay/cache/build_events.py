"""The build events of one run: what was asked for, what became of each test, and what its caches said.

Which fields are read stands in build_event_stream.proto and command_line.proto. Of a test's inputs the events hold nothing
but the files of its target, with their digests; those are kept as `Inputs`, since targets share them by sets.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from replay.cache.build_event_stream_pb2 import BuildEvent, BuildEventId, File, TestResult, TestStatus
from replay.cache.command_line_pb2 import CommandLine, OptionEffectTag, OptionMetadataTag
from replay.cache.inputs import Inputs
from replay.cache.reason import shown
from replay.cache.stream import FileKind, read_events, spelled
from replay.errors import FixtureError, Location

__all__ = ["DISK", "LOCAL", "REMOTE", "Build", "Option", "Outcome", "Target", "read_build"]

LOCAL: Final = "local action cache"
DISK: Final = "disk cache"
REMOTE: Final = "remote cache"
_MAX_TROUBLE: Final = 50
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_WARNING: Final = re.compile(r"^(\(\d\d:\d\d:\d\d\) )?(WARNING|ERROR): ")
_TROUBLE: Final = re.compile(
    r"remote cache|remote execut|remote server|disk cache|BulkTransferException|UNAVAILABLE|DEADLINE_EXCEEDED|Connection refused"
    r"|Connection reset|Failed to (query|connect)|io exception|No route to host|UnknownHost|lost inputs|Build Event Protocol upload",
    re.IGNORECASE,
)


class Option(NamedTuple):
    """One option of the command line as Bazel understood it; `values` of one that is given several times."""

    values: tuple[str, ...]
    effects: frozenset[str]
    is_hidden: bool = False
    """One that Bazel's client adds for its server."""


class Outcome(NamedTuple):
    """One attempt of one test: a shard of a run, where there are several."""

    label: str
    configuration: str
    shard: int
    run: int
    status: str
    """PASSED, FAILED, TIMEOUT …"""
    cache: str
    """Which cache answered; empty where the test was executed."""
    strategy: str
    seconds: float
    """What the test took when it was executed, which for a hit was in an earlier run."""

    @property
    def name(self) -> str:
        """The label, and which shard or run where it is not the first."""
        more = [
            f"{noun} {number}" for noun, number in (("shard", self.shard), ("run", self.run)) if number > 1
        ]
        return f"{self.label} ({', '.join(more)})" if more else self.label


class Target(NamedTuple):
    """What was built for a test. `files` is the number of its outputs in Inputs."""

    files: int = 0
    tags: tuple[str, ...] = ()
    timeout_seconds: float = 0.0


class Build(NamedTuple):
    """One run of Bazel. A run that was broken off has no `exit_code`, and what it did until then."""

    path: str
    version: str
    command: str
    options: Mapping[str, Option]
    configurations: Mapping[str, str]
    """Id -> name of its output directory."""
    status: Mapping[str, str]
    """The workspace status."""
    outcomes: Sequence[Outcome]
    targets: Mapping[str, Target]
    flaky: Sequence[str]
    """Tests that failed and then passed."""
    runners: Mapping[str, int]
    """How many actions each strategy executed, and each cache answered, tests and all."""
    trouble: Sequence[str]
    """What Bazel said about a cache or an executor that failed it, each line once."""
    wall_seconds: float
    exit_code: int | None


def read_build(path: str, kind: FileKind, inputs: Inputs) -> Build:
    """Read the events of a run. Raises FixtureError."""
    reader = _Reader(path, inputs)
    for number, event in enumerate(read_events(path, kind), start=1):
        try:
            reader.take(event)
        except KeyError as error:
            raise FixtureError(
                f"event {number} names the set of files {error.args[0]}, which is none of those before it",
                Location(path),
                "take the file after the run has come to its end",
            ) from None
    return reader.build()


class _Reader:
    def __init__(self, path: str, inputs: Inputs) -> None:
        self._path = path
        self._inputs = inputs
        self._sets: dict[str, int] = {}
        self._version = ""
        self._command = ""
        self._options: dict[str, Option] = {}
        self._configurations: dict[str, str] = {}
        self._status: dict[str, str] = {}
        self._outcomes: list[Outcome] = []
        self._targets: dict[str, Target] = {}
        self._flaky: list[str] = []
        self._runners: dict[str, int] = {}
        self._trouble: dict[str, int] = {}
        self._line = ""
        self._wall_seconds = 0.0
        self._exit_code: int | None = None

    def build(self) -> Build:
        """What was read."""
        self._take_text("\n")
        trouble = [f"{line} ({count} times)" if count > 1 else line for line, count in self._trouble.items()]
        return Build(
            self._path, self._version, self._command, self._options, self._configurations, self._status,
            self._outcomes, self._targets, sorted(self._flaky), self._runners, trouble, self._wall_seconds, self._exit_code,
        )  # fmt: skip

    def take(self, event: BuildEvent) -> None:
        """Take in one event. Raises KeyError with the id of a set of files that is not there."""
        match event.WhichOneof("payload"):
            case "started":
                self._version, self._command = event.started.build_tool_version, event.started.command
            case "structured_command_line":
                if event.structured_command_line.command_line_label == "canonical":
                    self._options = _options(event.structured_command_line)
            case "configuration":
                self._configurations[event.id.configuration.id] = event.configuration.mnemonic
            case "workspace_status":
                self._status = {item.key: item.value for item in event.workspace_status.item}
            case "progress":
                self._take_text(event.progress.stderr)
            case "named_set_of_files":
                files = (
                    self._inputs.leaf(_path(file), file.digest or "no digest")
                    for file in event.named_set_of_files.files
                )
                below = self._groups(event.named_set_of_files.file_sets)
                self._sets[event.id.named_set.id] = self._inputs.group(files, below)
            case "completed":
                self._take_target(event)
            case "test_result":
                self._outcomes.append(_outcome(event.id.test_result, event.test_result))
            case "test_summary":
                if event.test_summary.overall_status == TestStatus.FLAKY:
                    self._flaky.append(spelled(event.id.test_summary.label))
            case "finished":
                self._exit_code = event.finished.exit_code.code
            case "build_metrics":
                metrics = event.build_metrics
                self._wall_seconds = metrics.timing_metrics.wall_time_in_ms / 1000
                self._runners = {runner.name: runner.count for runner in metrics.action_summary.runner_count}

    def _groups(self, sets: Iterable[BuildEventId.NamedSetOfFilesId]) -> list[int]:
        return [self._sets[named.id] for named in sets]

    def _take_target(self, event: BuildEvent) -> None:
        if event.id.target_completed.aspect:
            return
        groups = [group for group in event.completed.output_group if group.name == "default"]
        files = self._inputs.group(
            (), [number for group in groups for number in self._groups(group.file_sets)]
        )
        timeout = event.completed.test_timeout.ToMilliseconds() / 1000
        self._targets[spelled(event.id.target_completed.label)] = Target(
            files, tuple(event.completed.tag), timeout
        )

    def _take_text(self, text: str) -> None:
        """Of what Bazel wrote, the lines about a cache that failed. A line can be in several events."""
        *lines, self._line = (self._line + text).split("\n")
        # A progress bar has no end of line for long.
        self._line = self._line[-10_000:]
        for line in lines:
            plain = _CONTROL.sub("", line).strip()
            if _WARNING.match(plain) and _TROUBLE.search(plain):
                said = shown("line", plain)
                if said in self._trouble or len(self._trouble) < _MAX_TROUBLE:
                    self._trouble[said] = self._trouble.get(said, 0) + 1


def _options(line: CommandLine) -> dict[str, Option]:
    """The options of the command. Bazel's canonical form has each expanded, the later one of two where it takes one value."""
    found: dict[str, Option] = {}
    for section in line.sections:
        if section.section_label != "command options":
            continue
        for option in section.option_list.option:
            known = found.get(option.option_name)
            effects = frozenset(
                OptionEffectTag.Name(tag) for tag in option.effect_tags if tag in OptionEffectTag.values()
            )
            values = (*(known.values if known else ()), option.option_value)
            is_hidden = OptionMetadataTag.HIDDEN in option.metadata_tags
            found[option.option_name] = Option(values, effects, is_hidden)
    return found


def _outcome(which: BuildEventId.TestResultId, result: TestResult) -> Outcome:
    strategy = result.execution_info.strategy
    if result.cached_locally:
        cache = LOCAL
    elif "disk cache hit" in strategy:
        cache = DISK
    elif result.execution_info.cached_remotely or "cache hit" in strategy:
        cache = REMOTE
    else:
        cache = ""
    millis = result.test_attempt_duration.ToMilliseconds() or result.test_attempt_duration_millis
    known = TestStatus.values()
    status = TestStatus.Name(result.status) if result.status in known else str(result.status)
    return Outcome(
        spelled(which.label),
        which.configuration.id,
        which.shard,
        which.run,
        status,
        cache,
        strategy,
        millis / 1000,
    )


def _path(file: File) -> str:
    return spelled("/".join((*file.path_prefix, file.name)))

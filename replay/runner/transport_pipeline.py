"""The pipeline of a transport test: `run_transport(spec, finish)` from manifest to result.

    manifest -> load transcripts -> sandbox -> host -> spawn the subject -> wait -> drain -> statuses
      -> surfaces -> compare | write back -> result

Whatever goes wrong becomes part of the result, and what was produced until then is kept. With every order the subject
runs once an order, each time in a sandbox of its own; the recorded order comes first and is the one that is accepted.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from replay.errors import AgentError, FixtureError, Location, ReplayError, counted
from replay.runner.baseline import fixture_digests
from replay.runner.loop import Loop
from replay.runner.manifest import ScenarioSpec
from replay.runner.result import FAILED, PASSED, AgentFacts, Case, Result, Timing
from replay.runner.runfiles import Runfiles
from replay.runner.sandbox import remove_tree
from replay.runner.transport_artefacts import write_play
from replay.runner.transport_manifest import TransportManifest
from replay.runner.transport_play import Play, Stage, play
from replay.runner.transport_surfaces import compare_surfaces
from replay.transport.profile import profile
from replay.transport.transcript import Transcript, read_transcript

if TYPE_CHECKING:
    from replay.runner.transport_orders import OrderTable

__all__ = ["REPLAY", "TransportEnding", "TransportMode", "TransportSurroundings", "compare", "run_transport"]

_MARGIN_SECONDS = 10.0
_LEAST_BUDGET = 0.6
_MAX_KEPT_ORDERS = 5
_DAY_SECONDS = 86400.0


class TransportEnding(NamedTuple):
    """All that a mode's `finish` needs of the recorded order, or of the one that was asked for."""

    spec: ScenarioSpec
    manifest: TransportManifest
    play: Play
    expected: Mapping[str, bytes]
    """Surface file -> content of its fixture file, of those that are compared in this order."""
    is_recorded_order: bool
    transcripts: Mapping[str, Transcript]
    """File of the fixture -> what it holds."""
    update_directory: str = ""


class TransportMode(NamedTuple):
    """One mode: what a person types, what the end does with the surfaces, and whether other orders are played."""

    name: str
    finish: Callable[[TransportEnding], Sequence[Case]]
    plays_orders: bool


class TransportSurroundings(NamedTuple):
    """What a run needs beside its scenario."""

    manifest: TransportManifest
    runfiles: Runfiles
    temporary: str
    loop: Loop
    ends: float | None = None
    """Point on the monotonic clock at which the test's time is over."""
    only: str = ""
    """The case that a filter names: only it can fail the test then."""
    order: int | None = None
    """The one order to play."""
    update_directory: Callable[[ScenarioSpec], str] | None = None


def compare(ending: TransportEnding) -> list[Case]:
    """The cases of a replay: each surface against its expected file."""
    spec = ending.spec
    places = {file: f"{spec.directory}/{name}" for file, name in spec.expected.items()}
    actual = ending.play.actual
    if not ending.is_recorded_order:
        compared = {name: actual.surfaces[name] for name in actual.surfaces if name in ending.expected}
        actual = actual._replace(surfaces=compared)

    def write() -> str:
        from replay.scenario.advice import refresh_command

        return refresh_command(spec.name, ending.manifest.commands)

    return compare_surfaces(actual, ending.expected, places, write, ended_well=ending.play.verdict.ended_well)


REPLAY = TransportMode("replay", compare, plays_orders=True)


def run_transport(
    spec: ScenarioSpec, mode: TransportMode, around: TransportSurroundings, outputs: str = ""
) -> Result:
    """Run one test and say what came of it. `outputs` is where its artefacts go, or empty for nowhere."""
    run = _Run(spec, mode, around, outputs)
    try:
        run.go()
    except ReplayError as error:
        run.error = run.error or error
    except Exception:
        import traceback

        run.fault = traceback.format_exc()
    return run.result()


class _Run:
    """The state of one run while it goes through the pipeline."""

    def __init__(
        self, spec: ScenarioSpec, mode: TransportMode, around: TransportSurroundings, outputs: str
    ) -> None:
        self.spec = spec
        self.mode = mode
        self.around = around
        self.outputs = outputs
        self.error: ReplayError | None = None
        self.fault = ""
        self.cases: list[Case] = []
        self.evidence: Sequence[str] = ()
        self.warnings: list[str] = []
        self.artefacts: list[str] = []
        self.transcripts: Mapping[str, Transcript] = {}
        """By provider."""
        self.played: Play | None = None
        self.starts = 0
        self.arguments = ""
        self._marks = [time.monotonic()]
        self._cpu = time.process_time()

    def go(self) -> None:
        self.transcripts = self._load()
        self._mark()
        stage = Stage(
            self.spec,
            self.around.manifest,
            self.around.runfiles,
            list(self.transcripts.values()),
            self.around.temporary,
            self.around.loop,
            self._end(),
        )
        self._mark()
        plays_all = self.around.manifest.all_orders and self.mode.plays_orders
        if plays_all or self.around.order is not None:
            self._play_orders(stage)
        else:
            self._play_first(stage, 0, {})

    def _load(self) -> dict[str, Transcript]:
        """Provider -> transcript. Raises FixtureError for one that is missing or cannot be read."""
        spec = self.spec
        if not spec.transcripts:
            raise FixtureError(
                "there is no transcript to play",
                Location(f"{spec.directory}/{spec.variant}.transcript.ndjson"),
                f"record it: bazel run {self.around.manifest.commands}:record -- {spec.name}",
            )
        found = {}
        for provider, name in spec.transcripts.items():
            with open(self.around.runfiles.locate(spec.files[name]), "rb") as file:
                transcript = read_transcript(file.read(), f"{spec.directory}/{name}")
            try:
                profile(transcript.start.protocol)
            except FixtureError as error:
                raise error.at(transcript.place, transcript.start.line) from None
            found[provider] = transcript
        return found

    def _end(self) -> float:
        """When a play must be over, so that there is time left to end the subject, to judge and to write."""
        end, now = self.around.ends, time.monotonic()
        if end is None:
            return now + _DAY_SECONDS
        left = max(0.0, end - now)
        return now + max(left - _MARGIN_SECONDS, left * _LEAST_BUDGET)

    def _play_first(self, stage: Stage, number: int, chosen: Mapping[str, int]) -> None:
        """The play whose surfaces are judged, and that is accepted."""
        played = self._play(stage, number, chosen, self.outputs)
        self.played = played
        self._mark()
        self.error = played.verdict.error or played.actual.refused
        self.evidence = played.verdict.evidence
        self.cases = [*played.verdict.cases, *self._judge(played, number)]
        if self.outputs:
            self.artefacts = write_play(self.outputs, self.spec, played, with_surfaces=self._has_failed)

    @property
    def _has_failed(self) -> bool:
        return self.error is not None or any(case.verdict == FAILED for case in self.cases)

    def _play(self, stage: Stage, number: int, chosen: Mapping[str, int], outputs: str) -> Play:
        self.starts += 1
        if outputs:
            os.makedirs(outputs, exist_ok=True)
        return play(stage, number, chosen, outputs)

    def _judge(self, played: Play, number: int) -> Sequence[Case]:
        directory = self.around.update_directory
        return self.mode.finish(
            TransportEnding(
                self.spec,
                self.around.manifest,
                played,
                self._expected(number),
                number == 0,
                {self.spec.transcripts[name]: transcript for name, transcript in self.transcripts.items()},
                directory(self.spec) if directory else "",
            )
        )

    def _expected(self, number: int) -> dict[str, bytes]:
        found = {}
        for file, name in self.spec.expected.items():
            if number and file.partition(".")[0] not in self.around.manifest.order_surfaces:
                continue
            with open(self.around.runfiles.locate(self.spec.files[name]), "rb") as data:
                found[file] = data.read()
        return found

    # Other orders.

    def _play_orders(self, stage: Stage) -> None:
        from replay.runner.transport_orders import OrderTable

        table = OrderTable(self.transcripts, self.around.manifest.max_orders)
        if self.around.order is not None:
            self._play_first(stage, self.around.order, table.chosen(self.around.order))
            self.arguments = f" --test_arg=--order={self.around.order}"
            self.evidence = [f"order {self.around.order}: {table.said(self.around.order)}", *self.evidence]
            return
        self._play_first(stage, 0, {})
        if table.left_out:
            bound = self.around.manifest.max_orders
            self.warnings.append(
                f"{counted(table.left_out, 'legal order')} beyond max_orders = {bound} left out"
            )
        if self._has_failed:
            return
        broken: list[int] = []
        for number in range(1, table.total):
            if self.around.loop.stopped or time.monotonic() >= stage.ends:
                self.error = AgentError(
                    f"only {number} of {counted(table.total, 'order')} played: the test's time is over",
                    fix="a larger size or timeout, or a smaller max_orders",
                )
                break
            case = self._play_order(stage, number, table, len(broken))
            self.cases.append(case)
            if case.verdict == FAILED:
                broken.append(number)
        if broken:
            self.arguments = f" --test_arg=--order={broken[0]}"
            numbers = ", ".join(map(str, broken))
            self.evidence = [f"{len(broken)} of {counted(table.total, 'order')} break the subject: {numbers}"]

    def _play_order(self, stage: Stage, number: int, table: OrderTable, broken: int) -> Case:
        """One other order as one case; what the first few that fail wrote is kept."""
        name = f"order {number}"
        keeps = bool(self.outputs) and broken < _MAX_KEPT_ORDERS
        outputs = os.path.join(self.outputs, f"order-{number}") if keeps else ""
        played = self._play(stage, number, table.chosen(number), outputs)
        error = played.verdict.error or played.actual.refused
        failed = [
            case for case in (*played.verdict.cases, *self._judge(played, number)) if case.verdict == FAILED
        ]
        if error is None and not failed:
            if keeps:
                remove_tree(outputs)
            return Case(name, PASSED)
        if keeps:
            write_play(outputs, self.spec, played, with_surfaces=True)
            self.artefacts.append(f"order-{number}/")
        what = str(error) if error is not None else failed[0].message
        lines = [table.said(number), *(failed[0].diff if error is None else ()), *played.verdict.evidence]
        return Case(name, FAILED, f"{name}: {what}", diff=lines, is_output=False)

    # What is left of it.

    def result(self) -> Result:
        """The result, with its artefacts written."""
        only = self.around.only
        cases = [case for case in self.cases if case.surface == only] if only else []
        result = Result(
            self.spec.name,
            self.spec.label,
            self.mode.name,
            cases or self.cases,
            self.error,
            self.fault,
            self.evidence,
            self.warnings,
            self._facts(),
            self._timing(),
            commands=self.around.manifest.commands,
            arguments=self.arguments,
        )
        if not self.outputs:
            return result
        from replay.runner.artefacts import write_result

        digests = fixture_digests(self.spec, self.around.runfiles.locate) if result.exit_code else {}
        result = result._replace(artefacts=[*self.artefacts, "result.json", "result.pb"], fixture=digests)
        write_result(self.outputs, result)
        return result

    def _facts(self) -> AgentFacts:
        name = self.around.manifest.subject.name
        if self.played is None:
            return AgentFacts(name)
        run = self.played.run
        return AgentFacts(
            name,
            self.starts,
            run.status,
            bool(run.ended_by),
            run.leftovers,
            run.stdout.lines,
            run.stdout.count,
            run.stderr.count,
        )

    def _mark(self) -> None:
        self._marks.append(time.monotonic())

    def _timing(self) -> Timing:
        self._mark()
        spans = [(end - start) * 1000 for start, end in zip(self._marks, self._marks[1:], strict=False)]
        load, prepare, agent, judge = [*spans, 0.0, 0.0, 0.0, 0.0][:4]
        total = (self._marks[-1] - self._marks[0]) * 1000
        return Timing(load, prepare, agent, judge, total, (time.process_time() - self._cpu) * 1000)

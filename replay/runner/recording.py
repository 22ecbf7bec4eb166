"""One scenario's recording: a live run for the model's half, then its replay for everything else.

    live      the agent talks to its provider through the recording proxy; of this run the model's half is kept
    replay    the same pipeline plays what was recorded; what it puts out, with the model's half in it, is the fixture

So a fixture that is written has been replayed, and a refresh of it changes nothing. Where the two runs of the agent
differ, the replay's output is written and the difference told. Until the last check has passed no file is touched.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from threading import Lock
from typing import Any, Final, NamedTuple

from replay.errors import AgentError, FixtureError, UsageError
from replay.models.call_lanes import assign_lanes
from replay.models.call_log import ModelCall, log_ids, log_rows
from replay.runner.capture import Capture
from replay.runner.course import course_of
from replay.runner.ending import Ending, planned_files, unfit, write_files
from replay.runner.from_turn import earlier_lanes, with_earlier_half
from replay.runner.manifest import ScenarioSpec
from replay.runner.mode import Mode
from replay.runner.pipeline import Surroundings, run_scenario
from replay.runner.record_report import Cost
from replay.runner.record_seam import RecordSeam, Source
from replay.runner.redaction import redaction_of
from replay.runner.relaxation import kept_file
from replay.runner.result import FAILED, Case, Result
from replay.runner.sandbox import Sandbox
from replay.runner.seam import Seam, SeamOrder, from_script, render_recording
from replay.runner.session_tail import collect_logs
from replay.runner.stamp import Origin, agent_of, stamp
from replay.runner.surfaces import log_surface
from replay.scenario.content import MAX_FILE_BYTES, MAX_SCENARIO_BYTES, find_secrets
from replay.scenario.layout import INPUT, OVERRIDE, SEED, WORKSPACE, log_name, log_number
from replay.scenario.load import Scenario, ScenarioFiles, load_scenario
from replay.scenario.model_half import overridden_calls, with_model_half
from replay.script import Lane, apply_override, derive_lanes
from replay.session import encode_log, read_log
from replay.surface import Rule
from replay.surface.arrange import arrange
from replay.surface.personal import Redaction
from replay.surface.secrets import Scanner

__all__ = ["Asked", "Recording"]

_LIVE_WAIT_SECONDS: Final = 600.0
"""As long as a provider may be silent (models/upstream.py)."""


class Asked(NamedTuple):
    """What a person asked for, and what is known of where they sit. today: YYYY-MM-DD; from_turn: 1 for all turns."""

    upstream: str
    model: str
    from_turn: int
    today: str
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    scanner: Scanner
    keep_failure: bool


class Recording:
    """The recording of one scenario; `run` once. progress: told what it cost, after each live call."""

    def __init__(
        self, spec: ScenarioSpec, around: Surroundings, asked: Asked, progress: Callable[[Cost], None]
    ) -> None:
        self.cost = Cost()
        self._counting = Lock()
        self._spec = spec
        self._around = around
        self._asked = asked
        self._progress = progress
        self._began = time.monotonic()
        self._committed = self._load_committed()
        self._seam: RecordSeam | None = None
        self._order: SeamOrder | None = None
        self._earlier: Sequence[Lane] = ()
        self._model = ""
        self._logs: list[list[Any]] = []
        self._live_course: list[str] = []
        self._notes: list[str] = []

    def run(self, outputs: str) -> Result:
        """Record the scenario and write its fixture, or say why nothing was written.

        outputs: where the artefacts of the run that failed go, "" for nowhere.
        """
        mode = Mode("record", model=self._open, finish=self._take)
        result = run_scenario(self._live_spec(), mode, self._live_surroundings(), outputs)
        if result.exit_code or not self._logs:
            return result._replace(evidence=[*self._provider_errors(), *result.evidence])
        with tempfile.TemporaryDirectory(dir=self._around.temporary, prefix="agent_replay-") as directory:
            mode = Mode("record", model=from_script, finish=self._write)
            replayed = run_scenario(self._recorded_spec(directory), mode, self._around, outputs)
        if replayed.exit_code:
            note = "this is of the replay of what was recorded just now: the live run ended well"
            replayed = replayed._replace(evidence=[note, *replayed.evidence])
        warnings = dict.fromkeys([*result.warnings, *self._notes, *replayed.warnings])
        return replayed._replace(warnings=list(warnings))

    # The live run.

    def _live_spec(self) -> ScenarioSpec:
        """The scenario without what is to be recorded anew."""
        files = {name: path for name, path in self._spec.files.items() if not _is_recording(name)}
        return self._spec._replace(files=files, declares_override=False, pins=False)

    def _live_surroundings(self) -> Surroundings:
        manifest = self._around.manifest
        seconds = max(manifest.options.wait_seconds, _LIVE_WAIT_SECONDS)
        options = manifest.options._replace(wait_seconds=seconds)
        # The same directories at each recording: a model that is asked the same says the same.
        name = sha256(f"{manifest.suite}/{self._spec.name}".encode()).hexdigest()[:12]
        return self._around._replace(manifest=manifest._replace(options=options), sandbox=name)

    def _load_committed(self) -> Scenario | None:
        """The scenario as it stands, where its recording can still be read and is needed."""
        if self._asked.from_turn <= 1:
            return None
        if log_name(0) not in self._spec.files:
            raise UsageError(
                f"{self._spec.name}: there is no recording whose turns before {self._asked.from_turn} could be kept",
                fix="record it from its first turn: leave --from-turn out",
            )
        locate = self._around.runfiles.locate
        files = {name: locate(path) for name, path in self._spec.files.items()}
        return load_scenario(
            ScenarioFiles(
                self._spec.name, self._spec.label, files, (), self._spec.directory or self._spec.name
            )
        )

    def _open(self, order: SeamOrder) -> Seam:
        committed = self._committed
        if committed is not None:
            files = render_recording(committed, order.sandbox.values())
            logs = [read_log(files[name], f"{order.directory}/{name}") for name in committed.log_names]
            lanes = derive_lanes(logs)
            if committed.override is not None:
                lanes = apply_override(lanes, committed.override)
            self._earlier = earlier_lanes(lanes, logs, self._asked.from_turn)
        asked = self._asked
        source = Source(asked.upstream, asked.model, asked.environment, self._count)
        self._order = order
        self._seam = RecordSeam(order, source, self._earlier)
        return self._seam

    def _count(self, call: ModelCall) -> None:
        chunks = list(call.chunks)
        # Calls that overlap end in threads of their own.
        with self._counting:
            self.cost = self.cost.and_call(chunks, time.monotonic() - self._began)
            self._progress(self.cost)

    def _take(self, ending: Ending) -> list[Case]:
        """The end of the live run: its logs become a recording, in memory."""
        if ending.stopped_by is not None:
            return []
        if ending.unconsumed:
            what = f"consumption: {ending.unconsumed[0]}"
            return [Case("consumption", FAILED, what, is_output=False)]
        assert self._seam is not None and self._order is not None
        calls = self._seam.calls()
        failure = self._unexpected_failure(ending.scenario, calls)
        if failure:
            return [Case("recording", FAILED, failure)]
        self._model = self._asked.model or next((call.request.model for call in calls), "none")
        sandbox = self._order.sandbox
        if self._around.manifest.agent.logs_itself:
            raw = [
                [log.header.fields, *(row.fields for row in log.rows)]
                for log in collect_logs(sandbox.sessions)
            ]
            kept: list[str] = []
        else:
            assign_lanes(calls)
            raw = log_rows(calls, sandbox.cwd)
            kept = log_ids(len(raw))
        if not raw:
            if ending.made_session:
                return [Case("session", FAILED, "session: the agent wrote no such session log")]
            raw = [[{"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 0}]]
        rules = [Rule(*rule) for rule in self._around.manifest.rules]
        constant = "\n".join(data.decode("utf-8", "replace") for data in self._given().values())
        redact = self._redaction(sandbox).redact
        capture = Capture(sandbox.spellings(), rules, redact, constant, calls, kept)
        logs = capture.logs(raw)
        if self._committed is not None:
            logs = with_earlier_half(self._committed.session_values, logs, self._earlier)
        self._live_course = self._course(ending)
        self._logs = logs
        return []

    def _unexpected_failure(self, scenario: Scenario, calls: Sequence[ModelCall]) -> str:
        """Why a run that the agent ended well is no recording: many agents keep a refused key to themselves."""
        if not calls or calls[-1].outcome["kind"] != "failed" or self._asked.keep_failure:
            return ""
        if any(step.op == "promptExpectError" for step in scenario.script.steps):
            return ""
        return (
            "recording: the provider refused the last call, and the agent did not say so; if that is what this "
            "scenario is about, say --keep-failure"
        )

    def _redaction(self, sandbox: Sandbox) -> Redaction:
        """The live run's: as that of its replay, and without the recording shell's credentials."""
        around = self._around
        agent, locate = around.manifest.agent.name, around.runfiles.locate
        return redaction_of(around.machine, sandbox, self._live_spec(), agent, locate, self._asked.secrets)

    def _given(self) -> dict[str, bytes]:
        """The files that a run begins with: what stands there is no value of this run."""
        locate = self._around.runfiles.locate
        paths = {name: path for name, path in self._spec.files.items() if name in (INPUT, SEED)}
        paths |= {WORKSPACE + name: path for name, path in self._spec.workspace.items()}
        given = {}
        for name, path in paths.items():
            with open(locate(path), "rb") as file:
                given[name] = file.read()
        return given

    def _provider_errors(self) -> list[str]:
        """What the provider refused: most often the cause of what the agent did then."""
        calls = self._seam.calls() if self._seam is not None else []
        failed = [
            f"call {number} failed at the provider: {call.outcome.get('message')}"
            for number, call in enumerate(calls, 1)
            if call.outcome["kind"] == "failed"
        ]
        return [line[:500] for line in failed[:3]]

    # The replay.

    def _recorded_spec(self, directory: str) -> ScenarioSpec:
        """The scenario with the new recording in the place of the old one."""
        files = {name: path for name, path in self._spec.files.items() if log_number(name) is None}
        for number, lines in enumerate(self._logs):
            path = os.path.join(directory, log_name(number))
            with open(path, "wb") as file:
                file.write(encode_log(lines[0], lines[1:]))
            files[log_name(number)] = path
        return self._spec._replace(files=files)

    def _write(self, ending: Ending) -> list[Case]:
        """The end of the replay: every check, then all files or none."""
        cases = unfit(ending)
        if cases:
            return cases
        files, stale = planned_files(ending)
        self._put_model_half(ending, files)
        self._stamp(ending, files)
        self._check(files)
        self._tell_difference(ending)
        return write_files(ending, files, stale)

    def _put_model_half(self, ending: Ending, files: dict[str, bytes]) -> None:
        """What the model said as it was recorded, whatever the agent's log or the gateway's made of it."""
        for number, (lines, lane) in enumerate(zip(self._logs, ending.scenario.lanes, strict=True)):
            name = log_name(number)
            if name not in files and len(lines) == 1 and not ending.made_session:
                # Without a session no agent writes a log, and a scenario has one.
                files[name] = encode_log(lines[0], [])
                continue
            if name not in files:
                raise AgentError(f"the replay of what was recorded left no {name}, the live run did")
            manifest, before = self._around.manifest, _read(os.path.join(ending.update_directory, name))
            surface = log_surface(number, manifest.agent.logs_itself)
            log = read_log(kept_file(manifest, surface, before, files[name]), name)
            replayed = [log.header.fields, *(row.fields for row in log.rows)]
            merged = with_model_half(lines, replayed, overridden_calls(lane))
            files[name] = encode_log(merged[0], merged[1:])

    def _stamp(self, ending: Ending, files: dict[str, bytes]) -> None:
        """Each log says where it comes from; one that is what it was says it as it did."""
        name, version = agent_of(ending.outputs.surfaces["stdout"])
        agent = self._around.manifest.agent
        origin = Origin(self._model, name or agent.name, version or "unknown", self._asked.today)
        directory = ending.update_directory
        for file in [file for file in files if log_number(file) is not None]:
            files[file] = stamp(read_log(files[file], file), origin, _read(os.path.join(directory, file)))

    def _check(self, files: Mapping[str, bytes]) -> None:
        """Raises FixtureError for files that may not be committed."""
        place = self._spec.directory or self._spec.name
        for name, data in files.items():
            if len(data) > MAX_FILE_BYTES:
                raise FixtureError(
                    f"{place}/{name}: would have {len(data)} bytes, a fixture file may have {MAX_FILE_BYTES}",
                    fix="record a smaller run: shorter outputs test the same",
                )
        total = sum(map(len, files.values()))
        if total > MAX_SCENARIO_BYTES:
            raise FixtureError(
                f"{place}: the files would have {total} bytes together, a scenario may have {MAX_SCENARIO_BYTES}",
                fix="record a smaller run: shorter outputs test the same",
            )
        found = find_secrets({**self._given(), **files}, place, self._asked.scanner)
        if found:
            first = found[0].error
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            raise FixtureError(f"{first.what}{more}", first.where, first.fix)

    def _course(self, ending: Ending) -> list[str]:
        return course_of(
            arrange("stdout", ending.outputs.surfaces["stdout"], self._around.manifest.options.others)
        )

    def _tell_difference(self, ending: Ending) -> None:
        """Where the agent did not do the same in both of its runs."""
        replayed = self._course(ending)
        for number, (live, now) in enumerate(
            zip_longest(self._live_course, replayed, fillvalue="nothing"), 1
        ):
            if live != now:
                self._notes.append(
                    f"the agent did another thing when it was replayed, and that is written: step {number} of its "
                    f"stdout was {live}, and is {now}"
                )
                return


def _is_recording(name: str) -> bool:
    return log_number(name) is not None or name == OVERRIDE


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None

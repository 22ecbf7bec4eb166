"""The one pipeline: `run_scenario(scenario, mode)` from manifest to result.

    manifest -> load scenario -> sandbox -> seed workspace -> model seam -> agent and driver
      -> close, drain -> collect surfaces -> redact, normalise both sides -> compare | write back -> result

Whatever goes wrong becomes part of the result, never an exception, except a fault of our own in here; and what
was produced until then is judged and kept all the same, so that a crash leaves an accept-ready bundle too.
"""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from replay.acp import Driver, Tables
from replay.errors import AgentError, FixtureError, Location, ReplayError, UsageError
from replay.runner.artefacts import write_artefacts, write_result
from replay.runner.baseline import fixture_digests, fixture_files
from replay.runner.client_host import SandboxHost
from replay.runner.conversation import Conversation, Limits, Stopped
from replay.runner.ending import Ending, Outputs, collect_outputs, stale_relaxations
from replay.runner.environment import Machine
from replay.runner.home import seed_home
from replay.runner.loop import Loop
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.mode import Mode
from replay.runner.process import Process, spawn
from replay.runner.redaction import Redact, redaction_of
from replay.runner.result import AgentFacts, Case, Result, Timing
from replay.runner.runfiles import Runfiles
from replay.runner.sandbox import Sandbox, expand, make_sandbox
from replay.runner.seam import Seam, SeamOrder
from replay.runner.seed import seed_workspace
from replay.runner.session_tail import SessionTail, collect_logs
from replay.runner.surfaces import WORKSPACE, holds
from replay.runner.terminal import Terminals
from replay.runner.workspace import Workspace, expected_workspace, workspace_values
from replay.scenario.layout import OVERRIDE, SEED
from replay.scenario.load import Scenario, ScenarioFiles, load_scenario
from replay.session import SessionLog

__all__ = ["Surroundings", "run_scenario"]

_MARGIN_SECONDS = 10.0
_LEAST_BUDGET = 0.6
# A run that failed is judged for its evidence only, and a flood of frames would take longer than the test has.
_MAX_EVIDENCE_FRAMES = 5000
_MAX_LISTED = 5


class Surroundings(NamedTuple):
    """What a run needs beside its scenario; the same for every scenario of a process."""

    manifest: Manifest
    runfiles: Runfiles
    tables: Tables
    temporary: str
    loop: Loop
    machine: Machine = Machine()
    """Where the run takes place: nothing that a fixture says or a comparison sees."""
    ends: float | None = None
    """Point on the monotonic clock at which the test's time is over."""
    update_directory: Callable[[ScenarioSpec], str] | None = None
    only: str = ""
    sandbox: str = ""
    """Twelve hex digits for the names of the sandbox's directories, where they are free; "" for names that are drawn."""


def run_scenario(spec: ScenarioSpec, mode: Mode, around: Surroundings, outputs: str = "") -> Result:
    """Run one scenario and say what came of it. `outputs` is where its artefacts go, or empty for nowhere."""
    run = _Run(spec, mode, around)
    try:
        run.go()
    except ReplayError as error:
        run.error = run.error or error
    except Exception:
        import traceback

        run.fault = traceback.format_exc()
    finally:
        run.close()
    return run.result(outputs)


class _Run:
    """The state of one run while it goes through the pipeline."""

    def __init__(self, spec: ScenarioSpec, mode: Mode, around: Surroundings) -> None:
        self.spec = spec
        self.mode = mode
        self.around = around
        self.error: ReplayError | None = None
        self.fault = ""
        self.cases: Sequence[Case] = ()
        self.warnings: list[str] = []
        self.evidence: list[str] = []
        self.outputs: Outputs | None = None
        self.conversation: Conversation | None = None
        self.driver: Driver | None = None
        self.sandbox: Sandbox | None = None
        self.seam: Seam | None = None
        self.redact: Redact = list
        self._directory = spec.directory or spec.name
        self._marks = [time.monotonic()]
        self._cpu = time.process_time()

    def go(self) -> None:
        scenario = load_scenario(self._files())
        if self.spec.declares_override and scenario.override is None:
            # Else the run would pass for another script than the one that the suite speaks of.
            raise FixtureError(
                "is missing, though the suite declares it in overrides",
                Location(f"{self._directory}/{OVERRIDE}"),
                f'restore it, or take "{self.spec.name}" out of overrides',
            )
        self._mark()
        sandbox = self._prepare(scenario)
        seam = self.mode.model(
            SeamOrder(
                scenario,
                self.around.manifest.agent,
                self.around.manifest.options,
                sandbox,
                self._directory,
                self.around.manifest.rules,
                self._session_ids,
                self.redact,
            )
        )
        self.seam = seam
        self._mark()
        driver = self._talk(scenario, sandbox, seam)
        self._mark()
        self._judge(scenario, sandbox, seam, driver)

    # Stages.

    def _files(self) -> ScenarioFiles:
        locate = self.around.runfiles.locate
        spec = self.spec
        return ScenarioFiles(
            spec.name,
            spec.label,
            {name: locate(path) for name, path in spec.files.items()},
            [(name, locate(path)) for name, path in spec.workspace.items()],
            self._directory,
        )

    def _prepare(self, scenario: Scenario) -> Sandbox:
        spec = self.spec
        sandbox = make_sandbox(self.around.temporary, spec.cwd_parent, self.around.sandbox)
        self.sandbox = sandbox
        agent, locate = self.around.manifest.agent.name, self.around.runfiles.locate
        self.redact = redaction_of(self.around.machine, sandbox, spec, agent, locate).redact
        packed = None
        if SEED in spec.files:
            with open(locate(spec.files[SEED]), "rb") as file:
                packed = file.read()
        seed_workspace(sandbox.cwd, dict(scenario.workspace), packed, self._directory, sandbox.values())
        return sandbox

    def _talk(self, scenario: Scenario, sandbox: Sandbox, seam: Seam) -> Driver:
        """Agent and driver until the last exit. What stops the run is kept in `error`."""
        manifest, loop = self.around.manifest, self.around.loop
        environment, arguments = self._command(scenario, sandbox, seam)
        terminals = Terminals(loop, sandbox.cwd, sandbox.environment())
        driver: Driver

        def answer_later(token: int, result: Any) -> None:
            conversation.perform(driver.on_host_reply(token, result))

        host = SandboxHost(sandbox.cwd, terminals, answer_later)
        driver = Driver(
            scenario.script,
            sandbox.cwd,
            host,
            self.around.tables,
            manifest.options.others.get("accepted_deviations") or (),
        )
        self.driver = driver

        def start_agent() -> Process:
            return spawn(arguments, environment, sandbox.cwd)

        conversation = Conversation(
            driver,
            start_agent,
            loop,
            sandbox.cwd,
            SessionTail(sandbox.sessions),
            terminals,
            self._limits(),
            manifest.options,
            seam.divergence,
        )
        self.conversation = conversation
        try:
            conversation.play()
        except Stopped:
            self.error = AgentError(
                "SIGTERM or SIGINT ended the run before it was over: someone stopped it, or a test's time is up"
            )
        except ReplayError as error:
            self.error = error
        return driver

    def _command(self, scenario: Scenario, sandbox: Sandbox, seam: Seam) -> tuple[dict[str, str], list[str]]:
        """The agent's environment and its argument vector."""
        agent = self.around.manifest.agent
        values = {**sandbox.values(), **seam.values, "runfiles": self.around.runfiles.directory}
        if agent.overlay:
            values["overlay"] = self.around.runfiles.locate(agent.overlay)
        locate = self.around.runfiles.locate
        seed_home(sandbox.home, {name: locate(path) for name, path in agent.home.items()}, values)
        environment = sandbox.environment(
            seam.environment,
            _expand_all(agent.env, values),
            _expand_all(seam.variables, values),
            _expand_all(scenario.script.env, values),
        )
        arguments = [expand(argument, values) for argument in (*agent.args, *seam.arguments)]
        return environment, [self.around.runfiles.locate(agent.binary), *arguments]

    def _limits(self) -> Limits:
        options = self.around.manifest.options
        now = time.monotonic()
        end = self.around.ends
        if end is None:
            return Limits(options.wait_seconds, options.exit_seconds, now + 86400.0)
        # Leave time to end the agent, compare and write: a margin, at most two fifths of what there is.
        left = max(0.0, end - now)
        budget = round(max(left - _MARGIN_SECONDS, left * _LEAST_BUDGET), 1)
        return Limits(min(options.wait_seconds, budget), options.exit_seconds, now + budget)

    def _judge(self, scenario: Scenario, sandbox: Sandbox, seam: Seam, driver: Driver) -> None:
        """Compare or write back; the reason why a run stopped early stands above its surfaces."""
        seam.close()
        self._find_cause(seam, driver)
        logs = self._collect_logs(sandbox)
        stdout = [frame.value for frame in driver.frames]
        if self.error is not None and len(stdout) > _MAX_EVIDENCE_FRAMES:
            self.warnings.append(
                f"stdout is judged by the first {_MAX_EVIDENCE_FRAMES} of {len(stdout)} frames"
            )
            del stdout[_MAX_EVIDENCE_FRAMES:]
        expected = self._expected_workspace()
        workspace = None if expected is None else workspace_values(sandbox.cwd, self._modes)
        self.outputs = collect_outputs(
            scenario,
            self.around.manifest,
            stdout,
            logs,
            seam.calls(),
            None if workspace is None else workspace.values,
            sandbox.spellings(),
            self.spec.pins,
            sandbox.cwd,
            self.redact,
        )
        if expected is not None and workspace is not None:
            self.outputs = self.outputs._replace(binaries={**expected.binaries, **workspace.binaries})
        directory = self.around.update_directory
        ending = Ending(
            scenario,
            self.around.manifest,
            self.outputs,
            None if expected is None else expected.values,
            seam.unconsumed(),
            bool(driver.sessions),
            self.error,
            self.around.only,
            directory(self.spec) if directory else "",
            self.redact,
            self.spec.pins,
        )
        self.cases = self.mode.finish(ending)
        self.warnings.extend(stale_relaxations(ending))

    def _session_ids(self) -> list[str]:
        """The ids of the ACP sessions as far as the agent has named them; asked for from the gateway's threads."""
        return [session.id for session in self.driver.sessions] if self.driver is not None else []

    def _find_cause(self, seam: Seam, driver: Driver) -> None:
        """What a person should read first: a left recording explains a hang or an exit, not the other way round."""
        divergence, findings = seam.divergence(), seam.findings()
        if divergence is not None:
            self.error = divergence
        elif findings:
            if self.error is not None:
                self.evidence.append(str(self.error))
            fix = "point the agent at {gateway_url}, and switch off what it asks for besides"
            self.error = AgentError(findings[0], fix=fix)
        books = driver.finish()
        self.warnings.extend(books.warnings)
        self.evidence.extend(f"note: {note}" for note in books.notes)
        if books.failures:
            first, *more = books.failures
            self.evidence.extend(
                str(failure) for failure in ([first, *more] if self.error else more)[:_MAX_LISTED]
            )
            self.error = self.error or first

    def _collect_logs(self, sandbox: Sandbox) -> list[SessionLog]:
        if not self.around.manifest.agent.logs_itself:
            return []
        try:
            return collect_logs(sandbox.sessions, salvage=self.error is not None)
        except AgentError as error:
            self.error = error
            return collect_logs(sandbox.sessions, salvage=True)

    @property
    def _modes(self) -> bool:
        return bool(self.around.manifest.options.workspace_modes)

    def _expected_workspace(self) -> Workspace | None:
        if not self.spec.workspace_expected and WORKSPACE not in self.around.manifest.surfaces:
            return None
        files = {}
        for name, path in fixture_files(self.spec):
            if holds(WORKSPACE, name, self.around.manifest.agent.logs_itself):
                with open(self.around.runfiles.locate(path), "rb") as file:
                    files[name] = file.read()
        return expected_workspace(files, self._modes)

    # What is left of it.

    def close(self) -> None:
        try:
            if self.seam is not None:
                self.seam.close()
        finally:
            if self.sandbox is not None:
                self.sandbox.close()

    def result(self, outputs: str) -> Result:
        """The result, with its artefacts written."""
        conversation = self.conversation
        facts = AgentFacts(self.around.manifest.agent.name)
        if conversation is not None:
            self.warnings.extend(conversation.warnings)
            facts = AgentFacts(
                self.around.manifest.agent.name,
                conversation.starts,
                conversation.exit_status,
                conversation.ended_by_runner,
                conversation.leftovers,
                conversation.stdout_lines,
                conversation.stdout_bytes,
                conversation.stderr_bytes,
            )
            if isinstance(self.error, AgentError):
                self.evidence.extend(f"stderr: {line[:300]}" for line in conversation.stderr_tail() if line)
        result = Result(
            self.spec.name,
            self.spec.label,
            self.mode.name,
            self.cases,
            self.error,
            self.fault,
            self.evidence,
            self.warnings,
            facts,
            self._timing(),
            commands=self.around.manifest.commands,
        )
        if not outputs:
            return result
        judged = self.outputs if result.exit_code else None
        actual = judged.files() if judged is not None else {}
        frames = conversation.frames if conversation is not None else ()
        stderr = bytes(conversation.stderr) if conversation is not None else b""
        os.makedirs(outputs, exist_ok=True)
        result = result._replace(
            artefacts=[
                *write_artefacts(outputs, frames, stderr, actual),
                "result.json",
                "result.pb",
            ],
            fixture=fixture_digests(self.spec, self.around.runfiles.locate) if result.exit_code else {},
        )
        write_result(outputs, result)
        return result

    def _mark(self) -> None:
        self._marks.append(time.monotonic())

    def _timing(self) -> Timing:
        self._mark()
        spans = [(end - start) * 1000 for start, end in zip(self._marks, self._marks[1:], strict=False)]
        load, prepare, agent, judge = [*spans, 0.0, 0.0, 0.0][:4]
        total = (self._marks[-1] - self._marks[0]) * 1000
        return Timing(load, prepare, agent, judge, total, (time.process_time() - self._cpu) * 1000)


def _expand_all(variables: Any, values: dict[str, str]) -> dict[str, str]:
    expanded = {}
    for name, value in variables.items():
        if not isinstance(value, str) or "=" in name or "\0" in name + value:
            raise UsageError(f'"{name}" cannot be a variable of the environment')
        expanded[name] = expand(value, values)
    return expanded

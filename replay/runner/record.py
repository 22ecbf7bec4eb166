"""The record command: runs agents against their live providers and writes their fixtures into the source tree.

    bazel run //:record -- SCENARIO… [--upstream URL] [--model M] [--jobs N] [--from-turn N]
    bazel run //:record -- --all | --only-stale [SCENARIO…]
    python -m replay.runner.record --manifest FILE …           by hand: FILE is a manifest as the rules write it

The provider's key comes from the caller's environment. A line a call goes to stderr, and a table of what it all cost.
All files of a scenario are written or none. The exit code is the gravest of all scenarios.
"""

import argparse
import datetime
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from replay.errors import ReplayError
from replay.runner.command import INTERRUPTED, Suites, add_manifest, guarded, open_suites
from replay.runner.environment import Environment, read_environment, read_machine
from replay.runner.freshness import select_stale
from replay.runner.jobs import Jobs
from replay.runner.loop import Loop
from replay.runner.main import read_tables, write_console
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.pipeline import Surroundings
from replay.runner.process import become_subreaper
from replay.runner.record_report import Account, Cost, render_call, render_table
from replay.runner.recording import Asked, Recording
from replay.runner.result import Result
from replay.runner.selection import select_by_name
from replay.scenario.write_back import claimed
from replay.surface.secrets import Scanner, credential_values

__all__ = ["main"]

_MAX_JOBS: Final = 64


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    options = _parser().parse_args(arguments)
    return guarded(
        lambda: _record(options, os.environ),
        "the scenarios that were not said to be written are as they were",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="record", description="Run agents against their live providers and write their fixtures."
    )
    add = parser.add_argument
    add("scenarios", nargs="*", metavar="SCENARIO", help="a name, or SUITE/NAME")
    add("--all", action="store_true", dest="everything", help="every scenario there is")
    add("--only-stale", action="store_true", help="of these, or of all: those that have changed since")
    add("--upstream", default="", metavar="URL", help="the provider's base URL; its own by default")
    add("--model", default="", metavar="M", help="ask this model, whatever the agent asks for")
    add("--jobs", type=_count, default=1, metavar="N", help="record N scenarios at once")
    add("--from-turn", type=_count, default=1, metavar="N", help="keep the turns before the N-th as they are")
    add("--keep-failure", action="store_true", help="write a run whose last call the provider refused")
    add("--outputs", default="", metavar="DIR", help="leave what each run was there, as a test does")
    add_manifest(parser)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _record(options: argparse.Namespace, variables: Mapping[str, str]) -> int:
    environment = read_environment(variables)
    suites = open_suites(options.manifest, environment)
    chosen = _chosen(options, suites)
    if not chosen:
        write_console("no scenario is stale\n")
        return 0
    work = _Work(options, environment, suites, chosen, _asked(options, variables))
    accounts: list[Account] = []

    def finished(index: int, data: bytes) -> None:
        name = chosen[index][1].name
        account = (
            Account.decode(data) if data else Account(name, "failed", 4, f"{name}: its process was killed\n")
        )
        accounts.append(account)
        write_console(account.text)

    jobs = Jobs(work.run, len(chosen), min(options.jobs, _MAX_JOBS))
    jobs.run(finished)
    left = len(chosen) - len(accounts)
    if len(chosen) > 1:
        write_console(render_table(accounts, left))
    code = max((account.exit_code for account in accounts), default=0)
    return INTERRUPTED if jobs.stopped else code


def _chosen(options: argparse.Namespace, suites: Suites) -> list[tuple[Manifest, ScenarioSpec]]:
    everything = options.everything or (options.only_stale and not options.scenarios)
    found = select_by_name(suites.manifests, options.scenarios, everything=everything)
    pairs = [(manifest, spec) for manifest, specs in found for spec in specs]
    return select_stale(suites, pairs, _today()) if options.only_stale else pairs


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _asked(options: argparse.Namespace, variables: Mapping[str, str]) -> Asked:
    """What was asked for. The clock is asked here and nowhere below."""
    secrets = credential_values(variables)
    return Asked(
        options.upstream,
        options.model,
        options.from_turn,
        _today().isoformat(),
        dict(variables),
        secrets,
        Scanner(secrets),
        options.keep_failure,
    )


class _Work:
    """What a job's process does; its index is that of a chosen scenario."""

    def __init__(
        self,
        options: argparse.Namespace,
        environment: Environment,
        suites: Suites,
        chosen: Sequence[tuple[Manifest, ScenarioSpec]],
        asked: Asked,
    ) -> None:
        self._options = options
        self._environment = environment
        self._suites = suites
        self._chosen = chosen
        self._asked = asked
        self._tables = read_tables(environment.schema)
        self._machine = read_machine()

    def run(self, index: int) -> bytes:
        """Record one scenario; its account."""
        manifest, spec = self._chosen[index]
        directory = self._suites.directory_of(spec)
        become_subreaper()
        loop = Loop()
        loop.stop_on_sigterm()
        around = Surroundings(
            manifest,
            self._suites.runfiles,
            self._tables,
            self._environment.temporary,
            loop,
            self._machine,
            update_directory=self._suites.directory_of,
        )
        outputs = self._suites.outputs_of(manifest, spec, self._options.outputs)
        cost = Cost()
        try:
            with claimed(directory):
                recording = Recording(spec, around, self._asked, lambda cost: _tell(spec.name, cost))
                result = recording.run(outputs)
            cost = recording.cost
        except ReplayError as error:
            result = Result(spec.name, spec.label, "record", error=error, commands=manifest.commands)
        except Exception:
            import traceback

            result = Result(spec.name, spec.label, "record", fault=traceback.format_exc())
        return Account.of(result, cost).encode()


def _tell(name: str, cost: Cost) -> None:
    """One write a line, so that those of several processes do not mix."""
    os.write(2, render_call(name, cost).encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

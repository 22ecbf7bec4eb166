"""The new command: makes a scenario from prompts on the command line.

    bazel run //:new -- NAME --suite //scenarios/acp "first turn" [--prompt "second turn"]…

It writes input.json and nothing else; the next command, which it prints, records the rest.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from shlex import quote

import orjson

from replay.acp import parse_script
from replay.errors import UsageError
from replay.runner.command import Suites, add_manifest, guarded, open_suites
from replay.runner.environment import Environment, read_environment
from replay.runner.main import write_console
from replay.scenario.advice import record_command
from replay.scenario.layout import INPUT
from replay.scenario.write_back import write_back

__all__ = ["main"]

_SHELL_MARKS = frozenset(" \t!\"#$&'()*;<>?[]`{|}")
"""What rules/private/layout.bzl turns into "_" in the name of a target."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    parser = argparse.ArgumentParser(prog="new", description="Make a scenario from prompts.")
    parser.add_argument("name", metavar="NAME", help="the scenario's directory, and with _test its target")
    parser.add_argument("first", nargs="?", default="", metavar="PROMPT", help="what the user says first")
    parser.add_argument("--prompt", action="append", default=[], help="what the user says in a further turn")
    parser.add_argument("--suite", default="", help="the suite's label, or its package; one suite needs none")
    add_manifest(parser)
    options = parser.parse_intermixed_args(arguments)
    return guarded(lambda: _new(options, read_environment(os.environ)), "no scenario was made")


def _new(options: argparse.Namespace, environment: Environment) -> int:
    prompts = [prompt for prompt in (options.first, *options.prompt) if prompt.strip()]
    if not prompts:
        raise UsageError(
            "a scenario needs a prompt",
            fix=f'bazel run //:new -- {quote(options.name)} "what the user says"',
        )
    suites = open_suites(options.manifest, environment)
    package, _, suite = _suite(suites, options.suite).removeprefix("//").partition(":")
    place = os.path.join(package, options.name)
    _check_name(options.name, suites, package, suite)
    _make(os.path.join(suites.tree, place), place, _input(prompts))
    write_console(f"{place}/{INPUT}: written\nnext: {record_command(options.name)}\n")
    return 0


def _suite(suites: Suites, said: str) -> str:
    """The label of the suite that gets the scenario. Raises UsageError where that is not said or is unknown."""
    # A test on its own is its own suite, and finds no further directories.
    known = dict.fromkeys(
        manifest.suite
        for manifest in suites.manifests
        if any(spec.label != manifest.suite for spec in manifest.scenarios)
    )
    listed = f"one of these: {', '.join(known)}" if known else ""
    if not said:
        if len(known) == 1:
            return next(iter(known))
        raise UsageError("--suite is needed: this command serves several suites, or none", fix=listed)
    package, _, name = said.removeprefix("//").rstrip("/").partition(":")
    label = f"//{package}:{name or package.rpartition('/')[2]}"
    if label in known or _has_build_file(os.path.join(suites.tree, package)):
        return label
    raise UsageError(
        f"there is no suite {said} in this command, and no BUILD file in {package or '.'}", fix=listed
    )


def _has_build_file(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, name)) for name in ("BUILD.bazel", "BUILD"))


def _check_name(name: str, suites: Suites, package: str, suite: str) -> None:
    """Raises UsageError for a name that the suite's macro would refuse, or Bazel."""
    if name in ("", ".", "..") or set(name) & set("/:\\") or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{name!r} is no directory that Bazel can name",
            fix='write one word without "/", ":" and "\\", say text-turn',
        )
    labels = (spec.label for manifest in suites.manifests for spec in manifest.scenarios)
    taken = {label.partition(":")[2] for label in labels if label.partition(":")[0] == f"//{package}"}
    taken |= {suite, f"{suite}_guard_test", f"{suite}_batch_test", f"{suite}.scenarios"}
    test = "".join("_" if mark in _SHELL_MARKS else mark for mark in name) + "_test"
    for target in (name, test):
        if target in taken and not os.path.isdir(os.path.join(suites.tree, package, name)):
            raise UsageError(f"//{package} has a target {target} already", fix="choose another name")


def _input(prompts: Sequence[str]) -> bytes:
    steps = [{"op": "initialize"}, {"op": "newSession"}]
    steps += [{"op": "prompt", "text": prompt} for prompt in prompts]
    data = orjson.dumps({"steps": steps}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    parse_script(data, INPUT)
    return data


def _make(directory: str, place: str, data: bytes) -> None:
    """The directory with its input.json, or neither. Raises UsageError where it is there already."""
    try:
        os.mkdir(directory)
    except FileExistsError:
        raise UsageError(
            f"{place} is there already", fix="choose another name, or edit its input.json and record it again"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot make {place}: {error.strerror or error}") from None
    try:
        write_back(directory, {INPUT: data})
    except BaseException:
        with suppress(OSError):
            os.rmdir(directory)
        raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

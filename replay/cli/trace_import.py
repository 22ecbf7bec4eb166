"""`replay trace import SOURCE… --into DIR`: traces of a suite out of other recordings, all files or none.

The same sources give the same ids and bytes. What is there already under an id with another content stays, unless
--overwrite says otherwise. A secret is refused, by its look and by the values of this shell's variables.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from replay.cli.trace_files import load_suite
from replay.errors import FixtureError, Location, UsageError, counted
from replay.runner.console import write_console
from replay.runner.trace_commands import Package
from replay.scenario.content import find_secrets
from replay.scenario.trace_layout import is_trace_file
from replay.scenario.write_back import claimed, write_back
from replay.surface.secrets import Scanner, credential_values
from replay.trace.blobs import MemoryBlobs
from replay.trace.codec import write_trace
from replay.trace.importers.serving import lacking, serving
from replay.trace.importers.sources import FORMATS, PROMPTS_BESIDE, Source, format_of, import_source
from replay.trace.model import AgentTrace

__all__ = ["add_arguments", "run"]

_MAX_BYTES: Final = 256 << 20
_SHOWN: Final = 6


class _Imported(NamedTuple):
    trace: AgentTrace
    source: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    formats = "; ".join(f"{name}: {each.what}" for name, each in FORMATS.items())
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="a file of another recording")
    parser.add_argument(
        "--into", required=True, metavar="DIR", help="the directory of the suite; it gets traces/"
    )
    parser.add_argument("--category", default="", metavar="C", help="of all that come")
    parser.add_argument(
        "--format", default="", choices=FORMATS, help=f"where a file does not show it itself; {formats}"
    )
    parser.add_argument("--id", default="", metavar="ID", help="of the one trace that comes")
    parser.add_argument("--task", default="", metavar="TEXT", help="of the one trace that comes")
    parser.add_argument(
        "--overwrite", action="store_true", help="write over traces that are there with another content"
    )


def run(arguments: argparse.Namespace) -> int:
    """Import, write, and say what came of it."""
    if os.path.exists(arguments.into) and not os.path.isdir(arguments.into):
        raise UsageError(f"{arguments.into} is no directory", fix="name the directory of the suite")
    categories = load_suite(arguments.into).categories
    found = _named(list(_import_all(arguments)), arguments)
    package = Package(os.path.abspath(arguments.into), arguments.into.rstrip("/"))
    written = _write(package, found, arguments.overwrite)
    write_console("".join(f"{line}\n" for line in _report(arguments, found, written)))
    if categories and arguments.category not in categories:
        said = f'"{arguments.category}"' if arguments.category else "no category"
        known = ", ".join(categories)
        write_console(f"note: suite.json names its categories, and {said} is none of them: {known}\n")
    return 0


# -- reading ------------------------------------------------------------------------------------------------------


def _import_all(arguments: argparse.Namespace) -> Iterator[_Imported]:
    for place in arguments.sources:
        directory, name = os.path.split(os.path.abspath(place))
        beside = os.path.join(directory, PROMPTS_BESIDE.get(name, ""))
        prompts = _read(beside) if os.path.isfile(beside) else None
        source = Source(place, os.path.join(directory, name), _read(place), prompts)
        for trace in import_source(source, arguments.format or format_of(source), arguments.category):
            yield _Imported(trace, place)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        fix = "name its files" if os.path.isdir(path) else ""
        raise UsageError(f"{path} cannot be read: {error.strerror}", fix=fix) from None
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{path} has more than {_MAX_BYTES} bytes", fix="import it in parts")
    return data


def _named(imported: Sequence[_Imported], arguments: argparse.Namespace) -> dict[str, _Imported]:
    """The traces by their ids, with what the command says of the one. Raises UsageError."""
    for option in ("id", "task"):
        if getattr(arguments, option) and len(imported) != 1:
            what = f"--{option} is of one trace, and {len(imported)} come"
            raise UsageError(what, fix="import one file at a time, or leave it out")
    found: dict[str, _Imported] = {}
    for trace, source in imported:
        trace = trace._replace(trace_id=arguments.id or trace.trace_id, task=arguments.task or trace.task)
        if not is_trace_file(f"traces/{trace.trace_id}.json"):
            raise UsageError(f'"{trace.trace_id}" names no file', fix="write letters, digits and _ . + -")
        other = found.setdefault(trace.trace_id, _Imported(trace, source))
        if other.trace is not trace:
            raise UsageError(
                f'{other.source} and {source} are both the trace "{trace.trace_id}"',
                fix="import them one by one, with --id",
            )
    return found


# -- writing ------------------------------------------------------------------------------------------------------


def _write(package: Package, found: Mapping[str, _Imported], overwrite: bool) -> set[str]:
    """Write all or nothing; the names of the files that changed. Raises UsageError, FixtureError."""
    is_new = not os.path.isdir(package.directory)
    try:
        os.makedirs(package.directory, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{package.name} cannot be made: {error.strerror}") from None
    try:
        with claimed(package.directory):
            files, unused = _files(package, found)
            _refuse_secrets(package, files, found)
            there = [name for name, data in files.items() if package.read(name) not in (None, data)]
            if there and not overwrite:
                more = f" and {counted(len(there) - 1, 'trace')} more" if there[1:] else ""
                raise UsageError(
                    f"{package.name}/{there[0]}{more} would be overwritten; nothing is written",
                    fix="--overwrite, or another --id",
                )
            return {change.name for change in write_back(package.directory, files, unused)}
    except BaseException:
        if is_new and not os.listdir(package.directory):
            os.rmdir(package.directory)
        raise


def _files(package: Package, found: Mapping[str, _Imported]) -> tuple[dict[str, bytes], list[str]]:
    """What is to be written and deleted. Raises FixtureError for a trace that is larger than a file may be."""
    for trace, source in found.values():
        try:
            write_trace(trace, MemoryBlobs())
        except ValueError as error:
            raise FixtureError(f"makes a trace that no file can hold: {error}", Location(source)) from None
    return package.trace_files({name: trace for name, (trace, _) in found.items()})


def _refuse_secrets(package: Package, files: Mapping[str, bytes], found: Mapping[str, _Imported]) -> None:
    for secret in find_secrets(files, package.name, Scanner(credential_values(os.environ))):
        name = secret.error.where.file.removeprefix(f"{package.name}/traces/").removesuffix(".json")
        source = found[name].source if name in found else "the source"
        raise FixtureError(
            f"{secret.error.what}; nothing is written",
            secret.error.where,
            f"replace it by a placeholder in {source}, then import that",
        )


# -- what came of it ----------------------------------------------------------------------------------------------


def _report(
    arguments: argparse.Namespace, found: Mapping[str, _Imported], written: set[str]
) -> Iterator[str]:
    alike: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    for name, each in found.items():
        key = tuple(lacking(each.trace)), tuple(serving(each.trace).items())
        alike.setdefault(key, []).append(f"{name} ({counted(len(each.trace.steps), 'step')})")
    for (lacks, serves), names in alike.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield ", ".join(names[:_SHOWN]) + more
        yield f"  does not hold {', '.join(lacks)}"
        yield f"  can serve {', '.join(name for name, why in serves if not why) or 'no strategy'}"
        refusals: dict[str, list[str]] = {}
        for name, why in serves:
            refusals.setdefault(why, []).append(name)
        yield from (f"  not {', '.join(them)}: {why}" for why, them in refusals.items() if why)
    changed = sum(f"traces/{name}.json" in written for name in found)
    same = f", {len(found) - changed} there already" if changed < len(found) else ""
    yield f"{counted(changed, 'trace')} written to {arguments.into.rstrip('/')}/traces{same}"

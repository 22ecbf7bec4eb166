"""Checks of what the files of one scenario hold. Pure: names and bytes in, findings out.

Each file is checked as text first (byte order mark, conflict markers, line ends), and only a sound text is read as
what its name says, so that one mistake is one finding.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, NamedTuple

import orjson

from replay.acp import parse_script
from replay.errors import FixtureError, Location
from replay.scenario import layout
from replay.scenario.advice import record_command, refresh_command
from replay.scenario.document import document_problem
from replay.scenario.finding import Finding, Rule, finding
from replay.scenario.lines import at_line
from replay.scenario.load import decode_lines
from replay.scenario.provenance import check_provenance
from replay.scenario.repeated import check_repeated
from replay.scenario.seed_form import check_seed
from replay.script import Lane, apply_override, check_lanes, derive_lanes, parse_override
from replay.session import SessionLog, canonical_form, read_log
from replay.session.diagnosis import check_repeated_keys
from replay.surface.pins import decode_pins
from replay.surface.secrets import Scanner

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_SCENARIO_BYTES",
    "MAX_SUITE_BYTES",
    "Inspection",
    "check_sizes",
    "check_text",
    "find_secrets",
    "inspect_scenario",
]

MAX_FILE_BYTES: Final = 1 << 20
"""The size budget of one fixture file: a repository keeps every version of it for ever."""
MAX_SCENARIO_BYTES: Final = 4 << 20
MAX_SUITE_BYTES: Final = 16 << 20
"""The size budget of a suite: the guard reads all of it at every change, at a second or so for this much."""

_BOM: Final = b"\xef\xbb\xbf"
_MARKERS: Final = (b"<<<<<<< ", b"||||||| ", b">>>>>>> ")
_OMITTED: Final = ("seq", "time")
# A test has no keys of its shell to look for; record has.
_BY_LOOK: Final = Scanner()


class Inspection(NamedTuple):
    """One scenario's findings, and what could be read of it."""

    findings: list[Finding]
    logs: list[SessionLog]
    lanes: list[Lane]
    """Empty if a log or the override could not be read."""
    has_override: bool


def inspect_scenario(name: str, files: Mapping[str, bytes], place: str) -> Inspection:
    """Check the files of the scenario `name` (relative name -> content), whose directory errors call `place`."""
    findings = list(check_sizes(files, place))
    sound: dict[str, bytes] = {}
    for file, data in files.items():
        if not layout.is_fixture_file(file) or file.startswith((layout.WORKSPACE, layout.EXPECTED_WORKSPACE)):
            continue
        problem = check_text(data, f"{place}/{file}", refresh_command(name))
        findings.extend(problem)
        if not any(found.rule is Rule.BROKEN for found in problem):
            sound[file] = data
    for file, check in _CHECKS.items():
        if file in sound:
            findings.extend(check(sound[file], f"{place}/{file}", name))
    if all(file in sound for file in layout.PINS):
        findings.extend(_check_pins(sound, place))
    if layout.EXECUTABLE in sound:
        findings.extend(_check_executable(sound[layout.EXECUTABLE], f"{place}/{layout.EXECUTABLE}", files))
    logs, lanes = _check_recording(name, files, sound, place, findings)
    findings.extend(find_secrets(files, place, _BY_LOOK))
    return Inspection(findings, logs, lanes, layout.OVERRIDE in files)


# -- text -----------------------------------------------------------------------------------------------------


def check_sizes(files: Mapping[str, bytes], place: str) -> Iterator[Finding]:
    """Whether the files of a scenario keep within their budgets."""
    for file, data in files.items():
        if len(data) > MAX_FILE_BYTES:
            yield finding(
                Rule.BUDGET,
                f"has {len(data)} bytes, a fixture file may have {MAX_FILE_BYTES}",
                f"{place}/{file}",
                fix="record a smaller run: shorter outputs test the same",
            )
    total = sum(len(data) for data in files.values() if len(data) <= MAX_FILE_BYTES)
    if total > MAX_SCENARIO_BYTES:
        yield finding(
            Rule.BUDGET,
            f"the files have {total} bytes together, a scenario may have {MAX_SCENARIO_BYTES}",
            place,
            fix="record a smaller run: shorter outputs test the same",
        )


def check_text(data: bytes, file: str, refresh: str) -> list[Finding]:
    """What is wrong with `data` as a text, whatever its name says it holds."""
    if not data:
        return [finding(Rule.BROKEN, "is empty", file, fix=f"restore it with git, or write it: {refresh}")]
    if data.startswith(_BOM):
        return [finding(Rule.BROKEN, "starts with a byte order mark", file, 1, fix="save it as plain UTF-8")]
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.startswith(_MARKERS):
            return [
                finding(
                    Rule.BROKEN,
                    "is a merge conflict marker",
                    file,
                    number,
                    fix=f"take one side, then {refresh}",
                )
            ]
    at = data.find(b"\r\n")
    if at >= 0:
        number = data.count(b"\n", 0, at) + 1
        fix = "save it with LF line ends, and let .gitattributes say `* -text`"
        return [finding(Rule.NOT_CANONICAL, "the line ends with CR LF instead of LF", file, number, fix=fix)]
    return []


# -- files on their own ---------------------------------------------------------------------------------------


def _check_input(data: bytes, file: str, name: str) -> list[Finding]:
    problem = document_problem(data, file)
    if problem is not None:
        return [Finding(Rule.BROKEN, problem)]
    try:
        parse_script(data, file)
    except FixtureError as error:
        from replay.scenario.edges import explain_input  # pydantic, and only on the way to an error

        return [
            Finding(Rule.BROKEN, found) for found in (at_line(error, data), *explain_input(data, file, error))
        ]
    return []


def _check_stdout(data: bytes, file: str, name: str) -> list[Finding]:
    try:
        values = decode_lines(data, file)
        check_repeated_keys([line for line in data.split(b"\n") if line], file)
    except FixtureError as error:
        return [Finding(Rule.BROKEN, error)]
    written = [orjson.dumps(value) for value in values]
    return _check_canonical(data, written, file, name)


def _check_seed_file(data: bytes, file: str, name: str) -> list[Finding]:
    problem = document_problem(data, file)
    if problem is not None:
        return [Finding(Rule.BROKEN, problem)]
    try:
        check_seed(data, file)
    except FixtureError as error:
        return [Finding(Rule.BROKEN, at_line(error, data))]
    return []


def _check_pins(sound: Mapping[str, bytes], place: str) -> list[Finding]:
    schemas = layout.PINS[1]
    problem = document_problem(sound[schemas], f"{place}/{schemas}")
    if problem is not None:
        return [Finding(Rule.BROKEN, problem)]
    try:
        decode_pins({file: sound[file] for file in layout.PINS}, place)
    except FixtureError as error:
        return [Finding(Rule.BROKEN, at_line(error, sound[schemas]))]
    return []


def _check_executable(data: bytes, file: str, present: Container[str]) -> list[Finding]:
    """The first line that does not name a file of `present` (as the scenario's directory has it), in order."""
    lines = data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    before = b""
    for number, line in enumerate(lines, start=1):
        name = line.decode("utf-8", "backslashreplace")
        if layout.EXPECTED_WORKSPACE + name not in present:
            what = f'names "{name}", which is no file of {layout.EXPECTED_WORKSPACE}'
            fix = f"delete the line, or write a path below {layout.EXPECTED_WORKSPACE}"
            return [finding(Rule.BROKEN, what if line else "is an empty line", file, number, fix=fix)]
        if line <= before:
            what = f'names "{name}" after "{before.decode()}": each name stands once, sorted by its bytes'
            return [finding(Rule.NOT_CANONICAL, what, file, number, fix="sort it with LC_ALL=C sort -u")]
        before = line
    if not data.endswith(b"\n"):
        what = "the last line does not end with LF"
        return [finding(Rule.NOT_CANONICAL, what, file, len(lines), fix="end it with LF")]
    return []


_CHECKS: Final[dict[str, Callable[[bytes, str, str], list[Finding]]]] = {
    layout.INPUT: _check_input,
    layout.STDOUT: _check_stdout,
    layout.REQUESTS: _check_stdout,
    layout.SEED: _check_seed_file,
}


def _check_canonical(data: bytes, written: list[bytes], file: str, name: str) -> list[Finding]:
    """Whether `data` is the canonical lines `written`; else the first line that is not."""
    if data == b"".join(line + b"\n" for line in written):
        return []
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    for number, line in enumerate(written, start=1):
        if number > len(lines) or lines[number - 1] != line:
            what = "is not in canonical form (compact JSON in one line, runs of three or more deltas packed)"
            return [finding(Rule.NOT_CANONICAL, what, file, number, fix=refresh_command(name))]
    if not data.endswith(b"\n"):
        what = "the last line does not end with LF"
        return [finding(Rule.NOT_CANONICAL, what, file, len(written), fix=refresh_command(name))]
    return []


# -- the recording --------------------------------------------------------------------------------------------


def _check_recording(
    name: str, files: Mapping[str, bytes], sound: Mapping[str, bytes], place: str, findings: list[Finding]
) -> tuple[list[SessionLog], list[Lane]]:
    """Read logs and override, derive the lanes; what is wrong goes to `findings`."""
    names = [file for file in files if layout.log_number(file) is not None]
    names.sort(key=lambda file: layout.log_number(file) or 0)
    logs: list[SessionLog] = []
    for file in names:
        if file not in sound:
            continue
        try:
            log = read_log(sound[file], f"{place}/{file}", strict=True)
        except FixtureError as error:
            findings.append(Finding(Rule.BROKEN, error))
            continue
        logs.append(log)
        findings.extend(_check_log(log, sound[file], name))
        findings.extend(check_provenance(log, name))
    if len(logs) < len(names) or not logs:
        logs_are_whole = False
    else:
        logs_are_whole = True
        findings.extend(_check_family(logs, name))
        findings.extend(check_repeated(logs, name))
    override = None
    if layout.OVERRIDE in sound:
        file = f"{place}/{layout.OVERRIDE}"
        try:
            override = parse_override(sound[layout.OVERRIDE], file, strict=True)
        except FixtureError as error:
            from replay.scenario.edges import explain_override

            data = sound[layout.OVERRIDE]
            problems = (at_line(error, data), *explain_override(data, file, error))
            findings.extend(Finding(Rule.BROKEN, problem) for problem in problems)
    if not logs_are_whole or (layout.OVERRIDE in files and override is None):
        return logs, []
    try:
        lanes = derive_lanes(logs, strict=True)
        if override is not None:
            lanes = apply_override(lanes, override)
        check_lanes(lanes)
    except FixtureError as error:
        findings.append(Finding(Rule.BROKEN, at_line(error, files.get(layout.OVERRIDE, b""))))
        return logs, []
    return logs, lanes


def _check_log(log: SessionLog, data: bytes, name: str) -> list[Finding]:
    found = _check_canonical(data, canonical_form(log).split(b"\n")[:-1], log.file, name)
    for row in log.rows:
        held = [key for key in _OMITTED if key in row.fields]
        if held:
            what = (
                f'holds "{held[0]}", which a fixture omits: one inserted event would change every later line'
            )
            found.append(
                finding(Rule.NOT_CANONICAL, what, log.file, row.line, f"$.{held[0]}", refresh_command(name))
            )
            break
    return found


def _check_family(logs: list[SessionLog], name: str) -> list[Finding]:
    """Whether each child names a parent that is here."""
    found: list[Finding] = []
    seen = {log.header.id for log in logs}
    for log in logs:
        parent = log.header.parent_session
        if layout.log_number(log.file.rpartition("/")[2]) and parent not in seen:
            if parent is None:
                what = "a child names its parent"
            else:
                what = f"the parent {parent!r} is the session of no log here"
            found.append(
                finding(
                    Rule.BROKEN,
                    what,
                    log.file,
                    1,
                    "$.parentSession",
                    f"record it again: {record_command(name)}",
                )
            )
    return found


# -- secrets --------------------------------------------------------------------------------------------------


def find_secrets(files: Mapping[str, bytes], place: str, scanner: Scanner) -> list[Finding]:
    """Credentials and personal data in files (relative name -> content) of the directory that errors call `place`."""
    found = []
    for file, data in files.items():
        for secret in scanner.scan_file(data):
            rule = Rule.PERSONAL if secret.is_personal else Rule.SECRET
            fix = (
                "replace it by a placeholder"
                if secret.is_personal
                else "revoke it, then replace it by a placeholder"
            )
            what = f"looks like {'personal data' if secret.is_personal else 'a secret'} ({secret.kind})"
            if not secret.path:
                what += f" at column {secret.column}"
            where = Location(f"{place}/{file}", secret.line, secret.path)
            found.append(Finding(rule, FixtureError(what, where, fix)))
    return found

"""Where a log says that it comes from: written by a person, or recorded, and then by what, from what and when.

A recording also says the checksum of its model's half, so that an answer which a model never gave is not taken for
one. Pure.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from replay.scenario.advice import record_command
from replay.scenario.finding import Finding, Rule, finding
from replay.session import SessionLog, model_checksum, shown

__all__ = ["check_provenance"]

_KINDS: Final = ("authored", "recorded")
_CWD_POLICIES: Final = ("fresh",)
_DATE: Final = re.compile(r"2[0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_CHECKSUM: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TEXT: Final = "must be a string with text"
_PATH: Final = "$.provenance"


def check_provenance(log: SessionLog, scenario: str) -> Iterator[Finding]:
    """What is wrong with the provenance of a log, or with the log as the recording that it says it is."""
    told = log.header.fields.get("provenance")
    if told is None:
        what = "does not say where the log comes from"
        fix = (
            f'add "provenance":{{"kind":"authored"}} to the header, or record it: {record_command(scenario)}'
        )
        yield finding(Rule.UNTOLD, what, log.file, 1, _PATH, fix)
        return
    kind = told.get("kind") if isinstance(told, dict) else told
    if not isinstance(told, dict) or kind not in _KINDS:
        what = f"a log is {' or '.join(_KINDS)}, not {shown(kind)}"
        fix = f'say {{"kind":"authored"}}, or record it: {record_command(scenario)}'
        yield finding(
            Rule.BROKEN, what, log.file, 1, f"{_PATH}.kind" if isinstance(told, dict) else _PATH, fix
        )
        return
    if kind == "authored":
        return
    again = f'record it again: {record_command(scenario)}, or say that it is by hand: "provenance":{{"kind":"authored"}}'
    complaint = _complaint(told)
    if complaint is not None:
        path, what = complaint
        yield finding(
            Rule.BROKEN, f"a recording says its {path[1:]}, which {what}", log.file, 1, _PATH + path, again
        )
    elif told["checksum"] != model_checksum(log):
        what = "is not that of the log: what the model said was edited by hand"
        yield finding(Rule.EDITED, what, log.file, 1, f"{_PATH}.checksum", again)


def _complaint(told: dict[str, Any]) -> tuple[str, str] | None:
    """The first field that a recording lacks or has wrong, and what it must be."""
    agent = told.get("agent")
    if not isinstance(agent, dict):
        return ".agent", "must be an object with name and version"
    for path, value in (
        (".model", told.get("model")),
        (".agent.name", agent.get("name")),
        (".agent.version", agent.get("version")),
        (".tool", told.get("tool")),
    ):
        if not isinstance(value, str) or not value.strip():
            return path, _TEXT
    for path, pattern, what in (
        (".capturedAt", _DATE, "must be a day such as 2026-01-31"),
        (".checksum", _CHECKSUM, "must be sha256: and 64 hex digits"),
    ):
        value = told.get(path[1:])
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            return path, what
    if told.get("cwdPolicy") not in _CWD_POLICIES:
        return ".cwdPolicy", f"must be {' or '.join(map(shown, _CWD_POLICIES))}"
    return None

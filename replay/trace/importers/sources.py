"""Which recordings can be imported, how each is recognised, and what its traces are called as files. Pure."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from replay.errors import UsageError
from replay.trace.importers.acp_run import import_acp_run
from replay.trace.importers.otel import import_otel
from replay.trace.importers.session_log import import_session_log
from replay.trace.model import AgentTrace

__all__ = ["FORMATS", "PROMPTS_BESIDE", "Source", "file_id", "format_of", "import_source"]

PROMPTS_BESIDE: Final = {"stdout.expected.jsonl": "input.json"}
"""Frames of an agent alone -> the file in their directory that says what the client sent."""
_OTLP: Final = re.compile(rb'\s*\{\s*"(?:resourceSpans|resource_spans|resourceLogs|resource_logs)"\s*:')
_OF_SCENARIO: Final = re.compile(r"session((?:\.[0-9]{1,6})?)\.jsonl|stdout\.expected\.jsonl")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.+-]+")
_MAX_ID: Final = 120


class Source(NamedTuple):
    """One file. place: as messages call it; path: absolute; prompts: the client's input.json, if it lies beside."""

    place: str
    path: str
    data: bytes
    prompts: bytes | None = None


def format_of(source: Source) -> str:
    """The format that the file shows itself to be of. Raises UsageError where it shows none."""
    if _OTLP.match(source.data):
        return "otel"
    first = source.data.lstrip().partition(b"\n")[0]
    try:
        row = orjson.loads(first)
    except orjson.JSONDecodeError:
        row = None
    fields = row if isinstance(row, dict) else {}
    if "trace_id" in fields or re.match(rb'\s*\{\s*"schema"\s*:', source.data):
        raise UsageError(
            f"{source.place} looks like a trace already",
            fix="put it into traces/ as it is, or choose among many with replay trace sample",
        )
    if fields.get("type") == "session":
        return "session"
    if fields.get("jsonrpc") == "2.0":
        return "acp"
    raise UsageError(
        f"{source.place} shows itself as none of {', '.join(FORMATS)}", fix="say which it is with --format"
    )


def import_source(source: Source, name: str, category: str) -> list[AgentTrace]:
    """The traces of a file of the format `name`, called as they can be files. Raises FixtureError."""
    return [
        trace._replace(trace_id=file_id(trace.trace_id, source.path))
        for trace in FORMATS[name].read(source, category)
    ]


def file_id(own: str, path: str) -> str:
    """The id of a trace as its file can have it: its own, else that of the file at `path` or of its scenario."""
    # A fixture has a placeholder there, which every other has as well.
    cleaned = "" if "{{" in own or own in _NAMELESS else _cleaned(own)
    if cleaned:
        return cleaned
    directory, name = posixpath.split(path)
    of_scenario = _OF_SCENARIO.fullmatch(name)
    if of_scenario:
        return _cleaned(posixpath.basename(directory) + (of_scenario[1] or "")) or "trace"
    return _cleaned(posixpath.splitext(name)[0]) or "trace"


def _cleaned(name: str) -> str:
    return _NO_NAME.sub("-", name).strip("-.+")[:_MAX_ID]


class _Format(NamedTuple):
    what: str
    read: Callable[[Source, str], Sequence[AgentTrace]]


def _read_session(source: Source, category: str) -> Sequence[AgentTrace]:
    return [import_session_log(source.data, source.place, category=category)]


def _read_acp(source: Source, category: str) -> Sequence[AgentTrace]:
    return [import_acp_run(source.data, source.place, source.prompts, category=category)]


def _read_otel(source: Source, category: str) -> Sequence[AgentTrace]:
    return import_otel(source.data, source.place, category=category)


FORMATS: Final[Mapping[str, _Format]] = {
    "session": _Format("a session log", _read_session),
    "acp": _Format("the frames of an ACP agent, or of both sides", _read_acp),
    "otel": _Format("GenAI spans of OpenTelemetry, as OTLP JSON", _read_otel),
}
# What importers call a run that has no id, and a gateway its log.
_NAMELESS: Final = ("session", "acp", "gateway")

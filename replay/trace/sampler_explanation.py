"""sample.json, which lies beside the traces of a sample: why each was chosen, and from how many. Pure."""

from typing import Any, Final

import orjson

from replay.errors import FixtureError, Location
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.codec import parse_document
from replay.trace.sampler_choice import Sample

__all__ = ["EXPLANATION", "explained_traces", "render_explanation"]

EXPLANATION: Final = "sample.json"
_SCHEMA: Final = 1
_AGAIN: Final = "sample again, or delete it: no verdict comes from it"


def render_explanation(sample: Sample, seed: int) -> bytes:
    """sample.json: the same for the same traces and seed, wherever they were read from."""
    document = {
        "schema": _SCHEMA,
        "seed": seed,
        "seen": sample.total,
        "chosen": len(sample.chosen),
        "minimum": sample.minimum,
        "notes": sample.notes,
        "categories": [category._asdict() for category in sample.categories],
        "traces": [
            {
                "trace_id": one.candidate.trace_id,
                "category": one.candidate.category,
                "success": one.candidate.success,
                "steps": one.candidate.steps,
                "tools": one.candidate.tools,
                "why": one.why,
                "detail": one.detail,
            }
            for one in sample.chosen
        ],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def explained_traces(data: bytes, place: str) -> dict[str, Location]:
    """The ids of the traces that a sample.json speaks of, each with where. Raises FixtureError with the JSON path."""
    document = parse_document(data, place, strict=True)
    if not isinstance(document, dict) or type(document.get("schema")) is not int:
        raise FixtureError("is no explanation of a sample", Location(place, 1, "$"), _AGAIN)

    def at(*parts: str | int) -> Location:
        return Location(place, line_of(data, parts), json_path(parts))

    if document["schema"] != _SCHEMA:
        what = f"is of schema {document['schema']}, this version reads {_SCHEMA}"
        raise FixtureError(what, at("schema"), _AGAIN)
    listed: Any = document.get("traces")
    if not isinstance(listed, list):
        raise FixtureError('has no list "traces"', Location(place, 1, "$"), _AGAIN)
    found: dict[str, Location] = {}
    for number, entry in enumerate(listed):
        trace_id = entry.get("trace_id") if isinstance(entry, dict) else None
        if not isinstance(trace_id, str) or not trace_id:
            raise FixtureError('names no "trace_id"', at("traces", number), _AGAIN)
        where = at("traces", number, "trace_id")
        if found.setdefault(trace_id, where) is not where:
            raise FixtureError(f'explains "{trace_id}" twice', where, _AGAIN)
    return found

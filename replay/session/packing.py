"""Packed rows of a session log: three or more deltas of one block written as one line (design 4.1).

Both directions are generators and hold one run in memory. unpack(pack(events)) == events for any events,
pack(unpack(rows)) == rows for a canonical log. A packed row carries the `seq` and `time` of its first delta; the
others follow from their place and from `dt` (milliseconds between neighbours). Where rows hold no time, `dt` lives
on in Row.gap. Reading lines is reader.py's work, writing them writer.py's.
"""

from typing import TYPE_CHECKING, Any

import orjson

from replay.session.chunk import DELTA_FIELD, PACKED_DELTA
from replay.session.log import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Packer", "count_events", "expand", "expand_line", "pack", "unpack"]

_LEAST_RUN = 3
# A run ends before its line could pass the limit of a line, whatever the escapes: six bytes a character.
_MOST_WEIGHT = 1 << 20
_WEIGHT_OF_A_DELTA = 24

_PACKED_TYPE = {delta: packed for packed, delta in PACKED_DELTA.items()}
_ROW_KEYS = {"type", "data", "seq", "time"}


def count_events(row: Row) -> int:
    """How many events a row stands for: the deltas of a packed row, else one."""
    return len(row.data["dt"]) + 1 if row.type in PACKED_DELTA else 1


def expand(kind: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The delta chunks of one packed row's type and data."""
    delta = PACKED_DELTA[kind]
    index = data["index"]
    if kind != "tool-call-chunks":
        for text in data["texts"]:
            yield {"type": delta, "index": index, "text": text}
        return
    start = {"type": delta, "index": index, "id": data["id"]}
    if "name" in data:
        start["name"] = data["name"]
    for text in data["args"]:
        yield {**start, "argumentsDelta": text}


def expand_line(raw: bytes) -> Iterator[dict[str, Any]]:
    """The chunks of one sound line that holds an assistant/chunk or a packed run."""
    row = orjson.loads(raw)
    if row["type"] in PACKED_DELTA:
        yield from expand(row["type"], row["data"])
    else:
        yield row["data"]["chunk"]


def unpack(rows: Iterable[Row]) -> Iterator[Row]:
    """Every event as a row of its own; a packed row becomes assistant/chunk rows with its line number."""
    for row in rows:
        if row.type not in PACKED_DELTA:
            yield row
            continue
        data = row.data
        # Other writers call the place of the first delta seq0 and time0.
        start = {
            ("seq" if key == "seq0" else "time" if key == "time0" else key): row.fields[key]
            for key in row.fields
        }
        gaps = data["dt"]
        time = start.get("time", 0)
        for at, chunk in enumerate(expand(row.type, data)):
            fields = dict(start)
            fields["type"] = "assistant/chunk"
            fields["data"] = {"turn": data["turn"], "step": data["step"], "chunk": chunk}
            if at and "time" in fields:
                time += gaps[at - 1]
                fields["time"] = time
            if "seq" in fields:
                fields["seq"] += at
            yield Row(row.line, fields, gaps[at - 1] if at else None)


def pack(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """The fields of rows in canonical form: every run of three or more deltas of one block is one row."""
    packer = Packer()
    for row in rows:
        yield from packer.push(row.fields, row.gap)
    yield from packer.flush()


class Packer:
    """Packs a stream of events as they come. push and flush return the rows that are complete by then."""

    __slots__ = ("_gaps", "_key", "_run", "_weight")

    def __init__(self) -> None:
        self._run: list[dict[str, Any]] = []
        self._gaps: list[int] = []
        self._key: tuple[Any, ...] = ()
        self._weight = 0

    def push(self, fields: dict[str, Any], gap: int | None = None) -> list[dict[str, Any]]:
        """Adds an event. gap: milliseconds since the delta before it, where rows hold no time."""
        key = _run_key(fields)
        if key is None:
            done = self.flush()
            done.append(fields)
            return done
        weight = _WEIGHT_OF_A_DELTA + len(_delta_text(fields))
        done = []
        if not self._continues(fields, key) or self._weight + weight > _MOST_WEIGHT:
            done = self.flush()
        elif "time" in fields:
            self._gaps.append(fields["time"] - self._run[-1]["time"])
        else:
            self._gaps.append(gap or 0)
        self._key = key
        self._run.append(fields)
        self._weight += weight
        return done

    def flush(self) -> list[dict[str, Any]]:
        """Ends the run that is held, if any."""
        run, gaps, key = self._run, self._gaps, self._key
        self._run, self._gaps, self._key, self._weight = [], [], (), 0
        return run if len(run) < _LEAST_RUN else [_packed(run, gaps, key[0])]

    def _continues(self, fields: dict[str, Any], key: tuple[Any, ...]) -> bool:
        if key != self._key:
            return False
        return "seq" not in fields or fields["seq"] == self._run[-1]["seq"] + 1


def _run_key(fields: dict[str, Any]) -> tuple[Any, ...] | None:
    """What deltas of one run have in common, or None for a row that cannot be packed without loss."""
    if fields.get("type") != "assistant/chunk" or not fields.keys() <= _ROW_KEYS:
        return None
    data = fields.get("data")
    if type(data) is not dict or len(data) != 3:
        return None
    chunk = data.get("chunk")
    if type(chunk) is not dict:
        return None
    kind = chunk.get("type")
    if type(kind) is not str or kind not in DELTA_FIELD or type(chunk.get(DELTA_FIELD[kind])) is not str:
        return None
    is_call = kind == "tool-call-delta"
    call_id, name = chunk.get("id"), chunk.get("name")
    if len(chunk) != (3 if not is_call else 4 if name is None else 5):
        return None
    if is_call and (type(call_id) is not str or (name is not None and type(name) is not str)):
        return None
    places = (data.get("turn"), data.get("step"), chunk.get("index"))
    stamps = [fields[stamp] for stamp in ("seq", "time") if stamp in fields]
    if not all(type(number) is int for number in (*places, *stamps)):
        return None
    return (kind, *places, call_id, name, *fields)


def _delta_text(fields: dict[str, Any]) -> str:
    chunk = fields["data"]["chunk"]
    text: str = chunk[DELTA_FIELD[chunk["type"]]]
    return text


def _packed(run: list[dict[str, Any]], gaps: list[int], kind: str) -> dict[str, Any]:
    first = run[0]
    chunk = first["data"]["chunk"]
    data = {"turn": first["data"]["turn"], "step": first["data"]["step"], "index": chunk["index"], "dt": gaps}
    texts = [_delta_text(fields) for fields in run]
    if kind == "tool-call-delta":
        data["id"] = chunk["id"]
        if "name" in chunk:
            data["name"] = chunk["name"]
        data["args"] = texts
    else:
        data["texts"] = texts
    return {**first, "type": _PACKED_TYPE[kind], "data": data}

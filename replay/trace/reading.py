"""From the JSON of a trace file to the trace: every member checked, every other spelling undone. Pure.

Whatever is wrong is a Refused with the path to it; codec.py knows the file and makes the sentence of it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from replay.session.chunk import shown
from replay.trace.blobs import BlobStore, digest_of, is_digest
from replay.trace.limits import MAX_BLOB_BYTES, MAX_MESSAGES, MAX_NAME_CHARACTERS, MAX_NESTING, MAX_STEPS
from replay.trace.markers import AFTER, AFTER_KEYS, BLOB, is_deeper, resolve
from replay.trace.model import (
    NOTHING,
    SCHEMA,
    STEP_TYPES,
    STREAMS,
    AgentStep,
    AgentTrace,
    BlobRef,
    StepError,
)

__all__ = ["Reader", "Refused"]

type Parts = tuple[str | int, ...]

_MOST = 1 << 53
_BLOB_KEYS = {BLOB, "bytes", "json"}


class Refused(Exception):
    """What is wrong with the value at `parts`."""

    def __init__(self, what: str, parts: Parts, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.parts = parts
        self.fix = fix


class Reader:
    """Reads one document. `digests` are the blobs that it refers to, fetched or not.

    is_spelled: whether it can hold blobs or literals (markers.has_markers), which costs a walk through every value.
    """

    def __init__(self, blobs: BlobStore | None, is_spelled: bool) -> None:
        self.digests: set[str] = set()
        self._blobs = blobs
        self._fetched: dict[tuple[str, bool], Any] = {}
        self._is_spelled = is_spelled
        self._lists: dict[tuple[str, str], Sequence[Any]] = {}
        self._kinds: dict[str, str] = {}
        self._messages = 0

    def trace(self, document: Any) -> AgentTrace:
        """The trace of a document. Raises Refused."""
        if not isinstance(document, dict):
            raise Refused(f"must be an object, not {shown(document)}", ())
        schema = document.get("schema")
        if type(schema) is not int or schema < 1:
            raise Refused(f'is no trace: it must say "schema": {SCHEMA}, not {shown(schema)}', ("schema",))
        if schema != SCHEMA:
            what = f"is schema {schema}, this reader knows schema {SCHEMA}"
            raise Refused(what, ("schema",), "use the agent_replay that wrote the trace, or a newer one")
        known, extra = self._members(document, _TRACE_CHECKS, ())
        for key in ("trace_id", "task", "steps"):
            if key not in known:
                raise Refused(f"is missing: a trace has {'' if key == 'steps' else 'a '}{key}", (key,))
        if not known["trace_id"]:
            raise Refused("must not be empty", ("trace_id",))
        del known["schema"]
        return AgentTrace(**known, extra=extra)

    def _members(
        self, fields: dict[str, Any], checks: Mapping[str, _Check], parts: Parts
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """The known members as they are in memory, and the others."""
        known: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for key, value in fields.items():
            check = checks.get(key)
            if check is None:
                unknown[key] = self.value(value, (*parts, key))
            elif value is not None or check in _NULLABLE:
                known[key] = check(self, value, (*parts, key))
        return known, unknown or NOTHING

    def value(self, value: Any, parts: Parts) -> Any:
        """Any JSON."""
        return resolve(value, self._fetch, parts) if self._is_spelled else value

    def text(self, value: Any, parts: Parts) -> str:
        """Text of any length."""
        if not isinstance(value, str):
            raise Refused(f"must be a string, not {shown(value)}", parts)
        return value

    def name(self, value: Any, parts: Parts) -> str:
        """Text that is printed, and used to tell things apart."""
        text = self.text(value, parts)
        if len(text) > MAX_NAME_CHARACTERS:
            raise Refused(f"has {len(text)} characters, {MAX_NAME_CHARACTERS} are allowed", parts)
        if not text.isprintable():
            raise Refused(f"holds a control character: {shown(text)}", parts)
        return text

    def number(self, value: Any, parts: Parts) -> float:
        """A number from 0; an int stays one."""
        if type(value) not in (int, float) or not 0 <= value <= _MOST or not math.isfinite(value):
            raise Refused(f"must be a number from 0, not {shown(value)}", parts)
        return float(value) if type(value) is float else value

    def whole(self, value: Any, parts: Parts) -> int:
        """A whole number from 0."""
        if type(value) is not int or not 0 <= value <= _MOST:
            raise Refused(f"must be a whole number from 0, not {shown(value)}", parts)
        return value

    def truth(self, value: Any, parts: Parts) -> bool:
        """true or false."""
        if type(value) is not bool:
            raise Refused(f"must be true, false or null, not {shown(value)}", parts)
        return value

    def mapping(self, value: Any, parts: Parts) -> Mapping[str, Any]:
        """An object."""
        resolved = self.value(value, parts)
        if not isinstance(resolved, dict):
            raise Refused(f"must be an object, not {shown(value)}", parts)
        return resolved or NOTHING

    def versions(self, value: Any, parts: Parts) -> Mapping[str, str]:
        """An object of strings."""
        for key, version in self.mapping(value, parts).items():
            self.text(version, (*parts, key))
        return self.mapping(value, parts)

    def step_type(self, value: Any, parts: Parts) -> str:
        """One of STEP_TYPES."""
        return self._one_of(value, STEP_TYPES, parts)

    def stream(self, value: Any, parts: Parts) -> str:
        """One of STREAMS."""
        return self._one_of(value, STREAMS, parts)

    def _one_of(self, value: Any, known: Sequence[str], parts: Parts) -> str:
        if not isinstance(value, str) or value not in known:
            raise Refused(f"must be one of {', '.join(known)}, not {shown(value)}", parts)
        return value

    def error(self, value: Any, parts: Parts) -> StepError:
        """{"type", "message"}."""
        if not isinstance(value, dict):
            raise Refused(f'must be an object with a "type" and a "message", not {shown(value)}', parts)
        known, extra = self._members(value, _ERROR_CHECKS, parts)
        if not known.get("type"):
            raise Refused("must name the exception's type", (*parts, "type"))
        return StepError(**known, extra=extra)

    def steps(self, value: Any, parts: Parts) -> tuple[AgentStep, ...]:
        """The steps, which may refer to earlier ones."""
        if not isinstance(value, list):
            raise Refused(f"must be a list, not {shown(value)}", parts)
        if len(value) > MAX_STEPS:
            raise Refused(f"has {len(value)} steps, {MAX_STEPS} are allowed", parts)
        return tuple([self._step(step, (*parts, at), at == len(value) - 1) for at, step in enumerate(value)])

    def _step(self, value: Any, parts: Parts, is_last: bool) -> AgentStep:
        if not isinstance(value, dict):
            raise Refused(f"must be an object, not {shown(value)}", parts)
        lists = {key: value[key] for key in ("messages", "tools") if value.get(key) is not None}
        rest = {key: inner for key, inner in value.items() if key not in ("messages", "tools")}
        known, extra = self._members(rest, _STEP_CHECKS, parts)
        for key in ("step_id", "step_type"):
            if not known.get(key):
                raise Refused(f"is missing: a step has a {key}", (*parts, key))
        self._check_step(known, parts, is_last)
        for key, inner in lists.items():
            known[key] = self._lists[known["step_id"], key] = self._list(inner, key, (*parts, key))
        self._kinds[known["step_id"]] = known["step_type"]
        return AgentStep(**known, extra=extra)

    def _check_step(self, step: dict[str, Any], parts: Parts, is_last: bool) -> None:
        if step["step_id"] in self._kinds:
            raise Refused(f"{shown(step['step_id'])} is also an earlier step", (*parts, "step_id"))
        parent = step.get("parent_id", "")
        if parent and parent not in self._kinds:
            raise Refused(f"{shown(parent)} is no step before this one", (*parts, "parent_id"))
        kind = step["step_type"]
        if kind == "tool_call" and not step.get("tool_name"):
            raise Refused("is missing: a tool_call names its tool", (*parts, "tool_name"))
        if kind == "final_answer" and not is_last:
            raise Refused("is a final_answer, and steps follow it", (*parts, "step_type"))
        member = "tool_output" if kind == "tool_call" else "response"
        if step.get("stream") and not isinstance(step.get(member), list | BlobRef):
            raise Refused(
                f"must be the list of pieces of a stream, not {shown(step.get(member))}", (*parts, member)
            )

    def _list(self, value: Any, key: str, parts: Parts) -> Sequence[Any]:
        """Messages or tools, whichever way they are spelled."""
        kept: Sequence[Any] = ()
        rest, rest_parts = value, parts
        if isinstance(value, dict):
            kept = self._kept(value, key, parts)
            rest, rest_parts = value["then"], (*parts, "then")
        if not isinstance(rest, list):
            raise Refused(f"must be a list, not {shown(rest)}", rest_parts)
        self._messages += len(kept) + len(rest)
        if self._messages > MAX_MESSAGES:
            raise Refused(f"is one of more than {MAX_MESSAGES} messages of all steps", parts)
        own = [self.value(inner, (*rest_parts, at)) for at, inner in enumerate(rest)]
        return [*kept, *own] if kept else own

    def _kept(self, value: dict[str, Any], key: str, parts: Parts) -> Sequence[Any]:
        if value.keys() != AFTER_KEYS:
            spelled = f'a list, or {{"{AFTER}": a step, "keep": how many, "then": a list}}'
            raise Refused(f"must be {spelled}, not {shown(value)}", parts)
        before = value[AFTER]
        earlier = self._lists.get((before, key)) if isinstance(before, str) else None
        if earlier is None:
            raise Refused(f"{shown(before)} is no step before this one that has {key}", (*parts, AFTER))
        keep = value["keep"]
        if type(keep) is not int or not 0 <= keep <= len(earlier):
            what = (
                f"must be a whole number from 0 to {len(earlier)}, as many as {before} has, not {shown(keep)}"
            )
            raise Refused(what, (*parts, "keep"))
        return earlier[:keep]

    def _fetch(self, reference: dict[str, Any], parts: Parts) -> Any:
        digest, size, is_json = reference[BLOB], reference.get("bytes"), reference.get("json", False)
        if not is_digest(digest):
            raise Refused(f"must be sha256: and 64 hex digits, not {shown(digest)}", (*parts, BLOB))
        if type(size) is not int or not 0 <= size <= MAX_BLOB_BYTES:
            raise Refused(f"must be a whole number to {MAX_BLOB_BYTES}, not {shown(size)}", (*parts, "bytes"))
        if type(is_json) is not bool or not reference.keys() <= _BLOB_KEYS:
            raise Refused(f'a blob has "{BLOB}", "bytes" and "json": true and nothing else', parts)
        self.digests.add(digest)
        if self._blobs is None:
            return BlobRef(digest, size, is_json)
        if (digest, is_json) not in self._fetched:
            self._fetched[digest, is_json] = _load(self._blobs, digest, size, is_json, parts)
        return self._fetched[digest, is_json]


def _load(blobs: BlobStore, digest: str, size: int, is_json: bool, parts: Parts) -> Any:
    """The value of a blob."""
    data = blobs.get(digest)
    if data is None:
        what = f"refers to blobs/{digest.removeprefix('sha256:')}, which is not there"
        raise Refused(what, parts, "git checkout the blob, or record the trace again")
    if len(data) != size or digest_of(data) != digest:
        raise Refused(f"says {size} bytes of {digest[:19]}…, the blob has {len(data)}", parts)
    try:
        value = orjson.loads(data) if is_json else data.decode()
    except ValueError:
        raise Refused(f"refers to a blob that is no {'JSON' if is_json else 'UTF-8'}", parts) from None
    if is_json and is_deeper([value], MAX_NESTING + 1):
        raise Refused(f"refers to a blob that nests deeper than {MAX_NESTING} levels", parts)
    return value


type _Check = Callable[[Reader, Any, Parts], Any]

_NULLABLE = frozenset((Reader.value,))
_TRACE_CHECKS: Mapping[str, _Check] = {
    "schema": Reader.whole,
    "trace_id": Reader.name,
    "task": Reader.text,
    "inputs": Reader.mapping,
    "metadata": Reader.mapping,
    "agent_version": Reader.name,
    "model_version": Reader.name,
    "tool_versions": Reader.versions,
    "environment": Reader.mapping,
    "success": Reader.truth,
    "final_answer": Reader.value,
    "total_duration_ms": Reader.number,
    "total_tokens": Reader.whole,
    "steps": Reader.steps,
}
_STEP_CHECKS: Mapping[str, _Check] = {
    "step_id": Reader.name,
    "step_type": Reader.step_type,
    "timestamp": Reader.number,
    "parent_id": Reader.name,
    "model_name": Reader.name,
    "temperature": Reader.number,
    "options": Reader.mapping,
    "reasoning": Reader.text,
    "response": Reader.value,
    "model_duration_ms": Reader.number,
    "prompt_tokens": Reader.whole,
    "completion_tokens": Reader.whole,
    "tool_name": Reader.name,
    "tool_call_id": Reader.name,
    "tool_input": Reader.value,
    "tool_output": Reader.value,
    "tool_duration_ms": Reader.number,
    "stream": Reader.stream,
    "env_state_before": Reader.mapping,
    "env_state_after": Reader.mapping,
    "error": Reader.error,
}
_ERROR_CHECKS: Mapping[str, _Check] = {"type": Reader.name, "message": Reader.text}

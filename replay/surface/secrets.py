"""Secrets and personal data in a text: by pattern, by chance and by value; a finding says where and what kind, never the text.

One pass looks at a text as it stands, at what escapes and percent signs hide in it, and at the text of its base64, to
a few levels; another at the texts that its rows carry in pieces. A check that cries wolf gets switched off: hashes,
ids, images and signatures are no findings, nor are placeholders, example domains and the homes of nobody.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import orjson

from replay.surface.deltas import MARKERS, Run, streamed_texts
from replay.surface.secrets_decode import LEAST_BASE64, base64_text, join_wrapped, unescape
from replay.surface.secrets_entropy import find_assigned, is_password, is_random
from replay.surface.secrets_kinds import (
    CREDENTIALS,
    KINDS,
    PASSWORD,
    RUN,
    Kind,
    find_kind,
    runs_of,
    triggers_of,
)
from replay.surface.secrets_place import Places, json_path
from replay.surface.secrets_values import Needles, is_credential
from replay.surface.values import Json

__all__ = ["Scanner", "Secret", "credential_values", "scan"]

_BY_CHANCE: Final = "random value of a secret's name"
_MOST_LEVELS: Final = 4
_MOST_DECODED: Final = 8 << 20
_LINE_LENGTHS: Final = (60, 64, 70, 72, 76)
_IS_BINARY: Final = 8192
# Rows with pieces of a text, and those that end one.
_OF_STREAMS: Final = (*MARKERS, "/chunk", "session/update")
_BETWEEN: Final = "\n\n"
_NO_RUN: Final = Run(-1, (), [_BETWEEN], False)
_KINDS: Final = (*KINDS, PASSWORD)


class Secret(NamedTuple):
    """Something that must not be committed.

    `line` and `column` count from 1, the column in characters; 0 where it stands in pieces. `path` is the JSON path in
    a line that is a row of JSON, else "".
    """

    kind: str
    line: int
    column: int
    is_personal: bool
    """A name or an address of a person: worth a warning where a key is worth a stop."""
    path: str = ""


class _Hit(NamedTuple):
    """A finding in some text; `begin` is where what proves it begins, a name before its value for instance."""

    start: int
    end: int
    begin: int
    kind: str
    is_personal: bool


class Scanner:
    """Looks for secrets. values: variable -> credential, as credential_values gives them; searched for as they are."""

    __slots__ = ("_needles",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._needles = Needles(values or {})

    def scan(self, text: str) -> list[Secret]:
        """All secrets in `text`, in order. Overlapping findings count once, a kind of the table before another."""
        return self._scan(text, _KINDS)

    def scan_file(self, data: bytes) -> list[Secret]:
        """The same in a file: its text, or what a binary file holds of one, personal data apart."""
        if b"\0" in data[:_IS_BINARY]:
            # Every second byte of UTF-16 is one.
            return self._scan(data.replace(b"\0", b"").decode("latin-1"), CREDENTIALS)
        return self._scan(data.decode("utf-8", "replace"), _KINDS)

    def _scan(self, text: str, kinds: tuple[Kind, ...]) -> list[Secret]:
        search = _Search(kinds, self._needles)
        places = Places(text)
        found = []
        for hit in search.find(text):
            line, column, path = places.of(hit.start, hit.end)
            found.append(Secret(hit.kind, line, column, hit.is_personal, path))
        if any(map(text.__contains__, MARKERS)):
            told = {(secret.kind, secret.line) for secret in found}
            found += [secret for secret in _in_pieces(text, search) if (secret.kind, secret.line) not in told]
            found.sort(key=lambda secret: secret.line)
        return found


def scan(text: str) -> list[Secret]:
    """All secrets in `text` that show by their look, in order."""
    return Scanner().scan(text)


def credential_values(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environment` that hold a credential by their name or by the look of their value."""
    search = _Search(CREDENTIALS, Needles({}))

    def looks_like_one(value: str) -> bool:
        return next(iter(search.find(value)), None) is not None

    return {name: value for name, value in environment.items() if is_credential(name, value, looks_like_one)}


# -- one text ---------------------------------------------------------------------------------------------------


class _Search:
    """One search, with what is left of its bounds."""

    __slots__ = ("_left", "_loose", "_needles", "_tight")

    def __init__(self, kinds: tuple[Kind, ...], needles: Needles) -> None:
        self._loose, self._tight = triggers_of(kinds)
        self._needles = needles
        self._left = _MOST_DECODED

    def find(self, text: str, level: int = 0) -> list[_Hit]:
        """Hits in `text` and in what it hides, in order and without overlap."""
        runs = runs_of(text)
        kept: list[_Hit] = []
        # The needles first: whose value it is says more than what it looks like.
        for hits in (
            self._by_value(text),
            self._by_pattern(text, "\n".join(runs)),
            self._by_run(text, runs, level),
            self._inside(text, level),
        ):
            for hit in hits:
                at = bisect_right(kept, hit)
                is_free = at == 0 or kept[at - 1].end <= hit.start
                if is_free and (at == len(kept) or hit.end <= kept[at].start):
                    kept.insert(at, hit)
        return kept

    def _by_value(self, text: str) -> Iterator[_Hit]:
        for start, end, name in self._needles.find(text):
            yield _Hit(start, end, start, f"value of {name}", False)

    def _by_pattern(self, text: str, runs: str) -> Iterator[_Hit]:
        present = {at: kind for trigger, at, kind in self._loose if trigger in text}
        present |= {at: kind for trigger, at, kind in self._tight if trigger in runs}
        for _, kind in sorted(present.items()):
            for match in find_kind(kind, text):
                if kind is not PASSWORD or is_password(match[1]):
                    yield _Hit(match.start(), match.end(), match.start(), kind.name, kind.is_personal)

    def _by_run(self, text: str, runs: Sequence[str], level: int) -> Iterator[_Hit]:
        """Values that chance made, and what base64 hides."""
        judged: dict[str, list[_Hit]] = {}
        wraps = False
        for run in runs:
            inner = self._in_base64(run, level)
            if inner or is_random(run):
                judged[run] = inner
            wraps = wraps or len(run) in _LINE_LENGTHS
        for found in RUN.finditer(text) if judged else ():
            start, end = found.span()
            run = found.group().rstrip("=")
            for hit in judged.get(run, ()):
                yield _Hit(start, end, start, hit.kind, hit.is_personal)
            if run in judged and not judged[run]:
                begin = find_assigned(text, start, end)
                if begin >= 0:
                    yield _Hit(start, end, begin, _BY_CHANCE, False)
        for start, end, joined in join_wrapped(text) if wraps else ():
            for hit in self._in_base64(joined, level):
                yield _Hit(start, end, start, hit.kind, hit.is_personal)

    def _in_base64(self, run: str, level: int) -> list[_Hit]:
        if len(run) < LEAST_BASE64 or level >= _MOST_LEVELS or self._left < len(run):
            return []
        inner = base64_text(run)
        self._left -= len(inner)
        return self.find(inner, level + 1) if inner else []

    def _inside(self, text: str, level: int) -> Iterator[_Hit]:
        inner = unescape(text) if level < _MOST_LEVELS else None
        if inner is None or self._left < len(inner.text):
            return
        self._left -= len(inner.text)
        for hit in self.find(inner.text, level + 1):
            start, begin = inner.origin(hit.start), inner.origin(hit.begin)
            yield _Hit(start, inner.origin(hit.end - 1) + 1, begin, hit.kind, hit.is_personal)


# -- texts in pieces --------------------------------------------------------------------------------------------


def _in_pieces(text: str, search: _Search) -> Iterator[Secret]:
    """What no single piece holds: found in the joined text of the pieces, placed where it begins."""
    lines, rows = _rows(text)
    parts: list[str] = []
    runs: list[Run] = []
    for streamed in streamed_texts(rows):
        if len(streamed) > 1 or len(streamed[0].texts) > 1:
            for run in streamed:
                parts.extend(run.texts)
                runs.append(run)
            parts.append(_BETWEEN)
            runs.append(_NO_RUN)
    hits = search.find("".join(parts)) if parts else []
    if not hits:
        return
    starts = list(accumulate(map(len, parts), initial=0))
    pieces = [(run, at) for run in runs for at in range(len(run.texts))]
    for hit in hits:
        first = bisect_right(starts, hit.begin) - 1
        # Not only what crosses a border: what follows in the next piece may be what proves it.
        if hit.end >= starts[first + 1]:
            run, at = pieces[bisect_right(starts, hit.start) - 1]
            yield Secret(hit.kind, lines[run.row], 0, hit.is_personal, json_path(run.path_of(at)))


def _rows(text: str) -> tuple[list[int], list[Json]]:
    """The rows of JSON lines that have to do with texts in pieces, with their line numbers."""
    lines: list[int] = []
    rows: list[Json] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("{") and any(map(line.__contains__, _OF_STREAMS)):
            try:
                rows.append(orjson.loads(line))
            except ValueError:
                continue
            lines.append(number)
    return lines, rows

"""The redactor: personal values become stand-ins that every machine shares, before anything is compared or written.

Unlike the normaliser's placeholders, stand-ins are ordinary texts (`/home/user`, `user@example.com`): an agent that
replays reads them as what they stand for. Both sides of a comparison are redacted, each with what its own machine
knows. Invariants, each a property test: idempotent, deterministic, as many rows as came in, and nothing but strings
and keys changes. A name that is a common word is replaced only where it can be nothing but the name; any other
wherever it stands between signs. What spares most runs all of this is personal.py.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from replay.surface.deltas import streamed_texts
from replay.surface.names import TOKEN
from replay.surface.paths import PathTable
from replay.surface.personal import ALWAYS, HERE, in_ascii, in_json, is_distinct, names_of_host
from replay.surface.pieces import Replacement, replace
from replay.surface.secrets_kinds import ASSIGNED, EMAIL, HOME, find_kind, is_harmless
from replay.surface.values import Json

__all__ = ["EMAIL_STAND_IN", "HOME_STAND_IN", "HOST_STAND_IN", "USER_STAND_IN", "Redacted", "Redactor"]

HOME_STAND_IN: Final = "/home/user"
USER_STAND_IN: Final = "user"
HOST_STAND_IN: Final = "host"
EMAIL_STAND_IN: Final = "user@example.com"

_BEFORE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
_AFTER: Final = r"(?![A-Za-z0-9])"
_HOMES: Final = "/home/|/Users/|Users\\\\{1,8}|(?i:%2F(?:home|Users)%2F)"
_ENCODED_EMAIL: Final = re.compile(
    r"(?<![A-Za-z0-9._+-])([A-Za-z0-9][A-Za-z0-9._+-]{0,63})%40((?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,20})(?![A-Za-z0-9-])"
)
_ENCODED_HOME: Final = re.compile(r"(?i:%2F(?:home|Users)%2F)([A-Za-z][A-Za-z0-9._-]{0,40})")
_HOME_KEY: Final = "{{personal}}"
_NO_TOKEN: Final = re.compile(r"[^A-Za-z0-9_-]")


class Redacted(NamedTuple):
    """Rows without personal values, and how many were replaced by kind: "home", "user", "host", "e-mail", "secret"."""

    rows: list[Json]
    counts: dict[str, int]


class _Match(NamedTuple):
    start: int
    end: int
    text: str
    kind: str


type _Finder = Callable[[str], Iterator[_Match]]


class Redactor:
    """Knows one machine's personal values. Holds no state, so one may serve several threads."""

    __slots__ = ("_finders", "_needles", "_texts")

    def __init__(
        self,
        *,
        home: str | Sequence[str] = (),
        user: str = "",
        host: str = "",
        secrets: Mapping[str, str] | None = None,
        kept: Sequence[str] = (),
        common: Collection[str] = (),
    ) -> None:
        """home: the person's own home directory in each of its spellings, not the sandbox's. secrets: by variable.

        kept: directories in whose names nothing is replaced. common: names that are ordinary words here, too.
        """
        homes = [
            path for path in ([home] if isinstance(home, str) else home) if path.rstrip("/") != HOME_STAND_IN
        ]
        table = PathTable([(_HOME_KEY, homes)])
        hosts = [name for name in names_of_host(host) if name != HOST_STAND_IN]
        spelled = _spelled(secrets) if secrets else {}
        self._finders: list[_Finder] = [_find_tokens, _find_people(user)]
        if table.needles:
            self._finders.append(_find_homes(table))
        own = PathTable([(_HOME_KEY, kept)])
        if own.needles:
            self._finders.append(_find_kept(own))
        # Of a name that is both nobody can tell which is meant, but where its place does.
        words = {*common, user} if user in hosts else common
        if user and user != USER_STAND_IN:
            self._finders.append(_find_user(user, hosts, is_distinct(user) and user not in words))
        for name in hosts:
            self._finders.append(_find_host(name, user, is_distinct(name) and name not in words))
        if spelled:
            self._finders.append(_find_secrets(spelled))
        names = {user, in_ascii(user)} if user else set()
        self._texts = [*ALWAYS, *table.needles, *hosts, *spelled, *names]
        self._needles = [in_json(text) for text in self._texts]

    def redact(self, rows: Sequence[Json]) -> Redacted:
        """The rows of one surface; a row that holds nothing personal comes back as it is."""
        counts: dict[str, int] = {}
        edits = self._edits(rows, counts)
        out = []
        for index, row in enumerate(rows):
            done = edits.get(index)
            if done or self._may_hold(row):
                row = self._walk(row, (), done or {}, counts)
            out.append(row)
        return Redacted(out, counts)

    def redact_text(self, text: str) -> tuple[str, dict[str, int]]:
        """One text, such as a prompt or a file of a workspace, and what was replaced in it."""
        counts: dict[str, int] = {}
        return self._rewrite([text], counts)[0], counts

    def _may_hold(self, row: Json) -> bool:
        try:
            data = orjson.dumps(row)
        except TypeError:
            return True  # a lone surrogate
        return any(map(data.__contains__, self._needles))

    def _edits(
        self, rows: Sequence[Json], counts: dict[str, int]
    ) -> dict[int, dict[tuple[str | int, ...], str]]:
        """Row -> path -> text of every piece of a text of which a piece changes: the others must not be walked."""
        edits: dict[int, dict[tuple[str | int, ...], str]] = {}
        for runs in streamed_texts(rows):
            texts = [text for run in runs for text in run.texts]
            changed = self._rewrite(texts, counts)
            # A piece that stays must not be taken for a text of its own.
            if changed is not texts or any(map("".join(texts).__contains__, self._texts)):
                paths = ((run.row, run.path_of(at)) for run in runs for at in range(len(run.texts)))
                for (row, path), text in zip(paths, changed, strict=True):
                    edits.setdefault(row, {})[path] = text
        return edits

    def _walk(
        self,
        value: Json,
        path: tuple[str | int, ...],
        done: Mapping[tuple[str | int, ...], str],
        counts: dict[str, int],
    ) -> Json:
        if isinstance(value, str):
            known = done.get(path)
            return self._rewrite([value], counts)[0] if known is None else known
        if isinstance(value, list):
            return [self._walk(item, (*path, at), done, counts) for at, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        out: dict[str, Json] = {}
        for key, item in value.items():
            name = self._rewrite([key], counts)[0]
            while name in out:
                name += "'"  # two keys that differ only in what is personal: both stay
            out[name] = self._walk(item, (*path, key), done, counts)
        return out

    def _rewrite(self, pieces: list[str], counts: dict[str, int]) -> list[str]:
        """The pieces of one text, redacted; the very list that was given if there is nothing to replace.

        Until nothing is found any more: what a stand-in uncovers beside it is found in the next pass.
        """
        while True:
            text = "".join(pieces)
            found = sorted(
                (match for finder in self._finders for match in finder(text)), key=_leftmost_longest
            )
            replacements: list[Replacement] = []
            at = 0
            for start, end, stand_in, kind in found:
                if start >= at:
                    at = end
                    if stand_in != text[start:end]:
                        replacements.append(Replacement(start, end, stand_in))
                        counts[kind] = counts.get(kind, 0) + 1
            if not replacements:
                return pieces
            pieces = replace(pieces, replacements)


def _leftmost_longest(match: _Match) -> tuple[int, int]:
    return match.start, -match.end


# -- finders ----------------------------------------------------------------------------------------------------


def _find_tokens(text: str) -> Iterator[_Match]:
    """Placeholders that stand in `text`: nothing is replaced in one."""
    if "{{" in text:
        for found in TOKEN.finditer(text):
            yield _Match(found.start(), found.end(), found.group(), "")


def _find_people(user: str) -> _Finder:
    """Addresses, and the homes of whoever."""

    def find(text: str) -> Iterator[_Match]:
        for found in find_kind(EMAIL, text):
            yield _Match(found.start(), found.end(), EMAIL_STAND_IN, "e-mail")
        for found in find_kind(HOME, text):
            yield _home_of(found)
        if "%40" in text:
            for found in _ENCODED_EMAIL.finditer(text):
                if not is_harmless(EMAIL, found):
                    yield _Match(found.start(), found.end(), EMAIL_STAND_IN.replace("@", "%40"), "e-mail")
        if "%2F" in text or "%2f" in text:
            for found in _ENCODED_HOME.finditer(text):
                if not is_harmless(HOME, found):
                    yield _home_of(found)

    return find


def _home_of(found: re.Match[str]) -> _Match:
    name = found[1].rstrip(".")
    return _Match(found.start(1), found.start(1) + len(name), USER_STAND_IN, "home")


def _find_homes(table: PathTable) -> _Finder:
    slug = HOME_STAND_IN.replace("/", "-")

    def find(text: str) -> Iterator[_Match]:
        if any(map(text.__contains__, table.needles)):
            for start, end, key, _ in table.find(text):
                # The closing tag of an element that has the name of a home: </root>.
                if text[start - 1 : start] == "<" and text[end : end + 1] == ">":
                    continue
                if key == _HOME_KEY:
                    yield _Match(start, end, HOME_STAND_IN, "home")
                else:
                    yield _Match(start, end, slug if text[start] == "-" else slug[1:], "home")

    return find


def _find_kept(table: PathTable) -> _Finder:
    """Directories of the run itself, which may lie in a home: the normaliser knows them as they are."""

    def find(text: str) -> Iterator[_Match]:
        if any(map(text.__contains__, table.needles)):
            for start, end, _, _ in table.find(text):
                yield _Match(start, end, text[start:end], "")

    return find


def _find_user(user: str, hosts: Sequence[str], is_name: bool) -> _Finder:
    spellings = dict.fromkeys((user, in_ascii(user)))
    names = "|".join(map(re.escape, spellings))
    at_host = "|".join(map(re.escape, (HERE, *hosts, HOST_STAND_IN)))
    places: tuple[str, ...] = (
        rf"(?:{_HOMES})({names}){_AFTER}",
        rf"~({names})(?=/)",
        rf"{_BEFORE}({names})(?=@(?:{at_host}){_AFTER})",
        # ls -l, id, env
        rf"[-dlcbps][-rwxsStT]{{9}}[.+@]?\s{{1,8}}[0-9]{{1,6}}\s{{1,8}}({names})(?=\s)",
        rf"[-dlcbps][-rwxsStT]{{9}}[.+@]?\s{{1,8}}[0-9]{{1,6}}\s{{1,8}}[A-Za-z0-9_.-]{{1,32}}\s{{1,16}}({names})(?=\s)",
        rf"(?:id=|groups=|,)[0-9]{{1,10}}\(({names})(?=\))",
        rf"(?:USER|LOGNAME|USERNAME){ASSIGNED}({names}){_AFTER}",
    )
    if is_name:
        places = (rf"{_BEFORE}({names}){_AFTER}",)
    return _find_name(tuple(spellings), places, USER_STAND_IN, "user")


def _find_host(host: str, user: str, is_name: bool) -> _Finder:
    name = re.escape(host)
    after = r"(?![A-Za-z0-9-])(?!\.[A-Za-z0-9])"
    # Not every `@name`, which may be a package or a mention.
    before = "|".join(f"(?<={re.escape(each)}@)" for each in dict.fromkeys((user, USER_STAND_IN)) if each)
    places: tuple[str, ...] = (rf"(?:{before})({name}){after}", rf"HOSTNAME{ASSIGNED}({name}){after}")
    if host != HERE:
        places = (*places, rf"(?<=://)({name}){after}")
    if is_name:
        places = (rf"{_BEFORE}({name}){_AFTER}",)
    return _find_name((host,), places, HOST_STAND_IN, "host")


def _find_name(needles: Sequence[str], places: Sequence[str], stand_in: str, kind: str) -> _Finder:
    patterns = [re.compile(place) for place in places]

    def find(text: str) -> Iterator[_Match]:
        if any(map(text.__contains__, needles)):
            for pattern in patterns:
                for found in pattern.finditer(text):
                    yield _Match(found.start(1), found.end(1), stand_in, kind)

    return find


def _spelled(secrets: Mapping[str, str]) -> dict[str, str]:
    """Spelling -> variable of each secret that is long enough to be told from prose."""
    # A replay has no secrets to hide.
    from replay.surface.secrets_values import LEAST_VALUE, plain_spellings

    return {
        spelling: name
        for name, value in secrets.items()
        if len(value) >= LEAST_VALUE
        for spelling in plain_spellings(value)
    }


def _find_secrets(spelled: Mapping[str, str]) -> _Finder:
    def find(text: str) -> Iterator[_Match]:
        for spelling, name in spelled.items():
            at = text.find(spelling)
            while at >= 0:
                yield _Match(at, at + len(spelling), f"{{{{secret:{_NO_TOKEN.sub('_', name)}}}}}", "secret")
                at = text.find(spelling, at + len(spelling))

    return find

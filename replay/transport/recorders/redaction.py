"""Redaction of a recording: what belongs to a person, a machine or an account becomes what anybody may have.

    account fields     by named rule of the protocol, an identity the same wherever it stands (account.py)
    directories        the workspace becomes {{workspace}}, home and temporary directory stand-ins, slugs of them too
    the rest           e-mail addresses, homes, user, host, credentials: surface/redact.py, as in session replay

Ids, method names, order and number of frames and all correlation stay as they were. A text that comes in pieces is
redacted as one. Idempotent: a recording that was redacted is left as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.surface.names import bounds_name
from replay.surface.paths import PathTable, slug
from replay.surface.personal import is_home
from replay.surface.pieces import Replacement, replace
from replay.surface.redact import HOME_STAND_IN, Redactor
from replay.transport.recorders.account import Accounts
from replay.transport.recorders.streams import Path, streamed_texts
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound

__all__ = ["WORKSPACE", "Known", "redact"]

WORKSPACE: Final = "{{workspace}}"
_ROOT: Final = "/root"


class Known(NamedTuple):
    """What the recorder knows of the run and of the machine that it took place on.

    places: what stands for a directory -> its spellings; the longest that fits wins. homes, user, host: of the account
    that records. secrets: by variable. texts: values of this run, such as a gateway's URL -> what stands for them.
    """

    places: Mapping[str, Sequence[str]]
    homes: Sequence[str] = ()
    user: str = ""
    host: str = ""
    secrets: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}


def redact(entries: Sequence[Entry], protocol: str, known: Known) -> tuple[list[Entry], dict[str, int]]:
    """The entries without what nobody else may see, and how many values were replaced by rule."""
    accounts = Accounts(protocol)
    framed = [
        (index, entry)
        for index, entry in enumerate(entries)
        if isinstance(entry, (ExpectOutbound, EmitInbound))
    ]
    frames = [accounts.redact(entry.label, entry.frame) for _, entry in framed]
    texts = _Texts(known, accounts)
    done = texts.streams(frames, protocol)
    out: list[Entry] = list(entries)
    for at, (index, entry) in enumerate(framed):
        out[index] = entry._replace(frame=texts.walk(frames[at], (), done.get(at, {})))
    return out, dict(sorted(accounts.counts.items()))


class _Found(NamedTuple):
    """A piece of a text that becomes `text`; `kind` is what its count is called."""

    start: int
    end: int
    text: str
    kind: str


class _Texts:
    """Rewrites strings and keys; counts into the counts of `accounts`."""

    def __init__(self, known: Known, accounts: Accounts) -> None:
        self._counts = accounts.counts
        self._values = {"address": known.texts, "account": accounts.texts()}
        self._stand_ins: dict[str, str] = {}
        rows = []
        for number, (stand_in, spellings) in enumerate(known.places.items()):
            key = f"{{{{place{number}}}}}"
            self._stand_ins[key] = stand_in
            self._stand_ins[f"{key[:-2]}:slug}}}}"] = "-" + slug(stand_in.strip("{}")).strip("-")
            rows.append((key, spellings))
        self._table = PathTable(rows)
        homes = [_ROOT, *(home for home in known.homes if is_home(home, known.user))]
        self._redactor = Redactor(home=homes, user=known.user, host=known.host, secrets=known.secrets)

    def streams(self, frames: Sequence[Any], protocol: str) -> dict[int, dict[Path, str]]:
        """Frame -> path -> piece, of every text that comes in pieces."""
        done: dict[int, dict[Path, str]] = {}
        for places in streamed_texts(frames, protocol):
            pieces = self._rewrite([_at(frames[index], path) for index, path in places])
            for (index, path), piece in zip(places, pieces, strict=True):
                done.setdefault(index, {})[path] = piece
        return done

    def walk(self, value: Any, path: Path, done: Mapping[Path, str]) -> Any:
        """`value` with every string in it rewritten; those of `done` are as they stand there."""
        if isinstance(value, str):
            known = done.get(path)
            return self._rewrite([value])[0] if known is None else known
        if isinstance(value, list):
            return [self.walk(each, (*path, at), done) for at, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        out: dict[str, Any] = {}
        for key, each in value.items():
            name = self._rewrite([key])[0]
            while name in out:
                name += "'"  # two keys that differ only in what is replaced: both stay
            out[name] = self.walk(each, (*path, key), done)
        return out

    def _rewrite(self, pieces: list[str]) -> list[str]:
        """The pieces of one text; as many come back."""
        text = "".join(pieces)
        found = sorted(self._find(text), key=lambda each: (each.start, -each.end))
        kept: list[Replacement] = []
        for start, end, stand_in, kind in found:
            if not kept or start >= kept[-1].end:
                kept.append(Replacement(start, end, stand_in))
                self._count(kind, 1)
        if kept:
            pieces = replace(pieces, kept)
        pieces, counts = self._redacted(pieces)
        for kind, count in counts.items():
            self._count(kind, count)
        return pieces

    def _redacted(self, pieces: list[str]) -> tuple[list[str], dict[str, int]]:
        """The pieces without what session replay takes out too, and how many values that were by kind."""
        if len(pieces) == 1:
            text, counts = self._redactor.redact_text(pieces[0])
            return [text], counts
        # The one shape of a text in pieces that the redactor takes from any source.
        row: Any = {
            "type": "text-chunks",
            "data": {"turn": 0, "step": 0, "index": 0, "dt": [], "texts": pieces},
        }
        result: Any = self._redactor.redact([row])
        return result.rows[0]["data"]["texts"], result.counts

    def _find(self, text: str) -> Iterator[_Found]:
        if any(map(text.__contains__, self._table.needles)):
            for start, end, key, _ in self._table.find(text):
                stand_in = self._stand_ins[key]
                if key.endswith(":slug}}") and text[start] != "-":
                    stand_in = stand_in[1:]
                yield _Found(start, end, stand_in, _name_of(self._stand_ins[key.replace(":slug", "")]))
        for kind, values in self._values.items():
            for value, stand_in in values.items():
                at = text.find(value)
                while at >= 0:
                    end = at + len(value)
                    if bounds_name(text, at, end):
                        yield _Found(at, end, stand_in, kind)
                    at = text.find(value, end)

    def _count(self, name: str, number: int) -> None:
        self._counts[name] = self._counts.get(name, 0) + number


def _name_of(stand_in: str) -> str:
    """What a count calls a directory."""
    if stand_in == WORKSPACE:
        return "workspace"
    return "home" if stand_in == HOME_STAND_IN else "directory"


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value

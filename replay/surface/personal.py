"""Redaction of what a run produced: one run's values, and no cost worth naming where there is nothing to find.

The redactor takes milliseconds to import and to run, and most runs hold nothing for it. So the JSON of the rows, and
what they say in pieces joined, is searched first for plain texts: everything that the redactor replaces holds one of
them. Rows without any come back as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import orjson

from replay.surface.deltas import MARKERS, streamed_texts
from replay.surface.paths import PathTable, path_spellings, slug_spellings
from replay.surface.values import Json

if TYPE_CHECKING:
    from replay.surface.redact import Redactor

__all__ = ["ALWAYS", "HERE", "Redaction", "in_ascii", "in_json", "is_distinct", "is_home", "names_of_host"]

ALWAYS: Final = ("@", "%40", "/home/", "/Users/", "Users\\", "%2F", "%2f")
"""A text without any of these, of this machine's homes and of its names holds nothing personal."""

HERE: Final = "localhost"
"""What every machine calls itself, so that no machine is told by it."""

_LEAST_NAME: Final = 5
# Root's, on every machine: CI is root where a person is not.
_ROOT: Final = "/root"
_OF_PEOPLE: Final = frozenset(("home", "homes", "profiles", "users"))
_COMMON: Final = frozenset(
    ("admin", "administrator", "agent", "agents", "android", "anthropic", "apache", "assistant", "azure", "baker",
     "build", "builder", "carol", "claude", "client", "cloud", "codespace", "codex", "coder", "compute", "container",
     "copilot", "cursor", "daemon", "debian", "default", "deploy", "desktop", "developer", "devbox", "docker", "editor",
     "fedora", "frank", "gateway", "gemini", "github", "gitlab", "google", "grace", "guest", "hunter", "jenkins",
     "laptop", "linux", "local", "localhost", "macbook", "machine", "master", "mason", "mercy", "model", "nobody",
     "nginx", "node01", "office", "openai", "opencode", "oracle", "owner", "parker", "peter", "postgres", "power",
     "project", "python", "remote", "replay", "root", "runner", "sandbox", "server", "service", "session", "shell",
     "smith", "staff", "station", "system", "terminal", "tester", "tools", "ubuntu", "users", "vagrant", "vscode",
     "windows", "worker", "workspace", "workstation"),
)  # fmt: skip

_E_MAIL: Final = rb"(?:@|%40)[A-Za-z0-9-]{1,63}\."
_ENCODED_HOME: Final = rb"(?i:%2F(?:home|Users)%2F)"
_MODES: Final = rb"[-rwxsStT]{9}"


class Redaction:
    """Takes out of a run's rows what belongs to a person or a machine (redact.py). May be called from several threads.

    homes, user, host: of the machine on which the run took place. secrets: by variable. kept: directories of the run,
    the normaliser's business wherever they lie. given: the files that the run began with, asked for late or never;
    a name that stands in one of them is an ordinary word of this scenario, on every machine.
    """

    __slots__ = (
        "_given",
        "_homes",
        "_host",
        "_kept",
        "_needles",
        "_own",
        "_redactor",
        "_secrets",
        "_signs",
        "_user",
    )

    def __init__(
        self,
        *,
        homes: Sequence[str] = (),
        user: str = "",
        host: str = "",
        secrets: Mapping[str, str] | None = None,
        kept: Sequence[str] = (),
        given: Callable[[], Iterable[bytes]] = tuple,
    ) -> None:
        self._homes = [_ROOT, *(home for home in homes if is_home(home, user))]
        self._user = user
        self._host = host
        self._secrets = secrets
        self._kept = kept
        self._given = given
        self._redactor: Redactor | None = None
        self._own: list[bytes] = []
        names = _names(user, host)
        plain = [name for name in names if is_distinct(name)]
        self._needles = [in_json(text) for text in ("/home/", "/Users/", "Users\\", *plain)]
        self._needles += PathTable([("{{home}}", self._homes)]).json_needles
        self._signs = list(_signs_of_common(user, host))

    def redact(self, rows: Sequence[Json]) -> list[Json]:
        """The rows of one surface, as many as came in."""
        # A secret is looked for by the redactor alone; a replay has none.
        if not self._secrets and not self._may_hold(rows):
            return list(rows)
        return self._made().redact(rows).rows

    def _may_hold(self, rows: Sequence[Json]) -> bool:
        try:
            texts = [orjson.dumps(rows)]
            if any(marker.encode() in texts[0] for marker in MARKERS):
                joined = [
                    "".join(text for run in runs for text in run.texts) for runs in streamed_texts(rows)
                ]
                texts.append(orjson.dumps(joined))
        except TypeError:
            return True  # a lone surrogate
        if not any(map(self._is_suspect, texts)):
            return False
        # On most machines of a person the run's own directories lie in their home.
        self._own = self._own or _spellings(self._kept)
        for spelling in self._own:
            texts = [text.replace(spelling, b"") for text in texts]
        return any(map(self._is_suspect, texts))

    def _is_suspect(self, data: bytes) -> bool:
        return (
            any(map(data.__contains__, self._needles))
            or ((b"@" in data or b"%40" in data) and re.search(_E_MAIL, data) is not None)
            or ((b"%2F" in data or b"%2f" in data) and re.search(_ENCODED_HOME, data) is not None)
            or any(name in data and is_sign(data) for name, is_sign in self._signs)
        )

    def _made(self) -> Redactor:
        if self._redactor is None:
            from replay.surface.redact import Redactor

            names = [name for name in _names(self._user, self._host) if is_distinct(name)]
            files = list(self._given()) if names else []
            self._redactor = Redactor(
                home=self._homes,
                user=self._user,
                host=self._host,
                secrets=self._secrets,
                kept=self._kept,
                common=[name for name in names if any(in_json(name) in file for file in files)],
            )
        return self._redactor


def is_distinct(name: str) -> bool:
    """Whether a name may be replaced wherever it stands: long enough, and no common word."""
    return len(name) >= _LEAST_NAME and name.lower() not in _COMMON


def is_home(path: str, user: str) -> bool:
    """Whether a home is a person's. That of an account may be `/usr/sbin`, `/app` or `/var/www`: ordinary words."""
    parts = path.strip("/").split("/")
    return len(parts) > 1 and (parts[-1] == user or not _OF_PEOPLE.isdisjoint(map(str.lower, parts)))


def names_of_host(host: str) -> list[str]:
    """The host's name as it is and without its domain."""
    return list(dict.fromkeys(name for name in (host, host.partition(".")[0]) if name))


def in_ascii(text: str) -> str:
    """`text` as JSON that is all ASCII writes it."""
    return "".join(char if char < "\x7f" else f"\\u{ord(char):04x}" for char in text)


def in_json(text: str) -> bytes:
    """`text` as it stands in JSON; b"" for a lone surrogate, which any row may hold."""
    try:
        return orjson.dumps(text)[1:-1]
    except TypeError:
        return b""


def _names(user: str, host: str) -> list[str]:
    users = dict.fromkeys((user, in_ascii(user))) if user else {}
    return [*users, *names_of_host(host)]


def _spellings(paths: Sequence[str]) -> list[bytes]:
    """How directories stand in JSON, the longest first: one may lie in another."""
    found = [each for path in paths for each in (*path_spellings(path), *slug_spellings(path))]
    return sorted(map(in_json, found), key=len, reverse=True)


type _Sign = tuple[bytes, Callable[[bytes], bool]]


def _signs_of_common(user: str, host: str) -> Iterator[_Sign]:
    """(name, what else must stand in a text that holds it) of names that are ordinary words."""
    for name in _names(user, ""):
        if not is_distinct(name):
            yield in_json(name), _sign([f"~{name}/", f"{name}@", f"({name})", "USER", "LOGNAME"], _MODES)
    for name in names_of_host(host):
        if not is_distinct(name):
            address = [] if name == HERE else [f"://{name}"]
            yield in_json(name), _sign([f"{user}@{name}", f"user@{name}", "HOSTNAME", *address])


def _sign(texts: Sequence[str], pattern: bytes = b"") -> Callable[[bytes], bool]:
    needles = [in_json(text) for text in texts]

    def stands_in(data: bytes) -> bool:
        if any(map(data.__contains__, needles)):
            return True
        return bool(pattern) and re.search(pattern, data) is not None

    return stands_in

"""Every way in which one directory is spelled, and where those spellings stand in a text.

A path is written as given, by its real path, through macOS's `/private`, escaped for JSON once more than the text
around it, percent-encoded in a URI, or as a slug (`-tmp-x-y`) in the name of a directory. A spelling counts only at
path boundaries: `/tmp/x` is neither in `/tmp/x2` nor in `/var/tmp/x`. A slug has a placeholder of its own
(`{{cwd:slug}}`), so that a fixture can be turned back into live values.
"""

from collections.abc import Iterable, Iterator

import orjson

from replay.surface.names import Match

__all__ = ["PathTable", "path_spellings", "slug", "slug_spellings"]

_ALIASED = ("/tmp", "/var", "/etc")
_SLUG_MIN_LENGTH = 8
_URI_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_NOT_BEFORE = frozenset("_.-~")
_NOT_AFTER = frozenset("_-~%@+")


def path_spellings(path: str) -> list[str]:
    """The spellings of an absolute `path` besides slugs; empty for "/" and for what is not absolute."""
    path = path.rstrip("/")
    if not path.startswith("/"):
        return []
    found: dict[str, None] = {}
    for alias in _aliases(path):
        found[alias] = None
        for escaped in (_json_escaped(alias, False), _json_escaped(alias, True)):
            found[escaped] = None
            found[escaped.replace("/", "\\/")] = None
        found[_uri(alias)] = None
    return list(found)


def slug_spellings(path: str) -> list[str]:
    """The slugs of an absolute `path`; empty where they are too short to be told from prose."""
    path = path.rstrip("/")
    if path.count("/") < 2 or len(path) < _SLUG_MIN_LENGTH:
        return []
    found: dict[str, None] = {}
    for alias in _aliases(path):
        for spelling in (alias.replace("/", "-"), slug(alias)):
            found[spelling] = None
            found[spelling[1:]] = None
    return list(found)


def slug(path: str) -> str:
    """The slug of a path that agents most often write: what stands for {{cwd:slug}} in a live run."""
    return "".join(char if char.isalnum() and char.isascii() else "-" for char in path)


def _aliases(path: str) -> list[str]:
    if path.startswith("/private/"):
        return [path, path[len("/private") :]]
    if path.startswith(_ALIASED):
        return [path, "/private" + path]
    return [path]


def _json_escaped(text: str, ascii_only: bool) -> str:
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif ascii_only and char > "\x7e":
            units = char.encode("utf-16-be", "surrogatepass").hex()
            out.extend("\\u" + units[at : at + 4] for at in range(0, len(units), 4))
        else:
            out.append(char)
    return "".join(out)


def _uri(path: str) -> str:
    data = path.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _URI_SAFE else f"%{byte:02X}" for byte in data)


class PathTable:
    """The spellings of a run's directories, longest first."""

    __slots__ = ("_rows", "json_needles", "needles")

    def __init__(self, paths: Iterable[tuple[str, Iterable[str]]]) -> None:
        """paths: (placeholder, spellings the caller knows: as given and by its real path)."""
        rows: dict[str, tuple[str, bool]] = {}
        for placeholder, known in paths:
            for path in known:
                for spelling in path_spellings(path):
                    rows.setdefault(spelling, (placeholder, False))
                for spelling in slug_spellings(path):
                    rows.setdefault(spelling, (f"{placeholder[:-2]}:slug}}}}", True))
        # Longest first: /tmp/x inside /private/tmp/x would leave "/private{{cwd}}" behind.
        self._rows = sorted(
            ((spelling, placeholder, is_slug) for spelling, (placeholder, is_slug) in rows.items()),
            key=lambda row: -len(row[0]),
        )
        self.needles = _shortest_that_cover([row[0] for row in self._rows])
        """The fewest texts, one of which stands in any text that holds a spelling."""
        self.json_needles = [_json_text(needle) for needle in self.needles]
        """The same, as they stand in the JSON text of a value."""

    def find(self, text: str) -> Iterator[Match]:
        """Each occurrence at path boundaries, of whatever spelling; they may overlap."""
        for spelling, placeholder, is_slug in self._rows:
            start = text.find(spelling)
            while start >= 0:
                end = start + len(spelling)
                if is_slug:
                    fits = _bounds_slug(text, start, end)
                else:
                    fits = _bounds_path_before(text, start) and _bounds_path_after(text, end)
                if fits:
                    yield Match(start, end, placeholder, "")
                start = text.find(spelling, start + 1)


def _shortest_that_cover(spellings: list[str]) -> list[str]:
    cover: list[str] = []
    for spelling in reversed(spellings):
        if not any(shorter in spelling for shorter in cover):
            cover.append(spelling)
    return cover


def _json_text(needle: str) -> bytes:
    try:
        return orjson.dumps(needle)[1:-1]
    except TypeError:
        return b""  # a lone surrogate: any value may hold it


def _bounds_path_before(text: str, start: int) -> bool:
    if start == 0:
        return True
    char = text[start - 1]
    if char.isalnum():
        if char in "ntr" and _is_escape(text, start - 1):
            return True
        # A compiler's -I/tmp/x and -L/tmp/x: one letter behind a dash that itself begins a word.
        before = text[max(start - 3, 0) : start - 1]
        return before == "-" or (before[1:] == "-" and before[0] in " \t\n\"'")
    return char not in _NOT_BEFORE and not text.endswith("}}", 0, start)


def _is_escape(text: str, at: int) -> bool:
    """Whether the letter at `at` is the second half of an escape like a JSON newline."""
    run = at
    while run > 0 and text[run - 1] == "\\":
        run -= 1
    return (at - run) % 2 == 1


def _bounds_path_after(text: str, end: int) -> bool:
    if end == len(text):
        return True
    char = text[end]
    if char == ".":
        following = text[end + 1 : end + 2]
        return not (following.isalnum() or following == "_")
    return not char.isalnum() and char not in _NOT_AFTER and not text.startswith("{{", end)


def _bounds_slug(text: str, start: int, end: int) -> bool:
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    if before.isalnum() or before in ("_", "-", ".") or text.endswith("}}", 0, start):
        return False
    return not (after.isalnum() or after == "_" or text.startswith("{{", end))

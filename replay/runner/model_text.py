"""What a model said, as a fixture keeps it: its words, with what belongs to one run taken out. Pure.

    this run's directories                    placeholders, which every replay fills in again
    a value that this run made and the model  {{fromRequest:<regex>}}, which a replay answers from the request that it
    repeats from its request                  gets: an id that a tool minted, a time, whatever the normaliser knows

Everything else stays as it came, a UUID that the model itself made up among it. The pieces of a stream are one text.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from replay.errors import FixtureError
from replay.pattern import PatternError, parse_pattern
from replay.surface.names import TOKEN, is_uuid
from replay.surface.paths import PathTable
from replay.surface.pieces import Replacement, replace

__all__ = ["ModelText"]

_UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
_CLASSES = ("[A-Za-z0-9_-]+", "[A-Za-z0-9_.:+-]+", "[A-Za-z0-9_.:+ -]+", "[^ ]+")
"""Of the characters of a value, from narrow to wide."""
_CONTEXT = (12, 24, 48)
_FOLLOWING = 12


class ModelText:
    """The texts of one recording.

    paths: (placeholder, spellings) of the run's directories. normalise: a text -> the text with placeholders for all
    that differs between two runs. constant: texts of the scenario itself; what stands there is the same in each run.
    """

    def __init__(
        self,
        paths: Sequence[tuple[str, Sequence[str]]],
        normalise: Callable[[str], str],
        constant: str = "",
    ) -> None:
        self._table = PathTable(paths)
        self._normalise = normalise
        self._constant = constant

    def rewrite(self, pieces: Sequence[str], request: str) -> list[str]:
        """The pieces of one text of a reply to `request`, as many as came in.

        Raises FixtureError for a value that the request holds and no expression finds there.
        """
        text = "".join(pieces)
        found = [Replacement(match.start, match.end, match.replacement) for match in self._table.find(text)]
        for start, end in self._volatile(text):
            value = text[start:end]
            if value in request and value not in self._constant:
                found.append(Replacement(start, end, self._reference(value, request)))
        if not found:
            return list(pieces)
        return replace(pieces, list(_leftmost_longest(found)))

    def _volatile(self, text: str) -> Iterator[tuple[int, int]]:
        """The places in `text` for which the normaliser has a placeholder, directories apart."""
        normal = self._normalise(text)
        if normal == text:
            return
        tokens = list(TOKEN.finditer(normal))
        ends = [0, *(token.end() for token in tokens)]
        starts = [*(token.start() for token in tokens), len(normal)]
        literals = [normal[start:end] for start, end in zip(ends, starts, strict=True)]
        aligned = re.fullmatch("(.+?)".join(map(re.escape, literals)), text, re.DOTALL)
        if aligned is None:
            return
        for number, token in enumerate(tokens, 1):
            if aligned[number] != token.group() and not self._is_directory(aligned[number]):
                yield aligned.span(number)

    def _is_directory(self, value: str) -> bool:
        return any(match.start == 0 and match.end == len(value) for match in self._table.find(value))

    def _reference(self, value: str, request: str) -> str:
        for source in self._expressions(value, request):
            try:
                found = parse_pattern(source).last_match(request)
            except PatternError:
                continue
            if found == value:
                return f"{{{{fromRequest:{source}}}}}"
        raise FixtureError(
            f"the model repeats {self._normalise(value)} from its request, where no expression tells it from the rest",
            fix="record a run in which a word stands before it in its line",
        )

    def _expressions(self, value: str, request: str) -> Iterator[str]:
        """Expressions for the last place of `value`, the simplest first: what stands before it in its line, a class
        of characters, what follows it."""
        start = request.rfind(value)
        end = start + len(value)
        line = request.rfind("\n", 0, start) + 1
        before = self._steady_end(request[max(line, start - _CONTEXT[-1]) : start])
        after = self._steady_start(request[end : end + _FOLLOWING].split("\n", 1)[0])
        classes = [_UUID] if is_uuid(value) else [one for one in _CLASSES if re.fullmatch(one, value)]
        for one in classes:
            for length in _CONTEXT:
                for following in ("", after):
                    if before[-length:].strip() or (not before and following.strip()):
                        yield f"{re.escape(before[-length:])}({one}){re.escape(following)}"
        if is_uuid(value):
            yield f"({_UUID})"

    def _steady_end(self, text: str) -> str:
        """The end of `text` in which nothing differs between two runs."""
        return _after_last_token(self._normalise(text))

    def _steady_start(self, text: str) -> str:
        return TOKEN.split(self._normalise(text), maxsplit=1)[0]


def _after_last_token(text: str) -> str:
    ends = [token.end() for token in TOKEN.finditer(text)]
    return text[ends[-1] :] if ends else text


def _leftmost_longest(found: list[Replacement]) -> Iterator[Replacement]:
    at = 0
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.start >= at:
            yield one
            at = one.end

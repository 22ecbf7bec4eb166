"""From what a live run left to the logs of a fixture: the model's half as it was said, all else normalised. Pure.

    raw logs -> events -> without a provider's noise -> redacted -> normalised
             -> the texts of the model put back in, as ModelText keeps them -> canonical packing

The agent's half of these logs is what a replay of them is bound by; the fixture gets it from that replay.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from replay.models.wire import model_request
from replay.runner.model_text import ModelText
from replay.runner.provider_noise import without_noise
from replay.session import BLOCK_TYPES, DELTA_FIELD, Row, pack, unpack
from replay.surface import Json, Normaliser, Rule, Volatile, served_ids

if TYPE_CHECKING:
    from replay.models.call_log import ModelCall

__all__ = ["Capture"]

type Redact = Callable[[Sequence[Json]], list[Json]]
_CHUNK = "assistant/chunk"
_NAMES = frozenset(("id", "name", "type", "blockType"))
"""Members of a chunk or block that hold no text."""


class Capture:
    """What is known of one live run.

    paths: (placeholder, spellings) of its directories. rules: the suite's. redact: takes out what belongs to a person.
    constant: texts of the scenario itself. calls: what went to the provider. kept_ids: ids that are no run's own.
    """

    def __init__(
        self,
        paths: Sequence[tuple[str, Sequence[str]]],
        rules: Sequence[Rule],
        redact: Redact,
        constant: str,
        calls: Sequence[ModelCall],
        kept_ids: Sequence[str] = (),
    ) -> None:
        self._paths = paths
        self._rules = rules
        self._redact = redact
        self._constant = constant
        self._calls = calls
        self._kept_ids = kept_ids

    def logs(self, raw: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Header and rows of each log, as a fixture holds them but for their provenance.

        raw: header and rows of each log as the run left them, in fixture order. Raises FixtureError for a value of
        this run that the model repeats and no replay could find again.
        """
        logs = [self._redact(list(_events(lines))) for lines in raw]
        kept = [*served_ids(logs), *self._kept_ids]
        ids = [str(lines[0]["id"]) for lines in logs]  # type: ignore[index,call-overload]
        volatile = Volatile(self._paths, [each for each in ids if each not in self._kept_ids], kept)
        normaliser = Normaliser(volatile, self._rules)
        names = [f"session.{index}" if index else "session" for index in range(len(logs))]
        fixed = normaliser.normalise_all(dict(zip(names, logs, strict=True)))
        text = ModelText(
            self._paths, lambda text: str(normaliser.normalise("stdout", [text])[0]), self._constant
        )
        requests = _Requests(self._calls)
        return [
            _packed(_Streams(lines, fixed[name], text, requests).rows())
            for name, lines in zip(names, logs, strict=True)
        ]


def _events(lines: Sequence[Any]) -> Iterator[Any]:
    """The header, then each event as a row of its own."""
    yield lines[0]
    for row in unpack(Row(number, line) for number, line in enumerate(lines[1:], 2)):
        if row.type == _CHUNK:
            yield {**row.fields, "data": {**row.data, "chunk": without_noise(row.data["chunk"])}}
        else:
            yield row.fields


def _packed(lines: Sequence[Any]) -> list[Any]:
    return [lines[0], *pack(Row(number, line) for number, line in enumerate(lines[1:], 2))]


class _Streams:
    """One log: the model's texts, block by block, and the normalised rows that they go into."""

    def __init__(
        self, lines: Sequence[Any], fixed: Sequence[Any], text: ModelText, requests: _Requests
    ) -> None:
        self._lines = lines
        self._rows = list(fixed)
        self._text = text
        self._requests = requests
        self._emptied: set[int] = set()
        """Deltas whose whole text went into an earlier one; many agents pass over an empty piece."""

    def rows(self) -> list[Any]:
        """The rows with the model's half in them."""
        open_blocks: dict[tuple[Any, ...], list[int]] = {}
        for place, line in enumerate(self._lines):
            if not place or line["type"] != _CHUNK:
                continue
            chunk = line["data"]["chunk"]
            self._put(place, chunk)
            key = (line["data"].get("turn"), line["data"].get("step"), chunk.get("index"))
            if chunk["type"] == "block-start":
                self._close(open_blocks.pop(key, []))
                open_blocks[key] = []
            elif chunk["type"] in DELTA_FIELD:
                open_blocks.setdefault(key, []).append(place)
            elif chunk["type"] == "block-end":
                self._end(place, chunk, open_blocks.pop(key, []))
        for places in open_blocks.values():
            self._close(places)
        return [row for place, row in enumerate(self._rows) if place not in self._emptied]

    def _put(self, place: int, chunk: dict[str, Any]) -> None:
        row = self._rows[place]
        self._rows[place] = {**row, "data": {**self._lines[place]["data"], "chunk": chunk}}

    def _chunk(self, place: int) -> dict[str, Any]:
        chunk: dict[str, Any] = self._lines[place]["data"]["chunk"]
        return chunk

    def _close(self, places: Sequence[int]) -> str:
        """The deltas of one block, rewritten as the one text that they are. The request that the block answers."""
        pieces = [self._chunk(place)[DELTA_FIELD[self._chunk(place)["type"]]] for place in places]
        request = self._requests.of("".join(pieces))
        for place, piece in zip(places, self._text.rewrite(pieces, request), strict=True):
            chunk = self._chunk(place)
            self._put(place, {**chunk, DELTA_FIELD[chunk["type"]]: piece})
            if not piece and chunk[DELTA_FIELD[chunk["type"]]]:
                self._emptied.add(place)
        return request

    def _end(self, place: int, chunk: dict[str, Any], deltas: Sequence[int]) -> None:
        block = chunk["block"]
        field = BLOCK_TYPES[block["type"]]
        request = self._close(deltas) if deltas else self._requests.of(block[field])
        self._put(place, {**chunk, "block": self._rewritten(block, request)})

    def _rewritten(self, value: Any, request: str) -> Any:
        if isinstance(value, str):
            return self._text.rewrite([value], request)[0]
        if isinstance(value, list):
            return [self._rewritten(each, request) for each in value]
        if isinstance(value, dict):
            return {
                name: each if name in _NAMES else self._rewritten(each, request)
                for name, each in value.items()
            }
        return value


class _Requests:
    """Which request a block of a log answers: that of the call that streamed the same text."""

    def __init__(self, calls: Sequence[ModelCall]) -> None:
        self._of_text: dict[str, list[str]] = {}
        texts = []
        for call in calls:
            request = model_request(call.request.messages, None, None).text
            texts.append(request)
            for text in _block_texts(call.chunks):
                self._of_text.setdefault(text, []).append(request)
        self._all = "\n".join(texts)

    def of(self, text: str) -> str:
        """The text of the request; those of all calls, where an agent logs another text than it was sent."""
        found = self._of_text.get(text)
        if not found:
            return self._all
        # Said twice, it is logged twice in the same order.
        return found.pop(0) if len(found) > 1 else found[0]


def _block_texts(chunks: Any) -> Iterator[str]:
    texts: dict[int, str] = {}
    for chunk in chunks:
        if chunk["type"] in DELTA_FIELD:
            index = chunk["index"]
            texts[index] = texts.get(index, "") + chunk[DELTA_FIELD[chunk["type"]]]
        elif chunk["type"] == "block-end" and chunk["index"] not in texts:
            texts[chunk["index"]] = chunk["block"][BLOCK_TYPES[chunk["block"]["type"]]]
    yield from texts.values()

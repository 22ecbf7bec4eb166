"""The checksum of the model's half: what it takes notice of, and what it does not."""

import re

import orjson
import pytest

from replay.session import model_checksum, read_log

HEADER = {"type": "session", "version": 0, "id": "a", "createdAt": 0}


def chunk(turn=1, **fields):
    return {"type": "assistant/chunk", "data": {"turn": turn, "step": 1, "chunk": fields}}


START = {"type": "call/start", "data": {"turn": 1, "step": 1, "call": 1}}
END = {"type": "call/end", "data": {"turn": 1, "step": 1, "call": 1, "outcome": {"kind": "completed"}}}
BLOCK = chunk(type="block-start", index=0, blockType="text")
DELTAS = [chunk(type="text-delta", index=0, text=text) for text in ("a", "b", "c")]
FINISH = chunk(type="finish", reason={"kind": "stop"})
ROWS = [START, BLOCK, *DELTAS, FINISH, END]


def checksum(rows, header=HEADER):
    return model_checksum(read_log(b"".join(orjson.dumps(row) + b"\n" for row in (header, *rows)), "x"))


def test_it_is_written_as_a_digest():
    assert re.fullmatch("sha256:[0-9a-f]{64}", checksum(ROWS))
    assert checksum(ROWS) == checksum(ROWS)


@pytest.mark.parametrize(
    "rows",
    [
        [START, BLOCK, {"type": "text-chunks", "data": {"turn": 1, "step": 1, "index": 0, "dt": [3, 9], "texts": ["a", "b", "c"]}}, FINISH, END],
        [{"type": "turn/start", "data": {"turn": 1}}, *ROWS, {"type": "note", "data": {"x": 1}}],
        [{**START, "data": {**START["data"], "request": "sha256:" + "0" * 64}}, *ROWS[1:]],
        [START, {**BLOCK, "time": 17, "seq": 4}, *ROWS[2:]],
        [START, chunk(blockType="text", index=0, type="block-start"), *ROWS[2:]],
    ],
    ids=["packed", "events of the agent", "the request", "a clock", "another order of keys"],
)  # fmt: skip
def test_what_is_none_of_the_models_does_not_count(rows):
    assert checksum(rows) == checksum(ROWS)


def test_the_header_does_not_count():
    assert checksum(ROWS, {**HEADER, "provenance": {"kind": "recorded"}}) == checksum(ROWS)


@pytest.mark.parametrize(
    "rows",
    [
        [START, BLOCK, *DELTAS[:2], chunk(type="text-delta", index=0, text="d"), FINISH, END],
        [START, BLOCK, *DELTAS[:1], chunk(type="text-delta", index=0, text="bc"), FINISH, END],
        [START, BLOCK, *reversed(DELTAS), FINISH, END],
        [START, BLOCK, *DELTAS, chunk(type="finish", reason={"kind": "length"}), END],
        [START, BLOCK, *DELTAS, FINISH, {**END, "data": {**END["data"], "outcome": {"kind": "failed"}}}],
        [BLOCK, *DELTAS, FINISH],
        ROWS[:-1],
    ],
    ids=["a word", "borders of pieces", "order", "the reason", "the outcome", "the marks", "an end"],
)
def test_what_the_model_said_counts(rows):
    assert checksum(rows) != checksum(ROWS)

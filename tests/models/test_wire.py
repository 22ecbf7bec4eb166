"""What all codecs share: the simplified request, fault statuses, folding, merging, the registry."""

import pytest

from replay.errors import UsageError
from replay.models.blocks import fold
from replay.models.codecs import CODECS, load_codec
from replay.models.merge import merge
from replay.models.wire import fault_code, fault_status, model_request
from tests.models.codec_conformance import NAMES
from tests.models.recording import said, tool_call


def test_request_is_simplified_turn_by_turn():
    call = {"type": "tool-call", "id": "a", "name": "bash", "arguments": '{"x":1}'}
    result = {"type": "tool-result", "toolCallId": "a", "content": [{"type": "text", "text": "out"}]}
    request = model_request(
        [
            {"role": "system", "content": "rules"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hi "},
                    {"type": "image", "url": "u"},
                    {"type": "text", "text": "you"},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "ok"}, call],
            },
            {"role": "user", "content": [result, {"type": "text", "text": "and"}]},
            {"role": "tool", "content": [{**result, "content": "plain"}]},
            {"role": "assistant", "content": []},
        ],
        "s",
        "p",
    )
    assert (request.session, request.parent) == ("s", "p")
    assert request.messages == [
        {"role": "system", "text": "rules"},
        {"role": "user", "text": "hi you"},
        {"role": "assistant", "text": 'ok{"x":1}'},
        {"role": "tool", "text": "out"},
        {"role": "user", "text": "and"},
        {"role": "tool", "text": "plain"},
        {"role": "assistant", "text": ""},
    ]
    assert request.text == 'rules\nhi \nyou\nhm\nok\n{"x":1}\nout\nand\nplain'


def test_content_that_is_no_block_harms_nobody():
    odd = [7, None, ["x"], {"text": "no type"}, "bare", {"type": "tool-result", "content": [1, "in", None]}]
    request = model_request([{"role": "user", "content": odd}], None, None)
    assert request.messages == [{"role": "tool", "text": "in"}, {"role": "user", "text": "no typebare"}]
    assert request.text == "no type\nbare\nin"


@pytest.mark.parametrize(
    ("code", "status"),
    [("AUTH", 401), ("RATE_LIMIT", 429), ("OVERLOADED", 503), ("CONTEXT", 400), ("404", 404), ("599", 599)]
    + [(code, 500) for code in ("", "200", "600", "4o4", "٤٠٤", "0404", "BOOM")],
)
def test_code_of_a_throw_is_a_status(code, status):
    assert fault_status(code) == status
    if status != 500 and code != "CONTEXT":
        assert fault_code(status) == code


def test_fold_takes_unfinished_blocks_from_their_deltas():
    chunks = [*said("par", "tial")[:3], *({**chunk, "index": 1} for chunk in tool_call(("a", "n", "{}"))[:2])]
    assert fold(chunks).blocks == [
        {"type": "text", "text": "partial"},
        {"type": "tool-call", "id": "a", "name": "n", "arguments": "{"},
    ]
    assert fold(chunks).finish is None


def test_merge_shares_nothing_with_its_pieces():
    into, piece = {}, {"a": [{"b": 1}]}
    merge(into, piece)
    merge(into, piece)
    assert into == {"a": [{"b": 1}, {"b": 1}]} and piece == {"a": [{"b": 1}]}
    into["a"][0]["b"] = into["a"][1]["b"] = 2
    assert piece == {"a": [{"b": 1}]}


def test_every_registered_codec_has_the_interface():
    assert CODECS
    for name in CODECS:
        assert set(vars(load_codec(name))) >= NAMES


def test_unknown_codec_lists_the_known():
    with pytest.raises(UsageError) as raised:
        load_codec("soap")
    assert all(name in raised.value.fix for name in CODECS)

from typing import Any

import orjson
import pytest

from replay.errors import DivergenceError, FixtureError
from replay.script import ModelRequest, Player, apply_override, derive_lanes, parse_override
from replay.session import read_log
from tests.session.log_lines import begin, delta, finish, log_bytes

START = {"type": "block-start", "index": 0, "blockType": "tool-call"}


def served(entry: dict[str, Any], text: str) -> dict[str, Any]:
    lanes = derive_lanes([read_log(log_bytes(), "session.jsonl")])
    lanes = apply_override(lanes, parse_override(orjson.dumps([entry]), "replay.override.json"))
    return Player(lanes).open(ModelRequest(text=text)).entry.to_json()


def call(arguments: str) -> dict[str, Any]:
    return {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": arguments}


def test_a_reference_takes_the_last_match_of_the_live_request() -> None:
    entry = {
        "kind": "chunks",
        "chunks": [
            START,
            call('{"id":"{{fromRequest:job ([0-9a-f]{4})}}","again":"{{fromRequest:[0-9]{2}}}"}'),
        ],
    }
    found = served(entry, "job aaaa, job bbbb, 12 34")
    assert found["chunks"][1]["argumentsDelta"] == '{"id":"bbbb","again":"34"}'
    assert found["chunks"][0] == START


def test_references_stand_in_any_string_of_an_entry() -> None:
    end = {
        "type": "block-end",
        "index": 0,
        "block": {"type": "tool-call", "id": "{{fromRequest:a+}}", "name": "n", "arguments": ""},
    }
    entry = {"kind": "throw", "chunks": [START, end], "message": "no {{fromRequest:a+}}", "code": ""}
    found = served(entry, "aaa")
    assert (found["chunks"][1]["block"]["id"], found["message"]) == ("aaa", "no aaa")


def test_what_the_request_holds_is_not_searched_for_references_again() -> None:
    entry = {"kind": "chunks", "chunks": [START, call("{{fromRequest:\\{\\{.*\\}\\}}}")]}
    assert served(entry, "{{fromRequest:x}}")["chunks"][1]["argumentsDelta"] == "{{fromRequest:x}}"


def test_a_recorded_log_may_hold_references_packed_or_not() -> None:
    run = {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a ", "{{fromRequest:id-[0-9]+}}", " b"]}
    data = log_bytes(begin(), delta("{{fromRequest:id}} "), {"type": "text-chunks", "data": run}, finish())
    lanes = derive_lanes([read_log(data, "session.jsonl")])
    found = Player(lanes).open(ModelRequest(text="id-1 id-2"))
    assert "".join(chunk.get("text", "") for chunk in found.entry.expand()) == "id a id-2 b"
    assert "fromRequest" in repr(found.call.entry)


def test_a_request_without_a_match_has_left_the_recording() -> None:
    lines: list[dict[str, Any]] = []
    lanes = derive_lanes(
        [read_log(log_bytes(begin(), delta("{{fromRequest:id-([0-9]+)}}"), finish()), "session.jsonl")]
    )
    player = Player(lanes, lines.append)
    with pytest.raises(DivergenceError) as caught:
        player.open(ModelRequest(text="id-x"))
    assert str(caught.value) == (
        'session.jsonl:2: lane "parent": the 1st model call (turn 1, step 1) takes a value from the request by '
        '"id-([0-9]+)", and the request holds no match'
    )
    assert [line["kind"] for line in lines] == ["diverged"]
    assert player.unconsumed()


@pytest.mark.parametrize("text", ["{{fromRequest:(a+)+}}", "{{fromRequest:}}", "{{fromRequest:open"])
def test_a_refused_expression_in_a_log_fails_before_anything_is_served(text: str) -> None:
    lanes = derive_lanes([read_log(log_bytes(begin(), delta(text), finish()), "session.jsonl")])
    with pytest.raises(
        FixtureError, match=r'session.jsonl:2 \$.chunks\[1\].text: lane "parent", 1st model call'
    ):
        Player(lanes)

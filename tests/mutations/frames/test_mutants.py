"""Which mutants are made, in which order they are drawn, and what the named equivalents cover."""

from collections import Counter

from replay.transport.profile import profile
from replay.transport.transcript import Transcript, read_transcript, write_transcript
from tests.mutations.frames.equivalents import Equivalents, Frames, Named
from tests.mutations.frames.leaves import changed_values
from tests.mutations.frames.mutant import CHANGE, DROP, OPERATIONS, Mutants, draw

PLACE = "hello/codex.transcript.ndjson"
FILE = b"""\
{"type":"transcript_start","provider":"codex","protocol":"codex.app-server","version":"1","scenario":"hello"}
{"type":"expect_outbound","frame":{"id":1,"method":"initialize","params":{"clientInfo":{"name":"o"},"cwd":"<workspace>","nonce":"<any>"}}}
{"type":"emit_inbound","frame":{"id":1,"result":{"userAgent":"codex","home":null}}}
{"type":"emit_inbound","frame":{"method":"turn/started","params":{"turn":{"id":"t1","status":"inProgress"}}}}
{"type":"emit_inbound","frame":{"method":"turn/completed","params":{"turn":{"id":"t1","status":"completed"}}}}
{"type":"runtime_exit","status":"success"}
"""
ROW = Named("codex.app-server", "turn/*", "params.turn.*", "a reason", but="params.turn.id")


def transcript() -> Transcript:
    return read_transcript(
        FILE.replace(b"<any>", b"{{any}}").replace(b"<workspace>", b"{{workspace}}"), PLACE
    )


def mutants(*rows: Named) -> Mutants:
    return Mutants(PLACE, transcript(), profile("codex.app-server"), Equivalents(rows))


def test_every_mutant_is_another_transcript():
    original = write_transcript(transcript())
    made = mutants().made
    written = [write_transcript(mutant.applied(transcript())) for mutant in made]
    assert len(made) > 20 and {mutant.operation for mutant in made} == set(OPERATIONS)
    assert original not in written and len(set(written)) == len(written)


def test_longer_draw_begins_with_the_shorter_one():
    made = mutants().made
    few, all_of_them = draw(made, 7, "1"), draw(made, len(made) + 1, "1")
    assert few == all_of_them[:7] == draw(made, 7, "1")
    assert Counter(all_of_them) == Counter(made)
    assert few != draw(made, 7, "2")


def test_operations_come_in_turn_and_frames_too():
    drawn = draw(mutants().made, 12, "1")
    assert Counter(mutant.operation for mutant in drawn) == {CHANGE: 6, DROP: 2, "duplicate": 2, "swap": 2}
    first = [mutant.at for mutant in drawn if mutant.operation == CHANGE][:4]
    assert len(set(first)) == 4


def test_what_nobody_can_tell_is_not_made_and_counted():
    made = mutants()
    # clientInfo: itself gone, its name changed or gone. The exit: gone, or brought forward.
    assert made.skipped == {
        "ignored by the profile": 3,
        "placeholder": 1,
        "null left out": 1,
        "legal order of a race": 1,
        "the exit that closing brings": 2,
    }
    paths = {mutant.path for mutant in made.made}
    assert ("params", "cwd") in paths and ("params", "clientInfo", "name") not in paths


def test_leaf_becomes_what_the_place_holds_elsewhere():
    assert changed_values(("a",), "completed", {}) == ["failed", "completed~"]
    assert changed_values(("a",), "t1", {("a",): ["t1", "t2", "t3"]}) == ["t2", "t1~"]
    assert [changed_values(("a",), value, {}) for value in (True, 3, None)] == [[False], [4], ["~"]]


def test_named_row_covers_what_is_not_read():
    protocol = "codex.app-server"
    assert ROW.covers(protocol, "turn/started", CHANGE, "params.turn.status")
    assert ROW.covers(protocol, "turn/started", CHANGE, "params.turn.status!")
    for path in ("params.turn.id", "params.turn", "params", "method", ""):
        assert not ROW.covers(protocol, "turn/started", CHANGE, path)
    assert not ROW.covers(protocol, "item/started", CHANGE, "params.turn.status")
    assert not ROW.covers("acp.ndjson-jsonrpc", "turn/started", CHANGE, "params.turn.status")
    gone = ROW._replace(paths="params.turn.status!")
    assert gone.covers(protocol, "turn/started", CHANGE, "params.turn.status!")
    assert not gone.covers(protocol, "turn/started", CHANGE, "params.turn.status")
    whole = ROW._replace(paths="", but="", operations="drop")
    assert whole.covers(protocol, "turn/started", DROP, "")
    assert not whole.covers(protocol, "turn/started", "swap", "")


def test_named_mutants_are_marked_and_outbound_frames_never_are():
    named = {mutant.path for mutant in mutants(ROW).made if mutant.is_unread}
    assert named == {("params", "turn", "status")}
    everything = ROW._replace(kinds="*", paths="*", but="")
    assert not [mutant for mutant in mutants(everything).made if mutant.is_unread and mutant.line == 2]


def test_frames_that_may_cross_on_the_wire_are_played_and_explained_if_they_survive():
    [swap] = [mutant for mutant in mutants().made if mutant.named is not None]
    assert (swap.operation, swap.line, swap.is_unread) == ("swap", 2, False)


def test_answer_is_called_after_its_request():
    frames = Frames(transcript(), profile("codex.app-server"))
    assert [frames.kind(index) for index in range(5)] == [
        "initialize", "initialize.response", "turn/started", "turn/completed", "",
    ]  # fmt: skip

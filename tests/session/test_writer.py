from typing import Any

import pytest

from replay.errors import FixtureError
from replay.session import LogWriter, canonical_form, encode_line, encode_log, read_log
from tests.session.log_lines import HEADER, begin, delta, end, finish, user


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": ["x", "\udc00"]}, "$.a[1]: holds a lone surrogate"),
        ({"a": {"\ud800": 1}}, "$.a: the key '\\ud800' holds a lone surrogate"),
        ({"a": float("nan")}, "$.a: is not a finite number"),
        ({"a": [None, float("inf")]}, "$.a[1]: is not a finite number"),
        ({"a": 2**64}, "$.a: is a whole number beyond 64 bits"),
        ({"a": {1: 2}}, "$.a: the key 1 is no string"),
        ({"a": b"x"}, "$.a: is a bytes, which JSON cannot hold"),
        ({"a": {1, 2}}, "$.a: is a set, which JSON cannot hold"),
        ({"a": deep(300)}, "nests deeper than 254 levels"),
        ({"a": deep(100_000)}, "nests deeper than 254 levels"),
    ],
)
def test_a_value_that_json_cannot_hold_is_refused_by_name(value: dict[str, Any], message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        encode_line(value)
    assert message in str(caught.value)


def test_null_is_no_reason_to_refuse() -> None:
    assert encode_line({"a": None, "b": "null"}) == b'{"a":null,"b":"null"}\n'


def test_text_is_written_raw_and_keys_keep_their_order() -> None:
    assert encode_line({"z": "\u2028é\0", "a": 1}) == '{"z":"\u2028é\\u0000","a":1}\n'.encode()


def test_a_writer_holds_a_run_until_it_ends() -> None:
    writer = LogWriter()
    assert writer.append(HEADER) == encode_log(HEADER, [])
    assert writer.append(begin()).endswith(b"\n")
    assert [writer.append(delta(text)) for text in "abc"] == [b"", b"", b""]
    ended = writer.append(end("abc"))
    assert ended.startswith(
        b'{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b","c"]}}\n'
    )
    assert ended.endswith(b"}}}}\n")
    assert writer.flush() == b""


def test_a_refused_event_leaves_the_held_run_whole() -> None:
    writer = LogWriter()
    writer.append(delta("a"))
    with pytest.raises(FixtureError):
        writer.append(delta("\ud800"))
    assert writer.flush() == encode_line(delta("a"))


def test_the_caller_may_reuse_an_event_that_is_held() -> None:
    writer = LogWriter()
    event = delta("a")
    writer.append(event)
    event["data"]["chunk"]["text"] = "changed"
    assert writer.flush() == encode_line(delta("a"))


def test_canonical_form_packs_what_an_early_flush_left_apart() -> None:
    events = [begin(), delta("a"), delta("b"), delta("c"), end("abc"), finish(), user("thanks")]
    writer = LogWriter()
    written = encode_log(HEADER, []) + b"".join(writer.append(event) + writer.flush() for event in events)
    whole = LogWriter()
    packed = encode_log(HEADER, []) + b"".join(map(whole.append, events)) + whole.flush()
    assert written != packed
    assert canonical_form(read_log(written, "x")) == packed

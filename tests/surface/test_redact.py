"""The redactor: which personal values it replaces, where, and what it never touches."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.surface.redact import Redactor
from replay.surface.secrets import scan

KEY = "s3cr3tValue99"
MARTINA = Redactor(
    home=["/home/martina", "/data/homes/martina"],
    user="martina",
    host="zeus-laptop.corp.io",
    secrets={"MY_KEY": KEY},
)
ROOT = Redactor(home="/root", user="root", host="debian")
AT = "@"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/martina/x /home/martina", "/home/user/x /home/user"),
        ("/data/homes/martina/x", "/home/user/x"),
        ("file:///home/martina/a%20b", "file:///home/user/a%20b"),
        ("-home-martina-src and home-martina-src", "-home-user-src and home-user-src"),
        ("/home/martinas/x", "/home/user/x"),
        ("/Users/karla/x C:\\Users\\karla\\x", "/Users/user/x C:\\Users\\user\\x"),
        ("%2Fhome%2Fkarla%2Fx", "%2Fhome%2Fuser%2Fx"),
        ("/home/ubuntu/x /home/user/x", "/home/ubuntu/x /home/user/x"),
        ("martina, martina's MARTINA martinas xmartina", "user, user's MARTINA martinas xmartina"),
        (r'{"a":"x\\nmartina\\n"}', r'{"a":"x\\nuser\\n"}'),
        (f"martina{AT}zeus-laptop:~$", "user@host:~$"),
        ("zeus-laptop.corp.io zeus-laptop zeus-laptops", "host host zeus-laptops"),
        (f"m.muster{AT}acme.io and git@github.com", "user@example.com and git@github.com"),
        ("m.muster%40acme.io", "user%40example.com"),
        (f"curl -H {KEY}", "curl -H {{secret:MY_KEY}}"),
        (f"martina{KEY}martina", "user{{secret:MY_KEY}}user"),
        ("{{martina}} {{sessionId}}", "{{martina}} {{sessionId}}"),
        ("nothing here", "nothing here"),
        ("", ""),
    ],
)
def test_values_of_a_distinct_person(text, expected):
    assert MARTINA.redact_text(text)[0] == expected
    assert MARTINA.redact_text(expected) == (expected, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd /root/x at the root of /rooted /var/root", "cd /home/user/x at the root of /rooted /var/root"),
        ("-rw-r--r-- 1 root root 5 x\ndrwxr-xr-x  12 root staff  4 y", "-rw-r--r-- 1 user user 5 x\ndrwxr-xr-x  12 user staff  4 y"),
        ("uid=0(root) gid=0(root) groups=0(root)", "uid=0(user) gid=0(user) groups=0(user)"),
        ("USER=root LOGNAME=root SHELL=root", "USER=user LOGNAME=user SHELL=root"),
        ("root@debian:~# root@scope/package root@1.2", "user@host:~# root@scope/package root@1.2"),
        ("debian is a system; http://debian:80/x HOSTNAME=debian", "debian is a system; http://host:80/x HOSTNAME=host"),
        ('{"root":{"rootDir":"root"}}', '{"root":{"rootDir":"root"}}'),
        ("<root>/root/x</root>", "<root>/home/user/x</root>"),
    ],
)  # fmt: skip
def test_a_common_name_is_replaced_only_where_it_is_one(text, expected):
    assert ROOT.redact_text(text)[0] == expected
    assert ROOT.redact_text(expected) == (expected, {})


def test_counts_are_by_kind():
    counts = MARTINA.redact_text(f"/home/martina martina zeus-laptop x{AT}acme.io {KEY} /home/karla")[1]
    assert counts == {"home": 2, "user": 1, "host": 1, "e-mail": 1, "secret": 1}


def test_rows_of_nothing_personal_come_back_as_they_are():
    rows = [{"a": 1}, {"a": "/home/martina"}, {"b": [None, True, 1.5]}, "text", None]
    redacted = MARTINA.redact(rows)
    assert redacted.rows == [{"a": 1}, {"a": "/home/user"}, {"b": [None, True, 1.5]}, "text", None]
    assert [new is old for new, old in zip(redacted.rows, rows, strict=True)] == [
        True,
        False,
        True,
        True,
        True,
    ]
    assert rows[1] == {"a": "/home/martina"}


def test_keys_are_redacted_and_none_is_lost():
    rows = [{"/home/martina/a": 1, "/home/user/a": 2, "martina": {"martina": 3}}]
    assert MARTINA.redact(rows).rows == [{"/home/user/a": 1, "/home/user/a'": 2, "user": {"user": 3}}]


def test_json_in_a_string_is_redacted_at_any_depth():
    value = {"cmd": json.dumps({"env": json.dumps({"USER": "martina", "p": "\nmartina\n", "key": KEY})})}
    [row] = MARTINA.redact([value]).rows
    inner = json.loads(json.loads(row["cmd"])["env"])
    assert inner == {"USER": "user", "p": "\nuser\n", "key": "{{secret:MY_KEY}}"}


def packed(*texts):
    return {"type": "text-chunks", "data": {"turn": 1, "step": 1, "index": 0, "dt": [0] * (len(texts) - 1), "texts": list(texts)}}  # fmt: skip


def frame(text):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": "s", "update": update}}


def delta(text):
    chunk = {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": text}
    return {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([packed("in /ho", "me/mar", "tina/x", " martina")], [packed("in /home/user", "", "/x", " user")]),
        ([frame("mar"), {"id": 1}, frame("tina is")], [frame("user"), {"id": 1}, frame(" is")]),
        ([delta('{"p":"/home/'), packed("mar", "a", "b"), delta("martina")], [delta('{"p":"/home/user'), packed("mar", "a", "b"), delta("")]),
    ],
)  # fmt: skip
def test_a_value_in_pieces_is_replaced_where_it_begins(rows, expected):
    assert MARTINA.redact(rows).rows == expected
    assert MARTINA.redact(expected).rows == expected


def test_a_machine_that_knows_nothing_still_hides_people():
    text = f"/home/karla karla{AT}acme.io karla"
    assert Redactor().redact_text(text)[0] == "/home/user user@example.com karla"
    assert [item for item in scan(Redactor().redact_text(text)[0]) if item.is_personal] == []


@pytest.mark.parametrize("home", ["", "/", "relative", "/home/user"])
def test_a_home_that_is_none_replaces_nothing(home):
    assert Redactor(home=home).redact_text("a / b /etc relative /home/user/x") == (
        "a / b /etc relative /home/user/x",
        {},
    )


def test_two_machines_come_to_the_same():
    here = MARTINA.redact_text(f"/home/martina/p martina zeus-laptop martina{AT}acme.io")[0]
    mac = Redactor(home="/Users/karla", user="karla", host="k-mac-book.local")
    assert mac.redact_text(f"/Users/karla/p karla k-mac-book.local k{AT}karla.org")[0] == here


PARTS = st.sampled_from(
    ("martina", "/home/", "/home/martina", "karla", "zeus-laptop", ".corp.io", AT, "acme.io", KEY, "/", "-", " ", ".", "\\n", "\\",
     '"', "user", "host", "root", "/root", "debian", "~", "{{", "}}", "{{home}}", "%40", "%2Fhome%2F", "é", "\ud800", "\n", "=", "USER", "1", "(", ")",
     "-rw-r--r-- 1 "),
)  # fmt: skip
TEXTS = st.lists(PARTS, max_size=12).map("".join)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_redacting_twice_is_redacting_once(text):
    for redactor in (MARTINA, ROOT):
        once, _ = redactor.redact_text(text)
        assert redactor.redact_text(once) == (once, {})


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_pieces_come_to_what_their_joined_text_comes_to(pieces):
    [row] = MARTINA.redact([packed(*pieces)]).rows
    assert len(row["data"]["texts"]) == len(pieces)
    assert "".join(row["data"]["texts"]) == MARTINA.redact_text("".join(pieces))[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def shape(value):
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON, max_size=6))
def test_rows_keep_their_number_and_shape(rows):
    once = MARTINA.redact(rows).rows
    assert [shape(row) for row in once] == [shape(row) for row in rows]
    assert MARTINA.redact(once).rows == once

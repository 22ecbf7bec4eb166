"""Redaction of a run: the same on every machine, no ordinary word of it, and the redactor only where there is something."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.surface import Normaliser, Volatile
from replay.surface.personal import Redaction, is_home
from replay.surface.redact import Redactor

AT = "@"
MACHINES = (
    Redaction(homes=["/data/homes/martina"], user="martina", host="zeus-laptop.corp.io"),
    Redaction(homes=["/Users/karla"], user="karla", host="k-mac-book.local"),
    Redaction(homes=["/root"], user="root", host="vm"),
    Redaction(homes=["/nonexistent"], user="nobody", host="build"),
    Redaction(homes=["/home/dev"], user="dev", host="localhost"),
    Redaction(),
)
FACTS = (
    ("martina", "/data/homes/martina", "zeus-laptop"),
    ("karla", "/Users/karla", "k-mac-book.local"),
    ("root", "/root", "vm"),
    ("nobody", "/home/nobody", "build"),
    ("dev", "/home/user", "localhost"),
)
PROSE = (
    "The agent will build the root of the tree; dev builds run on localhost:80 as nobody, see agent/build.rs.",
    '{"root":{"agent":"dev"},"host":"localhost","user":"root","home":"/app"}',
    "Agents: root, dev, agent, build. http://localhost:3000/ npm run build -- --agent dev@1.2 ~root @agent/x @build run2(agent) //build:dev",
    "/usr/sbin/nologin /app/x /var/www/html /nonexistent/y vm.max_map_count",
)


def told(user: str, home: str, host: str) -> list:
    """What an agent tells of its machine, in the places in which any name is one."""
    listing = f"-rw-r--r-- 1 {user} {user} 5 x\nuid=0({user}) USER={user} HOSTNAME={host}"
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"{user}{AT}"}}
    rest = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": f"{host}: in {home}/x"},
    }
    return [
        {"method": "session/update", "params": {"sessionId": "s", "update": update}},
        {"method": "session/update", "params": {"sessionId": "s", "update": rest}},
        {"id": 1, "result": {"text": listing, "args": json.dumps({"path": f"{home}/a b"})}},
    ]


def test_what_an_agent_tells_of_its_machine_is_the_same_on_every_one() -> None:
    surfaces = [
        Normaliser(Volatile()).normalise("stdout", machine.redact(told(*facts)))
        for machine, facts in zip(MACHINES, FACTS, strict=False)
    ]
    assert json.loads(surfaces[0][2]["result"]["args"]) == {"path": "/home/user/a b"}
    same = json.dumps(surfaces[0])
    # No account of its own: what it says of /home/nobody is the home of a person.
    assert [json.dumps(surface) == same for surface in surfaces] == [True] * len(FACTS)


@pytest.mark.parametrize("machine", [*MACHINES, Redaction(homes=["/home/agent"], user="agent", host="agent")])
def test_ordinary_words_stay_on_every_machine(machine: Redaction) -> None:
    rows = [{"text": text} for text in PROSE]
    assert machine.redact(rows) == rows


@pytest.mark.parametrize("machine", MACHINES[3:5])
def test_prose_costs_no_redactor(machine: Redaction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redaction, "_made", None)
    rows = [{"sessionUpdate": "agent_message_chunk", "text": "x @scope/name a@b node_modules/@x/y"}]
    assert machine.redact(rows) == rows
    with pytest.raises(TypeError):
        machine.redact([f"x{AT}acme.io"])


def test_directories_of_the_run_stay_wherever_they_lie() -> None:
    cwd = "/data/homes/martina/.cache/martina/run-1/cwd"
    machine = Redaction(homes=["/data/homes/martina"], user="martina", host="zeus-laptop", kept=[cwd])
    machine_made = machine._made()
    rows = [f"in {cwd}/a", {"uri": f"file://{cwd}/b"}, "-data-homes-martina--cache-martina-run-1-cwd"]
    assert machine.redact(rows) == rows
    assert not machine._may_hold(rows)  # a machine of a person pays for its home as little as any other
    assert machine_made.redact(rows).rows == rows
    assert machine.redact([f"{cwd} {cwd}2", "martina"]) == [
        f"{cwd} /home/user/.cache/user/run-1/cwd2",
        "user",
    ]


def test_word_that_the_scenario_begins_with_is_no_name() -> None:
    def of(given: bytes) -> Redaction:
        return Redaction(user="martina", host="zebra", given=lambda: [b"x", given])

    rows = ["draw a zebra, martina", f"martina{AT}zebra", "/home/martina/x"]
    assert of(b"").redact(rows) == ["draw a host, user", f"user{AT}host", "/home/user/x"]
    assert of(b'{"text":"draw a zebra"}').redact(rows) == ["draw a zebra, user", *of(b"").redact(rows)[1:]]


def test_value_in_pieces_is_found() -> None:
    def packed(*texts: str) -> dict:
        return {"type": "text-chunks", "data": {"turn": 1, "step": 1, "index": 0, "dt": [0] * (len(texts) - 1), "texts": list(texts)}}  # fmt: skip

    rows = [packed("/ro", "ot/x ", "/ho", "me/ka", "rla")]
    assert Redaction().redact(rows) == [packed("/home/user", "/x ", "/ho", "me/user", "")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/data/homes/m", True), ("/Users/x", True), ("/var/lib/jenkins", True), ("/usr/sbin", False), ("/app", False),
     ("/nonexistent", False), ("/", False), ("", False), ("/var/www", False)],
)  # fmt: skip
def test_home_of_an_account_is_seldom_a_person_s(path: str, expected: bool) -> None:
    assert is_home(path, "jenkins") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("-rw-r--r-- 1 root root 5 x", "-rw-r--r-- 1 user user 5 x"), ("uid=0(root)", "uid=0(user)"), ("~root/x", "~user/x"),
     ("USER=root", "USER=user"), ("LOGNAME: root", "LOGNAME: user"), (f"root{AT}vm", f"user{AT}host"), ("HOSTNAME=vm", "HOSTNAME=host"),
     (f"user{AT}vm", f"user{AT}host"), ("http://vm:80/", "http://host:80/"), (f"root{AT}localhost", f"user{AT}localhost"), ("C:\\Users\\karla", "C:\\Users\\user"),
     ("%2Fhome%2Fkarla", "%2Fhome%2Fuser"), ("m.muster%40acme.io", "user%40example.com"), ("/root", "/home/user")],
)  # fmt: skip
def test_each_place_of_a_common_name_is_enough_to_look(text: str, expected: str) -> None:
    assert MACHINES[2].redact([{"x": text}, 1]) == [{"x": expected}, 1]


PARTS = st.sampled_from(
    ("martina", "/home/", "/data/homes/martina", "karla", "zeus-laptop", ".corp.io", AT, "acme.io", "/", "-", " ", ".", "\\n",
     '"', "user", "root", "/root", "vm", "~", "{{home}}", "%40", "%2Fhome%2F", "é", "\ud800", "\n", "=", "USER", "LOGNAME",
     "HOSTNAME", "1", "(", ")", "-rw-r--r-- 1 ", "//", "C:\\Users\\"),
)  # fmt: skip
TEXTS = st.lists(PARTS, max_size=12).map("".join)


@settings(max_examples=800, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_search_misses_nothing_that_the_redactor_replaces(texts: list[str]) -> None:
    for homes, user, host in (
        (["/data/homes/martina", "/root"], "martina", "zeus-laptop.corp.io"),
        (["/root"], "root", "vm"),
    ):
        redactor = Redactor(home=homes, user=user, host=host)
        rows = [{"text": text, "json": json.dumps({"text": text})} for text in texts]
        assert Redaction(homes=homes, user=user, host=host).redact(rows) == redactor.redact(rows).rows

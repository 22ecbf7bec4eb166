"""No text makes the scanner slow: fixtures come from elsewhere, and a hang of a check looks like a hang of its machine."""

import base64
import time

import pytest

from replay.surface.redact import Redactor
from replay.surface.secrets import Scanner
from replay.surface.secrets_kinds import KINDS

SIZE = 1 << 20
# Well under a second here, several times as long on a busy machine.
MOST_SECONDS = 4.0


def nested_base64() -> str:
    data = b"nothing to see here, move on\n" * 200
    while len(data) < SIZE:
        data = base64.b64encode(data)
    return data.decode()


def nested_json() -> str:
    text = '"x"'
    while len(text) < SIZE:
        text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


HOSTILE = {
    "one letter": "a" * SIZE,
    "one digit": "7" * SIZE,
    "one backslash": "\\" * SIZE,
    "one quote": '"' * SIZE,
    "blanks": " " * SIZE,
    "lines": "\n" * SIZE,
    "runs one short of the least": "aB3aB3aB3aB3aB3 " * (SIZE // 16),
    "random runs given to nothing": "Zq7xK2mP9sV4bN8tL3wR " * (SIZE // 21),
    "random runs given to a key": 'key="Zq7xK2mP9sV4bN8tL3wR"\n' * (SIZE // 27),
    "distinct hashes": "\n".join(f"{number:032x}a7" for number in range(SIZE // 35)),
    "a secret name over and over": "secret=password:token=" * (SIZE // 22),
    "at signs": "a@b" * (SIZE // 3),
    "at signs alone": "@" * SIZE,
    "dots and an at sign": "a." * (SIZE // 2) + "@" + "a." * 100,
    "homes": "/home/" * (SIZE // 6),
    "colons": "a://b:" * (SIZE // 6),
    "web tokens begun": "eyJ" * (SIZE // 3),
    "web tokens begun anew": "-eyJhbGciOiJIUzI1NiJ9." * (SIZE // 22),
    "keys begun": "-sk" * (SIZE // 3),
    "bearers": "bearer " * (SIZE // 7),
    "percent signs": "%41" * (SIZE // 3),
    "percent of percent": "%2541" * (SIZE // 5),
    "escapes": "\\u0041" * (SIZE // 6),
    "slashes": "\\/" * (SIZE // 2),
    "base64 in base64": nested_base64(),
    "JSON in JSON": nested_json(),
    "base64 in lines": ("QUJD" * 19 + "\\n") * (SIZE // 78),
    "findings": ("gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0" * 2 + " ") * (SIZE // 45),
    "deltas": '{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[],"texts":[' + '"a",' * (SIZE // 4) + '"a"]}}',
    "owners": "-rw-r--r-- 1 root " * (SIZE // 18),
    "names": "root@root~root/" * (SIZE // 15),
    "frames": '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}\n' * (SIZE // 140),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_scanned_and_redacted_in_time(name: str) -> None:
    text = HOSTILE[name]
    started = time.process_time()
    Scanner({"A_KEY": "Zq7xK2mP9sV4"}).scan(text)
    scanned = time.process_time()
    Redactor(home="/home/martina", user="martina", host="zeus-laptop").redact_text(text)
    Redactor(home="/root", user="root", host="debian").redact_text(text)
    redacted = time.process_time()
    print(f"{name}: scan {(scanned - started) * 1000:.0f} ms, redact {(redacted - scanned) * 1000:.0f} ms")
    assert redacted - started < MOST_SECONDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_triggers_of_a_kind_over_and_over(kind) -> None:
    started = time.process_time()
    for trigger in kind.triggers:
        for filler in ("", "a", "-", "A1", " ", ".", "0" * 40):
            Scanner().scan((trigger + filler) * (SIZE // 16 // len(trigger + filler)))
    spent = time.process_time() - started
    assert spent < MOST_SECONDS

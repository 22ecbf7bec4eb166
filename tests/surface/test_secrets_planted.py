"""What the scanner is for, counted: secrets planted in every place where a run leaves one, and what only looks so.

Everything is made here, by a fixed seed; no key is written out in the repository. Run with -s to see the table.
"""

import base64
import json
import random
import string
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

import replay
from replay.surface.secrets import Scanner

ROOT = Path(replay.__file__).parent.parent
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
URLSAFE = ALNUM + "-_"

CHANCE = random.Random(20261130)
OF_THE_SHELL = {"DEPLOY_PASSWORD": "Zebra quilt/42 \"n\" umbrella", "ACME_LICENSE": "licensed to Acme, seat 42 of 99"}  # fmt: skip


def some(alphabet: str, size: int) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(size))


def web_token() -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"' + some(ALNUM, 12).encode() + b'","iat":1700000000}')
    return (
        ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
        + "."
        + some(URLSAFE, 43)
    )


def private_key() -> str:
    body = "\n".join(some(ALNUM + "+/", 64) for _ in range(3))
    return f"-----BEGIN {'RSA '}PRIVATE KEY-----\n{body}\n-----END {'RSA '}PRIVATE KEY-----"


KINDS: dict[str, Callable[[], str]] = {
    "Anthropic": lambda: "sk-" + "ant-api03-" + some(URLSAFE, 93) + "AA",
    "OpenAI": lambda: "sk-" + "proj-" + some(ALNUM, 74) + "T3BlbkFJ" + some(ALNUM, 40),
    "Google": lambda: "AI" + "za" + some(URLSAFE, 34) + "q",
    "GitHub": lambda: "gh" + "p_" + some(ALNUM, 36),
    "GitLab": lambda: "gl" + "pat-" + some(ALNUM, 20),
    "Slack": lambda: "xo" + "xb-" + some(string.digits, 12) + "-" + some(string.digits, 12) + "-" + some(ALNUM, 24),
    "AWS id": lambda: "AK" + "IA" + some(UPPER, 16),
    "AWS secret": lambda: "aws_secret_access_key = " + some(ALNUM + "+/", 39) + "k",
    "Stripe": lambda: "sk" + "_live_" + some(ALNUM, 24),
    "npm": lambda: "np" + "m_" + some(ALNUM, 36),
    "PyPI": lambda: "pypi-" + "AgEIcHlwaS5vcmc" + some(URLSAFE, 150),
    "Hugging Face": lambda: "h" + "f_" + some(ALNUM, 34),
    "SendGrid": lambda: "S" + "G." + some(URLSAFE, 22) + "." + some(URLSAFE, 43),
    "Telegram": lambda: "1" + some(string.digits, 9) + ":A" + "A" + some(URLSAFE, 32) + "w",
    "web token": web_token,
    "private key": private_key,
    "URL": lambda: f"postgres://svc:{some(ALNUM, 14)}@db.internal.acme.io:5432/app",
    "bearer": lambda: "Authorization: Bearer " + some(ALNUM, 39) + "7",
    "by chance": lambda: CHANCE.choice(("ACME_API_TOKEN=", "client_secret: ", "--api-key ", "x-acme-key: ", "DB_PASSWORD=")) + some(ALNUM, 31) + "7",
    "by value": lambda: CHANCE.choice(list(OF_THE_SHELL.values())),
}  # fmt: skip


def row(kind: str, **data: object) -> str:
    return json.dumps({"type": kind, "data": {"turn": 1, "step": 1, **data}}, ensure_ascii=False)


def cut(text: str, count: int) -> list[str]:
    ends = sorted(CHANCE.sample(range(1, len(text)), count - 1))
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def in_prompt(secret: str) -> list[str]:
    return [row("user/message", role="user", content=[{"type": "text", "text": f"Use {secret} for it."}])]


def in_tool_output(secret: str) -> list[str]:
    return [row("tool/result", message={"content": [{"type": "text", "text": f"$ env\nPATH=/bin\n{secret}\nTERM=x\n"}]})]  # fmt: skip


def in_header(secret: str) -> list[str]:
    return [row("request/context", headers={"x-acme": secret.replace("\n", "\\n")})]


def in_url(secret: str) -> list[str]:
    return [row("tool/call", callId="c", name="fetch", arguments=json.dumps({"url": "https://x.example/?q=" + quote(secret, safe="")}))]  # fmt: skip


def in_base64(secret: str) -> list[str]:
    return [row("tool/result", message={"text": "data: " + base64.b64encode(f"key={secret}\n".encode()).decode()})]  # fmt: skip


def in_wrapped_base64(secret: str) -> list[str]:
    lines = base64.encodebytes(f"[default]\nregion = eu-north-1\n{secret}\noutput = json\n".encode()).decode()
    return [row("tool/result", message={"text": lines})]


def in_json_in_a_string(secret: str) -> list[str]:
    return [row("tool/call", callId="c", name="bash", arguments=json.dumps({"command": json.dumps({"k": secret})}))]  # fmt: skip


def behind_escapes(secret: str) -> list[str]:
    inner = "".join(f"\\u{ord(char):04x}" if at % 3 == 0 and ord(char) < 127 else json.dumps(char)[1:-1] for at, char in enumerate(secret))  # fmt: skip
    return [row("tool/call", callId="c", name="bash", arguments='{"k":"' + inner + '"}')]


def in_packed_deltas(secret: str) -> list[str]:
    pieces = ["The key is ", *cut(secret, 3), ", keep it."]
    return [row("text-chunks", index=0, dt=[0] * 4, texts=pieces)]


def in_chunk_rows(secret: str) -> list[str]:
    usage = row("assistant/chunk", chunk={"type": "usage", "usage": {}})
    rows = [row("assistant/chunk", chunk={"type": "block-start", "index": 0, "blockType": "tool-call"})]
    for piece in cut(json.dumps({"k": secret}), 3):
        rows += [row("assistant/chunk", chunk={"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": piece}), usage]  # fmt: skip
    return rows


PLACES = (
    in_prompt, in_tool_output, in_header, in_url, in_base64, in_wrapped_base64, in_json_in_a_string, behind_escapes,
    in_packed_deltas, in_chunk_rows,
)  # fmt: skip
HEADER = '{"type":"session","version":0,"id":"{{sessionId}}","createdAt":0}'


def planted() -> list[tuple[str, str, str, bytes]]:
    """(kind, place, secret, file) of each."""
    found = []
    for kind, make in KINDS.items():
        for place in PLACES:
            secret = make()
            rows = [HEADER, row("note", text="nothing here"), *place(secret), row("note", text="nor here")]
            found.append((kind, place.__name__, secret, ("\n".join(rows) + "\n").encode()))
    return found


def test_planted_secrets_are_found_and_never_told() -> None:
    everything = planted()
    assert len(everything) == 200 and len(KINDS) == 20
    scanner = Scanner(OF_THE_SHELL)
    hits: Counter[str] = Counter()
    missed: dict[str, list[str]] = {}
    for kind, place, secret, data in everything:
        found = [one for one in scanner.scan_file(data) if not one.is_personal]
        if found and all(one.line >= 3 and one.path for one in found):
            hits[kind] += 1
        else:
            missed.setdefault(kind, []).append(place)
        assert not any(part in repr(found) for part in secret.split() if len(part) >= 12)
    for kind in KINDS:
        print(
            f"{kind:14} found {hits[kind]:2} missed {len(missed.get(kind, []))} {', '.join(missed.get(kind, []))}"
        )
    assert missed == {}


def test_what_is_planted_by_value_is_found_by_nothing_else() -> None:
    files = [data for kind, _, _, data in planted() if kind == "by value"]
    assert [secret for data in files for secret in Scanner().scan_file(data)] == []


def uuid() -> str:
    return "-".join(some(HEX, size) for size in (8, 4, 4, 4, 12))


LOOKALIKES: dict[str, Callable[[], object]] = {
    "uuid": lambda: {"id": uuid(), "token": uuid(), "sessionKey": uuid()},
    "hash": lambda: {"sha256": some(HEX, 64), "request": "sha256:" + some(HEX, 64), "etag": f'W/"{some(HEX, 32)}"'},
    "commit": lambda: f"commit {some(HEX, 40)}\nAuthor: x\nindex {some(HEX, 7)}..{some(HEX, 7)} 100644",
    "integrity": lambda: {"integrity": "sha512-" + base64.b64encode(some(ALNUM, 64).encode()[::-1]).decode()},
    "tool call": lambda: {"callId": "call_" + some(ALNUM, 24), "id": "toolu_01" + some(ALNUM, 22), "tool_call_id": "call_00_" + some(ALNUM, 20)},
    "message": lambda: {"id": "chatcmpl-" + some(ALNUM, 29), "response": "resp_" + some(HEX, 48), "item_id": "rs_" + some(HEX, 50)},
    "signature": lambda: {"extras": {"signature": base64.b64encode(CHANCE.randbytes(300)).decode(), "thoughtSignature": base64.b64encode(CHANCE.randbytes(120)).decode(), "encrypted_content": "gAAAAA" + base64.urlsafe_b64encode(CHANCE.randbytes(240)).decode()}},
    "image": lambda: {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"\x89PNG\r\n\x1a\n" + CHANCE.randbytes(600)).decode()},
    "cache key": lambda: {"prompt_cache_key": some(ALNUM, 32), "cacheKey": some(ALNUM, 40), "idempotency-key": some(ALNUM, 30)},
    "cursor": lambda: {"nextPageToken": some(ALNUM, 40), "continuation_token": some(ALNUM, 44), "syncToken": some(ALNUM, 30)},
    "fingerprint": lambda: {"system_fingerprint": "fp_" + some(HEX, 10), "key_fingerprint": "SHA256:" + some(ALNUM, 43)},
    "usage": lambda: {"max_tokens": CHANCE.randrange(10**6), "total_tokens": 123456789012345678, "tokens": [CHANCE.randrange(10**9)]},
    "code": lambda: 'token = os.environ["ACME_TOKEN_V2"]\nsecret: process.env.CLIENT_SECRET_2024,\npassword = getPassword2("db")\napiKey=${API_KEY_1}\n',
    "names": lambda: {"apiKey": "my-team-api-key-for-testing-1", "secretName": "projects/demo-12/secrets/database-password", "authMethod": "oauth2-device-code-flow"},
    "placeholder": lambda: {"api_key": "{{secret:API_KEY}}", "token": "your_token_here_12345678", "password": "********************", "secret": "xxxxxxxxxxxxxxxxxxxx1A"},
    "module": lambda: f"node_modules/.pnpm/x@1.0.0_{some(HEX, 32)}/node_modules/x/dist/index.{some(HEX, 8)}.js",
    "prose": lambda: "Set the password: at least 8 characters, 1 digit! The token: see section 4.2; secret = shared.",
    "hook": lambda: "https://host:8080/path/to/v1beta/models?key={{key}}&alt=sse",
}  # fmt: skip


def test_what_only_looks_like_a_secret_is_none() -> None:
    wrong: Counter[tuple[str, str]] = Counter()
    total = 0
    for name, make in LOOKALIKES.items():
        for _ in range(40):
            value = make()
            lines = [
                row("note", value=value),
                row("note", text=json.dumps(value)),
                row("note", text=f"\n{value}\n"),
            ]
            for secret in Scanner().scan_file(("\n".join(lines) + "\n").encode()):
                wrong[name, secret.kind] += 1
            total += len(lines)
    print(
        f"{total} rows of {len(LOOKALIKES)} kinds that only look like a secret: {sum(wrong.values())} findings"
    )
    assert wrong == {}


@pytest.mark.parametrize("package", ["scenarios/acp", "tests/bad_inputs/base"])
def test_own_fixtures_hold_none(package: str) -> None:
    files = [path for path in sorted((ROOT / package).rglob("*")) if path.is_file()]
    assert len(files) >= 3
    found = {str(path.relative_to(ROOT)): secrets for path in files if (secrets := Scanner().scan_file(path.read_bytes()))}  # fmt: skip
    print(f"{package}: {len(files)} files, {len(found)} with a finding")
    assert found == {}

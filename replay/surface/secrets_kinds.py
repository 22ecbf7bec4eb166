"""What a credential or a piece of personal data looks like: one row a kind, and what is only its likeness.

A pattern runs only where its trigger stands, a plain text that it cannot match without. All of them are linear on
any text: every repetition is bounded, and none begins anew inside a run that it has just refused. They are compiled
at their first use, since most texts need none. A left border may be an escape of JSON (`\\n`) at any depth of strings.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

__all__ = [
    "ASSIGNED",
    "CREDENTIALS",
    "EMAIL",
    "HOME",
    "KINDS",
    "LEAST_RUN",
    "PASSWORD",
    "RUN",
    "Kind",
    "Trigger",
    "find_kind",
    "is_harmless",
    "is_placeholder",
    "is_triggered",
    "runs_of",
    "triggers_of",
]

LEAST_RUN: Final = 16
RUN: Final = re.compile(r"[A-Za-z0-9_+/-]{16,}={0,2}")
"""What may be a credential or base64: no shorter run is looked at."""


_RUN_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/-"
_ONLY_RUNS: Final = bytes(byte if byte in _RUN_BYTES else 0x20 for byte in range(256))
_B: Final = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf]))"
_D: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_END: Final = r"(?![A-Za-z0-9_-])"
ASSIGNED: Final = r"[\"'`\\]{0,12}\s{0,4}(?:=>|:=|[=:])\s{0,4}[\"'`\\]{0,12}"
"""What stands between a name and its value, whatever the language and however often it was escaped."""


class Kind(NamedTuple):
    """One row. `triggers`: the texts one of which every match holds, at most `lead` characters in.

    Unless a match has a trigger in a run of letters, digits, `_+/-` of LEAST_RUN or more, the row `is_loose`.
    """

    name: str
    pattern: str
    triggers: tuple[str, ...]
    lead: int = 0
    is_personal: bool = False
    is_loose: bool = False


def _kind(name: str, pattern: str, triggers: str, lead: int = 0, *, is_loose: bool = False) -> Kind:
    return Kind(name, pattern, tuple(triggers.split("|")), lead, False, is_loose)


HOME: Final = Kind(
    "home directory of a person",
    r"(?:(?<![A-Za-z0-9_.~-])|(?<=\\[nrtbf]))(?:/home/|/Users/|[A-Za-z]:\\{1,8}Users\\{1,8})"
    r"([A-Za-z][A-Za-z0-9._-]{0,40})(?![A-Za-z0-9{])",
    ("/home/", "/Users/", "\\Users\\"),
    10,
    True,
    True,
)
EMAIL: Final = Kind(
    "e-mail address",
    r"(?:(?<![A-Za-z0-9._%+/\\-])|(?<=\\[nrtbf]))([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})"
    r"@((?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,20})(?![A-Za-z0-9-])(?!\.[A-Za-z])",
    ("@",),
    66,
    True,
    True,
)

_URL: Final = _kind("password in a URL", r"(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'\\{}<>]{0,100}:(?![*xX.]{2,60}@)([^\s/@\"'\\{}<>$]{3,200})@(?=[A-Za-z0-9\[])", "://", 22, is_loose=True)  # fmt: skip

# The first row that matches names a text; special forms stand before general ones.
KINDS: Final = (
    _kind("Anthropic API key", _B + r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,200}", "sk-ant-"),
    _kind("OpenRouter API key", _D + r"sk-or-v1-[0-9a-f]{32,64}" + _END, "sk-or-"),
    _kind("LangSmith API key", _D + r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", "lsv2_"),
    _kind("OpenAI API key", _D + r"sk-(?!ant-)(?:(?=[A-Za-z0-9_-]{0,200}[0-9])(?=[A-Za-z0-9_-]{0,200}[A-Z])[A-Za-z0-9_-]{20,300}|[0-9a-f]{32,64}" + _END + ")", "sk-"),
    _kind("Google API key", _B + r"AIza[0-9A-Za-z_-]{35}" + _END, "AIza"),
    _kind("Google OAuth token", _B + r"(?:GOCSPX-[0-9A-Za-z_-]{20,60}|1//0[0-9A-Za-z_-]{30,120})", "GOCSPX-|1//0"),
    _kind("Google OAuth token", _B + r"ya29\.[0-9A-Za-z_-]{20,400}", "ya29.", is_loose=True),
    _kind("GitHub token", _B + r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})", "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_"),
    _kind("GitLab token", _B + r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|agent)-[A-Za-z0-9_-]{20,100}", "glpat-|gldt-|glrt-|glptt-|glsoat-|glcbt-|glft-|glagent-"),
    _kind("Slack token", _B + r"xox[abeoprs]-[0-9A-Za-z-]{11,300}", "xox"),
    _kind("Slack app token", _B + r"xapp-[0-9]-[A-Za-z0-9-]{20,200}", "xapp-"),
    _kind("Slack webhook", r"hooks\.slack\.com/services/T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40}", "/services/T", 15),
    _kind("Discord webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{15,21}/[A-Za-z0-9_-]{50,90}", "/api/webhooks/", 14),
    _kind("Telegram bot token", _D + r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _END, ":AA", 10, is_loose=True),
    _kind("AWS access key id", _B + r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "AKIA|ASIA"),
    _kind("AWS secret key", r"(?i:aws_?secret_?(?:access_?)?key|SecretAccessKey)" + ASSIGNED + r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", "ecret|ECRET", 8, is_loose=True),
    _kind("Azure storage key", r"AccountKey=[A-Za-z0-9+/]{60,88}={0,2}", "AccountKey=", is_loose=True),
    _kind("Azure client secret", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])", "Q~", 4, is_loose=True),
    _kind("Stripe key", _B + r"(?:[sr]k_(?:live|test)|whsec)_[0-9A-Za-z]{16,120}", "sk_live_|sk_test_|rk_live_|rk_test_|whsec_"),
    _kind("Square token", _B + r"sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{22,50}", "sq0"),
    _kind("Shopify token", _B + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shpat_|shpca_|shppa_|shpss_"),
    _kind("npm token", _B + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", "npm_"),
    _kind("PyPI token", _B + r"pypi-AgE[A-Za-z0-9_-]{40,300}", "pypi-AgE"),
    _kind("RubyGems token", _B + r"rubygems_[0-9a-f]{48}", "rubygems_"),
    _kind("Docker Hub token", _B + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}", "dckr_"),
    _kind("Hugging Face token", _B + r"hf_[A-Za-z0-9]{30,100}", "hf_"),
    _kind("Groq API key", _B + r"gsk_[A-Za-z0-9]{40,60}" + _END, "gsk_"),
    _kind("xAI API key", _B + r"xai-[A-Za-z0-9]{60,100}" + _END, "xai-"),
    _kind("Perplexity API key", _B + r"pplx-[A-Za-z0-9]{40,60}" + _END, "pplx-"),
    _kind("Replicate token", _B + r"r8_[A-Za-z0-9]{37,40}" + _END, "r8_"),
    _kind("SendGrid key", _B + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,60}", "SG.", is_loose=True),
    _kind("Mailgun key", _D + r"key-[0-9a-f]{32}" + _END, "key-"),
    _kind("Mailchimp key", _D + r"[0-9a-f]{32}-us[0-9]{1,2}" + _END, "-us", 32),
    _kind("Twilio key", _B + r"SK[0-9a-f]{32}" + _END, "SK"),
    _kind("DigitalOcean token", _B + r"do[opr]_v1_[0-9a-f]{64}", "dop_v1_|doo_v1_|dor_v1_"),
    _kind("Databricks token", _B + r"dapi[0-9a-f]{32}(?:-[0-9])?" + _END, "dapi"),
    _kind("Vault token", _B + r"hv[sbr]\.[A-Za-z0-9_-]{24,200}", "hvs.|hvb.|hvr.", is_loose=True),
    _kind("Doppler token", _B + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}", "dp.", is_loose=True),
    _kind("Terraform token", _D + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}", ".atlasv1.", 14, is_loose=True),
    _kind("Linear API key", _B + r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}", "lin_api_|lin_oauth_"),
    _kind("Notion token", _B + r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})" + _END, "ntn_|secret_"),
    _kind("Postman key", _B + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-"),
    _kind("New Relic key", _B + r"NRAK-[A-Z0-9]{27}", "NRAK-"),
    _kind("Grafana token", _B + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_eyJ[A-Za-z0-9+/]{32,400})", "glsa_|glc_eyJ"),
    _kind("Sentry token", _B + r"sntr(?:yu_[0-9a-f]{64}|ys_eyJ[A-Za-z0-9+/=_-]{40,400})", "sntryu_|sntrys_"),
    _kind("Atlassian token", _B + r"ATATT3[A-Za-z0-9_=-]{60,250}", "ATATT3"),
    _kind("Airtable token", _B + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat"),
    _kind("Supabase token", _B + r"sbp_[0-9a-f]{40}", "sbp_"),
    _kind("age secret key", _B + r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}", "AGE-SECRET-KEY-"),
    _kind("JSON web token", _D + r"eyJ[A-Za-z0-9_-]{13,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,1000}", "eyJ"),
    _kind("private key", r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\{1,16}[nrt]|[\s\"'+,\\]){1,24}(?:Proc-Type|Version|Comment|[A-Za-z0-9+/]{16})", "PRIVATE KEY", 40, is_loose=True),
    _URL,
    _kind("bearer token", r"(?i:(?<![a-z])bearer )(?=[A-Za-z0-9._~+/-]{0,200}[0-9])[A-Za-z0-9._~+/-]{20,4000}", "earer |EARER ", 1, is_loose=True),
    _kind("basic credentials", r"(?i:authorization)" + ASSIGNED + r"(?i:basic|token|digest|apikey) (?=[A-Za-z0-9._+/-]{0,400}[0-9A-Z])[A-Za-z0-9._+/-]{12,400}={0,2}", "uthorization|UTHORIZATION", 1, is_loose=True),
    _kind("API key header", r"(?i:x-(?:goog-)?api-key|(?<![a-z-])api-key)" + ASSIGNED + r"(?=[A-Za-z0-9._-]{0,200}[0-9])[A-Za-z0-9._-]{20,400}", "pi-key|pi-Key|PI-KEY", 10, is_loose=True),
    _kind("cookie", r"(?i:(?<![a-z])(?:set-)?cookie)[\"'\\]{0,12}\s{0,4}[:,]\s{0,4}[\"'\\]{0,12}[A-Za-z0-9_.-]{1,60}=(?=[A-Za-z0-9%._~+/-]{0,200}[0-9])(?=[A-Za-z0-9%._~+/-]{0,200}[A-Za-z])[A-Za-z0-9%._~+/-]{20,2000}", "ookie", 5, is_loose=True),
    HOME,
    EMAIL,
)  # fmt: skip

PASSWORD: Final = Kind(
    "password",
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|(?<![a-z])pass(?==))"
    + ASSIGNED
    + r"([^\s\"'`\\<>{}()\[\],;]{10,100})",
    ("pass", "PASS", "Pass", "pwd", "PWD", "ecret", "ECRET"),
    1,
    is_loose=True,
)
"""A name and a value with signs beside letters and digits, which no run of RUN holds: see is_password."""
CREDENTIALS: Final = tuple(kind for kind in (*KINDS, PASSWORD) if not kind.is_personal)

_NOBODY: Final = frozenset(
    ("user", "users", "username", "you", "me", "name", "alice", "bob", "example", "runner", "vscode", "node", "app",
     "ubuntu", "debian", "agent", "dev", "developer", "shared", "public", "linuxbrew", "sandbox", "coder", "test",
     "someone", "project", "work", "workspace", "jdoe", "johndoe", "janedoe"),
)  # fmt: skip
_NO_PASSWORD: Final = frozenset(
    (
        "pass",
        "passwd",
        "password",
        "pwd",
        "secret",
        "token",
        "user",
        "username",
        "postgres",
        "guest",
        "root",
        "admin",
        "test",
    ),
)
_FAKE: Final = re.compile(
    r"EXAMPLE|REDACTED|[xX]{6,}|\.\.\.|\*\*\*|(?:0{8,}|1234567890abcdef)|your[_-]|(?i:placeholder|dummy|changeme)|\{\{"
)
_FAKE_ADDRESSES: Final = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|internal)(?:\.[a-z]{2,3})?$|^example\.", re.IGNORECASE
)
_FILE_ENDINGS: Final = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "js", "ts", "py", "md", "json", "jsonl", "html")
)
_NO_PERSON: Final = frozenset(("git", "noreply", "no-reply", "user", "hello"))
# A text with more triggers than one in so many characters is cheaper to search as a whole.
_SPARSE: Final = 64
_LONGEST: Final = 600


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`pattern`, compiled once."""
    return re.compile(pattern)


def runs_of(text: str) -> list[str]:
    """The runs of RUN in `text`, each once and without its padding."""
    # Faster than the expression, whose places are seldom asked for.
    pieces = text.encode("utf-8", "surrogatepass").translate(_ONLY_RUNS).split()
    return [piece.decode() for piece in dict.fromkeys(piece for piece in pieces if len(piece) >= LEAST_RUN)]


type Trigger = tuple[str, int, Kind]
"""(text, place of the kind in its table, kind)."""


@cache
def triggers_of(kinds: tuple[Kind, ...]) -> tuple[list[Trigger], list[Trigger]]:
    """The triggers to look for in a text, and those that are enough to look for in its runs."""
    triggers = [(trigger, at, kind) for at, kind in enumerate(kinds) for trigger in kind.triggers]
    return [row for row in triggers if row[2].is_loose], [row for row in triggers if not row[2].is_loose]


def is_triggered(kinds: tuple[Kind, ...], text: str) -> bool:
    """Whether `text` holds a trigger of one of `kinds`: without any there is no match."""
    loose, tight = triggers_of(kinds)
    if any(trigger in text for trigger, _, _ in loose):
        return True
    runs = "\n".join(runs_of(text))
    return any(trigger in runs for trigger, _, _ in tight)


def find_kind(kind: Kind, text: str) -> Iterator[re.Match[str]]:
    """Matches of `kind` in `text`, harmless ones left out; some may be told twice, in no order."""
    for trigger in kind.triggers:
        at = text.find(trigger)
        if at < 0:
            continue
        for match in _matches(kind, trigger, text, at):
            if not is_harmless(kind, match):
                yield match


def _matches(kind: Kind, trigger: str, text: str, at: int) -> Iterator[re.Match[str]]:
    pattern = _compiled(kind.pattern)
    if text.count(trigger, at) * _SPARSE > len(text):
        yield from pattern.finditer(text)
        return
    while at >= 0:
        if kind.lead:
            match = pattern.search(text, max(0, at - kind.lead), at + _LONGEST)
        else:
            match = pattern.match(text, at)
        if match is not None:
            yield match
        at = text.find(trigger, at + 1)


def is_harmless(kind: Kind, match: re.Match[str]) -> bool:
    """Whether what a pattern found is nobody's: an example, a placeholder, an account that every machine has."""
    if kind is HOME:
        return match[1].lower().rstrip(".") in _NOBODY
    if kind is EMAIL:
        name, domain = match[1].lower(), match[2].lower()
        return (
            _FAKE_ADDRESSES.search(domain) is not None
            or domain.rpartition(".")[2] in _FILE_ENDINGS
            or name in _NO_PERSON
        )
    if kind is _URL and match[1].lower() in _NO_PASSWORD:
        return True
    return is_placeholder(match.group())


def is_placeholder(text: str) -> bool:
    """Whether `text` says of itself that it is no real credential."""
    return _FAKE.search(text) is not None

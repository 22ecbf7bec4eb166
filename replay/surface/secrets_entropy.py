"""Credentials that no table knows: a value that only chance makes, given to a name that says it is a secret.

Chance alone proves nothing in a fixture, which is full of ids, hashes, images and signatures; so the name decides
whether a value is looked at, and how strictly. `key` alone is weak, since caches and maps have keys as well.
"""

import re
from enum import IntEnum
from math import log2
from typing import Final

from replay.surface.secrets_kinds import LEAST_RUN, is_placeholder

__all__ = ["Weight", "find_assigned", "is_password", "is_random", "name_weight"]

_LOOK_BACK: Final = 96
_QUOTES: Final = "\"'`\\"
_SPACES: Final = " \t\n"
_SIGNS: Final = "=:>"
_ESCAPED: Final = ("n", "r", "t")
_NAME_CHARS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORDLIKE: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
_CHANGE: Final = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")

_SECRETS: Final = frozenset(
    ("secret", "secrets", "password", "passwd", "passphrase", "passcode", "pwd", "pass", "credential", "credentials",
     "apikey", "authtoken", "accesstoken", "token", "pat", "auth", "authorization", "bearer", "jwt", "sas", "apitoken",
     "secretkey", "accesskey", "privatekey"),
)  # fmt: skip
# Said after the name's own word: "token_value", "SECRET_BASE64".
_TRAILING: Final = frozenset(
    ("value", "string", "base", "default", "raw", "text", "plain", "v", "live", "prod")
)
# A token or a key of these is a place in a list, a word of a text, an entry of a map.
_NO_SECRET: Final = frozenset(
    ("page", "next", "continuation", "cursor", "sync", "eos", "bos", "pad", "stop", "start", "end", "prev", "previous",
     "cache", "public", "primary", "foreign", "sort", "partition", "group", "idempotency", "object", "row", "map",
     "index", "unique", "translation", "lookup", "hash", "dedup", "dedupe", "composite", "natural", "candidate", "id",
     "react", "query", "host", "progress", "known", "fingerprint", "resume", "subject"),
)  # fmt: skip
_KEYS_OF: Final = frozenset(
    ("api", "access", "secret", "private", "auth", "account", "master", "signing", "encryption", "service", "license",
     "admin", "deploy", "shared", "webhook", "app", "application", "ssh", "client", "session", "storage", "subscription"),
)  # fmt: skip
_LEAST_PASSWORD_ENTROPY: Final = 3.0


class Weight(IntEnum):
    """How much a name says that its value is a secret."""

    NONE = 0
    WEAK = 1
    STRONG = 2


def name_weight(name: str) -> Weight:
    """What the name of a variable, a field or a header says of its value."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1] in _TRAILING:
        words.pop()
    if not words:
        return Weight.NONE
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if before in _NO_SECRET:
        return Weight.NONE
    if last in _SECRETS:
        return Weight.STRONG
    if last in ("key", "keys"):
        # OPENAI_API_KEY and PROVIDER_KEY; a cache_key is none, and "key" alone may be anything.
        return Weight.STRONG if before in _KEYS_OF else Weight.WEAK
    return Weight.NONE


def is_random(value: str, weight: Weight = Weight.STRONG) -> bool:
    """Whether `value` comes from chance rather than from a language, strictly so if its name says little."""
    if len(value) < (LEAST_RUN if weight is Weight.STRONG else 24) or _UUID.fullmatch(value):
        return False
    digits = sum(map(str.isdigit, value))
    if not digits or digits == len(value) or is_placeholder(value):
        return False
    if _HEX.fullmatch(value):
        return weight is Weight.STRONG and len(value) >= 24 and _entropy(value) >= 2.8
    if _is_worded(value):
        return False
    if weight is Weight.STRONG:
        return _entropy(value) >= 3.0
    return value != value.lower() and value != value.upper() and _entropy(value) >= 3.8


def _is_worded(value: str) -> bool:
    """Whether `value` is made of words: they cover half of it, and capitals and digits change seldom."""
    worded = sum(map(len, _WORDLIKE.findall(value)))
    changes = len(_CHANGE.findall(value))
    # Words in capitals-and-small change at each capital, chance more often still.
    is_mixed = value != value.lower() and value != value.upper()
    often = 0.44 if is_mixed else 0.2
    return changes < 0.125 * len(value) or (worded > 0.5 * len(value) and changes < often * len(value))


def _entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in map(text.count, set(text)))


def find_assigned(text: str, start: int, end: int) -> int:
    """Where the name begins that text[start:end] is given to if that is a secret, else -1.

    Given by `name = value` in any language or JSON, `--name value`, or as the second of a pair of strings.
    """
    first = max(0, start - _LOOK_BACK)
    before = text[first:start]
    left = before.rstrip(_QUOTES)
    is_quoted = len(left) < len(before)
    left = left.rstrip(_SPACES)
    name_end = left.rstrip(_SIGNS)
    is_given = len(name_end) < len(left)
    if not is_given:
        name_end = left.removesuffix(",")
    name_end = name_end.rstrip(_SPACES).rstrip(_QUOTES)
    outside = name_end.rstrip(_NAME_CHARS)
    # The letter of an escape is no part of what stands behind it.
    name = name_end[len(outside) + (outside.endswith("\\") and name_end[len(outside) :][:1] in _ESCAPED) :]
    is_pair = is_quoted and left.endswith(('",', "',"))
    if len(name) < 2 or not (is_given or is_pair or (name.startswith("--") and name_end != before)):
        return -1
    weight = name_weight(name)
    if weight is Weight.NONE or not is_random(text[start:end].rstrip("="), weight):
        return -1
    return first + len(name_end) - len(name)


def is_password(value: str) -> bool:
    """Whether a value that was given to a password's name is one, and not code that reads it."""
    # getenv("X"), ${X}, $X, %s, request.form.x
    if is_placeholder(value) or re.search(r"\$[A-Za-z{(]|%[sd(]|://", value) or value.startswith(("/", "./")):
        return False
    kinds = (
        str.islower,
        str.isupper,
        str.isdigit,
        lambda char: not char.isalnum() and char not in "._-:/&?=",
    )
    held = [any(map(is_kind, value)) for is_kind in kinds]
    if sum(held) < 3 or not held[2] or not held[3]:
        return False
    return not _is_worded(value) and _entropy(value) >= _LEAST_PASSWORD_ENTROPY

"""Secrets and personal data in a text, found by their shape; a finding says where and what kind, never the text.

The patterns are narrow on purpose: a check that cries wolf gets switched off. Placeholders that documentation uses
for a key, example domains and the home directories of nobody in particular are no findings.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Secret", "scan"]


class Secret(NamedTuple):
    """Something that must not be committed. `line` and `column` count from 1, the column in characters."""

    kind: str
    line: int
    column: int
    is_personal: bool
    """A name or an address of a person: worth a warning where a key is worth a stop."""


class _Kind(NamedTuple):
    name: str
    pattern: str
    trigger: str
    """A text without which the pattern cannot match; a plain search for it is much cheaper."""
    is_personal: bool = False


_B = r"(?<![A-Za-z0-9_])"
_KINDS: Final = (
    _Kind("Anthropic API key", _B + r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}", "sk-ant-"),
    _Kind("OpenAI API key", r"(?<![A-Za-z0-9_-])sk-(?!ant-)(?=[A-Za-z0-9_-]*[0-9])(?=[A-Za-z0-9_-]*[A-Z])[A-Za-z0-9_-]{20,}", "sk-"),
    _Kind("Google API key", _B + r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", "AIza"),
    _Kind("Google OAuth token", _B + r"(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})", "ya29.|GOCSPX-"),
    _Kind("GitHub token", _B + r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})", "gh|github_pat_"),
    _Kind("GitLab token", _B + r"glpat-[A-Za-z0-9_-]{20,}", "glpat-"),
    _Kind("Slack token", _B + r"xox[abeoprs]-[0-9A-Za-z-]{10,}", "xox"),
    _Kind("Slack webhook", r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}", "hooks.slack.com"),
    _Kind("AWS access key id", _B + r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "AKIA|ASIA"),
    _Kind("AWS secret key", r"(?i:aws_?secret_?(?:access_?)?key)[\"'\\]{0,4}\s{0,4}[=:]\s{0,4}[\"'\\]{0,4}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", "ecret"),
    _Kind("Stripe key", _B + r"(?:[sr]k_(?:live|test)|whsec)_[0-9A-Za-z]{16,}", "k_live_|k_test_|whsec_"),
    _Kind("npm token", _B + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", "npm_"),
    _Kind("PyPI token", _B + r"pypi-AgE[A-Za-z0-9_-]{40,}", "pypi-AgE"),
    _Kind("Hugging Face token", _B + r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _Kind("JSON web token", _B + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", "eyJ"),
    _Kind("private key", r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----", "PRIVATE KEY"),
    _Kind("password in a URL", r"(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'\\{}<>]{1,100}:(?![*xX.]{2,}@)[^\s/@\"'\\{}<>$]{3,200}@(?=[A-Za-z0-9\[])", "://"),
    _Kind("bearer token", r"(?i:(?<![a-z])bearer )(?=[A-Za-z0-9._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}", "earer "),
    _Kind("basic credentials", r"(?i:authorization)[\"'\\]{0,4}\s{0,4}[=:]\s{0,4}[\"'\\]{0,4}(?i:basic) [A-Za-z0-9+/]{12,}={0,2}", "asic "),
    _Kind("API key header", r"(?i:x-(?:goog-)?api-key)[\"'\\]{0,4}\s{0,4}[=:]\s{0,4}[\"'\\]{0,4}(?=[A-Za-z0-9._-]*[0-9])[A-Za-z0-9._-]{20,}", "pi-"),
    _Kind("home directory of a person", r"(?<![A-Za-z0-9_.~-])(?:/home/|/Users/|[A-Za-z]:\\{1,8}Users\\{1,8})([A-Za-z][A-Za-z0-9._-]{0,40})(?![A-Za-z0-9{])", "/home/|/Users/|\\Users\\", True),
    _Kind("e-mail address", r"(?<![A-Za-z0-9._%+/-])([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,20})(?![A-Za-z0-9-])(?!\.[A-Za-z])", "@", True),
)  # fmt: skip

_COMPILED: Final = tuple((kind, re.compile(kind.pattern), tuple(kind.trigger.split("|"))) for kind in _KINDS)
_NOBODY: Final = frozenset(
    ("user", "users", "username", "you", "me", "name", "alice", "bob", "example", "runner", "vscode", "node", "app",
     "ubuntu", "debian", "agent", "dev", "developer", "shared", "public", "linuxbrew", "sandbox", "coder", "test",
     "someone", "project", "work", "workspace", "jdoe", "johndoe", "janedoe"),
)  # fmt: skip
_FAKE: Final = re.compile(
    r"EXAMPLE|REDACTED|[xX]{6,}|\.\.\.|(?:0{8,}|1234567890abcdef)|your[_-]|(?i:placeholder)"
)
_FAKE_ADDRESSES: Final = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|internal)(?:\.[a-z]{2,3})?$|^example\.", re.IGNORECASE
)
_FILE_ENDINGS: Final = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "js", "ts", "py", "md", "json", "jsonl", "html")
)


def scan(text: str) -> list[Secret]:
    """All secrets in `text`, in order. Overlapping findings of two kinds count once, as the first of the table."""
    found: list[tuple[int, int, _Kind]] = []
    for kind, pattern, triggers in _COMPILED:
        if not any(trigger in text for trigger in triggers):
            continue
        for match in pattern.finditer(text):
            if not _is_harmless(kind, match) and not any(
                start < match.end() and match.start() < end for start, end, _ in found
            ):
                found.append((match.start(), match.end(), kind))
    found.sort(key=lambda item: item[0])
    return list(_placed(text, found))


def _placed(text: str, found: list[tuple[int, int, _Kind]]) -> Iterator[Secret]:
    line, line_start, at = 1, 0, 0
    for start, _, kind in found:
        line += text.count("\n", at, start)
        line_start = text.rfind("\n", 0, start) + 1
        at = start
        yield Secret(kind.name, line, start - line_start + 1, kind.is_personal)


def _is_harmless(kind: _Kind, match: re.Match[str]) -> bool:
    if kind.name == "home directory of a person":
        return match[1].lower().rstrip(".") in _NOBODY
    if kind.name == "e-mail address":
        name, domain = match[1].lower(), match[2].lower()
        return (
            _FAKE_ADDRESSES.search(domain) is not None
            or domain.rpartition(".")[2] in _FILE_ENDINGS
            or name in ("git", "noreply", "no-reply", "user", "hello")
        )
    return _FAKE.search(match.group()) is not None

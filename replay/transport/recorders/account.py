"""What a provider says of an account: by protocol, which fields hold it and what stands in their place.

Keys, types and the number of values stay, so that an orchestrator that reads a plan or a limit still finds one. An
identity gets the same stand-in wherever it occurs, in texts too. Null is no value and stays.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from replay.surface.names import is_uuid
from replay.surface.redact import EMAIL_STAND_IN, HOST_STAND_IN
from replay.transport.transcript import Frame

__all__ = ["RULES", "Accounts", "FieldRule"]

_LEAST_LEARNED: Final = 8
_STAND_IN: Final = re.compile(r"account-[0-9]{1,9}|00000000-0000-4000-8000-[0-9]{12}")


class FieldRule(NamedTuple):
    """Fields of one meaning. labels: beginnings of the labels of their entries, () for all.

    stand_ins: by the type of the value; a value of another type stays. identity: the stand-in is made from this word
    and learned, so that the value is replaced wherever it stands.
    """

    name: str
    reason: str
    keys: frozenset[str]
    labels: tuple[str, ...] = ()
    stand_ins: Mapping[type, Any] = {}
    identity: str = ""


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON: Final = (
    FieldRule(
        "secret field",
        "it opens something, whatever it looks like",
        _keys(
            "apiKey api_key accessToken access_token authToken auth_token refreshToken refresh_token idToken id_token "
            "oauthToken authorization clientSecret client_secret password"
        ),
        stand_ins={str: "redacted"},
    ),
    FieldRule(
        "e-mail", "it is a person's", _keys("email emailAddress userEmail"), stand_ins={str: EMAIL_STAND_IN}
    ),
    FieldRule(
        "account",
        "it tells whose account this is",
        _keys(
            "accountId account_id accountUuid account_uuid chatgptAccountId organizationId organization_id "
            "organizationUuid organization_uuid orgId org_id deviceId device_id installationId installation_id"
        ),
        identity="account",
    ),
    FieldRule(
        "account",
        "it tells whose account this is",
        _keys("organizationName organization_name accountName displayOrganization"),
        stand_ins={str: "Example"},
    ),
)
_ACCOUNTS: Final = ("account/", "getAuthStatus")

RULES: Final[Mapping[str, tuple[FieldRule, ...]]] = {
    "acp.ndjson-jsonrpc": _COMMON,
    "claude-agent-sdk.query": (
        *_COMMON,
        FieldRule(
            "limits",
            "how much of its plan an account has used",
            _keys(
                "resetsAt overageResetsAt utilization surpassedThreshold isUsingOverage overageDisabledReason"
            ),
            ("rate_limit_event",),
            {int: 0, float: 0.0, bool: False, str: "redacted"},
        ),
        FieldRule(
            "account",
            "it tells whose account this is",
            _keys("organization subscriptionType"),
            ("query.opened",),
            {str: "redacted"},
        ),
    ),
    "codex.app-server": (
        *_COMMON,
        FieldRule(
            "limits",
            "how much of its plan an account has used",
            _keys(
                "primary secondary credits individualLimit spendControlReached rateLimitReachedType limitName"
            ),
            _ACCOUNTS,
            {dict: None, str: None, int: None, float: None, bool: None, list: None},
        ),
        FieldRule(
            "limits", "it lists an account's limits", _keys("rateLimitsByLimitId"), _ACCOUNTS, {dict: {}}
        ),
        FieldRule("plan", "what an account pays for", _keys("planType"), stand_ins={str: "unknown"}),
        FieldRule(
            "host", "it is the machine's name", _keys("serverName"), ("remoteControl/",), {str: HOST_STAND_IN}
        ),
    ),
    "cursor-agent-sdk.local": _COMMON,
    "opencode-sdk.sse": (
        *_COMMON,
        FieldRule(
            "secret field",
            "a provider's key",
            _keys("key"),
            ("provider.", "config.", "auth."),
            {str: "redacted"},
        ),
    ),
}


class Accounts:
    """Applies a protocol's rules. learned: value -> stand-in of each identity, once all frames were seen."""

    def __init__(self, protocol: str) -> None:
        self.counts: dict[str, int] = {}
        self.learned: dict[str, str] = {}
        self._rules = RULES.get(protocol, _COMMON)
        self._made: dict[str, int] = {}

    def redact(self, label: str, frame: Frame) -> Frame:
        """The frame without an account's data."""
        rules = [rule for rule in self._rules if not rule.labels or label.startswith(rule.labels)]
        by_key = {key: rule for rule in rules for key in rule.keys}
        out: Frame = self._walk(frame, by_key)
        return out

    def _walk(self, value: Any, rules: Mapping[str, FieldRule]) -> Any:
        if isinstance(value, list):
            return [self._walk(each, rules) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: self._put(rules[key], each, rules) if key in rules else self._walk(each, rules)
            for key, each in value.items()
        }

    def _put(self, rule: FieldRule, value: Any, rules: Mapping[str, FieldRule]) -> Any:
        if rule.identity and isinstance(value, str) and value and not _STAND_IN.fullmatch(value):
            stand_in = self._identity(rule.identity, value)
        elif type(value) in rule.stand_ins and value != "":
            stand_in = rule.stand_ins[type(value)]
        else:
            return self._walk(value, rules)
        if stand_in != value:
            self.counts[rule.name] = self.counts.get(rule.name, 0) + 1
        return stand_in

    def _identity(self, word: str, value: str) -> str:
        known = self.learned.get(value)
        if known is None:
            number = self._made[word] = self._made.get(word, 0) + 1
            known = f"00000000-0000-4000-8000-{number:012d}" if is_uuid(value) else f"{word}-{number}"
            self.learned[value] = known
        return known

    def texts(self) -> dict[str, str]:
        """The identities that are long enough to be told from prose wherever they stand."""
        return {value: text for value, text in self.learned.items() if len(value) >= _LEAST_LEARNED}

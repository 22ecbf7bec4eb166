"""Accepted deviations: what matches, what no longer occurs, what is refused."""

from typing import Any

import pytest

from replay.acp.deviations import Deviations
from replay.errors import UsageError


def one(path: str) -> Deviations:
    return Deviations([{"method": "session/update", "path": path, "reason": "old client"}])


@pytest.mark.parametrize(
    ("pattern", "path", "accepted"),
    [
        ("$.params.a", "$.params.a", True),
        ("$.params.a", "$.params.ab", False),
        ("$.params.a", "$.params.a.b", False),
        ("$.params.a[*].b", "$.params.a[12].b", True),
        ("$.params.a[*].b", "$.params.a[12].c", False),
        ("$.params.a[*]", "$.params.a[1][2]", False),
        ("$.params.a[0].b", "$.params.a[1].b", False),
        ("$.params.a.*", "$.params.a", True),
        ("$.params.a.*", "$.params.a.b[3]", True),
        ("$.params.a.*", "$.params.a[3]", True),
        ("$.params.a.*", "$.params.ab", False),
        ("$.params.a[*].*", "$.params.a[3].x.y", True),
    ],
)
def test_patterns(pattern: str, path: str, accepted: bool) -> None:
    assert one(pattern).accept("session/update", path) is accepted


def test_method_must_match() -> None:
    assert not one("$.a").accept("session/prompt", "$.a")


def test_deviation_that_no_longer_occurs_is_told_with_its_reason() -> None:
    deviations = one("$.a")
    (sentence,) = deviations.unmet()
    assert "session/update" in sentence and "$.a" in sentence and "old client" in sentence
    deviations.accept("session/update", "$.a")
    assert deviations.unmet() == []


@pytest.mark.parametrize(
    "listed",
    [
        {},
        {"method": "m", "path": "$"},
        {"method": "m", "path": "$", "reason": ""},
        {"method": "m", "path": 3, "reason": "r"},
        {"method": "m", "path": "$", "reason": "r", "more": 1},
    ],
)
def test_malformed_deviation_is_refused(listed: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="accepted deviation 0"):
        Deviations([listed])

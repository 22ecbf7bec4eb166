"""A suite's rules: what is refused, with the sentence that says why."""

import pytest

from replay.errors import UsageError
from replay.surface import Normaliser, Rule, Volatile
from replay.surface.rules import unsafe_because


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "it is empty"),
        ("a" * 501, "longer than 500"),
        ("(a", "no regular expression"),
        ("a*", "matches the empty text"),
        ("(a+)+b", "repeated group"),
        ("(a|b)*c", "repeated group"),
        ("((a?b+))*c", "repeated group"),
        ("(a+){3}c", "repeated group"),
        ("(a*?)+?c", "repeated group"),
        ("(?:a{1,9}){2,}c", "repeated group"),
        (r"(a)\1", "refers back"),
        (r"(?P<x>a)(?P=x)", "refers back"),
        ("a+b+c+d+e+", "more than 4 unbounded"),
    ],
)
def test_an_unsafe_pattern_is_refused(pattern, reason):
    assert reason in unsafe_because(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"took \d+ ms", "(?i)monday", "(?:ab)+c", "[(a+)+]x", r"\(a+\)+", "a{2,5}", "(foo|bar) baz", "x(?!y)", r"\d{1,3}(?:,\d{3})*z"],
)  # fmt: skip
def test_an_ordinary_pattern_is_accepted(pattern):
    assert unsafe_because(pattern) == ""


@pytest.mark.parametrize(
    ("rule", "sentence", "path"),
    [
        (Rule("a+", "X", "r"), "a placeholder is written {{name}}, not 'X'", "$.rules[1].placeholder"),
        (
            Rule("a+", "{{cwd}}", "r"),
            "{{cwd}} is a placeholder of the normaliser's own",
            "$.rules[1].placeholder",
        ),
        (Rule("a+", "{{x}}", " "), "the rule 'a+' has no reason", "$.rules[1].reason"),
        (Rule("(a+)+", "{{x}}", "r"), "a repeated group in it holds a repeat", "$.rules[1].pattern"),
    ],
)
def test_a_rule_that_is_refused_is_named_by_its_place(rule, sentence, path):
    with pytest.raises(UsageError) as caught:
        Normaliser(Volatile(), [Rule("fine", "{{fine}}", "r"), rule])
    assert sentence in caught.value.what
    assert caught.value.where.path == path

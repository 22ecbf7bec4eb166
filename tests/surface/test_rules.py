"""A suite's rules: what is refused, with the sentence that says why."""

import pytest

from replay.errors import UsageError
from replay.surface import Normaliser, Rule, Volatile


def normalise(pattern, text):
    return Normaliser(Volatile(), [Rule(pattern, "{{x}}", "r")]).normalise("stdout", [text])


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "is empty"),
        ("a*", "can match the empty text"),
        ("(a+)+b", "repeats the group"),
        ("(a|b)*c", "repeats the group"),
        (r"(a)\1", "no back-references"),
        ("a*a*a*a*b", "has 3 unbounded repeats"),
        ("(?i)monday", 'no other "(?"'),
    ],
)
def test_an_unsafe_pattern_is_refused(pattern, reason):
    with pytest.raises(UsageError) as caught:
        normalise(pattern, "x")
    assert reason in caught.value.what


@pytest.mark.parametrize(
    ("pattern", "text", "normalised"),
    [
        (r"took \d+ ms", "it took 12 ms", "it {{x}}"),
        ("[Mm]onday", "a monday", "a {{x}}"),
        ("[(a+)+]x", "(x", "{{x}}"),
        (r"\(a+\)+", "(aa))", "{{x}}"),
        ("(foo|bar) baz", "bar baz", "{{x}}"),
        (r"\d{1,2}:\d\d(:\d\d)?", "at 9:30 and 10:30:01", "at {{x}} and {{x}}"),
        ("x+", "{{xx}} xx", "{{xx}} {{x}}"),
    ],
)
def test_what_a_pattern_matches_becomes_its_placeholder(pattern, text, normalised):
    assert normalise(pattern, text) == [normalised]


def test_a_pattern_that_could_take_too_long_on_a_text_is_named_instead_of_tried():
    with pytest.raises(
        UsageError, match="could take more than 100000000 steps on a text of 3000000 characters"
    ):
        normalise("[a-z]+X", "a" * 3_000_000)


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
        (Rule("(a+)+", "{{x}}", "r"), "repeats the group at character 1", "$.rules[1].pattern"),
    ],
)
def test_a_rule_that_is_refused_is_named_by_its_place(rule, sentence, path):
    with pytest.raises(UsageError) as caught:
        Normaliser(Volatile(), [Rule("fine", "{{fine}}", "r"), rule])
    assert sentence in caught.value.what
    assert caught.value.where.path == path

"""Expressions that nobody vouches for: refused by name, bounded, and else what they are in Python."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.pattern import MAX_PATTERN_LENGTH, PatternError, parse_pattern


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("id-([0-9]+)", "id-1 id-22 id-x", "22"),
        ("call_[a-z0-9]+", "call_1 call_2b.", "call_2b"),
        (r'"path":\s*"([^"\\]+)"', '{"path": "/a/b"}', "/a/b"),
        ("a{3}", "aaaa", "aaa"),
        ("x{", "x{", "x{"),
        ("(?:job|task)-(\\d{2,4})", "job-7 task-1234", "1234"),
        ("(a)?b", "b", None),
        ("no", "yes", None),
        ("/tmp/(.*?)\\.txt", "/tmp/a.b.txt", "a.b"),
        ("^x$", "x", "x"),
        ("[]x]+", "]x", "]x"),
        (r"[\]\[]+", "[]", "[]"),
        ("\\u00e9+", "éé", "éé"),
    ],
)
def test_last_match_is_that_of_the_same_expression_in_python(
    source: str, text: str, found: str | None
) -> None:
    assert parse_pattern(source).last_match(text) == found


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "is empty"),
        ("x" * (MAX_PATTERN_LENGTH + 1), "has 257 characters, 256 are allowed"),
        ("(a+)+b", "repeats the group at character 1"),
        ("(a|a)*b", "repeats the group"),
        ("(?:a*){2}", "repeats the group"),
        ("a*a*a*a*b", "has 3 unbounded repeats"),
        (".*.*.*.*=", "has 4 unbounded repeats"),
        (r"(a)\1", "backslash"),
        ("(?=a)b", 'no other "(?"'),
        ("(?P<n>a)", 'no other "(?"'),
        ("(?i)a", 'no other "(?"'),
        ("a++", "repeats a repeat"),
        ("a{2}{3}", "repeats a repeat"),
        ("*a", "repeats nothing"),
        ("^*", "repeats an anchor"),
        ("(a", 'lacks the ")"'),
        ("a)", 'has a ")" too many'),
        ("[a", "class at character 1"),
        ("[[a]]", "class at character 1"),
        ("[a--b]", "doubled - & | or ~"),
        ("[z-a]", "not valid"),
        ("a{5,2}", "no range"),
        ("a{99999}", "no range"),
        ("a" + "{0,9999999999999999999999}", "no range"),
        ("\\", "backslash"),
        ("(a|b)" * 10, "more than 64 ways"),
        ("(" * 40 + "a" + ")" * 40, "nests groups"),
    ],
)
def test_an_expression_that_could_harm_is_refused_by_name(source: str, why: str) -> None:
    with pytest.raises(PatternError, match=re.escape(why)):
        parse_pattern(source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a*a*b", "a" * 100_000),
        (".*.*=", "x" * 100_000),
        ("[a-z]+[0-9]+x", "abc123" * 400_000),
        ("a?" * 30 + "a" * 30, "a" * 30),
        ("[a-z]+X", "a" * 2_000_000),
        ("x{0,500}x{0,500}x{0,500}y", "x" * 5_000),
    ],
)
def test_no_text_makes_an_expression_slow(source: str, text: str) -> None:
    begun = time.process_time()
    try:
        assert parse_pattern(source).last_match(text) is None or source.startswith("a?")
    except PatternError as error:
        assert "could take more than" in str(error)
    assert time.process_time() - begun < 5


@given(st.text("ab01()[]{}|*+?.^$\\-,:=\n", max_size=14), st.text("ab01-\n", max_size=12))
def test_an_expression_is_refused_or_means_what_it_means_in_python(source: str, text: str) -> None:
    try:
        pattern = parse_pattern(source)
    except PatternError:
        return
    matches = list(re.finditer(source, text, re.ASCII))
    last = (matches[-1][1] if matches[-1].re.groups else matches[-1][0]) if matches else None
    assert pattern.last_match(text) == last


@pytest.mark.parametrize("source", ["a*", "a?|b", "x|", "^", "(a?)", r"\b", "$|a", "a{0,3}b?"])
def test_an_expression_that_needs_no_character_can_be_empty(source: str) -> None:
    assert parse_pattern(source).can_be_empty


@given(st.text("ab01()[]{}|*+?.^$\\-,:=\n", max_size=14), st.text("ab01-\n", max_size=12))
def test_an_expression_that_cannot_be_empty_never_is(source: str, text: str) -> None:
    try:
        pattern = parse_pattern(source)
    except PatternError:
        return
    if not pattern.can_be_empty:
        assert all(match[0] for match in re.finditer(source, text, re.ASCII))

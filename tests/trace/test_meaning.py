"""The hard facts of texts, and what they decide. Closeness is a stand-in here; test_similarity.py has the real one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.trace.antonyms import are_opposite_words
from replay.trace.calibration import FRESH, HALVES, half_of, measure, read_pairs, render
from replay.trace.facts import facts_of
from replay.trace.meaning import MAX_TEXT, VERDICTS, compare_meaning
from replay.trace.quantities import find_quantities, is_same_quantity
from replay.trace.words import stem


def near(left: str, right: str) -> float:
    """As close as paraphrases are: what decides then is facts."""
    return 0.9


def far(left: str, right: str) -> float:
    return 0.0


def apart(left: str, right: str) -> float:
    """Closer than chance, and no paraphrase by that alone; words are strangers."""
    return 0.3


def one_quantity(text: str) -> Any:
    [found], _ = find_quantities(text)
    return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2 minutes", "120 seconds"),
        ("1.5 h", "90 min"),
        ("two years", "24 months"),
        ("0.25 s", "250 ms"),
        ("1,250,000", "1.25 million"),
        ("3.4k", "3400"),
        ("twenty-one", "21"),
        ("three hundred", "300"),
        ("2 GiB", "2048 MiB"),
        ("1.2 TB", "1200 GB"),
        ("half a kilogram", "500 g"),
        ("5 km", "5000 metres"),
        ("50%", "50 percent"),
        ("93%", "0.93"),
        ("one third", "a third"),
        ("$45", "45.00 dollars"),
        ("€57.30", "57.3 euros"),
        ("3 pm", "15:00"),
        ("noon", "12:00"),
        ("July 1, 2024", "1 July 2024"),
        ("3 March 2025", "2025-03-03"),
        ("May 31", "31 May 2024"),
        ("Q3", "third quarter"),
        ("2nd", "second"),
        ("twice", "two"),
    ],
)
def test_quantity_is_the_same_in_another_spelling(left: str, right: str) -> None:
    assert is_same_quantity(one_quantity(left), one_quantity(right))
    assert is_same_quantity(one_quantity(right), one_quantity(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2 minutes", "2 seconds"),
        ("1 MB", "1 MiB"),
        ("$20", "€20"),
        ("3 pm", "3 am"),
        ("-5", "5"),
        ("5 km", "5 miles"),
        ("3 March 2025", "4 March 2025"),
        ("31 May", "30 May 2024"),
        ("1.2.3", "1.2.4"),
        ("10", "10%"),
        ("Monday", "Tuesday"),
    ],
)
def test_other_quantity_is_another(left: str, right: str) -> None:
    assert not is_same_quantity(one_quantity(left), one_quantity(right))


def test_range_has_its_unit_on_both_ends() -> None:
    found, _ = find_quantities("between 7 and 10 days")
    assert [one.value for one in found] == [7 * 86400, 10 * 86400]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("see src/app/main.py and ./run.sh", ["src/app/main.py", "./run.sh"]),
        ("call `foo bar()` or read_config() on web-3", ["foo bar", "read_config", "web-3"]),
        ("at https://example.com/a?b=c.", ["https://example.com/a?b=c"]),
        ("write to a.b@example.com, use --dry-run", ["a.b@example.com", "--dry-run"]),
        ("KeyError in getUserById at 10.0.0.12", ["KeyError", "getUserById", "10.0.0.12"]),
        ("and/or 24/7, i.e. 5km in 2 GiB, v1.2.3", []),
    ],
)
def test_code_is_what_a_machine_reads(text: str, codes: list[str]) -> None:
    assert [code.text for code in facts_of(text).codes] == codes


def test_name_is_sure_inside_a_sentence() -> None:
    names = {
        name.text: name.is_sure for name in facts_of("Tom met Anna. DHL asked Dr. Weber; I did not.").names
    }
    assert names == {"Tom": False, "Anna": True, "DHL": True, "Dr": True, "Weber": True}


@pytest.mark.parametrize(
    "forms",
    ["pass passes passed passing", "stop stopped stopping", "deny denied denies", "fail failed fails"],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("left", "right", "opposite"),
    [
        ("healthy", "unhealthy", True),
        ("reachable", "unreachable", True),
        ("accepted", "rejected", True),
        ("passed", "failed", True),
        ("passed", "succeeded", False),
        ("red", "blue", False),
        ("inside", "side", False),
    ],
)
def test_opposite_words(left: str, right: str, opposite: bool) -> None:
    assert are_opposite_words(left, right) == are_opposite_words(right, left) == opposite


@pytest.mark.parametrize(
    ("left", "right", "verdict", "reason"),
    [
        ("The build passed.", "The build  passed.", "same", ""),
        ("It took 2 minutes.", "It took 120 seconds.", "same", ""),
        ("It took 2 minutes.", "It took 3 minutes.", "number", '"2 minutes" became "3 minutes"'),
        ("I read a.py.", "I read b.py.", "name", '"a.py" became "b.py"'),
        ("I changed a.py and it works.", "I changed it and it works.", "name", '"a.py" is missing'),
        ("I changed src/a.py.", "I changed a.py.", "same", ""),
        ("We asked Anna.", "We asked Peter.", "name", '"Anna" became "Peter"'),
        ("Alice reports to Bob.", "Bob reports to Alice.", "name", "the order of Alice and Bob changed"),
        ("It ends on Friday.", "It ends on Monday.", "name", '"Friday" became "Monday"'),
        ("The build passed.", "The build failed.", "contradiction", '"passed" is opposed to "failed"'),
        ("The build passed.", "The build did not fail.", "same", ""),
        ("The build passed.", "The build didn't pass.", "contradiction", '"passed" is opposed to "not pass"'),
        (
            "The file exists.",
            "The file does not exist.",
            "contradiction",
            '"exists" is opposed to "not exist"',
        ),
        (
            "The host is reachable.",
            "The host is unreachable.",
            "contradiction",
            '"reachable" is opposed to "unreachable"',
        ),
        ("The host is not reachable.", "The host is unreachable.", "same", ""),
        ("He is not eligible.", "He is ineligible.", "same", ""),
        ("He is eligible.", "He is ineligible.", "contradiction", '"eligible" is opposed to "ineligible"'),
        ("The cause is unknown.", "We could not find the cause.", "same", ""),
        ("The change was made without harm.", "There was no harm in the change.", "same", ""),
        ("The shop is not open.", "The shop is closed.", "same", ""),
        ("The export has no header.", "A header is missing in the export.", "same", ""),
        ("Nobody uses it.", "It is never used.", "same", ""),
    ],
)
def test_facts_decide(left: str, right: str, verdict: str, reason: str) -> None:
    found = compare_meaning(left, right, near)
    assert (found.verdict, "; ".join(found.reasons)) == (verdict, reason)
    assert compare_meaning(right, left, near).verdict == verdict


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("The result is 2610.", "It comes to 2610.", "same"),
        ("The total amounts to 2,610.", "2610", "same"),
        ("It says: Saturday: 10 to 14", "It reads: Saturday: 10 to 14", "same"),
        ('The sign says "closed".', "The sign reads: closed", "same"),
        ("The answer is Paris.", "Paris.", "same"),
        # Something else is said, or something about it.
        ("The result is 2610.", "It comes to 2601.", "number"),
        ("The result is not 2610.", "It comes to 2610.", "unrelated"),
        ("It says: Saturday: 10 to 14", "It reads: Sunday: 10 to 14", "name"),
        ("The result is 7 of 9.", "It comes to 9 of 7.", "unrelated"),
        ("The price is 2610.", "The weight is 2610.", "name"),
        ("The train comes at 7.", "It reads 7.", "unrelated"),
        ("He comes at 7.", "At 7.", "unrelated"),
        ("It reads the file.", "It reports the file.", "name"),
    ],
)
def test_what_announces_an_answer_is_no_part_of_it(left: str, right: str, verdict: str) -> None:
    assert compare_meaning(left, right, apart).verdict == verdict
    assert compare_meaning(right, left, apart).verdict == verdict


def test_closeness_decides_where_facts_are_silent() -> None:
    assert compare_meaning("The soup is hot.", "Rivers flow east.", far).verdict == "unrelated"
    assert (
        compare_meaning("The soup tastes of ginger.", "The soup was cooked on Sunday night.", far).verdict
        == "unrelated"
    )
    assert compare_meaning("The soup is hot.", "The broth is warm.", near).verdict == "same"


TEXTS = st.lists(
    st.sampled_from(
        (
            *(
                "The",
                "build",
                "passed",
                "failed",
                "not",
                "3",
                "5",
                "minutes",
                "a.py",
                "b.py",
                "Anna",
                "Bob",
                ".",
                ",",
            ),
            *("on", "Monday", "2024-01-02", "unhealthy", "healthy", "never"),
        )
    ),
    max_size=9,
).map(" ".join)


@given(TEXTS | st.text(max_size=60))
def test_text_means_what_it_means(text: str) -> None:
    assert compare_meaning(text, text, far).verdict == "same"


@given(TEXTS, TEXTS)
def test_sameness_is_symmetric(left: str, right: str) -> None:
    assert compare_meaning(left, right, near).is_same == compare_meaning(right, left, near).is_same


@given(TEXTS, st.integers(2, 99), st.integers(2, 99))
def test_changed_number_is_never_the_same(text: str, one: int, other: int) -> None:
    if one != other:
        assert not compare_meaning(f"{text} costs {one} euros", f"{text} costs {other} euros", near).is_same


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_compared(left: str, right: str) -> None:
    assert compare_meaning(left, right, near).verdict in VERDICTS


@pytest.mark.parametrize(
    "piece", ["a", "a.", "1,", "a-", "/a", "a_", "one ", "`", "not ", "A", "1.", "--a", "@a", " ", "7-"]
)
def test_long_texts_take_no_quadratic_time(piece: str) -> None:
    # Minutes, if an expression went back over the whole text for each of its characters.
    for text in (piece * (MAX_TEXT // len(piece)), (piece * (199 // len(piece)) + " ") * (MAX_TEXT // 200)):
        facts_of(text)
    assert compare_meaning("a", "b" * (MAX_TEXT + 1), near).verdict == "unrelated"


def test_half_of_a_pair_follows_from_its_id() -> None:
    assert [half_of(id) for id in ("a", "b", "e")] == ["tuned", "tuned", "development"]
    halves = [half_of(str(number)) for number in range(2000)]
    assert 900 < halves.count(HALVES[0]) < 1100


LINE = b'{"id":"1","label":"number","domain":"code","a":"3 cats","b":"4 cats"}'


def test_both_orders_of_a_pair_are_measured() -> None:
    pairs = read_pairs(LINE + b"\n\n" + LINE.replace(b'"1"', b'"2"'), "p")
    found = measure(pairs, near)
    assert sum(one.count("number", "number") for one in found.values()) == 4
    assert "precision" in render(found)
    assert list(measure(read_pairs(LINE, "p", FRESH), near)) == [FRESH]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "p:1: is no labelled pair"),
        (b"[]", "is no labelled pair"),
        (LINE.replace(b"number", b"numbre"), "is no labelled pair"),
        (LINE.replace(b'"3 cats"', b'""'), "is no labelled pair"),
        (LINE + b"\n" + LINE, "has an id twice"),
    ],
)
def test_bad_pairs_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read_pairs(data, "p")
    assert message in str(caught.value)

"""What a text affirms and denies, what changed places, and how much is in common. Words are strangers here."""

import pytest

from replay.trace.antonyms import are_opposite_words
from replay.trace.facts import facts_of
from replay.trace.likeness import changed_order, evidence_of
from replay.trace.meaning import compare_meaning
from replay.trace.polarity import sayings_of
from replay.trace.words import denied_base, is_denying, stem


def strange(left: str, right: str) -> float:
    """Words have nothing in common but their stem; texts are as close as a paraphrase is at least."""
    return 0.9 if " " in left and " " in right else 0.0


def denied(text: str) -> set[str]:
    facts = facts_of(text)
    return {saying.text for saying in sayings_of(facts.plain, facts.words) if saying.is_negated}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I did not really fix the test.", {"not fix"}),
        ("I was unable to fix the test.", {"not fix"}),
        ("There is no reliable source.", {"not reliable"}),
        ("No test of these failed.", {"not failed"}),
        ("It changes nothing.", {"not changes"}),
        ("It is not open, and it is not free.", {"not open", "not free"}),
        ("It does not take more than an hour.", {"not more"}),
        ("It does not work unless the flag is set.", set()),
        ("It is not sent until it is paid.", set()),
        ("It is closed unless you ring.", {"not ring"}),
        ("Not only the test was fixed.", set()),
        ("No, it is here.", set()),
        ("Use tabs instead of spaces.", {"not spaces"}),
        ("The fee is non-refundable.", {"not refundable"}),
    ],
)
def test_negation_denies_one_word_of_its_clause(text: str, words: set[str]) -> None:
    assert denied(text) == words


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        # Each in a text of several sentences, where two denials would cancel out if they were counted.
        ("It is a bug. It is not meant to be so.", "It is not a bug. It is meant to be so.", "contradiction"),
        ("The job ran. I did not stop it.", "The job did not run. I stopped it.", "contradiction"),
        ("Dogs may stay inside but not outside.", "Dogs may stay outside but not inside.", "contradiction"),
        ("The server is up again.", "The server is down again.", "contradiction"),
        ("The report went up to the board.", "The report went to the board.", "same"),
        ("Lunch is served before the talk.", "Lunch is served after the talk.", "contradiction"),
        ("Check the token before you read.", "Read after you check the token.", "same"),
        ("It works only if the flag is set.", "It does not work unless the flag is set.", "same"),
        ("The item is in stock.", "The item is out of stock.", "contradiction"),
        ("Your order is not ready.", "Your order isn't ready.", "same"),
        ("Yes, it is included.", "No, it is not included.", "contradiction"),
        ("Use tabs instead of spaces.", "Use spaces instead of tabs.", "contradiction"),
    ],
)
def test_word_that_one_affirms_and_the_other_denies(left: str, right: str, verdict: str) -> None:
    assert compare_meaning(left, right, strange).verdict == verdict
    assert compare_meaning(right, left, strange).verdict == verdict


def test_denied_word_is_found_by_its_synonym() -> None:
    def close(left: str, right: str) -> float:
        return 0.9

    found = compare_meaning("We deliver to Oslo.", "We do not ship to Oslo.", close)
    assert (found.verdict, found.reasons) == ("contradiction", ('"deliver" is opposed to "not ship"',))
    assert (
        compare_meaning("We deliver to Oslo.", "We do not ship to Oslo.", strange).verdict != "contradiction"
    )


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("I removed 120 lines and added 45.", "I added 120 lines and removed 45.", "number"),
        ("Express costs 4 EUR, standard 9 EUR.", "Standard costs 4 EUR, express 9 EUR.", "number"),
        ("Transfer 50 EUR from A to B.", "Transfer 50 EUR from B to A.", "name"),
        ("Anna speaks, and Ben listens.", "Ben speaks, and Anna listens.", "name"),
        ("North has 120, and South has 95.", "South has 95, and North has 120.", ""),
        ("We removed 45 lines, and added 120.", "120 lines were added, and 45 removed.", ""),
    ],
)
def test_facts_that_changed_places(left: str, right: str, verdict: str) -> None:
    assert changed_order(facts_of(left), facts_of(right))[0] == verdict
    assert changed_order(facts_of(right), facts_of(left))[0] == verdict


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("I changed two files: a.py and b.py.", "I changed a.py and b.py.", "same"),
        ("I changed three files: a.py and b.py.", "I changed a.py and b.py.", "number"),
        ("Steps:\n1. stop it\n2. start it", "Steps: stop it, start it", "same"),
        ("I joined the two tables.", "I joined the tables.", "same"),
        ("I joined the two tables.", "I joined the three tables.", "number"),
        ("It took 2 hours and 15 minutes.", "It took 135 min.", "same"),
        ("It took 1h 30m.", "It took 90 minutes.", "same"),
        ("It opens at 10.", "It opens at 10:00.", "same"),
        ("It opens at 10.", "It opens at 11:00.", "number"),
        ("It ran at 2025-03-03T10:00:00Z.", "It ran on 3 March 2025 at 10:00.", "same"),
        ("It costs EUR 59.", "It costs 59 euros.", "same"),
        ("It is on Fri, 3 March.", "It is on Friday, 3 March.", "same"),
        ("The result is `x = 3`.", "The result is x = 3.", "same"),
        ("That makes 12 EUR.", "It comes to €12.", "same"),
        ("That makes 12 EUR.", "It comes to 21 EUR.", "number"),
    ],
)
def test_numbers_that_say_no_more(left: str, right: str, verdict: str) -> None:
    assert compare_meaning(left, right, strange).verdict == verdict
    assert compare_meaning(right, left, strange).verdict == verdict


def test_few_changed_words_are_another_name_an_opposite_or_synonyms() -> None:
    assert (
        compare_meaning("The left column is empty.", "The right column is empty.", strange).verdict == "name"
    )
    found = compare_meaning("Our first guess was too high.", "Our first guess was too low.", strange)
    assert found.verdict == "contradiction"
    assert compare_meaning("Start the engine.", "Launch the engine.", lambda left, right: 0.9).is_same


def test_evidence_is_full_for_the_same_words_and_none_for_strangers() -> None:
    one, other = facts_of("Rivers flow east."), facts_of("East flow rivers.")
    assert evidence_of(one, other, 1.0, strange) == 1.0
    assert evidence_of(one, facts_of("Cakes taste sweet."), 0.0, strange) == 0.0


@pytest.mark.parametrize(
    "forms",
    [
        "apply applied applies",
        "find found finding",
        "agree agreed agrees",
        "refundable refunded",
        "differ difference",
    ],
)
def test_more_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_prefix_that_denies() -> None:
    assert (denied_base("unhealthy"), denied_base("invoices"), denied_base("under")) == (
        "healthy",
        "voices",
        "",
    )
    assert is_denying("unhealthy") and not is_denying("invoices")
    assert are_opposite_words("complete", "incomplete")


@pytest.mark.parametrize(
    "piece", ["a ", "not ", "no longer it ", "before ", "2 x `a` ", "to Anna Bob ", "it can't, "]
)
def test_long_texts_are_compared_in_time(piece: str) -> None:
    # Minutes, if every word were compared with every other.
    text = (piece * (20_000 // len(piece)))[:19_990]
    compare_meaning(text, text[:-8] + "b", strange)

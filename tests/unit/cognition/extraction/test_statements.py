import pytest

from hive_mind.cognition.extraction.statements import confidence_of, is_request, is_statement


@pytest.mark.parametrize(
    "sentence",
    [
        "Ana owns billing.",
        "The outage lasted 45 minutes.",
        "Budget: 5,000 EUR",
        "| billing | Ana |",
        "Total        1,210.94 EUR",
        "[2026-03-01]: the gateway was replaced by Ana",
        "我住在波尔图。",
        "内存：128GB",
        "**Severity:** 2",
        'mode = "fast"',
        "I like tea.",
        "I was wondering who owns billing. Ana owns it.",
        "No turbine was harmed.",
        "Good job applications arrived late.",
        "Okay, the seal is changed.",
    ],
)
def test_what_says_something_is_a_statement(sentence: str):
    assert is_statement(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Who owns billing?",
        "I wonder who owns billing.",
        "Hey, does anyone know where the key is",
        "Ich frage mich, wann der Zug fährt.",
        "Thanks a lot, Ana!",
        "Hi Ben!",
        "[`corepack enable`]: https://example.org/corepack#corepack-enable--name",
        '[the plan]: plans/2026.md "The plan of this year"',
        "Sounds great!",
        "Wow, that's amazing!",
        "Hey Ana! Thanks so much, Ana!",
        "Yes, of course!",
        "ok",
        "",
        "...",
        "a1b2c3",
        "\ufffd" * 50,
    ],
)
def test_questions_greetings_applause_and_junk_are_not(sentence: str):
    assert not is_statement(sentence)


@pytest.mark.parametrize(
    ("sentence", "is_asking"),
    [
        ("Please repeat the follow-up date too.", True),
        ("Then tell me whether the visit is about hormones.", True),
        ("Please read that final plan back once more", True),
        ("Can you remind me of the active plan?", False),
        ("Could you confirm the pickup time.", True),
        ("Let me know if you need a ride!", True),
        ("Sag mir bitte, wann der Zug geht.", True),
        ("Dis-moi où est la clé.", True),
        ("Recuérdame la hora de la cita.", True),
        ("Dimmi dove sei.", True),
        ("Tell me the code: 4455", False),
        ("Let me know by Monday.", False),
        ("Please confirm before 17:00.", False),
        ("Please keep the door locked.", False),
        ("Please send it to me in the portal and not to Nina.", False),
        ("I told them to repeat the test.", False),
        ("Repeat the test after a week.", False),
    ],
)
def test_a_request_for_words_gives_no_figure_and_no_day(sentence: str, is_asking: bool):
    assert is_request(sentence) is is_asking


def test_a_hedge_lowers_confidence_and_names_and_figures_raise_it():
    plain = confidence_of("The service was slow that day.", ())

    assert confidence_of("The service was probably slow that day.", ()) < plain
    assert confidence_of("The service was slow for 45 minutes.", ()) > plain
    assert confidence_of("The service of Ana was slow that day.", ("Ana",)) > plain


def test_the_month_of_may_is_no_hedge():
    assert confidence_of("We launch on May 8.", ()) > confidence_of("We may launch on June 8.", ())

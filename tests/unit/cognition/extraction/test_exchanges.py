"""A question with the short answer that says nothing without it."""

import pytest

from hive_mind.memory.intake import statement
from tests.unit.cognition.reading import candidates, extraction, statements


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("When does the shuttle leave?", "7:40"),
        ("who brings the straps?", "Leon"),
        ("where do we pick it up", "Hafenstrasse 12"),
        ("Is the centrifuge repaired?", "No."),
        ("Did he pay?", "yes, yesterday"),
        ("How warm may they get?", "Four degrees at most."),
        ("thx. and who has the key for the basement?", "me, it's in the blue cup on my desk"),
        ("Where is the key?", "It hangs on the hook behind the door of the cold room, next to the gloves."),
        ("Warum steht P8?", "weil das Lager im Sturm der letzten Woche gebrochen ist"),
    ],
)
def test_a_question_and_its_short_answer_are_one_fact(asked: str, answered: str) -> None:
    (kept,) = candidates(f"Ann: {asked}\nBob: {answered}\nAnn: Thanks a lot!")

    assert statement(kept) == f"Ann: {asked} Bob: {answered}"


def test_who_writes_a_text_answers_what_they_ask_and_who_goes_on_speaking_does_not() -> None:
    (kept,) = candidates("# Pump P8\n\nWhy does P8 stand still? For want of a bearing.")

    assert kept.content == "Why does P8 stand still? For want of a bearing."
    assert statements("Ann: Where is the key?\nAnn: Never mind.\nBob: I see it now.") == ["I see it now."]


def test_a_long_answer_stands_by_itself_and_in_a_conversation_the_question_before_it() -> None:
    told = "The bearing broke in the storm of last week, and the new one is on its way."

    assert statements(f"Why does P8 stand still? {told}") == [told]
    (kept,) = candidates(f"Ann: Why does P8 stand still?\nBob: {told}")
    assert (kept.content, kept.before) == (told, "Ann: Why does P8 stand still?")


@pytest.mark.parametrize("answered", ["thanks!", "lol", "ok", "Hi Ann!", "And you?", "yes"])
def test_politeness_another_question_and_yes_to_one_that_asks_for_more_answer_nothing(answered: str) -> None:
    assert statements(f"Ann: Where is the key?\nBob: {answered}") == []


def test_a_time_between_the_two_is_that_of_the_answer() -> None:
    (kept,) = candidates("[2026-04-02 18:09] Tess: who brings the straps?\n[2026-04-02 18:11] Jonas: Leon")

    assert (statement(kept), kept.said_at) == ("Tess: who brings the straps? Jonas: Leon", "2026-04-02T18:11")


def test_what_is_left_out_is_named_with_the_reason() -> None:
    said = [
        "[the shed]: https://example.org/shed",
        "Ann: Morning!",
        "Bob: Hi Ann!",
        "Bob: The pump is off.",
        "Bob: The pump is off.",
        "Ann: hm",
        "Ann: Who has the key?",
    ]
    found = extraction("\n".join(said))

    assert [(one.text, one.reason) for one in found.left_out] == [
        ("[the shed]: https://example.org/shed", "the address of a link"),
        ("Morning!", "too few words"),
        ("Hi Ann!", "a greeting or thanks"),
        ("The pump is off.", "said before"),
        ("hm", "too few words"),
        ("Who has the key?", "a question"),
    ]


def test_what_else_was_said_with_the_question_is_kept() -> None:
    said = "Ann: The cold room was cleaned on Monday. Who has the key?\nBob: Mira has it."

    assert [statement(one) for one in candidates(said)] == [
        "Ann: The cold room was cleaned on Monday. Who has the key?",
        "Ann: Who has the key? Bob: Mira has it.",
    ]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Q: Are dogs allowed in the courtyard?", "A: Yes, on a lead, and never between noon and two o'clock in summer."),
        ("Question 3: How do I get a key?", "Answer 3: Ask Mr Duarte on weekdays, he has them in the office behind the stairs."),
        (
            "Frage: Wie lange bleibt das Tor offen?",
            "Antwort: Das Tor bleibt im Sommer bis zehn Uhr offen, im Winter nur bis sechs.",
        ),
        ("Q : Quand faut-il payer le loyer ?", "R : Le loyer est à payer le premier septembre, ou en deux fois avec un accord."),
        ("Вопрос: Когда открыт сад?", "Ответ: Сад открыт каждый день с семи утра, а зимой на час позже и до обеда."),
    ],
)
def test_a_long_answer_of_a_list_of_questions_stands_under_its_question(question: str, answer: str) -> None:
    kept, other = candidates(f"{question}\n{answer} It is in the rules.\n\nThe shed is closed until the roof is mended.")[:2]

    assert kept.content in answer
    assert kept.concept == other.concept == question.partition(":")[2].strip()
    assert candidates(f"{question}\n{answer}\n\nThe shed is closed until the roof is mended.")[-1].concept != kept.concept


@pytest.mark.parametrize(
    "lines", ["Q: Is it open?\nB: {}", "P: Is it open?\nA: {}", "Q: It is open.\nA: {}", "Step: Is it open?\nA: {}"]
)
def test_other_letters_make_no_pair(lines: str) -> None:
    told = "The gate stays open until ten in summer, and in winter until six o'clock."

    assert "Is it open?" not in [candidate.concept for candidate in candidates(lines.format(told))]

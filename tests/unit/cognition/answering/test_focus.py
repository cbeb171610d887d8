"""What a question asks about its topic."""

import pytest

from hive_mind.cognition.answering.question_terms import focus_of


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("What is the rent of the new flat?", {"rent"}),
        ("What is the museum's phone number?", set()),
        ("What is Ana's address?", {"address"}),
        ("Which battery type do the K9 boards take?", {"batteri"}),
        ("Which language is kestrel written in?", {"written"}),
        ("Which company owns the boat?", {"own"}),
        ("When was lift 2 built?", {"built"}),
        ("When does the ferry leave from Corrin?", {"leav"}),
        ("Why did the vending machine break?", {"break"}),
        ("Where do we meet if there is a fire?", {"meet"}),
        ("What was the record ever?", set()),
        ("Where is the harbour?", set()),
        ("When does the boat go?", set()),
        ("Which flag was switched off?", {"disabl"}),
        ("Which Python version was dropped in plover 2.1?", {"drop"}),
        ("Under which licence is the plover available?", {"licenc"}),
        ("What does RTO stand for?", set()),
        ("What is vm.swappiness set to?", set()),
        ("Wann wurde das Freibad gebaut?", {"gebaut"}),
        ("Welche Farbe hat der Golf?", {"farb"}),
        ("朝食は何時からですか", {"朝食"}),
        ("Tell me about pumps", set()),
        ("", set()),
    ],
)
def test_it_is_found_by_the_form_of_the_question(question: str, focus: set[str]) -> None:
    assert focus_of(question) == focus


def test_trying_and_there_are_no_focus():
    assert focus_of("Which employee tried to enter through B101?") == frozenset()
    assert focus_of("Why are there no touch screens in the hall?") == frozenset({"screen"})

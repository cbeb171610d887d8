"""Of many facts about a thing, the few that hold what is asked for answer, whatever their words are."""

from collections.abc import Sequence

import pytest

from hive_mind.cognition.answering.elimination import few_that_hold
from hive_mind.cognition.answering.quoting import QuotingSettings, quoted_answer
from hive_mind.model.gathered import Question
from hive_mind.model.query import Hit
from tests.unit.cognition.reading import hit

ABOUT = (
    "The roof is on at Steel Python.",
    "The divers are done at Steel Python.",
    "Steel Python eats half of my week again.",
    "Everybody on Steel Python looks tired.",
    "The fibre to Steel Python lights up.",
    "Half of the mails are about Steel Python.",
)
"""None of them names a person, a day or a span, or instructs anybody."""
LEADER = "Tariq Ilves has the last word on Steel Python."


def hits_of(contents: Sequence[str]) -> list[Hit]:
    return [hit(content, 1.0 - number / 100) for number, content in enumerate(contents)]


def held(question: str, *contents: str, about: Sequence[str] = ABOUT) -> list[str]:
    return [found.fact.content for found in few_that_hold(question, hits_of((*about, *contents)))]


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Who leads Steel Python?", LEADER),
        ("With whom is Steel Python insured?", "If Steel Python burns down, Marchmont Textiles pays."),
        ("Which firm sells us the pipes for Steel Python?", "We buy everything for Steel Python from Ravelin Freight."),
        ("On which day will Steel Python be launched?", "We hand the keys of Steel Python over on 4 November 2027."),
        ("When will Steel Python be launched?", "We hand the keys of Steel Python over on 2027-11-04."),
        ("When do the people of Steel Python meet?", "Steel Python sits together Mondays at 16:30."),
        ("At what time do the people of Steel Python meet?", "Steel Python sits together at 16:30."),
        ("For how long do we keep what Steel Python writes?", "Disk is short, Steel Python loses its files after 44 days."),
        ("How often do the sensors of Steel Python send?", "We poll Steel Python once in 90 seconds."),
        ("In which town can Steel Python be visited?", "We put Edgewater down as the location of Steel Python."),
        ("Where are spares of Steel Python kept?", "Look in room 4.479 if you need something for Steel Python."),
        ("Where is Steel Python?", "You find Steel Python out in Eastlow."),
        ("How well did Steel Python do?", "The trial of Steel Python ended with 95 percent green."),
        ("Which hue marks the pipes of Steel Python?", "Whatever is pink belongs to Steel Python."),
        ("How does venting work in Steel Python?", "When Steel Python gurgles, quarter turn with the small key."),
        ("How do I restart Steel Python?", "Steel Python hangs? Hold the white button."),
    ],
)
def test_the_only_fact_that_holds_what_is_asked_for_is_taken(question: str, content: str):
    assert held(question, content) == [content]


def test_half_of_the_name_and_it_are_enough_where_others_have_all_of_it():
    half, meant = "Tariq Ilves has the last word on Python.", hit("Basil Becker runs it.", 0.5, before="Now for Steel Python.")
    assert held("Who leads Steel Python?", half) == [half]
    assert few_that_hold("Who leads Steel Python?", [*hits_of(ABOUT), meant]) == [meant]


@pytest.mark.parametrize(
    ("question", "contents"),
    [
        ("Who leads Steel Python?", ()),
        ("Who leads Steel Python?", ("Tariq Ilves has the last word on Steel Galleon.",)),
        ("Who leads Steel Python?", ("Tariq Ilves was late.",)),
        # A part of the name, and a thing that nothing found names in full.
        ("Who leads Python?", (LEADER,)),
        ("Who leads Steel Mantis?", (LEADER,)),
        # A list.
        (
            "Who knows Steel Python?",
            tuple(f"{name} came to Steel Python." for name in ("Al Bo", "Cy Do", "Ed Fo", "Gil Ho", "Ivy Jo")),
        ),
        # Any text may be a reason.
        ("Why is Steel Python late?", (LEADER,)),
        ("When will Steel Python be launched?", (LEADER, "Steel Python runs 2.2.11.")),
    ],
)
def test_nothing_is_taken_where_the_form_tells_nothing(question: str, contents: Sequence[str]):
    assert held(question, *contents) == []


def test_a_few_facts_about_a_thing_tell_nothing():
    assert held("Who leads Steel Python?", LEADER, about=ABOUT[:4]) == []


def test_who_speaks_is_not_named_by_what_they_say():
    said = hit("Ana Brandt: Ana Brandt here, Steel Python is late.", 0.5, speaker="Ana Brandt")
    assert few_that_hold("Who leads Steel Python?", [*hits_of(ABOUT), said]) == []


def test_it_is_quoted_with_little_confidence_where_one_is_eager_alone():
    hits = hits_of((*ABOUT, "Nobody was there.", "It rains.", "The quiz was late.", "So it goes.", "Plates, please.", LEADER))
    question = Question("Who leads Steel Python?")
    answer = quoted_answer(question, hits, QuotingSettings(answering="eager"))
    assert [source.fact.content for source in answer.sources] == [LEADER]
    assert answer.confidence <= 0.3
    assert not any(
        quoted_answer(question, hits, QuotingSettings(answering=lesser)).is_known for lesser in ("careful", "balanced")
    )

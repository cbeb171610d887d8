import pytest

from hive_mind.cognition.answering.aliases import answering_names, described_in
from tests.unit.cognition.reading import answer, hit


@pytest.mark.parametrize(
    ("question", "who", "of_ana"),
    [
        (
            "In which room can I find the boss of Hidden Wolf?",
            "Who is the boss of Hidden Wolf?",
            "In which room can I find Ana Roe?",
        ),
        (
            "Where does the person in charge of Blue Fox sit?",
            "Who is the person in charge of Blue Fox?",
            "Where does Ana Roe sit?",
        ),
        ("When was Blue Fox's manager born?", "Who is the manager of Blue Fox?", "When was Ana Roe born?"),
    ],
)
def test_somebody_described_is_asked_for_first(question: str, who: str, of_ana: str):
    described = described_in(question)

    assert described is not None
    assert (described.who, described.of("Ana Roe")) == (who, of_ana)


@pytest.mark.parametrize(
    "question",
    ["Who is the boss of Hidden Wolf?", "What is the rent of Blue Fox?", "Where is Ana?", "What is Blue Fox's manager?"],
)
def test_a_question_that_describes_nobody_is_asked_as_it_is(question: str):
    assert described_in(question) is None


def test_what_is_told_of_the_one_who_is_described_answers():
    boss, room, other = (
        hit("The boss of Hidden Wolf is Ana Roe.", keyword=6.0),
        hit("Ana Roe sits in room 3.12.", keyword=4.0),
        hit("Bob Lee sits in room 2.10.", keyword=5.0),
    )

    found = answer("In which room does the boss of Hidden Wolf sit?", boss, other, room)

    assert {one.fact.content for one in found.sources} == {boss.fact.content, room.fact.content}


def test_many_names_are_no_one_person():
    described = described_in("Where does the boss of Hidden Wolf sit?")
    assert described is not None
    facts = [hit(f"{name} is the boss of Hidden Wolf.").fact for name in ("Ana Roe", "Bob Lee", "Cy Dow")]

    assert answering_names(described, facts) == ()
    assert answering_names(described, facts[:1]) == ("Ana Roe",)

from dataclasses import replace

import pytest

from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.quoting import ordered, strong
from hive_mind.cognition.answering.relevance import Judgement, Relevant
from hive_mind.model.query import Hit
from hive_mind.model.scores import Contributions
from tests.unit.cognition.reading import hit


def relevant(hit: Hit, *, answers: bool = True) -> Relevant:
    return Relevant(hit, Judgement(1.0, 1.0, False), answers)


def contents(question: str, *hits: Hit) -> list[str]:
    ranked = ordered(question, asked_of(question), [relevant(one) for one in hits])
    return [found.hit.fact.content for found, _ in ranked]


def test_what_somebody_says_comes_before_what_is_said_about_them():
    about, own = hit("Ben: Ana has a boat.", 0.8, speaker="Ben"), hit("Ana: I sold my boat.", 0.7, speaker="Ana")

    assert contents("What did Ana do with her boat?", about, own) == [own.fact.content, about.fact.content]


@pytest.mark.parametrize(
    ("question", "fitting"),
    [
        ("When did the boat sink?", "The boat sank on 3 May 2024."),
        ("How heavy is the boat?", "The boat weighs 4.2 tonnes."),
        ("How many boats are there?", "There are seven boats."),
    ],
)
def test_a_fact_of_the_form_that_is_asked_for_comes_first(question: str, fitting: str):
    assert contents(question, hit("The boat of T2 is blue.", 0.8), hit(fitting, 0.7))[0] == fitting


def test_a_far_better_match_stays_first():
    assert contents("How heavy is the boat?", hit("The boat is heavy.", 0.9), hit("The quay has 7 steps.", 0.4))[0] == (
        "The boat is heavy."
    )


def test_equal_facts_keep_the_order_of_the_search():
    assert contents("Who sailed?", hit("Ben sailed."), hit("Ana sailed.")) == ["Ben sailed.", "Ana sailed."]


def test_what_lies_far_below_the_best_is_left_out():
    good, weak = relevant(hit("Ana sailed.", 1.0)), relevant(hit("Ben sailed.", 0.2))

    assert strong([(good, 1.0), (weak, 0.2)], 0.6) == [(good, 1.0)]
    assert strong([], 0.6) == []


def test_what_answers_by_itself_may_be_weaker_than_what_shares_a_word():
    best, other, aside = relevant(hit("Ana sailed.")), relevant(hit("Ben sailed.")), relevant(hit("Sails."), answers=False)

    assert strong([(best, 1.0), (other, 0.4), (aside, 0.4)], 0.6) == [(best, 1.0), (other, 0.4)]


def test_what_only_belongs_to_the_topic_does_not_push_out_what_answers():
    aside, answer = relevant(hit("Sails, sails.", 1.0), answers=False), relevant(hit("Ana sailed.", 0.4))

    assert strong([(aside, 1.0), (answer, 0.4)], 0.6) == [(aside, 1.0), (answer, 0.4)]


def test_naming_the_identifier_does_not_push_out_what_stands_under_its_heading():
    named = relevant(replace(hit("See PMP-014.", 1.9), contributions=Contributions(keyword=0.9, exact=1.0)))
    below = relevant(hit("Every 14 days.", 0.7, concept="PMP-014"))

    assert strong([(named, 1.9), (below, 0.7)], 0.6) == [(named, 1.9), (below, 0.7)]

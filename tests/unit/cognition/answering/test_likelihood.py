"""The figures by which a fact is judged."""

from dataclasses import replace

from hive_mind.cognition.answering.calibration import MEANING, WORDS
from hive_mind.cognition.answering.likelihood import FIGURES, Evidence, evidence_of, likelihoods
from tests.unit.cognition.reading import hit


def evidence(question: str, content: str, *others: str, concept: str = "") -> Evidence:
    first = hit(content)
    hits = [replace(first, fact=replace(first.fact, concept=concept)), *map(hit, others)]
    return evidence_of(question, hits, {})[0]


def test_a_phrase_counts_as_the_word_that_means_as_much():
    said = evidence("Who is in charge of the pump?", "Ana is responsible for the pump.", "The pump is blue.")

    assert said.own == 1.0


def test_what_stands_under_a_question_answers_it():
    under, beside = (
        evidence("How many clients can connect to a server?", "The default is 65,536.", concept=heading)
        for heading in ("How many clients can connect to a server?", "Clients of a server")
    )

    assert under.own > beside.own == 0.0


def test_a_name_that_nothing_has_is_unseen_and_a_month_of_a_date_is_no_name():
    facts = ("Ana paints the boat.", "The boat is blue.")

    assert evidence("Which boat did Mireille paint?", *facts).name_unseen == 1.0
    assert evidence("Which boat did Ana paint?", *facts).name_unseen == 0.0
    assert evidence("Which boat did Ana paint on 7 July 2023?", *facts).name_unseen == 0.0


def test_a_unit_tells_the_quantity_that_is_asked_for():
    assert (
        evidence("What does the beam weigh?", "The beam: 34 kg.").alike > evidence("What does the beam weigh?", "The beam.").alike
    )


def test_meaning_counts_above_that_of_what_has_little_to_do_with_it_whatever_a_model_calls_near():
    question = "How loud is the pump?"
    cosines = [0.5, *(0.1 + number / 100 for number in range(19))]
    for shift in (0.0, 0.4):
        hits = [hit(f"Note {number}.", semantic=cosine + shift) for number, cosine in enumerate(cosines)]
        assert round(evidence_of(question, hits, {})[0].meaning, 6) == 0.38
    assert evidence_of(question, [hit("Note."), *hits], {})[0].meaning == 0.0
    assert evidence_of(question, [hit("Note.")], {})[0].meaning == 0.0


def test_of_two_that_share_as_much_the_nearer_by_meaning_is_likelier():
    near, far = hit("The pump roars.", semantic=0.7), hit("The pump is wet.", semantic=0.2)
    odds = likelihoods(["How loud is the pump?"], [near, far], {})

    assert odds[near.fact.id] > odds[far.fact.id]


def test_each_weight_is_of_a_figure_and_each_figure_has_one():
    assert {*FIGURES, "intercept"} == set(MEANING) == {*WORDS, "meaning"}

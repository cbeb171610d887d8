"""The figures by which a fact is judged."""

from dataclasses import replace

from hive_mind.cognition.answering.likelihood import Evidence, evidence_of
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

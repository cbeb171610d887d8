"""The figures by which a fact is judged."""

from dataclasses import replace

import pytest

from hive_mind.cognition.answering.calibration import MEANING, WORDS
from hive_mind.cognition.answering.likelihood import FIGURES, Evidence, evidence_of, likelihoods
from hive_mind.model.fact import place_label
from tests.unit.cognition.reading import hit


def evidence(question: str, content: str, *others: str, concept: str = "", labels: tuple[str, ...] = ()) -> Evidence:
    first = hit(content)
    hits = [replace(first, fact=replace(first.fact, concept=concept, labels=labels)), *map(hit, others)]
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
    # As programs write names.
    assert evidence("Which boat has boat_depth?", *facts).name_unseen == 1.0


def test_a_version_in_the_heading_is_said_by_what_stands_under_it():
    question, line = "What was fixed in version 1.0.5?", "Handle the end of a stream."
    of_it, of_another, of_none = (
        evidence(question, line, "The plover is grey.", concept=heading) for heading in ("1.0.5 (3 May)", "1.0.6", "History")
    )

    assert of_it.headed > of_none.headed == 0.0
    assert (of_it.contradicted, of_another.contradicted, of_none.contradicted) == (0.0, 1.0, 0.0)
    assert (of_it.name_unseen, of_another.name_unseen) == (0.0, 1.0)
    assert evidence("What was fixed in version 1.0?", line, concept="Version 1.0.5").contradicted == 0.0
    # The same line stands under two versions.
    labels = (place_label(["1.0.4"]), place_label(["2.1.0"]))
    assert evidence("What was fixed in version 2.1.0?", line, concept="1.0.4", labels=labels).contradicted == 0.0


def test_another_project_is_told_by_the_folder_where_paths_part():
    def figures(*sources: str) -> list[float]:
        facts = [replace(hit(f"It keeps {number} threads.").fact, sources=(source,)) for number, source in enumerate(sources)]
        hits = [replace(hit("x"), fact=fact) for fact in facts]
        return [figure.of_other_source for figure in evidence_of("How many threads does Plover keep?", hits, {})]

    assert figures("/docs/kestrel-1.0/pool.md", "/docs/plover2-2.1.3/guide/pool.md") == [1.0, 0.0]
    assert figures("/docs/kestrel.md", "/docs/plover.md") == [1.0, 0.0]
    # Threads are what is asked about, and no project.
    assert figures("/docs/threads.md", "/docs/pool.md") == [0.0, 0.0]
    assert figures("/docs/plover-2.1/pool.md", "/docs/plover-2.1/faq.md") == [0.0, 0.0]
    # An agent or a conversation is no file.
    assert figures("kestrel", "plover") == [0.0, 0.0]


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


@pytest.mark.parametrize(
    ("question", "same", "other"),
    [
        ("Which macOS does Papertrail 7 need?", "Papertrail 7 needs macOS 12.", "Papertrail 8 needs macOS 13."),
        ("What is 5 km long?", "The cable is 5km long.", "The pipe is 7 km long."),
        ("Who is the warden of the 5th floor?", "The warden of the 5th floor is Ole.", "The warden of the 3rd floor is Bram."),
    ],
)
def test_another_number_of_the_same_contradicts(question: str, same: str, other: str):
    assert (evidence(question, same).contradicted, evidence(question, other).contradicted) == (0.0, 1.0)


def test_where_few_facts_are_found_the_others_of_a_small_memory_lack_what_is_asked():
    found = [hit("The harbour fee rises to 40 euros.")]

    shares = [evidence_of("How high does the harbour fee become?", found, {}, searched)[0].own for searched in (0, 1, 400, 4, 8)]
    assert shares[0] == shares[1] == shares[2] < shares[3] < shares[4]


@pytest.mark.parametrize(
    ("message", "is_of_another"),
    [
        ("Mira's guest code is 2864.", False),
        ("The code for Mira is 2864.", False),
        ("Mira should use the side door, the code is 2864.", False),
        ("My guest code is 2864.", True),
        ("Thanks, Mira! My guest code is 2864.", True),
        ("Mira, my guest code is 2864.", True),
    ],
)
def test_who_speaks_of_somebody_is_no_other_one_and_who_speaks_to_them_is(message: str, is_of_another: bool):
    hits = [hit(f"Ana: {message}", speaker="Ana"), hit("Mira: I come on Friday.", speaker="Mira")]

    assert [said.said_by_other for said in evidence_of("What is the guest code of Mira?", hits, {})] == [
        float(is_of_another),
        0.0,
    ]


@pytest.mark.parametrize(("message", "is_of_another"), [("The dose is 5 mg.", False), ("My dose is 5 mg.", True)])
def test_where_more_than_two_speak_only_who_tells_of_themselves_is_another(message: str, is_of_another: bool):
    hits = [
        hit(f"{name}: {text}", speaker=name)
        for name, text in (("Ana", message), ("Mira", "Thanks."), ("Jo", "See you on Friday."))
    ]

    assert evidence_of("What is the dose of Mira?", hits, {})[0].said_by_other == float(is_of_another)
    assert evidence_of("What is the dose of Mira?", hits[:2], {})[0].said_by_other == 1.0


@pytest.mark.parametrize(
    "asked", ["What is the current plan right now?", "What is the plan as of now?", "What is the summary of the plan?"]
)
def test_that_something_holds_now_or_is_told_in_short_need_not_be_said(asked: str):
    assert evidence(asked, "The plan: paint the boat.", "The boat is blue.").own == 1.0

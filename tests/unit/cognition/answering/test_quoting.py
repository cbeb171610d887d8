import asyncio
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.quoting import NOT_KNOWN, PREFACE, QuotingSettings, quotation, strong
from hive_mind.cognition.answering.relevance import Judgement, RelevanceSettings, Relevant
from hive_mind.cognition.answering.relevance import relevant as judged_by_rules
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.model.gathered import Question, SearchResult
from hive_mind.model.query import Answering, Contributions, Hit
from tests.unit.cognition.reading import answer, hit

QUOTED = re.compile(r"^“(.*)”(?: — [^“”]*)?(?: \(.*\))?$", re.DOTALL)


def test_the_answer_quotes_the_fact_with_who_and_when():
    found = answer("Where does Ana live?", hit("I live in Porto.", speaker="Ana", said_at="2023-05-08"))

    assert found.text == f"{PREFACE}\n“I live in Porto.” — Ana, 8 May 2023"
    assert (found.method, found.is_known) == ("quoted", True)
    assert 0.0 < found.confidence <= 1.0


def test_who_speaks_is_shown_once():
    found = answer("Where does Ana live?", hit("Ana: I live in Porto.", speaker="Ana", said_at="2023-05-08T09:25"))

    assert found.text == f"{PREFACE}\n“Ana: I live in Porto.” — 8 May 2023, 09:25"


def test_a_relative_date_is_resolved_outside_of_the_quotation():
    found = answer("When did Ana move to Porto?", hit("I moved to Porto yesterday.", speaker="Ana", said_at="2023-05-08"))

    assert found.text.endswith("“I moved to Porto yesterday.” — Ana, 8 May 2023 (“yesterday” is 2023-05-07)")


def test_a_weekday_in_the_past_tense_is_the_last_one():
    known = {"speaker": "Ana", "said_at": "2025-08-25"}

    assert "is 2025-08-22" in answer("When was the cable buried?", hit("The cable was buried on Friday.", **known)).text
    for still_to_come in ("was due on Friday", "gets buried on Friday", "was to be buried on Friday"):
        assert "2025-08" not in answer("When was the cable buried?", hit(f"The cable {still_to_come}.", **known)).text


def test_a_turn_that_only_asks_does_not_stand_before_what_it_asks_for():
    asks = hit("Ana: Please repeat the current callback plan.", speaker="Ana", score=1.0)
    tells = hit("Erin: The callback plan is her mobile, after six.", speaker="Erin", score=0.8)

    assert [quoted.fact for quoted in answer("What is the current callback plan?", asks, tells).sources] == [tells.fact]


def test_what_was_superseded_says_so():
    found = answer("What was the budget before?", hit("The budget was 5,000 EUR.", superseded_by="newer"))

    assert found.text.endswith("(no longer true)")


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is the capital of Mongolia?", "Ana moved to Porto in May."),
        ("Who closed INC-2024-002?", "Ana closed INC-2024-001 in an hour."),
        ("Where does Zoe live?", "Ana lives in Porto."),
        ("What is Ana's favourite dessert after dinner?", "Ana lives in Porto."),
        ("", "Ana lives in Porto."),
    ],
)
def test_what_nothing_in_memory_speaks_of_is_not_known(question: str, fact: str):
    found = answer(question, hit(fact))

    assert (found.text, found.sources, found.method, found.confidence) == (NOT_KNOWN, (), "unknown", 0.0)


def test_what_is_not_known_for_certain_comes_with_the_closest_facts_and_no_more_than_three():
    found = [hit(f"Ana lives in {place}.") for place in ("Porto", "Braga", "Faro", "Evora")]

    declined = answer("Where does Zoe live?", *found)

    assert (declined.is_known, declined.sources, declined.closest) == (False, (), tuple(found[:3]))


def test_without_hits_nothing_is_known():
    assert not answer("Who owns billing?").is_known


def test_the_words_just_before_a_fact_help_to_recognise_it():
    found = answer("Where does Ana live?", hit("Near the river.", speaker="Ana", before="Where do you live?"))

    assert found.is_known


def test_a_close_meaning_is_relevant_though_the_words_differ():
    question, fact = "How does Ana commute to her office?", "Ana cycles to the office every morning with a friend."

    assert not answer(question, hit(fact, semantic=0.1)).is_known
    assert answer(question, hit(fact, semantic=0.9)).is_known


def test_a_close_meaning_does_not_make_up_for_the_wrong_person():
    assert not answer("How does Zoe commute to work?", hit("Ana cycles to the office.", semantic=0.9)).is_known


def test_a_fact_without_a_shared_word_is_relevant_when_its_meaning_is_close():
    assert answer("How much money can we spend?", hit("The budget is 5,000 EUR.", semantic=0.7)).is_known


def test_weak_hits_are_left_out_and_the_order_stays():
    found = answer(
        "Who owns billing?", hit("Ana owns billing.", 1.0), hit("Ben owned billing once.", 0.8), hit("Nobody owns billing.", 0.1)
    )

    assert [source.score for source in found.sources] == [1.0, 0.8]


def test_a_fact_that_only_shares_a_word_answers_nothing_alone_and_adds_nothing_beside_one_that_answers():
    full, short = hit("Ana sold the blue sailing boat.", 1.0), hit("It was a boat of seven metres.", 0.9)

    assert answer("Who sold the blue sailing boat?", full, short).sources == (full,)
    assert not answer("Who sold the blue sailing boat?", short).is_known


def test_a_question_about_an_identifier_is_not_answered_about_another():
    asked, neighbour = hit("IMR 44.2170: wrecks are protected.", 1.9), hit("IMR 44.3012: every diver has a second diver.", 1.8)

    assert answer("What does IMR 44.2170 protect?", neighbour, asked).sources == (asked,)


def test_what_stands_under_the_heading_of_an_identifier_answers_about_it():
    step = hit("Interval: every 14 days.", concept="PMP-014 Cleaning the strainer")

    assert answer("What does PMP-014 say?", step).is_known
    assert not answer("What does PMP-077 say?", step).is_known


def test_a_look_up_quotes_three_and_a_list_quotes_more():
    facts = [hit(f"Owner {n} of billing.", 1.0) for n in range(8)]

    assert len(answer("Who is the owner of billing?", *facts).sources) == 3
    assert len(answer("List all owners of billing.", *facts).sources) == 8


@given(st.text(min_size=1), st.lists(st.text(min_size=1), max_size=4))
def test_every_quotation_is_literally_a_fact_of_a_hit(question: str, contents: list[str]):
    hits = [hit(f"{question} {content}") for content in contents]

    found = answer(question, *hits)

    if found.is_known:
        expected = [f"“{source.fact.content}”" for source in found.sources]
        rest = found.text.removeprefix(PREFACE)
        for quotation in expected:
            before, found_quotation, rest = rest.partition(quotation)
            assert found_quotation == quotation
            assert before.strip() == "" or before.startswith((" (", " — "))
        assert set(found.sources) <= set(hits)
    else:
        assert found.sources == ()


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_row_is_quoted_with_the_names_of_its_columns(separator: str):
    row, header = (separator.join(fields) for fields in (("Ann", "4711", "B12"), ("name", "phone", "room")))
    found = answer("What is the phone of Ann?", hit(row, concept="Ann", before=header))

    assert f"“{row}” ({header})" in found.text


def test_what_begins_with_a_word_for_what_stands_before_brings_it():
    before = "Tamsin: The doctor says no lifting."
    known = {"before": before, "keyword": 9.0}

    assert answer("Who lifts the gearbox?", hit("Then Tomas lifts the gearbox.", **known)).text.endswith(f"(after “{before}”)")
    assert before not in answer("Who lifts the gearbox?", hit("Tomas lifts the gearbox.", **known)).text


@pytest.mark.parametrize("content", ["Mallory: ", " "])
def test_a_fact_of_others_in_which_nobody_says_anything_does_no_harm(content: str):
    """Those of a hive come as their authors wrote them."""
    said = hit(content, speaker="Mallory", before="Ana: Who lifts the gearbox?", semantic=0.9)

    assert quotation(said).startswith(f"“{content}”")
    assert answer("What does Mallory say?", said, hit("Mallory says that she lifts the gearbox.")).is_known


def relevant(hit: Hit, *, answers: bool = True) -> Relevant:
    return Relevant(hit, Judgement(1.0, 1.0, False), answers)


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


def test_a_part_that_nothing_answers_is_named_beside_the_one_that_is():
    lift = hit("The lift was inspected by Grete on 29 January 2026.")

    partly = answer("When was the lift inspected and who paid for the new rope?", lift)
    assert partly.text.splitlines()[-1] == (
        "Partly: “When was the lift inspected” is answered, “who paid for the new rope” is not."
    )
    paid = hit("Otto paid for the new rope of the lift.")
    assert "Partly" not in answer("When was the lift inspected and who paid for the new rope?", lift, paid).text
    assert "Partly" not in answer("When was the lift inspected?", lift).text


@pytest.mark.parametrize(
    ("question", "likely", "speaker"),
    [
        ("When are harbour committees established?", "Harbour committees are established where members want them.", ""),
        (
            "Who translated the old harbour rules of Corrin?",
            "Guyard de Moulin put the old harbour rules of Corrin into French.",
            "",
        ),
        ("When did Ola join the harbour choir?", "I just joined the harbour choir, Ben. How about you?", "Ola"),
    ],
)
def test_among_many_facts_a_likely_one_is_quoted_though_the_rules_do_not_accept_it(question: str, likely: str, speaker: str):
    others = [hit(f"Note {number} is about the weather.", 0.1) for number in range(12)]
    fact = hit(f"{speaker}: {likely}" if speaker else likely, 1.0, keyword=25.0, speaker=speaker)

    assert not any(judged.answers for judged in judged_by_rules(question, [fact, *others], RelevanceSettings()))
    assert [source.fact for source in answer(question, fact, *others, searched=1_000).sources] == [fact.fact]
    assert not answer(question, hit(question, 1.0, keyword=25.0), *others, searched=1_000).is_known


def test_of_few_facts_one_that_is_less_likely_is_quoted_and_of_many_it_is_not():
    fact = hit("Guyard put the rules of the harbour into French.", 1.0, keyword=9.0)

    def is_answered(searched: int, answering: Answering = "balanced") -> bool:
        reader = ExtractiveReader(quoting=QuotingSettings(answering=answering))
        hits = SearchResult([fact], searched=searched)
        return asyncio.run(reader.synthesise(Question("Who translated the rules of the harbour?"), hits)).is_known

    assert (is_answered(3), is_answered(10_000)) == (True, False)
    assert (is_answered(3, "careful"), is_answered(20, "careful")) == (True, False)


@pytest.mark.parametrize(
    ("question", "said", "behind", "is_first"),
    [
        ("Why is the lift closed?", "The lift is closed from Monday.", "The motor needs a new bearing.", True),
        ("Why did the boat not sail?", "Ana: the boat did not sail.", "Bo: why? Ana: the mast broke.", True),
        ("Warum fährt die Fähre nicht?", "Die Fähre fährt heute nicht.", "Der Motor wird repariert.", True),
        ("Why is the lift closed?", "The lift is closed because the motor is worn.", "The stairs are in wing B.", False),
        ("When is the lift closed?", "The lift is closed from Monday.", "The motor needs a new bearing.", False),
        ("Why is the lift closed?", "The lift is closed from Monday.", "Is there another one?", False),
    ],
)
def test_why_is_answered_by_what_follows_the_sentence_that_says_it_again(
    question: str, said: str, behind: str, *, is_first: bool
):
    told = [hit(said, keyword=6.0), hit(behind, keyword=1.0, before=said), hit("The harbour is blue.", keyword=0.5)]

    contents = [source.fact.content for source in answer(question, *told).sources]

    assert contents[: 1 + is_first] == [*([behind] if is_first else []), said]
    # Of a large memory behind it: a sentence there may have the reason in it.
    assert answer(question, *told, searched=500).sources[0].fact.content == said

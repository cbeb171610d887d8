import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind import Settings, open_agent
from hive_mind.cognition.answering.tallying import aggregations_of, collected_answer, tallied_answer, tally_of
from hive_mind.model.aggregation import Aggregated, Aggregation
from hive_mind.model.content import Content
from hive_mind.model.gathered import Answer
from tests.unit.cognition.reading import hit

QUESTIONS = Path(__file__).parents[4] / "benchmarks/questions"
CITIES = ("Porto", "Kiel", "Ghent")
MONTHS = ("2026-01", "2026-02", "2026-11")
SHIPMENTS = st.lists(st.tuples(st.sampled_from(CITIES), st.sampled_from(MONTHS)), min_size=1, max_size=30)


def whole(completeness: float = 1.0, *silent: str) -> Aggregated:
    return Aggregated(Aggregation("count"), 0, (), completeness, silent)


def tallied(question: str, rows: list[tuple[str, str]], of_hive: Aggregated | None = None) -> Answer | None:
    facts = [
        hit(f"S-{number};{city};{month}-03", concept=f"S-{number}", before="parcel;city;date", sources=("shipments.csv",)).fact
        for number, (city, month) in enumerate(rows)
    ]
    other = hit("The harbour of Porto has 12 cranes.").fact
    tally = tally_of(question)
    assert tally is not None
    return tallied_answer(tally, [*facts, other], of_hive or whole())


@given(SHIPMENTS, st.sampled_from(CITIES))
def test_rows_are_counted_exactly(rows: list[tuple[str, str]], city: str):
    counts, months = Counter(city for city, _ in rows), Counter(month for _, month in rows)
    of_city = tallied(f"How many shipments are for {city}?", rows)

    assert (of_city.text.split()[0] if of_city else "0") == str(counts[city])
    by_city = tallied("How many shipments are there per city?", rows)
    assert by_city is not None
    assert by_city.text.splitlines()[:-1] == [
        f"{name}: {count}" for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    by_month = tallied("How many shipments are there per month?", rows)
    assert by_month is not None
    assert by_month.text.splitlines()[:-1] == [f"{name}: {count}" for name, count in sorted(months.items())]
    most = tallied("Which city has the most shipments?", rows)
    assert most is not None
    assert {line.split(":")[0] for line in most.text.splitlines()[:-1]} == {
        name for name, count in counts.items() if count == max(counts.values())
    }
    last = tallied("What is the last shipment?", rows)
    assert last is not None
    assert last.sources[0].fact.content.endswith(f"{max(months)}-03")
    listed = tallied("List all shipments of January 2026", rows)
    assert len(listed.sources if listed else ()) == months["2026-01"]


def test_the_part_of_the_hive_that_was_silent_is_named():
    answer = tallied("How many shipments are there?", [("Kiel", "2026-01")], whole(0.5, "n2"))

    assert answer is not None
    assert answer.text.startswith("1 (counted over 2 facts in 50% of the hive; 1 member did not answer (n2)):")
    assert answer.completeness == 0.5


@pytest.mark.parametrize(
    "question", ["Which port does the gateway use?", "Who has most of the shares?", "What is the date of the next shipment?", ""]
)
def test_a_question_that_asks_for_one_fact_is_no_tally(question: str):
    assert tally_of(question) is None


def test_terms_that_no_row_has_mean_something_else():
    assert tallied("How many shipments were insured?", [("Kiel", "2026-01")]) is None
    assert tallied("How many trains are there?", [("Kiel", "2026-01")]) is None


def test_questions_for_all_of_them_are_answered_over_texts_of_several_kinds():
    """`benchmarks/questions/aggregative.jsonl`: `want` begins the answer; null: it must not be counted."""

    async def answers() -> list[tuple[dict[str, str], Answer]]:
        async with await open_agent(Settings(store="memory", embed="none"), "tallying") as agent:
            for path in sorted((QUESTIONS / "aggregative").iterdir()):
                await agent.learn_from_content(Content(path.read_text("utf-8"), source=path.name))
            cases = [json.loads(line) for line in (QUESTIONS / "aggregative.jsonl").read_text("utf-8").splitlines()]
            return [(case, await agent.answer_question(case["question"])) for case in cases]

    for case, answer in asyncio.run(answers()):
        if case["want"] is None:
            assert answer.method != "collected", case
        else:
            assert answer.method == "collected", case
            assert answer.text.startswith(case["want"]), (case, answer.text)


@pytest.mark.parametrize(
    ("question", "kind", "about"),
    [
        ("How many notes are there on D4?", "count", "D4"),
        ("How many facts do we know about the cooling pump?", "count", "cooling pump"),
        ("How many records mention INC-7?", "count", "INC-7"),
        ("How often is INC-7 mentioned?", "count", "INC-7"),
        ("List all facts about D4.", "list", "D4"),
        ("Show me everything we know about Ana Berg", "list", "Ana Berg"),
        ("List all incidents", "list", "incidents"),
        ("What is the latest note on D4?", "latest", "D4"),
        ("What's the most recent news about D4?", "latest", "D4"),
        ("What was the first thing said about D4?", "earliest", "D4"),
    ],
)
def test_a_question_for_all_facts_is_told_by_its_words(question: str, kind: str, about: str):
    first = next(aggregations_of(question))

    assert (first.kind, first.about) == (kind, about)


@pytest.mark.parametrize(
    "question",
    [
        "How many solar panels does the cooperative own?",
        "How many pumps are there?",
        "What is the latest bus?",
        "Who said something about D4?",
        "What is the first rule of the house?",
        "",
    ],
)
def test_a_question_that_some_fact_answers_is_none(question: str):
    assert list(aggregations_of(question)) == []


def test_what_is_about_several_is_tried_in_the_singular_too():
    assert [one.about for one in aggregations_of("List all incidents")] == ["incidents", "incident"]


@given(st.text(max_size=400))
def test_any_text_is_looked_at(text: str):
    assert len(list(aggregations_of(text))) <= 2


def test_a_count_is_a_sentence_and_a_list_quotes():
    facts = (hit("D4 is red.", said_at="2025-01-02").fact, hit("D4 was blue.", said_at="2025-01-01").fact)

    assert collected_answer(Aggregated(Aggregation("count", "D4"), 2)).text == "2 facts about D4."
    listed = collected_answer(Aggregated(Aggregation("list", "D4"), 2, facts))
    assert listed.text == "All of 2 facts about D4, the latest first:\n“D4 is red.” — 2 Jan 2025\n“D4 was blue.” — 1 Jan 2025"
    assert (listed.is_known, listed.method, [one.fact for one in listed.sources]) == (True, "collected", list(facts))
    shown = collected_answer(Aggregated(Aggregation("latest", "D4"), 2, facts[:1]))
    assert shown.text.startswith("The latest of 2 facts about D4:\n")


def test_what_did_not_answer_is_told():
    found = collected_answer(Aggregated(Aggregation("count", "D4"), 2, (), 0.75, ("n1", "n4")))

    assert found.text == "2 facts about D4 in 75% of the hive; 2 members did not answer (n1, n4)."
    assert found.completeness == 0.75


DEEDS = (
    "Mira planted an oak in 2019.",
    "Mira planted a birch in 2021.",
    "Theo planted an ash in 2018.",
    "Mira planted a yew in 2020.",
)
SEATS = ("Bus 4 carries 50 people.", "Bus 7 carries 1,080 people.", "Bus 9 carries 35 people.", "The tram is blue.")


@pytest.mark.parametrize(
    ("texts", "question", "head", "first"),
    [
        (DEEDS, "How many trees did Mira plant?", "3 ", "Mira"),
        (DEEDS, "Which tree did Mira plant first?", "The first of 3 ", "Mira planted an oak"),
        (DEEDS, "What was the last tree that Mira planted?", "The last of 3 ", "Mira planted a birch"),
        (SEATS, "Which bus carries the most people?", "The most of 3 ", "Bus 7"),
        (SEATS, "Which bus carries the fewest people?", "The least of 3 ", "Bus 9"),
    ],
)
def test_deeds_and_figures_of_sentences_are_counted_and_compared(
    texts: tuple[str, ...], question: str, head: str, first: str
) -> None:
    tally = tally_of(question)
    answer = tallied_answer(tally, [hit(text).fact for text in texts], whole()) if tally else None

    assert answer is not None
    assert answer.text.startswith(head)
    assert answer.sources[0].fact.content.startswith(first)


@pytest.mark.parametrize(
    "question", ["How many trees did Olga plant?", "Which tree did Mira fell first?", "Which tram carries the most people?"]
)
def test_what_no_sentence_tells_is_not_counted(question: str) -> None:
    tally = tally_of(question)

    assert tally is None or tallied_answer(tally, [hit(text).fact for text in (*DEEDS, *SEATS)], whole()) is None


def test_rows_are_compared_by_the_column_that_is_asked_for() -> None:
    rows = [
        hit(f"{lake},{fish}", before="lake,fish", concept=lake, sources=("lakes.csv",)).fact
        for lake, fish in zip("ABC", "592", strict=True)
    ]
    for question, best in (("Which lake has the most fish?", "B"), ("Which lake has the fewest fish?", "C")):
        tally = tally_of(question)
        answer = tallied_answer(tally, rows, whole()) if tally else None
        assert answer is not None
        assert [source.fact.content[0] for source in answer.sources] == [best]

import asyncio

import pytest

from hive_mind.cognition.answering.likelihood import evidence_of
from hive_mind.cognition.extractive import GENERAL, ExtractiveReader, ExtractiveSettings
from hive_mind.memory.intake import statement
from hive_mind.model.content import Content
from tests.unit.cognition.reading import candidates, extraction, hit, statements

REPORT = """# Incident INC-2024-001
Date: 5 March 2024

Dr. Ana Silva restarted db01.prod at 10:22. The outage lasted 45 minutes. It may be related to the switch. What happened?

## Owners
- Ana owns billing
- Ben owns search
"""
CHAT = """[2024-03-05 10:22] Ana: Hi Ben! I moved to Porto yesterday. It is lovely.
[2024-03-05 10:23] Ben: Wow, great!
[2024-03-05 10:24] Ben: Where do you live exactly?
[2024-03-05 10:25] Ana: Near the river, since March.
"""


def test_facts_are_the_sentences_of_the_text_word_for_word_under_its_headings_and_of_its_date():
    found = extraction(REPORT)

    assert [candidate.content for candidate in found.candidates][1:] == [
        "Dr. Ana Silva restarted db01.prod at 10:22.",
        "The outage lasted 45 minutes.",
        "It may be related to the switch.",
        "Ana owns billing",
        "Ben owns search",
    ]
    assert {candidate.concept for candidate in found.candidates} == {"Incident INC-2024-001", "Owners"}
    assert found.candidates[-2].before == "Incident INC-2024-001: Owners"
    assert {found.said_at, *(candidate.said_at for candidate in found.candidates)} == {"2024-03-05"}
    assert extraction(REPORT) == found
    assert extraction(REPORT, said_at="1:56 pm on 8 May, 2023").said_at == "2023-05-08T13:56"


def test_sections_of_the_same_title_are_told_apart_by_the_title_above_them():
    versions = "".join(
        f"## {n}.0\n### Fixed\n- The map {n} opens.\n- The list {n} scrolls.\n### New in {n}\nThe map {n} is new.\n"
        for n in (1, 2)
    )

    concepts = [candidate.concept for candidate in candidates(f"# Changes\n{versions}")]

    assert concepts == ["1.0: Fixed", "1.0: Fixed", "1.0: New in 1", "2.0: Fixed", "2.0: Fixed", "2.0: New in 2"]
    long = f"# {'long ' * 20}\n## Fixed\nThe map opens.\n# Other\n## Fixed\nThe list scrolls."
    assert [candidate.concept for candidate in candidates(long)] == ["Fixed", "Other: Fixed"]


LOG = """# Log 2024

## Burst hose
Date: 21 January 2024
The crane lost oil yesterday.

## 5 March 2024
[10:22] Ana: I closed the valve.

### Costs
The hose cost 40 euros.

## Open
Nobody has ordered the mat.
"""


def test_a_date_counts_for_its_own_section_and_what_is_below_and_a_given_time_where_there_is_none():
    found = extraction(LOG)

    assert found.said_at == ""
    assert [(one.content, one.said_at) for one in found.candidates if "Date:" not in one.content] == [
        ("The crane lost oil yesterday.", "2024-01-21"),
        ("I closed the valve.", "2024-03-05T10:22"),
        ("The hose cost 40 euros.", "2024-03-05"),
        ("Nobody has ordered the mat.", ""),
    ]
    assert found.candidates[1].labels == ("2024-01-20", "in “Log 2024: Burst hose”")

    known = extraction(LOG, said_at="2024-04-01")
    assert (known.said_at, known.candidates[1].said_at, known.candidates[-1].said_at) == (
        "2024-04-01",
        "2024-01-21",
        "2024-04-01",
    )


@pytest.mark.parametrize(
    ("heading", "said_at"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-03-05 Stand-up", "2024-03-05"),
        ("Tuesday, 5 March 2024", "2024-03-05"),
        ("All changes that were made since March 2024", ""),
        ("Before\n2024-03-05", "2024-03-05"),
    ],
    ids=["date", "title", "weekday", "mentioned", "below one of two of the same title"],
)
def test_a_heading_that_is_a_date_and_a_date_below_it_date_its_section(heading: str, said_at: str):
    found = candidates(f"## Before\nThe valve was open.\n\n## {heading}\nThe valve is closed.")

    assert (found[0].said_at, found[-1].said_at) == ("", said_at)


def test_a_date_inside_a_sentence_does_not_date_the_content():
    assert extraction("In the long run we hope that on 5 March 2030 everything is finished.").said_at == ""


def test_an_utterance_of_short_sentences_stays_together_a_question_with_its_short_answer_and_applause_is_not_kept():
    first, last = candidates(CHAT)

    assert first.content == "Hi Ben! I moved to Porto yesterday. It is lovely."
    assert (first.speaker, first.concept, first.said_at, first.labels) == ("Ana", "Porto", "2024-03-05T10:22", ("2024-03-04",))
    assert statement(last) == "Ben: Where do you live exactly? Ana: Near the river, since March."
    assert last.concept == "Ben"
    # Applause comes between nobody.
    assert last.before.endswith("It is lovely.")


@pytest.mark.parametrize("text", ["Насос работает.", "Kapı kapalı.", "المصعد يعمل."])
def test_two_words_are_a_sentence_in_languages_without_articles(text: str):
    assert [candidate.content for candidate in candidates(text)] == [text]


def test_what_comes_before_is_the_earlier_fact_exactly_as_a_memory_keeps_it():
    first, second = candidates("Ana: I moved to Porto  in May.\nBen: I stayed in Faro.\nAna: You never told me why?")

    assert second.before == statement(first) == "Ana: I moved to Porto in May."


def test_only_what_is_too_long_is_cut_from_what_comes_before():
    reader = ExtractiveReader(ExtractiveSettings(before_chars_max=20))
    text = "Ana owns billing now.\nBen owns search.\nCleo owns mail."
    _, second, third = asyncio.run(reader.extract(Content(text, "test"))).candidates

    assert (second.before, third.before) == ("na owns billing now.", "Ben owns search.")


def test_a_given_speaker_stands_for_the_whole_content():
    (found,) = candidates("I moved to the north last week.", speaker="Ana", said_at="2023-05-08")

    assert (found.speaker, found.concept, found.labels) == ("Ana", "Ana", ("2023-W18",))


def test_a_sentence_about_nothing_named_has_the_general_concept():
    assert candidates("the weather was fine all day.")[0].concept == GENERAL


def test_the_same_sentence_twice_is_one_candidate():
    assert statements("Ana owns billing. Ana owns  billing.") == ["Ana owns billing."]


ROW = "| part | size |\n|---|---|\n| seal | 5 mm |"


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("The pressure is 5 bar.", "Alma; Berta; Cora"),
        ("- Ready.\n- Pressure: 5 bar", "Ready.; Berta; Cora"),
        (ROW, "| part | size |"),
    ],
    ids=["a sentence", "an item", "a row"],
)
def test_a_text_that_stands_in_several_sections_is_about_all_as_far_as_there_is_room(said: str, before: str):
    fact = candidates("\n\n".join(f"## {name}\n\n{said}" for name in ("Alma", "Berta", "Cora", "Berta")))[-1]
    assert (fact.concept, fact.before, fact.entities[-2:]) == ("Alma", before, ("Berta", "Cora"))

    many = candidates("\n\n".join(f"## Pump {number}\n\n{said}" for number in range(150)))[-1]
    assert 300 < len("; ".join((many.before, *many.entities))) <= ExtractiveSettings().before_chars_max


def test_a_table_row_is_a_fact_with_its_header_before_it():
    (row,) = candidates("| service | owner |\n|---|---|\n| billing | Ana Silva |")

    assert (row.content, row.before) == ("| billing | Ana Silva |", "| service | owner |")


@pytest.mark.parametrize("junk", ["", " ", "\x00\x01", "\ufffd" * 2000, "(" * 2000, "a" * 2000, "\n" * 2000, "?" * 2000])
def test_junk_holds_no_facts(junk: str):
    assert candidates(junk) == ()


def test_the_concept_map_links_what_is_named_together_and_says_how_much_it_leaves_out():
    def mapped(text: str) -> list[str]:
        reader, content = ExtractiveReader(), Content(text, "test", title="Week 10")
        return asyncio.run(reader.summarise(content, asyncio.run(reader.extract(content)).candidates)).splitlines()

    assert mapped(REPORT)[:3] == [
        "Week 10",
        "Incident INC-2024-001 (4 statements): Dr. Ana Silva, db01.prod",
        "Owners (2 statements): Ana, Ben",
    ]
    assert mapped("\n".join(f"# Topic {n}\nThis is line {n} of it." for n in range(50)))[-1] == "… and 10 more concepts"


def test_a_fact_of_another_year_than_is_asked_about_contradicts_the_question():
    fair = [hit("The fair of 2021 took place in Porto.")]

    assert evidence_of("Where did the fair of 2021 take place?", fair, {})[0].contradicted == 0.0
    assert evidence_of("Where did the fair of 2023 take place?", fair, {})[0].contradicted == 1.0

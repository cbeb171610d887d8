"""What storing a statement means: pure, and the same for one fact as for many."""

from dataclasses import replace
from functools import reduce

import pytest

from hive_mind.memory.intake import confirmed, new_fact, statement, superseding, take_in
from hive_mind.model.content import Episode
from hive_mind.model.fact import Relation, place_label
from hive_mind.store import AddEntity, AddEpisode, AddFact, Link, ReviseFact
from tests.builders import FIRST_US, fact, said


def nothing_known(_: str) -> None:
    return None


@pytest.mark.parametrize(
    ("speaker", "content", "kept"),
    [
        ("", "I moved.", "I moved."),
        ("Ines", "I moved.", "Ines: I moved."),
        ("Ines", "Ines: I moved.", "Ines: I moved."),
        ("Ines", "Ines moved.", "Ines: Ines moved."),
        (" Ines  M\n", " I\n moved. ", "Ines M: I moved."),
    ],
)
def test_who_said_it_stands_before_what_was_said_once(speaker: str, content: str, kept: str):
    assert statement(said(content, speaker=speaker)) == kept


def test_a_new_fact_is_canonical_and_names_nothing_blank():
    made = new_fact(said(" The  pump ", " hall\n3", 1, before=" a  b ", entities=("", "Ada", " "), labels=(" ", "x")), "ines", 7)

    assert (made.content, made.concept, made.before, made.learned_at_us) == ("The pump", "hall 3", "a b", 7)
    assert (made.entities, made.labels, made.sources, made.confidence) == (("Ada",), ("x",), ("ines",), 1.0)


def test_a_new_fact_is_added_with_its_episode_and_entities_before_its_links():
    changes = take_in([fact(entities=("Ada", "ADA"))], nothing_known, Episode("e" * 32, "Text.", "ines", "", FIRST_US)).changes

    assert [type(change) for change in changes] == [AddFact, AddEpisode, Link, AddEntity, Link]
    assert {change.relation for change in changes if isinstance(change, Link)} == {Relation.DERIVES_FROM, Relation.MENTIONS}


def test_a_batch_that_repeats_itself_is_one_change():
    intake = take_in([fact(sources=("a",)), fact(sources=("b",)), fact(sources=("a",))], nothing_known, None)

    assert intake.changes == (AddFact(fact(sources=("a", "b"))),)
    assert intake.facts == (fact(sources=("a", "b")),) * 3


def test_confirming_keeps_the_first_words_and_the_higher_confidence():
    first = fact(confidence=0.9, concept="pump")

    again = confirmed(first, fact(sources=("otto",), confidence=0.3, concept="colour", learned_at_us=FIRST_US + 9))

    assert again == replace(first, sources=("ines", "otto"))


def test_a_text_of_several_files_stands_under_the_headings_of_each_and_of_no_file_that_no_longer_says_it():
    first, *others = [fact(sources=(name,), labels=("2024", place_label([name, "Rules"]))) for name in "abcdefghijkl"]
    told = reduce(confirmed, others, first)

    assert told.labels == ("2024", *(place_label([name, "Rules"]) for name in "abcdefgh"))
    assert told.said_by(told.sources) == told
    assert told.said_by(("a", "b")).labels == first.labels
    assert told.said_by(("b", "c")).labels == ("2024",)


def test_what_takes_the_place_of_a_fact_is_current_and_linked():
    old, new = fact("Red.", entities=("Ada",)), fact("Blue.", entities=("Ada",))

    intake = superseding(new, old, {old.id: old}.get)

    assert intake.changes[:3] == (
        AddFact(new),
        ReviseFact(replace(old, superseded_by=new.id)),
        Link(Relation.SUPERSEDES, new.id, old.id),
    )
    assert intake.facts[0] == new

"""What a query names exactly is found first, however near in meaning its neighbours are (the table of document 002)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.gathered import Probe
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.pipeline import rank
from hive_mind.ranking.question import anchors
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import ExactVectors
from tests.builders import fact
from tests.supports import alike

EAST, BETWEEN = np.array([1, 0], np.float32), np.array([0.6, 0.8], np.float32)


def first(query: str, right: str, *wrong: str) -> str:
    """The best of these facts when every vector says that the wrong ones are what was meant."""
    index = FactIndex(ExactVectors(2))
    for text in (*wrong, right):
        index.add(text, weighted_terms(fact(text)), BETWEEN if text == right else EAST)
    return rank(index.pool(Probe(tuple(tokenize(query)), anchors(query), EAST)), alike, 1)[0].id


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("D40", "Region D40 holds a well.", "Region D41 holds a statue. Region D4 is empty."),
        ("D4", "Region D4 is empty.", "Region D40 holds a well."),
        ("D40?", "Region D40 holds a well.", "Region D4 and region D400 are flooded."),
        ("d40", "Region D40 holds a well.", "Region D41 holds a statue."),
        ("Tell me about D40", "Region D40 holds a well.", "I'll tell you about D41: tell nobody about it."),
        ("Tell me about Room D40", "Room D40 holds a well.", "Room D41 holds a room within a room."),
        ("Tell me about Room D40", "D40: a well, and nothing else of use to anybody.", "Region D4 is a guard room, a room."),
        ("Aboleth", "The aboleth lives in deep water.", "The kraken lives in deep water."),
        ("Tell me about Aboleth", "The aboleth lives in deep water.", "Tell me, where does the kraken live?"),
        ("30 CFR 75.1725", "30 CFR 75.1725: machinery is kept safe.", "30 CFR 75.1726 and 30 CFR 75.172 are about stairs."),
        ("Explain regulation 75.1725", "75.1725 is on machinery.", "To explain regulation 75.1726, read the regulation."),
        ("What are the safety requirements?", "Safety requirements: a helmet.", "Helmets are sold on Mondays."),
        ("INC-2024-001", "INC-2024-001 was a leak.", "INC-2024-002 and INC-2023-001 and 2024-001 were fires."),
        ("What happened in INC-2024-001?", "A leak, see INC-2024-001.", "What happened happened in INC-2024-0011."),
        ("192.168.1.45", "The printer is 192.168.1.45.", "The router is 192.168.1.4, not 192.168.1.254."),
        ("PII-2024-0042", "PII-2024-0042 names a doctor.", "PII-2024-0043 names a nurse, PII-2024 nobody."),
        ("PII2024-0042", "PII2024-0042 names a doctor.", "PII2024-0043 names a nurse."),
        ("CVE-2024-3094", "CVE-2024-3094 is in xz.", "CVE-2024-3095, CVE-2023-3094: elsewhere."),
        ("Was CVE-2021-44228 fixed?", "CVE-2021-44228 was patched.", "It was fixed, so it was: CVE-2021-45046."),
        ("Who flew the B-52?", "Ines flew the B-52.", "Who flew the F-52? Ada flew the F-52."),
        ('who said "the red door"', "The door was red, said Ada.", "Who said the green door? Ines said."),
        ("mail bob@host1.com", "Write to bob@host1.com.", "Mail ada@host1.com, mail bob@host2.com."),
        ("v2.1.0-rc3", "v2.1.0-rc3 is out.", "v2.1.0-rc2 is out, v2.1.0 is not."),
        ("Zoë", "Zoë plays the flute.", "Chloe plays the flute."),
    ],
)
def test_what_is_named_comes_first(query: str, right: str, wrong: str):
    assert first(query, right, wrong) == right


def test_only_what_a_fact_says_itself_names_exactly():
    index = FactIndex()
    index.add("own", weighted_terms(fact("Water, and a lot of mud, in D40.")))
    index.add("around", weighted_terms(fact("Water.", before="And D40?", concept="D40")))
    pool = index.pool(Probe(("d40", "water"), anchors("D40")))
    assert dict(zip(pool.ids, pool.exact.tolist(), strict=True)) == {"own": 1.0, "around": 0.0}


@pytest.mark.parametrize(
    "query",
    [
        "What happened in 2023?",
        "WHAT HAPPENED IN 2023",
        "the 3rd time I asked",
        "the 1990s and the 20th century",
        "well-being and/or health, e.g. sleep",
        "Was it at 10 AM?",
        "How many of the 12 pumps are red?",
        "When did Caroline and Melanie meet?",
        "Tell me everything.",
        "It's John's, isn't it?",
        "",
        "!?",
    ],
)
def test_an_ordinary_question_names_nothing_exactly(query: str):
    assert anchors(query).required == ()


@pytest.mark.parametrize(
    "query", ["D40", "D40?", "Tell me about D40", "Aboleth", "Who is Aboleth?", "30 CFR 75.1725", '"red door"']
)
def test_a_query_of_nothing_but_names_is_pure(query: str):
    assert anchors(query).is_pure


@pytest.mark.parametrize("query", ["What are the safety requirements?", "Where does Caroline live?", "the pump in D40", ""])
def test_a_query_with_other_words_is_not_pure(query: str):
    assert not anchors(query).is_pure


@given(st.text(st.characters(exclude_categories=())))
def test_any_query_has_anchors_without_empty_ones(query: str):
    assert all(anchors(query).required)

"""Terms that were sealed are those that would be made anew, to the last bit; what is not known for certain is made anew."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.model.gathered import ANALYSIS
from hive_mind.ranking.form import KnownTerms, Terms, Vocabulary, joined, seal, weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.inverted import Bm25Index
from hive_mind.ranking.tokens import tokenize
from tests.chance import examples
from tests.laws.test_bulk import Said, documents, of_row, texts

# What `tokens` and `form` make of a few texts in which every rule of theirs is at work.
_SAMPLE = Said(
    "Noor: The valves that don't leak; CVE-2024-1234 wasn't fixed. Ärger um 東京タワー, 한국어",
    concept="pump 7",
    said_at="2023-05-08",
    speaker="Noor",
    before="Who's at 75.1725?",
    labels=("running", "2024-01"),
)
_OWN = "valv leak cve 1234 cve-2024-1234 wasnt dont fix arger um 東京 京タ タワ ワー 한국 국어 8 may 2023 run januari"
# In other languages each word has grams, and function words of them are none.
_IN_GERMAN = replace(_SAMPLE, content="Die Łódź-Häuser", speaker="", before="", concept="", labels=(), said_at="")
_MADE_OF_GERMAN = dict.fromkeys("lodz hauser ~_lod ~odz_ ~_hau ~ause ~ser_".split(), 1.0)
_MADE_OF_SAMPLE = (
    dict.fromkeys(_OWN.split(), 1.0) | dict.fromkeys("75 1725 75.1725 pump 7".split(), 0.5) | {"2024": 2.0, "noor": 0.95}
)
# Half a character, which can't be written down, as `repr` shows it.
_HALF = r"\ud800"


def sealed_terms(said: list[Said]) -> bytes:
    return seal(said, Vocabulary().weighted_terms(said))


def bits(terms: Terms) -> list[dict[str, bytes]]:
    return [of_row(terms, row) for row in range(len(terms.lengths))]


@settings(max_examples=examples() // 2)
@given(st.lists(documents, max_size=8), st.lists(documents, max_size=4), st.randoms(use_true_random=False))
def test_known_terms_are_those_that_would_be_made(before: list[Said], new: list[Said], chance: object) -> None:
    asked = [*before, *new]
    chance.shuffle(asked)  # type: ignore[attr-defined]

    known, terms, rest = KnownTerms(sealed_terms(before)).take(asked)

    assert sorted(map(repr, [*known, *rest])) == sorted(map(repr, asked))
    assert bits(terms) == bits(Vocabulary().weighted_terms(known))
    assert terms.lengths.tobytes() == Vocabulary().weighted_terms(known).lengths.tobytes()
    assert all(_HALF in repr(one) or one not in before or one in known for one in rest)


@settings(max_examples=examples() // 2)
@given(st.lists(documents, max_size=8), st.lists(texts, min_size=1, max_size=3), st.sets(st.integers(0, 7)))
def test_an_index_that_was_sealed_scores_as_before(said: list[Said], asked: list[str], gone: set[int]) -> None:
    index, woken, fresh = Bm25Index(), Bm25Index(), Bm25Index()
    index.add_all(Vocabulary().weighted_terms(said))
    for position in sorted(gone & set(range(len(said)))):
        index.remove(position, weighted_terms(said[position]))

    live, terms = index.everything()
    kept = [said[position] for position in live.tolist()]
    known, terms, _ = KnownTerms(seal(kept, terms)).take(kept)
    woken.add_all(terms)
    fresh.add_all(Vocabulary().weighted_terms(known))

    for query in map(tokenize, asked):
        assert woken.statistics(query) == fresh.statistics(query)
        assert woken.matched(query).scores.tobytes() == fresh.matched(query).scores.tobytes()


@settings(max_examples=examples() // 2)
@given(st.lists(st.lists(documents, max_size=5), min_size=1, max_size=3))
def test_parts_joined_are_what_all_together_are(parts: list[list[Said]]) -> None:
    together = [said for part in parts for said in part]
    terms = joined([Vocabulary().weighted_terms(part) for part in parts])
    assert bits(terms) == bits(Vocabulary().weighted_terms(together))
    order = np.lexsort((terms.rows, terms.numbers))
    assert (order == np.arange(len(order))).all()


@pytest.mark.parametrize(
    "changed",
    [{"content": "x"}, {"concept": "x"}, {"said_at": "2024"}, {"speaker": "Bo"}, {"before": "x"}, {"labels": ("a",)}],
    ids=str,
)
def test_a_document_of_which_anything_was_changed_is_not_known(changed: dict[str, object]) -> None:
    known = KnownTerms(sealed_terms([_SAMPLE]))
    assert known.take([_SAMPLE])[0] == [_SAMPLE]
    assert known.take([replace(_SAMPLE, **changed)])[2] == [replace(_SAMPLE, **changed)]  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [b"", b"x", b"\xc1", b"\x90", b"\x97" + b"\xa1x" * 7], ids=repr)
def test_other_bytes_know_nothing(other: bytes) -> None:
    assert KnownTerms(other).take([_SAMPLE])[2] == [_SAMPLE]


def test_what_another_tokenizer_sealed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sealed_terms([_SAMPLE])
    monkeypatch.setattr("hive_mind.ranking.form._MAKER", "1 3.1.0")
    assert KnownTerms(made).take([_SAMPLE])[2] == [_SAMPLE]


def test_who_changes_what_a_text_is_made_into_counts_up_the_version() -> None:
    """Otherwise memories would go on with the terms of the former version."""
    assert ANALYSIS == 12
    assert weighted_terms(_SAMPLE) == _MADE_OF_SAMPLE
    assert weighted_terms(_IN_GERMAN) == _MADE_OF_GERMAN


def test_an_index_gives_its_documents_and_their_terms() -> None:
    index, said = FactIndex(), [replace(_SAMPLE, content=f"valve {n}") for n in range(3)]
    index.add_all(["a", "b", "c"], Vocabulary().weighted_terms(said))
    index.remove("b", weighted_terms(said[1]))

    ids, terms = index.everything()

    assert ids == ["a", "c"]
    assert bits(terms) == bits(Vocabulary().weighted_terms([said[0], said[2]]))

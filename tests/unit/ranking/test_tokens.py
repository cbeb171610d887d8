"""Any text becomes terms: quickly, the same each time, and so that people find what they mean."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.ranking import tokens
from hive_mind.ranking.question import anchors
from hive_mind.ranking.tokens import indexed_terms, question_terms, tokenize
from hive_mind.ranking.words import with_names
from tests.growth import costly

# Surrogates included: damaged files hold them.
ANY_TEXT = st.text(st.characters(exclude_categories=()))
WORDS = st.text("abcdefghij klmnopqrstuvwxyz0123456789.-:/_@'éüñßçøåÆŁЖя", max_size=60)


@given(ANY_TEXT)
@example("\ud800")
@example("漢a" * 3000)
@example("a-" * 3000)
def test_any_text_gives_bounded_terms_without_capitals_and_always_the_same(text: str):
    terms = tokenize(text)
    assert terms == tokenize(text)
    assert all(0 < len(term) <= 64 and term == term.casefold() and " " not in term for term in terms)


@given(WORDS)
def test_letter_case_only_adds_what_it_makes_a_name_of(text: str):
    assert set(tokenize(text.lower())) <= set(tokenize(text))


@given(WORDS)
def test_a_text_is_made_of_its_words(text: str):
    assert tokenize(text) == [term for word in text.split() for term in tokenize(word)]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        *(("Zoë's café", "zoe cafe"), ("Straße", "STRASSE"), ("ΟΔΟΣ", "οδός"), ("ＡＢＣ１２", "abc12")),
        *(("Ines's pump", "Ines pump"), ("Ines’s pump", "Ines pump"), ("don't", "dont"), ("pumps", "pump")),
        *(("Gdańsk", "GDANSK"), ("OPS–77", "ops-77"), ("ポートは８４番", "ポートは84番"), ("Łódź", "Lodz")),
        *(("Đà Nẵng", "Da Nang"), ("Smørrebrød", "smorrebrod"), ("Encyclopædia", "encyclopaedia")),
        *(("Diyarbakır", "DIYARBAKIR"), ("крышами", "крыш"), ("कितना पानी", "कितना पानी"), ("کتاب", "كتاب")),
        *(("野々村", "野野村"), ("いすゞ", "いすず"), ("こゝろ", "こころ")),
    ],
)
def test_two_ways_of_writing_one_thing_are_one(written: str, asked: str):
    assert tokenize(written) == tokenize(asked) != []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        *(("東京タワーは赤い", "東京"), ("東京タワーは赤い", "タワー"), ("한국어를 배운다", "한국어"), ("ภาษาไทย", "ไทย")),
        *(("हिन्दी भाषा", "हिन्दी"), ("日本2024年", "2024"), ("Цветы зла", "цветы"), ("שלום עולם", "שלום")),
    ],
)
def test_words_of_every_script_are_found(text: str, query: str):
    assert set(tokenize(query)) <= set(tokenize(text))
    assert tokenize(query)


@pytest.mark.parametrize(("word", "other"), [("किताब", "कतब"), ("கடல்", "கடலை"), ("มา", "มี"), ("ខ្មែរ", "ខមរ")])
def test_a_vowel_sign_is_part_of_its_word(word: str, other: str):
    assert tokenize(word) != tokenize(other)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Dampfschifffahrtsgesellschaft zahlte 1912 keine Dividende.", "Welche Gesellschaft zahlte?"),
        ("Evlerinizden gelen ses nedir?", "evleri"),
        ("Talossani on kolme huonetta ja sauna.", "talo"),
        ("В больших городах строят новые мосты.", "мостовой"),
        ("والكتاب على الطاولة", "كتابنا"),
        ("Dans les appartements de la ville", "appart"),
    ],
)
def test_other_languages_are_found_by_parts_of_words(text: str, question: str):
    assert {*question_terms(question)} & {*indexed_terms(text)}


@pytest.mark.parametrize("text", ["The pump is where the valves were.", "Who fixed the pump in Łódź?", "Pump 7", ""])
def test_english_has_words_alone(text: str):
    assert indexed_terms(text) == tokenize(text)
    assert question_terms(text)[: len(tokenize(text))] == tuple(tokenize(text))


def test_a_few_words_are_asked_for_as_of_any_language():
    assert "~pump" in question_terms("Pumpenhaus")
    assert "~pump" not in question_terms("What is the Pumpenhaus?")


@pytest.mark.parametrize(
    ("text", "indexed", "asked"),
    [
        ("who pays the toll", "pay toll", "pay toll"),
        ("tolls", "toll", "toll ~_tol ~toll ~olls ~lls_"),
        ("die tolls", "toll ~_tol ~olls", "toll ~_tol ~toll ~olls ~lls_"),
        ("Łódź tolls", "lodz ~_lod ~odz_ toll ~_tol ~olls", "lodz toll ~_lod ~lodz ~odz_ ~_tol ~toll ~olls ~lls_"),
        ("who pays the tolls in Łódź", "pay toll lodz", "pay toll lodz"),
        ("мосты", "мост ~_мос ~осты", "мост ~_мос ~мост ~осты ~сты_"),
        ("the мосты", "мост ~_мос ~осты", "мост ~_мос ~мост ~осты ~сты_"),
    ],
)
def test_grams_stand_beside_words_where_a_text_is_not_plainly_english(text: str, indexed: str, asked: str):
    assert indexed_terms(text) == indexed.split()
    assert question_terms(text) == tuple(asked.split())


@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_longest_word_has_64_characters(letter: str):
    assert [len(tokenize(f"a pump {letter * length}")) for length in (63, 64, 65)] == [2, 2, 1]
    assert [len(indexed_terms(f"die {letter * length}")) > 2 for length in (63, 64, 65)] == [True, True, False]


def test_a_voiced_kana_is_another_letter():
    assert tokenize("がく") != tokenize("かく")


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("CVE-2024-3094", ["cve", "2024", "3094", "cve-2024-3094"]),
        ("75.1725", ["75", "1725", "75.1725"]),
        ("192.168.1.45", ["192", "168", "1", "45", "192.168.1.45"]),
        ("B-52", ["52", "b-52"]),
        ("D40", ["d40"]),
        ("10:30", ["10", "30", "10:30"]),
        ("north-east", ["north", "east"]),
        ("start-up", ["start", "up", "startup"]),
        ("b-side", ["side", "bside"]),
        ("man-in-the-middle", ["man", "middl"]),
    ],
)
def test_a_code_gives_its_parts_and_itself(code: str, parts: list[str]):
    assert tokenize(code) == parts


def test_a_text_without_words_has_no_terms():
    assert tokenize("") == tokenize(" \n\t") == tokenize("!!! … 🐝 — ()") == tokenize("the of and") == []


def test_long_runs_are_not_remembered():
    before = tokens._known_terms_of.cache_info().currsize
    tokenize("a." * 5_000)
    tokenize("漢字" * 5_000)
    assert tokens._known_terms_of.cache_info().currsize == before


HOSTILE = [
    *("a", "a.", "-", "((((", "A1-", "a_", "1.", '"a ', "'s", "漢", "漢a", "é", "A1 ", "Aa-", "\ud800", "कि"),
    *("ा", "ไท", "который", "A ", "aA", "Aa ", "a A ", "IT ", "IT, ", "Will ", "aBc", "γ ", "a γ", "Б "),
]


# Terms are made of `tokenize`, which tests/laws/test_texts_in_proportion.py looks at too.
@pytest.mark.parametrize("work", [indexed_terms, question_terms, anchors, with_names], ids=lambda work: work.__name__)
def test_time_grows_with_the_text_and_not_with_its_square(work: Callable[[str], object]):
    assert costly(work, HOSTILE, 4_000) == []

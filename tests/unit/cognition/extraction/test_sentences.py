import pytest

from hive_mind.cognition.extraction.blocks import blocks
from hive_mind.cognition.extraction.sentences import cut, grouped, pieces, sentences


def test_a_sentence_ends_at_its_stop_and_not_at_an_abbreviation():
    text = (
        "Dr. Silva met Mr. J. K. Costa at 9 a.m. on Monday. They signed, e.g. the lease. Acme Inc. paid Beta Ltd. The end came."
    )

    assert sentences(text) == [
        "Dr. Silva met Mr. J. K. Costa at 9 a.m. on Monday.",
        "They signed, e.g. the lease.",
        "Acme Inc. paid Beta Ltd.",
        "The end came.",
    ]
    assert sentences("El taller abre a las 8 h. El jefe es Julio.") == ["El taller abre a las 8 h.", "El jefe es Julio."]


def test_a_fragment_stays_with_the_sentence_it_follows():
    layout = blocks("Day 3: train to Corrin, one hour. Hotel Mill. Bus 4 goes back. Is it far? No.")
    assert [piece.text for piece in cut(layout, 1000, 300)] == [
        "Day 3: train to Corrin, one hour. Hotel Mill.",
        "Bus 4 goes back.",
        "Is it far?",
        "No.",
    ]


def test_a_quoted_question_does_not_end_the_sentence_around_it():
    assert sentences('"Really?" she asked. He nodded!') == ['"Really?" she asked.', "He nodded!"]


@pytest.mark.parametrize(
    "text",
    ["Release 1.2.3 runs on 10.0.0.1 at 3.5 GHz.", "`follow` - Whether links are followed. Defaults to `False`."],
)
def test_versions_addresses_figures_and_a_default_are_not_cut_off(text: str):
    assert sentences(text) == [text]


def test_scripts_with_wide_stops_need_no_space():
    assert sentences("我住在波尔图。天气很好！") == ["我住在波尔图。", "天气很好！"]


@pytest.mark.parametrize(
    "said",
    [
        ["هل تعمل المضخة؟", "نعم، تعمل."],
        ["پمپ ٹوٹ گیا ہے۔", "اوٹو اسے ٹھیک کرتا ہے۔"],
        ["पंप टूट गया है।", "ओटो उसे ठीक करता है॥"],
        ["ፓምፑ ተሰበረ።", "ማን ጠገነው፧"],
        ["Պոմպը կոտրված է։", "Օտտոն նորոգում է։"],
        ["ပန့် ပျက်နေတယ်။", "အော်တို ပြင်တယ်။"],
        ["ស្នប់ខូចហើយ។", "អូតូជួសជុលវា។"],
    ],
)
def test_sentences_end_at_the_stops_of_their_script(said: list[str]):
    assert sentences(" ".join(said)) == said


def test_a_sentence_too_long_is_cut_at_white_space_and_loses_no_word():
    text = "word " * 500

    cut = sentences(text, chars_max=100)

    assert all(len(piece) <= 100 for piece in cut)
    assert " ".join(cut).split() == text.split()


def test_a_run_without_white_space_is_cut_inside():
    assert [len(piece) for piece in pieces("x" * 250, 100)] == [100, 100, 50]


def test_neighbours_are_joined_while_they_fit():
    assert list(grouped(["one", "two", "three"], 7)) == ["one two", "three"]


def test_text_without_words_has_no_sentences():
    assert sentences("") == []
    assert sentences(" \n\t ") == []


def test_a_german_ordinal_ends_no_sentence_and_a_figure_does():
    assert sentences("Der Vertrag läuft bis zum 31. Dezember 2031. Kunden zahlen.") == [
        "Der Vertrag läuft bis zum 31. Dezember 2031.",
        "Kunden zahlen.",
    ]
    assert sentences("Wir wohnen im 2. Stock. Das Haus ist alt.") == ["Wir wohnen im 2. Stock.", "Das Haus ist alt."]
    assert sentences("We have 3. Bob has 4.") == ["We have 3.", "Bob has 4."]


@pytest.mark.parametrize(
    "text",
    [
        "Zuständig ist Frau Dr. Meier (Tel. 040 1234567).",
        "The pump (see fig. 3. It shows the old one.) is in the cellar.",
        "Der Termin gilt inkl. Anfahrt, bzw. Nr. 4 entfällt.",
        "Torque wrench ........ 4 (shelf B2)",
    ],
)
def test_a_remark_in_brackets_and_an_abbreviation_end_no_sentence(text: str):
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "It failed (see the log.) Then it ran.",
        "It rained :( today. We went home :)",
        "The bracket ( was forgotten. It ran. (A remark)",
        "One (two). Three (four).",
    ],
)
def test_a_bracket_that_is_closed_or_none_keeps_no_sentence_from_ending(text: str):
    assert len(sentences(text)) >= 2

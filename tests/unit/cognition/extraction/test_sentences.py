import pytest

from hive_mind.cognition.extraction.blocks import blocks
from hive_mind.cognition.extraction.sentences import cut, grouped, pieces, sentences


@pytest.mark.parametrize(
    "said",
    [
        [
            "Dr. Silva met Mr. J. K. Costa at 9 a.m. on Monday.",
            "They signed, e.g. the lease.",
            "Acme Inc. paid Beta Ltd.",
            "The end came.",
        ],
        ["El taller abre a las 8 h.", "El jefe es Julio."],
        ['"Really?" she asked.', "He nodded!"],
        ["Der Vertrag läuft bis zum 31. Dezember 2031.", "Kunden zahlen."],
        ["Wir wohnen im 2. Stock.", "Das Haus ist alt."],
        ["We have 3.", "Bob has 4."],
        ["Release 1.2.3 runs on 10.0.0.1 at 3.5 GHz."],
        ["`follow` - Whether links are followed. Defaults to `False`."],
        ["Zuständig ist Frau Dr. Meier (Tel. 040 1234567)."],
        ["The pump (see fig. 3. It shows the old one.) is in the cellar."],
        ["Der Termin gilt inkl. Anfahrt, bzw. Nr. 4 entfällt."],
        ["Torque wrench ........ 4 (shelf B2)"],
    ],
    ids=lambda said: said[0][:20],
)
def test_a_sentence_ends_at_its_stop_and_at_no_abbreviation_quotation_ordinal_figure_or_remark(said: list[str]):
    assert sentences(" ".join(said)) == said


def test_a_fragment_stays_with_the_sentence_it_follows():
    layout = blocks("Day 3: train to Corrin, one hour. Hotel Mill. Bus 4 goes back. Is it far? No.")
    assert [piece.text for piece in cut(layout, 1000, 300)] == [
        "Day 3: train to Corrin, one hour. Hotel Mill.",
        "Bus 4 goes back.",
        "Is it far?",
        "No.",
    ]


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


def test_scripts_with_wide_stops_need_no_space_and_text_without_words_has_no_sentences():
    assert sentences("我住在波尔图。天气很好！") == ["我住在波尔图。", "天气很好！"]
    assert sentences("") == sentences(" \n\t ") == []


def test_a_sentence_too_long_is_cut_at_white_space_and_loses_no_word():
    text = "word " * 500

    cut = sentences(text, chars_max=100)

    assert all(len(piece) <= 100 for piece in cut)
    assert " ".join(cut).split() == text.split()


def test_a_run_without_white_space_is_cut_inside():
    assert [len(piece) for piece in pieces("x" * 250, 100)] == [100, 100, 50]


def test_neighbours_are_joined_while_they_fit():
    assert list(grouped(["one", "two", "three"], 7)) == ["one two", "three"]


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


@pytest.mark.parametrize(
    ("item", "said", "topics"),
    [
        (
            "Lift. The firm comes in May. It costs 400 euros.",
            ["Lift. The firm comes in May.", "It costs 400 euros."],
            {"Minutes: Lift"},
        ),
        ("Ascensor. La empresa cambiará la cabina.", ["Ascensor. La empresa cambiará la cabina."], {"Minutes: Ascensor"}),
        ("The firm comes in May. It is cheap.", ["The firm comes in May.", "It is cheap."], {""}),
        ("Lift.", ["Lift."], {""}),
    ],
)
def test_an_item_is_about_the_title_that_it_begins_with(item: str, said: list[str], topics: set[str]):
    found = list(cut(blocks(f"# Minutes\n\n1. {item}\n2. Nothing else was said that day.\n"), 400, 400))[:-1]
    assert [piece.text for piece in found] == said
    assert {piece.block.topic for piece in found} == topics

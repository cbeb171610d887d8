"""Tables that were set for print, plain titles and lists without marks keep what each of their lines is about."""

import pytest

from hive_mind.cognition.extraction.screen_text import text_of_manual
from tests.unit.cognition.reading import candidates

BOATS = "Boat      Berth   Length\nSkua      4       12\nPetrel    9       15"


def told(text: str) -> dict[str, tuple[str, str]]:
    return {candidate.content: (candidate.concept, candidate.before) for candidate in candidates(text)}


def test_rows_of_a_table_with_gaps_stand_under_its_columns():
    assert told(f"Boats of the yard\n{BOATS}\nAll boats are blue.") == {
        "Skua;4;12": ("Skua", "Boat;Berth;Length"),
        "Petrel;9;15": ("Petrel", "Boat;Berth;Length"),
        "All boats are blue.": ("Boats of the yard", "Boats of the yard"),
    }


@pytest.mark.parametrize("between", ["", "+-------+-------+\n"], ids=["plain", "grid"])
def test_a_table_that_is_drawn_has_its_titles_between_two_rules(between: str):
    rule = "+-------+-------+\n"
    text = f"{rule}| Boat  | Berth |\n{rule}| Skua  | 4     |\n{between}| Tern  | 9     |\n{rule}"
    assert {" ".join(content.split()): before for content, (_, before) in told(text).items()} == {
        "| Skua | 4 |": "| Boat | Berth |",
        "| Tern | 9 |": "| Boat | Berth |",
    }


@pytest.mark.parametrize("rule", ["--- | ---", "------+------", ":--|--:"])
def test_a_table_needs_no_bars_around_its_rows(rule: str):
    found = told(f"Boats\n\n Boat | Berth\n{rule}\n Skua | 4\n Tern | 9\n\nA | B is a choice.")
    assert {content: before for content, (_, before) in found.items() if content.startswith("|")} == {
        "| Skua | 4 |": "| Boat | Berth |",
        "| Tern | 9 |": "| Boat | Berth |",
    }


def test_a_reference_stays_whole():
    text = "Carson, R. (1962). Silent Spring. Boston: Houghton Mifflin.\nMandelbrot, B. B. (1982). Fractals. New York: Freeman."
    assert list(told(text)) == text.splitlines()


def test_a_column_of_names_needs_no_title_and_years_are_titles():
    text = "            2023      2024\nLeaks         14        18\nRepairs       12        17"
    assert told(text)["Leaks;14;18"] == ("Leaks", ";2023;2024")


@pytest.mark.parametrize(
    "text",
    [
        "The mill stands     by the lake and\nits wheel turns     at night, when\nnobody hears it     in the village",
        "-v     invert the sense of matching\n-q     say nothing at all\n-c     count the lines",
        "Boat      Berth\nSkua      4",
    ],
)
def test_columns_of_prose_and_few_lines_stay_lines(text: str):
    assert not any(";" in content for content in told(text))


def test_lines_below_a_colon_are_something_each_and_all_together():
    text = "Opening hours:\n\nMonday 9:00 to 18:00\nSaturday 10:00 to 14:00\nSunday closed"
    assert told(text) == {
        "Opening hours:\nMonday 9:00 to 18:00\nSaturday 10:00 to 14:00\nSunday closed": ("general", ""),
        "Monday 9:00 to 18:00": ("general", "Opening hours:"),
        "Saturday 10:00 to 14:00": ("general", "Opening hours:"),
    }


def test_plain_titles_are_above_lists_and_above_what_begins_anew():
    text = "Walnut bread\nServes 8\n\nIngredients\n- 120 g walnuts\n\nMethod\nBake it at 220 °C."
    assert told(text) == {
        "Serves 8": ("Walnut bread", "Walnut bread"),
        "120 g walnuts": ("Ingredients", "Walnut bread: Ingredients"),
        "Bake it at 220 °C.": ("Method", "Walnut bread: Method"),
    }


def test_a_page_of_a_manual_has_its_name_above_its_sections():
    text = "SIFT(1)     User Commands     SIFT(1)\n\nNAME\n       sift - pick lines\n\nAUTHOR\n       Written by Eero Salo."
    assert told(text) == {
        "sift - pick lines": ("NAME", "SIFT(1): NAME"),
        "Written by Eero Salo.": ("AUTHOR", "SIFT(1): AUTHOR"),
    }


def test_options_of_an_option_in_a_manual_are_terms_and_its_examples_are_not():
    options = "               port number\n                   The port on which the server listens. The default is 4460.\n"
    example = "           For example:\n\n               server sift.example"
    text = f"KEYS\n       server host\n           A server with op\u2010\n           tions that follow.\n\n{options}\n{example}"

    found = told(text_of_manual(f"SIFT(5)     File Formats     SIFT(5)\n\n{text}\n"))
    concept = "KEYS: server host: port number (default 4460)"
    assert found["A server with options that follow."] == ("KEYS: server host", "KEYS: server host")
    assert found["The port on which the server listens."] == (concept, "KEYS: server host: port number")
    assert found["For example:\nserver sift.example"][0] == "KEYS"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Subtotal 203.00\nTotal due 243.60", "Total due 243.60"),
        ("Where is the key.And who has it, nobody knows.", "And who has it, nobody knows."),
        ("a. Tag the branch (owner: Idris)\nb. Publish the wheel (owner: Tove)", "Publish the wheel (owner: Tove)"),
    ],
)
def test_sums_letters_and_forgotten_spaces_tell_statements_apart(text: str, content: str):
    assert content in told(text)


def test_names_of_programs_end_no_sentence():
    assert list(told("The call time.After waits for a while.")) == ["The call time.After waits for a while."]

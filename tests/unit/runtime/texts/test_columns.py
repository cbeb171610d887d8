"""Tables of a page that was set for print are read cell by cell, and all else as it stands."""

import pytest
from fpdf import FPDF

from hive_mind.runtime.texts.formats import FORMATS
from hive_mind.runtime.texts.table import may_have_table, with_tables
from tests.growth import costly

ROWS = [
    ("Part", "Kind", "Price (EUR)"),
    ("AX-1", "Steel pin, long", "4.50"),
    ("AX-2", "Brass ring " * 9, "12.00"),
    ("AX-3", "Seal", "0.80"),
]
TABLE = "| Part | Kind | Price (EUR) |\n| --- | --- | --- |\n| AX-1 | Steel pin, long | 4.50 |\n"


def page(borders: str = "ALL", align: str = "LEFT") -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, "Parts of the crane\n\nThe parts lie in the yard.\n")
    pdf.ln(8)
    with pdf.table(borders_layout=borders, text_align=align, col_widths=(20, 60, 20)) as table:
        for row in ROWS:
            table.row([cell.strip() for cell in row])
    pdf.ln(8)
    pdf.multi_cell(0, 6, "All prices are of May.")
    return bytes(pdf.output())


@pytest.mark.parametrize(("borders", "align"), [("ALL", "LEFT"), ("NONE", "CENTER"), ("MINIMAL", "RIGHT")])
def test_a_table_in_a_pdf_keeps_its_cells_also_those_of_several_lines(borders: str, align: str):
    text = FORMATS["pdf"].read(page(borders, align)).text
    assert TABLE in text
    assert f"| AX-2 | {ROWS[2][1].strip()} | 12.00 |" in text
    assert text.splitlines()[-1] == "All prices are of May."
    assert "The parts lie in the yard." in text


@pytest.mark.parametrize(
    "laid_out",
    [
        "One line of a page that    the other line of it, which\nis set in two columns and     stands beside the first one\n"
        "goes on for a long time       and goes on as well, of course",
        "a   b\nc   d",
        "name      value\n  a b c d e f\nq    r\nx        y",
        "Only words here\nand here\nand there",
    ],
)
def test_columns_of_prose_and_what_has_no_columns_stay_lines(laid_out: str):
    text = " ".join(laid_out.split())
    assert with_tables(text, laid_out) == text


def test_a_table_whose_words_are_not_in_the_text_in_one_run_changes_nothing():
    laid_out = "Day    Nurse\nMon    Olga\nTue    Sam"
    assert with_tables("Day Mon Tue Nurse Olga Sam", laid_out) == "Day Mon Tue Nurse Olga Sam"
    # Some programs put no space between cells.
    glued = with_tables("Roster\nDayNurse\nMonOlga\nTueSam\nEnd", laid_out)
    assert glued == "Roster\n\n| Day | Nurse |\n| --- | --- |\n| Mon | Olga |\n| Tue | Sam |\n\nEnd"


def test_sentences_are_not_looked_at_for_tables():
    assert not may_have_table("The weir is open.\nThe dam is shut.\nAll is well.\n")
    assert may_have_table("Day Nurse\nMon Olga\nTue Sam\n")


def test_time_grows_with_the_page_and_not_with_its_square():
    hostile = ["a  b\n", "a   \n\n", "a  b  c\nd\n", " " * 40 + "a\n", "a  b\n\nc  d\n\n"]
    assert costly(lambda text: with_tables(text, text), hostile, 10_000) == []

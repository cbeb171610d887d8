"""Documents of other programs as text, and what of them is not in it."""

from datetime import date
from pathlib import Path

import pytest

from hive_mind.runtime.texts import Document, document
from hive_mind.runtime.texts.text_files import document_in
from tests.unit.runtime.texts import made

pytestmark = pytest.mark.usefixtures("read_here")


def read(name: str, body: bytes) -> Document:
    found = document_in(Path(name), body)
    assert isinstance(found, Document), found
    return found


def lines(name: str, body: bytes) -> list[str]:
    return [line for line in read(name, body).text.splitlines() if line]


def test_a_pdf_is_read_page_by_page_and_pages_without_text_are_counted() -> None:
    body = made.pdf("The valve opens at 9 bar.", "", "The pump is red.")
    assert read("a.pdf", body) == Document("The valve opens at 9 bar.\n\nThe pump is red.", {"page without text": 1})
    # A sentence goes on from one page to the next, and a parted word is whole.
    body = made.pdf("The pump in hall 3 was re-\nplaced by Ines and", "is kept in cupboard 12.")
    assert read("a.pdf", body).text == "The pump in hall 3 was replaced by Ines and\nis kept in cupboard 12."


def test_a_word_document_keeps_titles_and_tables_under_their_titles() -> None:
    table = made.word_table(("Part", "Price"), ("Pump", "300"), ("Seal", "12"))
    body = made.docx(
        made.paragraph("The seal is of type B7.") + table, **{"word/media/image1.png": "x", "word/header1.xml": "<x/>"}
    )

    assert lines("a.docx", body) == [
        "The seal is of type B7.",
        "| Part | Price |",
        "| --- | --- |",
        "| Pump | 300 |",
        "| Seal | 12 |",
    ]
    assert read("a.docx", body).left_out == {"picture": 1, "header or footer": 1}


def test_what_an_author_struck_out_is_not_said() -> None:
    struck = "<w:del><w:r><w:delText>red</w:delText></w:r></w:del><w:ins><w:r><w:t>green.</w:t></w:r></w:ins>"
    text = made.paragraph("The door is ").replace("</w:p>", f"{struck}</w:p>")
    assert lines("a.docx", made.docx(text)) == ["The door is green."]


def test_a_sheet_is_a_table_under_its_name_and_hidden_ones_are_left_out() -> None:
    rows: list[list[object]] = [
        ["Prices of this year"], [], ["Part", "Price", "Since", "Share"], ["Pump", 300.0, date(2025, 3, 10), True],
        ["Seal", None, None, 0.5],
        [], ["Room", "Key"], ["Hall 3", "K-7"],
    ]  # fmt: skip
    body = made.xlsx(Parts=rows, hidden_one=[["Secret", "Word"]])

    assert lines("a.xlsx", body) == [
        "# Parts", "Prices of this year", "| Part | Price | Since | Share |", "| --- | --- | --- | --- |",
        "| Pump | 300 | 2025-03-10 | yes |", "| Seal |  |  | 0.5 |", "| Room | Key |", "| --- | --- |", "| Hall 3 | K-7 |",
    ]  # fmt: skip
    assert read("a.xlsx", body).left_out == {"hidden sheet": 1}


def test_a_book_is_read_in_the_order_of_its_chapters() -> None:
    body = made.epub("<h1>One</h1><p>The ferry leaves at nine.</p>", "<h1>Two</h1><p>It returns at noon.</p>")
    assert read("a.epub", body) == Document(
        "# One\n\nThe ferry leaves at nine.\n\n\n# Two\n\nIt returns at noon.\n", {"picture": 1}
    )


def test_the_title_of_a_document_stands_above_its_headings() -> None:
    styles = (
        f'<w:styles xmlns:w="{made.WORD}"><w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>'
    )
    word = made.docx(made.paragraph("Plover", "T") + made.paragraph("The door is green."), **{"word/styles.xml": styles})
    package = '<p><metadata><title> The\nferry </title></metadata><item id="a" href="first.xhtml" media-type="text/html"/>'
    book = made.epub("<h1>One</h1>", "", **{"OEBPS/book.opf": f'{package}<itemref idref="a"/></p>'})

    assert lines("a.docx", word) == ["# Plover", "The door is green."]
    assert lines("a.epub", book) == ["# The ferry", "# One"]


def test_a_message_is_what_its_sender_says_then_under_its_subject() -> None:
    said = (
        "I moved the pump\nto hall 3.\n\n- bring the seal\n\nOn Monday Bo wrote:\n> Where is the pump?\n-- \nAna Lopes\nHall 1\n"
    )
    mail = made.message(said, "The pump")
    mail.add_attachment(b"x", maintype="image", subtype="png", filename="a.png")

    assert read("a.eml", mail.as_bytes()) == Document(
        "# The pump\n\n> Where is the pump?\n\n[2025-03-10 09:30] Ana Lopes: I moved the pump to hall 3.\n\n- bring the seal",
        {"quoted line": 1, "attachment": 1},
    )


def test_a_box_gives_all_its_messages_and_pages_among_them_as_text(tmp_path: Path) -> None:
    page = made.message("", sender="=?utf-8?q?Jos=C3=A9?= <j@example.org>")
    page.set_content("<p>The lock is <b>new</b>.</p>", subtype="html")
    box = made.mbox(tmp_path / "in.mbox", made.message("From Porto I bring two seals."), page)

    assert lines("in.mbox", box) == [
        "[2025-03-10 09:30] Ana Lopes: From Porto I bring two seals.",
        "[2025-03-10 09:30] José: The lock is new.",
    ]


@pytest.mark.parametrize(
    ("name", "body"), [("a.txt", made.pdf("The pump is red.")), ("a", made.docx(made.paragraph("The pump is red.")))]
)
def test_what_a_file_begins_with_counts_for_more_than_its_name(name: str, body: bytes) -> None:
    assert lines(name, body) == ["The pump is red."]


def test_every_format_is_found_by_the_file_it_stands_in() -> None:
    assert sorted(document.known()) == ["docx", "epub", "ipynb", "mail", "pdf", "rst", "xlsx"]
    assert len(set(document.suffixes())) == len(document.suffixes())

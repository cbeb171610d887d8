"""`hive-mind learn` with documents that other programs made: fpdf2, python-docx, openpyxl, the standard library's e-mail.

The book is written part by part, as its standard says: what is light and makes books has a licence that not everybody may use.
"""

import csv
from pathlib import Path

import docx
import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.unit.runtime.texts import made

# What each file says, by the word to look for.
SAID = {
    "plain.txt": "Andorra",
    "notes.md": "Belize",
    "page.html": "Chile",
    "prices.csv": "Dominica",
    "rooms.tsv": "Ecuador",
    "report.pdf": "Finland",
    "contract.docx": "Gabon",
    "parts.xlsx": "Honduras",
    "novel.epub": "Iceland",
    "mail.eml": "Jamaica",
    "box.mbox": "Kenya",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eleven formats, and files that can't be learned."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "plain.txt").write_text("The ferry to Andorra leaves at nine.\n")
    (folder / "notes.md").write_text("# Ferries\n\n- The ferry to Belize leaves at **ten**.\n")
    (folder / "page.html").write_text("<html><body><h1>Ferries</h1><p>The ferry to Chile leaves at noon.</p></body></html>")
    for name, place, between in (("prices.csv", "Dominica", ","), ("rooms.tsv", "Ecuador", "\t")):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file, delimiter=between).writerows([("Harbour", "Fare"), (place, 12), ("Porto", 9), ("Faro", 7)])
    (folder / "report.pdf").write_bytes(made.pdf("The ferry to Finland leaves on Monday.", ""))
    _contract().save(str(folder / "contract.docx"))
    (folder / "parts.xlsx").write_bytes(made.xlsx(Ferries=[["Harbour", "Fare"], ["Honduras", 12]], hidden=[["x"]]))
    (folder / "novel.epub").write_bytes(made.epub("<p>The ferry to Iceland was late.</p>", "<p>Nobody had seen the captain.</p>"))
    mail = made.message("I take the ferry to Jamaica.\n\n> When do you go?\n", "The ferry")
    (folder / "mail.eml").write_bytes(mail.as_bytes())
    made.mbox(folder / "box.mbox", made.message("I take the ferry to Kenya."), made.message("The captain is ill."))
    (folder / "scanned.pdf").write_bytes(made.pdf(""))
    (folder / "locked.pdf").write_bytes(made.pdf("The code is 1234.", locked=True))
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    return folder


def _contract() -> "docx.document.Document":
    document = docx.Document()
    document.add_heading("Ferries", 1)
    document.add_paragraph("The ferry to Gabon leaves every Friday.")
    for row, cells in zip(document.add_table(rows=2, cols=2).rows, (("Harbour", "Fare"), ("Lima", "30")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return document


def test_a_folder_of_documents_is_known_afterwards_and_what_was_left_out_is_said(hive_mind: HiveMind, folder: Path) -> None:
    learned = hive_mind("learn", folder, "--output", "json")

    known = hive_mind("facts", "export").out
    assert [place for place in SAID.values() if place not in known] == []
    files = {Path(file["file"]).name: file for file in learned.json["files"]}
    assert files.keys() == SAID.keys()
    assert all(file["facts"] for file in files.values())
    assert files["report.pdf"]["left_out"] == {"page without text": 1}
    assert files["parts.xlsx"]["left_out"] == {"hidden sheet": 1}
    assert files["mail.eml"]["left_out"] == {"quoted line": 1}
    assert files["novel.epub"]["left_out"] == {"picture": 1}
    skipped = {Path(one["file"]).name: one["reason"] for one in learned.json["skipped"]}
    assert skipped.keys() == {"scanned.pdf", "locked.pdf"}
    assert "as scanned ones are" in skipped["scanned.pdf"]
    assert "is encrypted" in skipped["locked.pdf"]
    assert [one["reason"] for one in learned.json["passed_over"]] == ["not named as a text or document"]
    assert learned.code == 1


def test_rows_of_a_sheet_and_of_a_document_answer_questions(hive_mind: HiveMind, folder: Path) -> None:
    hive_mind("learn", folder / "parts.xlsx", folder / "contract.docx", folder / "mail.eml")
    assert "Honduras | 12" in hive_mind("ask", "What is the fare to Honduras?").out
    assert "every Friday" in hive_mind("ask", "When does the ferry to Gabon leave?").out
    assert "Ana Lopes" in hive_mind("ask", "Who takes the ferry to Jamaica?").out

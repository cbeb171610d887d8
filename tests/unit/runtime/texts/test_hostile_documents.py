"""Documents that can't be read, or were made to harm who reads them: each ends with one sentence."""

from pathlib import Path

import pytest

from hive_mind.installation import command_for_extra
from hive_mind.runtime.texts import Document, Unreadable, document, formats
from hive_mind.runtime.texts.text_files import document_in
from tests.unit.runtime.texts import made

_BOMB = '<!ENTITY e "bomb">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1 if n > 1 else str()};" * 20}">' for n in range(1, 12))


def reason(name: str, body: bytes) -> str:
    found = document_in(Path(name), body)
    assert isinstance(found, Unreadable), found
    return found.reason


here = pytest.mark.usefixtures("read_here")


@here
def test_a_scanned_pdf_is_refused() -> None:
    assert "pages without text, as scanned ones are" in reason("a.pdf", made.pdf("", ""))


def test_encrypted_documents_are_refused() -> None:
    chapter = '<e xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherReference URI="OEBPS/first.xhtml"/></e>'
    assert "is encrypted" in reason("a.pdf", made.pdf("The pump is red.", locked=True))
    assert "is encrypted" in reason("a.docx", b"\xd0\xcf\x11\xe0" + bytes(600))
    assert "1 of 2 chapters" in reason("a.epub", made.epub("One.", "Two.", **{"META-INF/encryption.xml": chapter}))


_WORDS, _ZIP, _PDF = b"words", b"PK\x03\x04" + bytes(40), b"%PDF-1.7\n%%EOF"


# Each kind that its beginning tells, under a name that says so or not.
@here
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.docx", _WORDS),
        ("a.docx", _ZIP),
        ("a.xlsx", _ZIP),
        ("a.epub", _ZIP),
        ("a.epub", _PDF),
        ("a.pdf", _WORDS),
        ("a.pdf", _PDF),
    ],
)
def test_damaged_documents_are_named_so(name: str, body: bytes) -> None:
    assert "is damaged" in reason(name, body)


def claiming(length: int, size: int) -> bytes:
    """A Word document whose text is `length` bytes long and is said to be `size`."""
    body = made.docx("", document="x" * length)
    claimed = body.replace(length.to_bytes(4, "little"), size.to_bytes(4, "little"))
    assert claimed != body
    return claimed


def test_an_archive_that_unpacks_to_gigabytes_is_not_unpacked() -> None:
    assert "unpacks to more than" in reason("a.docx", claiming(1_000_003, 3 << 30))


@here
@pytest.mark.parametrize("name", ["word/document.xml", "xl/worksheets/sheet1.xml", "OEBPS/first.xhtml"])
def test_a_small_file_whose_text_unpacks_to_fifty_megabytes_is_not_unpacked(name: str) -> None:
    body = made.zipped({"word/document.xml": "", "xl/workbook.xml": ""} | {name: " " * (50 << 20)})
    assert len(body) < 100_000
    assert "unpacks to more than 48 MB of text" in reason(f"a{'.docx' if name.startswith('word') else '.xlsx'}", body)


@here
def test_pictures_are_not_unpacked_and_may_be_large() -> None:
    picture = {"word/media/image1.png": bytes(60 << 20)}
    found = document_in(Path("a.docx"), made.docx(made.paragraph("The pump is red."), **picture))
    assert isinstance(found, Document)


def test_a_small_file_gets_little_time_a_large_one_more_and_what_takes_longer_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert document.time_max_s(30_000) < document.time_max_s(3 << 20) < document.time_max_s(50 << 20) == document.TIME_MAX_S
    monkeypatch.setattr(document, "_TIME_LEAST_S", 1)
    monkeypatch.setattr(
        document, "_CODE", f"import {document.__name__} as r; r._limit(int(__import__('sys').argv[2]))\nwhile True: pass"
    )
    assert "takes more than 1 s of work" in reason("a.pdf", made.pdf("The pump is red."))


@here
def test_an_archive_of_endless_parts_is_not_looked_through() -> None:
    assert "unpacks to more than" in reason("a.docx", made.zipped({f"word/{number}": "" for number in range(20_001)}))


def test_an_archive_that_says_it_is_short_is_read_no_further() -> None:
    assert "is damaged" in reason("a.docx", claiming(5_000_003, 1000))


@pytest.mark.parametrize("declared", [_BOMB, '<!ENTITY e SYSTEM "file:///etc/passwd">'])
def test_entities_are_neither_multiplied_nor_fetched(declared: str) -> None:
    document = f"<!DOCTYPE w [{declared}]><w>&e;&e5;</w>"
    assert "declares XML entities" in reason("a.docx", made.docx("", document=document))
    assert "is damaged" in reason(
        "a.epub", made.epub("One.", "Two.", **{"META-INF/encryption.xml": document.replace("&e5;", "&e7;")})
    )


def test_what_is_nested_without_end_is_damaged() -> None:
    assert reason("a.docx", made.docx("<w:p>" * 100_000))


@pytest.mark.parametrize("megabytes", [20, 50, 90])
def test_what_needs_too_much_memory_is_given_up(megabytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it runs out: while a library is loaded, in one of them, or behind it; with 50 MB and more it may be read."""
    limit = f"import {document.__name__} as r; r.MEMORY_MAX_BYTES = {megabytes} << 20; "
    monkeypatch.setattr(document, "_CODE", document._CODE.replace("from ", limit + "from ", 1))

    read = document_in(Path("a.xlsx"), made.xlsx(Sheet=[[f"word {n} " * 50] * 20 for n in range(200)]))

    assert "needs more" in read.reason if isinstance(read, Unreadable) else megabytes > 20


def test_a_reader_that_dies_is_said_to_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_CODE", "import os; os.abort()")
    assert reason("a.pdf", made.pdf("The pump is red.")) == "can't be read: its reader failed"


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "is_installed", lambda _: False)
    assert command_for_extra("readers") in reason("a.pdf", made.pdf("The pump is red."))


def test_a_reader_can_write_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = f"replace(FORMATS['pdf'], read=lambda _: open({str(tmp_path / 'x')!r}, 'w').write('x' * 9999))"
    write = (
        f"import {document.__name__} as d; from {formats.__name__} import FORMATS; from dataclasses import replace; "
        f"d.known = lambda: {{'pdf': {writer}}}; "
    )
    monkeypatch.setattr(document, "_CODE", document._CODE.replace("from ", write + "from ", 1))
    assert "(OSError)" in reason("a.pdf", made.pdf("The pump is red."))
    assert not (tmp_path / "x").read_bytes()


@here
def test_macros_are_not_among_what_is_read() -> None:
    body = made.docx(made.paragraph("The pump is red."), **{"word/vbaProject.bin": "Shell"})
    found = document_in(Path("a.docm"), body)
    assert not isinstance(found, Unreadable)
    assert found.text.strip() == "The pump is red."


@here
def test_a_cell_in_the_last_column_makes_no_row_as_wide_as_the_sheet() -> None:
    rows: list[list[object]] = [
        ["Part", *[None] * 16_382, "Colour"],
        *[[f"pump {n}", *[None] * 16_382, "red"] for n in range(3)],
    ]
    found = document_in(Path("a.xlsx"), made.xlsx(Parts=rows))
    assert not isinstance(found, Unreadable)
    assert found.text.splitlines()[2:5] == ["| Part | Colour |", "| --- | --- |", "| pump 0 | red |"]
    assert len(found.text) < 1000

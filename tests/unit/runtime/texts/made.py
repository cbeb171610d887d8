"""Documents for tests, made by other programs where one is light enough: fpdf2, openpyxl, the standard library's e-mail.

Word documents and books are written part by part, as their standards say, so that tests can put anything into them.
"""

import io
import mailbox
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Target="word/document.xml" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/>'
    "</Relationships>"
)
_CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_PACKAGE = (
    '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf"><manifest>'
    '<item id="b" href="second%20part.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="a" href="first.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="c" href="cover.png" media-type="image/png"/>'
    '</manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """An archive of these."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text, zipfile.ZIP_STORED if name == "mimetype" else None)
    return body.getvalue()


def pdf(*pages: str, locked: bool = False) -> bytes:
    """A PDF of these pages; "" is one that shows no text."""
    from fpdf import FPDF

    made = FPDF()
    made.set_font("helvetica", size=12)
    if locked:
        made.set_encryption("owner", "reader")
    for page in pages:
        made.add_page()
        if page:
            made.multi_cell(0, 8, page)
        else:
            made.rect(20, 20, 100, 100)
    return bytes(made.output())


def docx(body: str, document: str = "", **parts: str) -> bytes:
    """A Word document around this part of its text."""
    document = document or f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": document} | parts)


def paragraph(text: str, style: str = "") -> str:
    """One of a Word document."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word_table(*rows: tuple[str, ...]) -> str:
    """One of a Word document."""
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def xlsx(**sheets: list[list[object]]) -> bytes:
    """A workbook; a sheet whose name begins with "hidden" is."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name.startswith("hidden") else "visible"
        for row in rows:
            sheet.append(row)
    body = io.BytesIO()
    book.save(body)
    return body.getvalue()


def epub(first: str, second: str, **parts: str) -> bytes:
    """A book of two chapters."""
    pages = {
        f"OEBPS/{name}.xhtml": f"<html><body>{text}</body></html>" for name, text in (("first", first), ("second part", second))
    }
    start = {"mimetype": "application/epub+zip", "META-INF/container.xml": _CONTAINER, "OEBPS/book.opf": _PACKAGE}
    return zipped(start | pages | {"OEBPS/cover.png": "picture"} | parts)


def message(text: str, subject: str = "", sender: str = "Ana Lopes <ana@example.org>", page: str = "") -> EmailMessage:
    """An e-mail."""
    made = EmailMessage()
    made["From"], made["Subject"], made["Date"] = sender, subject, "Mon, 10 Mar 2025 09:30:00 +0100"
    made.set_content(text)
    if page:
        made.add_alternative(page, subtype="html")
    return made


def mbox(path: Path, *messages: EmailMessage) -> bytes:
    """A box of messages, as mail programs keep them."""
    box = mailbox.mbox(path)
    for one in messages:
        box.add(one)
    box.close()
    return path.read_bytes()

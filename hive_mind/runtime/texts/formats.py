"""Formats of documents: how a file of each is known, which package reads it, and its text.

A new format is one more entry of `FORMATS`. A package is loaded only by the reading: the table is needed by commands that read
nothing.

reStructuredText is read here, through docutils: as a page, with titles, lists, tables and code. Sphinx has directives and roles
that docutils lacks, and every project some of its own: of an unknown one its words are kept, as those of a term where it
describes something, and so are the words of a part that docutils finds wrong.
"""

import io
import json
import posixpath
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from hive_mind.regex import regex
from hive_mind.runtime.texts import ADDRESS, CHARS_MAX, Document, Refused, Unreadable, decoded, document_of_html, table
from hive_mind.runtime.texts.markdown_text import shown_in_markdown
from hive_mind.runtime.texts.table import are_titles, may_have_table, table_lines, with_tables

if TYPE_CHECKING:
    from docutils.nodes import Node, document
    from pypdf import PageObject

_DIRECTIVE = regex(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]{1,200}\|[ \t]+)?([\w:+.-]{1,80})::", re.MULTILINE)
_ROLE = regex(r":((?:[a-zA-Z][\w+.-]{0,40}:){0,2}[a-zA-Z][\w+.-]{0,40}):`|`:([\w:+.-]{1,80}):")
# Shown elsewhere, or to programs only.
_UNSHOWN = frozenset(
    "contents sectnum header footer meta class role default-role title include raw toctree highlight index literalinclude"
    " currentmodule module tabularcolumns automodule autoclass autofunction automethod autosummary".split()
)
_INCLUDED = ("include", "literalinclude")
# Their argument says where they are shown, not about what they are.
_CONDITIONS = frozenset(("only", "ifconfig"))
_CODE = frozenset(
    ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "ipython", "testcode", "testoutput", "doctest")
)
_OF_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
# Above this docutils reports no fault: it is asked to go on whatever it finds.
_ERROR, _NEVER = 3, 6
_SETTINGS = {
    "_disable_config": True,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": _NEVER,
    "line_length_limit": 20 << 20,
    "raw_enabled": False,
    "report_level": _ERROR,
    "syntax_highlight": "none",
    "warning_stream": "",
}


def read_restructured_text(body: bytes) -> Document:
    """A text that docutils can't take, as one whose parts lie too deeply in one another, stays as it is written; that is said."""
    from docutils.core import publish_doctree, publish_from_doctree

    text = decoded(body)
    if isinstance(text, Unreadable):
        raise Refused(text.reason)
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.languages import en

    class AnyOption(dict[str, Callable[[str], Any]]):
        def __missing__(self, name: str) -> Callable[[str], Any]:
            return directives.unchanged

    class Kept(Directive):
        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        # Options are looked for where at least one has a name.
        option_spec: ClassVar = AnyOption(name=directives.unchanged)

        def run(self) -> "list[Node]":
            return _kept(self)

    for name in set(_DIRECTIVE.findall(text)):
        if name.lower() not in en.directives or name in _UNSHOWN | _CODE:
            directives.register_directive(name.lower(), Kept)
    for name in {first or second for first, second in _ROLE.findall(text)}:
        if name.lower() not in en.roles:
            roles.register_local_role(name, _role)
    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        included = sum(name in _INCLUDED for name in _DIRECTIVE.findall(text))
        left_out = _shown_only(tree) | {"included file": included}
        page = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS | {"output_encoding": "unicode"})
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - any fault of a library in a text that can be read without it
        return Document(text, {"markup that can't be read": 1})
    # Its head gives a page without a title another one.
    document = document_of_html(str(page).partition("</head>")[2])
    return Document(document.text, {**table.found(left_out), **document.left_out})


def _kept(directive: Any) -> "list[Node]":
    """A version as a sentence, code as it is laid out, a described thing as a term and its meaning."""
    from docutils import nodes

    name, said = directive.name.rpartition(":")[2].lower(), " ".join(" ".join(directive.arguments).split())
    if name in _UNSHOWN:
        return []
    if name in _CODE:
        code = "\n".join(directive.content)
        return [nodes.literal_block(code, code)] if code.strip() else []
    body = nodes.container()
    directive.state.nested_parse(directive.content, directive.content_offset, body)
    if name in _OF_VERSIONS:
        version, _, change = said.partition(" ")
        words, _ = directive.state.inline_text(change or ".", directive.lineno)
        begin = nodes.Text(f"{_OF_VERSIONS[name]} {version}{': ' if change else ''}")
        return [nodes.paragraph("", "", begin, *words), *body.children]
    if version := directive.options.get("version"):
        # "changelog" of those who write one version after another: all below is of that version.
        released = directive.options.get("released")
        title = nodes.title("", f"{version} ({released})" if released else version)
        return [nodes.section("", title, *body.children, ids=[nodes.make_id(f"version {version}")])]
    if not said or name in _CONDITIONS:
        return list(body.children)
    if not body.children:
        words, _ = directive.state.inline_text(said, directive.lineno)
        return [nodes.paragraph("", "", *words)]
    term, meaning = nodes.term("", said), nodes.definition("", *body.children)
    return [nodes.definition_list("", nodes.definition_list_item("", term, meaning))]


def _role(_name: str, rawtext: str, text: str, *_: object) -> "tuple[Sequence[Any], Sequence[Any]]":
    from docutils import nodes, utils

    shown = utils.unescape(text).strip()
    title, target = shown.rpartition("<")[::2]
    if title.strip() and target.endswith(">"):
        shown = title.strip()
    elif shown.startswith("~"):
        # Of "~package.Name" the name.
        shown = shown.rpartition(".")[2].lstrip("~")
    return [nodes.inline(rawtext, shown.lstrip("!"))], []


def _shown_only(tree: "document") -> dict[str, int]:
    """Takes out pictures and what docutils says of faults, not the words that it says it of; and counts."""
    from docutils import nodes

    pictures = list(tree.findall(nodes.image))
    for picture in pictures:
        picture.parent.remove(picture)
    for message in list(tree.findall(nodes.system_message)):
        message.parent.replace(message, [block for block in message.children if isinstance(block, nodes.literal_block)])
    for box in [element for element in tree.findall(nodes.Element) if isinstance(element, nodes.Admonition)]:
        # Its title is no heading of what follows the box.
        match box.children:
            case [nodes.title() as title, nodes.paragraph() as first, *_]:
                first.insert(0, nodes.Text(f"{title.astext().rstrip(':')}: "))
                box.remove(title)
        box.parent.replace(box, box.children)
    for classifier in tree.findall(nodes.classifier):
        classifier.insert(0, nodes.Text(": "))
    return {"picture": len(pictures)}


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """How the names of its files end, and how its bytes are read.

    `is_one`: whether a file's bytes can be nothing else. `read` raises `Refused`, or anything for a damaged file; its time and
    memory are limited by `read_apart`. `package`: what it imports and the extra `readers` installs, "" for nothing.
    """

    suffixes: tuple[str, ...]
    is_one: Callable[[bytes], bool]
    read: Callable[[bytes], Document]
    package: str = ""


_PAGES_MAX = 10_000
_CHARS_MAX = 25 << 20
# Of work to find tables; in the rest of a long document they stay lines.
_TABLES_MAX_S = 8
# A word that was parted at the end of a line; "well-" before "Known" was not.
_PARTED = regex(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_ENDS = (".", "!", "?", ":", "…", "。")


def _read_pdf(body: bytes) -> Document:
    """Page by page. Pages that are pictures have no text; nobody here recognises letters in them."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Refused("is encrypted: save it without a password")
    if len(reader.pages) > _PAGES_MAX:
        raise Refused(f"has more than {_PAGES_MAX:,} pages: split it")
    text, blank, began = "", 0, time.process_time()
    for page in reader.pages:
        said = page.extract_text().strip()
        if time.process_time() - began < _TABLES_MAX_S:
            said = _with_tables(page, said)
        blank += not said
        text += _joint(text, said) + said
        if len(text) > _CHARS_MAX:
            break
    if not text:
        raise Refused("has pages without text, as scanned ones are: recognise its text with another program first")
    return Document(_PARTED.sub("", text), {"page without text": blank} if blank else {})


def _with_tables(page: "PageObject", text: str) -> str:
    if not may_have_table(text):
        return text
    try:
        return with_tables(text, page.extract_text(extraction_mode="layout"))
    except Exception:  # noqa: BLE001 - fonts without widths and the like; the text is there
        return text


def _joint(before: str, page: str) -> str:
    """The separator of two pages: a sentence may go on from one to the next."""
    if not before or not page:
        return ""
    return "\n" if page[0].islower() and not before.endswith(_ENDS) else "\n\n"


_FIRST_ROW = regex(r"(?<=<table>)(?:<tbody>)?<tr>(?:(?!<table>).)*?</tr>", re.DOTALL)
_CELL = regex(r"<td\b[^<>]*>((?:(?!<td\b).)*?)</td>", re.DOTALL)
_TAG = regex(r"<[^<>]*>")
# As of a page: all headings stand below it.
_STYLES = "p[style-name='Title'] => title:fresh"


def _read_docx(body: bytes) -> Document:
    """As a page, with titles, lists and tables, without what an author struck out; what was written in its place is there."""
    import mammoth

    archive = table.office_document(body)
    converted = mammoth.convert_to_html(io.BytesIO(body), style_map=_STYLES, convert_image=lambda _image: [])
    left_out = {
        "picture": table.count(archive, "word/media"),
        "header or footer": table.count(archive, "word", "header") + table.count(archive, "word", "footer"),
        "chart": table.count(archive, "word/charts", "chart"),
        "set of comments": table.count(archive, "word", "comments.xml"),
    }
    document = document_of_html(_FIRST_ROW.sub(_titled, converted.value))
    return Document(document.text, {**table.found(left_out), **document.left_out})


def _titled(row: re.Match[str]) -> str:
    """Most authors don't say that the first row names the columns."""
    cells = [" ".join(_TAG.sub(" ", cell).split()) for cell in _CELL.findall(row[0])]
    return row[0].replace("<td", "<th").replace("</td>", "</th>") if are_titles(cells) else row[0]


# Tables are seldom wider; a row that is, and nearly empty, loses its empty cells.
_COLUMNS_MAX = 200


def _read_xlsx(body: bytes) -> Document:
    """Each sheet under its name, each row under its header; sheets that are hidden are left out.

    Formulas count as the value that was last shown for them, and nothing is computed. Macros are not read.
    """
    from openpyxl import load_workbook

    archive = table.office_document(body)
    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    left_out = {
        "hidden sheet": len(book.worksheets) - len(sheets),
        "chart": table.count(archive, "xl/charts", "chart"),
        "picture": table.count(archive, "xl/media"),
        "set of comments": table.count(archive, "xl", "comments"),
    }
    return Document("\n".join(line for sheet in sheets for line in _sheet_lines(sheet)), table.found(left_out))


def _sheet_lines(sheet: Any) -> Iterator[str]:
    yield from (f"# {sheet.title}", "")
    length = 0
    for line in table_lines(_sheet_rows(sheet)):
        length += len(line)
        if length > CHARS_MAX:
            raise Refused(f"has a sheet of more than {CHARS_MAX >> 20} million characters: split it")
        yield line


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    # The size that a file claims need not be true.
    sheet.reset_dimensions()
    for row in sheet.iter_rows():
        cells = [_cell_text(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        filled = [cell for cell in cells if cell]
        # One cell in the last column is no table of 16,384.
        yield filled if len(cells) > _COLUMNS_MAX and len(filled) * 10 < len(cells) else cells


def _cell_text(cell: Any) -> str:
    """A value about as it is shown in the sheet, "" for one that is missing or in error."""
    value = cell.value
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.date().isoformat() if value.time() == time_of_day() else value.isoformat(" ", "minutes")
        case date() | time_of_day():
            return value.isoformat()
        case float() | int() if "%" in str(cell.number_format):
            return f"{value * 100:.10g}%"
        case float():
            return f"{value:.15g}"
    return "" if cell.data_type == "e" else str(value)


_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def _read_epub(body: bytes) -> Document:
    """The chapters in their order, each a page. Those whose text is encrypted are none; fonts often are, and don't matter."""
    archive = table.opened(body)
    root = next(_named(ET.fromstring(archive.read(_CONTAINER)), "rootfile")).attrib["full-path"]  # noqa: S314 - see `document`
    package = ET.fromstring(archive.read(root))  # noqa: S314 - see `document`
    items = {item.attrib.get("id", ""): item.attrib for item in _named(package, "item")}
    chapters = [items.get(one.attrib.get("idref", ""), {}) for one in _named(package, "itemref")]
    pages = [
        _path(root, one["href"]) for one in chapters if one.get("media-type") in _PAGES and "nav" not in one.get("properties", "")
    ]
    if encrypted := _encrypted(archive).intersection(pages):
        raise Refused(f"is encrypted ({len(encrypted)} of {len(pages)} chapters): only its seller's program shows it")
    there = [page for page in pages if page in archive.NameToInfo]
    pictures = sum(item.get("media-type", "").startswith("image/") for item in items.values())
    chapters_read = [document_of_html(archive.read(page).decode("utf-8", "replace")) for page in there]
    left_out = {"picture": pictures, "missing chapter": len(pages) - len(there)}
    left_out |= {ADDRESS: sum(chapter.left_out.get(ADDRESS, 0) for chapter in chapters_read)}
    title = " ".join(next((element.text or "" for element in _named(package, "title")), "").split())
    texts = [f"# {title}"] * bool(title) + [chapter.text for chapter in chapters_read]
    return Document("\n\n".join(texts), table.found(left_out))


def _encrypted(archive: ZipFile) -> set[str]:
    if _ENCRYPTION not in archive.NameToInfo:
        return set()
    encryption = ET.fromstring(archive.read(_ENCRYPTION))  # noqa: S314 - see `document`
    return {unquote(one.attrib.get("URI", "")) for one in _named(encryption, "CipherReference")}


def _named(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (element for element in root.iter() if element.tag.rpartition("}")[2] == name)


def _path(root: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(href.partition("#")[0])))


def _read_mail(body: bytes) -> Document:
    from hive_mind.runtime.texts.messages import text_of_mail

    return text_of_mail(body)


# In the format of before 2014 cells lie in sheets, and headings are cells.
_CELL_BODIES = ("source", "input")


def _read_notebook(body: bytes) -> Document:
    """Their Markdown as its page shows it, and their code. What code printed is left out, and counted."""
    notebook = json.loads(body.decode("utf-8", "replace"))
    if not isinstance(notebook, dict):
        raise Refused("is no notebook: it holds no cells")
    sheets = [notebook, *_entries(notebook.get("worksheets"))]
    cells = [cell for sheet in sheets for cell in _entries(sheet.get("cells"))]
    kernel = (notebook.get("metadata") or {}).get("kernelspec") or {}
    language = str(kernel.get("language") or "")
    outputs = sum(len(_entries(cell.get("outputs"))) for cell in cells)
    return Document("\n\n".join(_shown_cell(cell, language) for cell in cells), table.found({"output of code": outputs}))


def _entries(values: object) -> list[dict[str, Any]]:
    return [entry for entry in values if isinstance(entry, dict)] if isinstance(values, list) else []


def _shown_cell(cell: dict[str, Any], language: str) -> str:
    body = next((cell[name] for name in _CELL_BODIES if name in cell), "")
    text = "".join(map(str, body)) if isinstance(body, list) else str(body)
    match cell.get("cell_type"):
        case "code":
            return f"```{language}\n{text}\n```" if text.strip() else ""
        case "heading":
            return f"{'#' * int(cell.get('level') or 1)} {text}"
    return shown_in_markdown(text)


FORMATS: Mapping[str, DocumentFormat] = MappingProxyType(
    {
        # Names of parts stand uncompressed in an archive; a book says what it is in its first part.
        "docx": DocumentFormat(
            (".docx", ".docm"), lambda body: table.is_archive_with(body, b"word/document.xml"), _read_docx, "mammoth"
        ),
        "epub": DocumentFormat((".epub",), lambda body: table.is_archive_with(body[:128], b"application/epub+zip"), _read_epub),
        # JSON that its name tells from other JSON.
        "ipynb": DocumentFormat((".ipynb",), lambda _: False, _read_notebook),
        # Many texts begin like a message, so its name has to say so.
        "mail": DocumentFormat((".eml", ".mbox"), lambda _: False, _read_mail),
        # Some programs write a few bytes of their own in front.
        "pdf": DocumentFormat((".pdf",), lambda body: b"%PDF-" in body[:1024], _read_pdf, "pypdf"),
        "rst": DocumentFormat((".rst", ".rest"), lambda _: False, read_restructured_text),
        "xlsx": DocumentFormat(
            (".xlsx", ".xlsm"), lambda body: table.is_archive_with(body, b"xl/workbook.xml"), _read_xlsx, "openpyxl"
        ),
    }
)

"""Electronic books: the chapters in their order, each a page."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from hive_mind.runtime.texts import table
from hive_mind.runtime.texts.document import Document, Refused
from hive_mind.runtime.texts.html_text import text_of_html

SUFFIXES = (".epub",)
PACKAGE = ""

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def is_one(body: bytes) -> bool:
    """It says so in its first, uncompressed part."""
    return body.startswith(table.START) and b"application/epub+zip" in body[:128]


def read(body: bytes) -> Document:
    """Chapters whose text is encrypted are none; fonts often are, and don't matter."""
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
    text = "\n\n".join(text_of_html(archive.read(page).decode("utf-8", "replace")) for page in there)
    return Document(text, table.found({"picture": pictures, "missing chapter": len(pages) - len(there)}))


def _encrypted(archive: ZipFile) -> set[str]:
    if _ENCRYPTION not in archive.NameToInfo:
        return set()
    encryption = ET.fromstring(archive.read(_ENCRYPTION))  # noqa: S314 - see `document`
    return {unquote(one.attrib.get("URI", "")) for one in _named(encryption, "CipherReference")}


def _named(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (element for element in root.iter() if element.tag.rpartition("}")[2] == name)


def _path(root: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(href.partition("#")[0])))

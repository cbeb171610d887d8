"""Documents that are ZIP archives, as those of office programs and books are: opened only where unpacking them has an end."""

import io
from zipfile import ZipFile

from hive_mind.runtime.texts.document import Refused

START = b"PK\x03\x04"
# Pictures are not unpacked.
_UNPACKED_BYTES_MAX = 500 << 20
# A novel's text is some 5 MB with its markup, and each MB takes a second to read.
_TEXT_BYTES_MAX = 48 << 20
_TEXTS = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_PARTS_MAX = 20_000
_ENCRYPTED = 0x1
_MARKUP = (".xml", ".rels")
_PROLOGUE_BYTES = 4096


def opened(body: bytes) -> ZipFile:
    """The archive. No part is read further than it says that it is long. Raises `Refused`, `BadZipFile`."""
    if body.startswith(b"\xd0\xcf\x11\xe0"):
        raise Refused("is encrypted, or of an office program of before 2007: save it anew, without a password")
    archive = ZipFile(io.BytesIO(body))
    parts = archive.infolist()
    if len(parts) > _PARTS_MAX or sum(part.file_size for part in parts) > _UNPACKED_BYTES_MAX:
        raise Refused(f"unpacks to more than {_UNPACKED_BYTES_MAX >> 20} MB or {_PARTS_MAX:,} parts: save its text as a file")
    if sum(part.file_size for part in parts if part.filename.lower().endswith(_TEXTS)) > _TEXT_BYTES_MAX:
        raise Refused(
            f"unpacks to more than {_TEXT_BYTES_MAX >> 20} MB of text with its markup: split it, or save its text as a file"
        )
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise Refused("is encrypted: save it without a password")
    return archive


def office_document(body: bytes) -> ZipFile:
    """One whose parts declare no entities: office programs never do, and they can be made to multiply. Raises as `opened`."""
    archive = opened(body)
    for name in archive.namelist():
        if name.endswith(_MARKUP):
            with archive.open(name) as part:
                if b"<!DOCTYPE" in part.read(_PROLOGUE_BYTES):
                    raise Refused("declares XML entities, as no office program does")
    return archive


def count(archive: ZipFile, folder: str, prefix: str = "") -> int:
    """How many parts lie in a folder."""
    return sum(name.startswith(f"{folder}/{prefix}") and not name.endswith("/") for name in archive.namelist())


def found(counts: dict[str, int]) -> dict[str, int]:
    return {name: times for name, times in counts.items() if times}

"""A file's text, if it is text. Reading says why a file can't be learned and never raises for what is in it."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from hive_mind.errors import reason_of
from hive_mind.runtime.texts import EMPTY, Document, Unreadable, decoded, document_of_html
from hive_mind.runtime.texts.asciidoc_text import is_asciidoc, text_of_asciidoc
from hive_mind.runtime.texts.document import format_of, read_apart, suffixes
from hive_mind.runtime.texts.markdown_text import shown_in_markdown

# Ten times the longest novel. More is a dump or a log nobody wants to be quoted from, and takes minutes.
FILE_BYTES_MAX = 20 << 20
# Most of a large document are its pictures.
DOCUMENT_BYTES_MAX = 100 << 20

_PAGES = (".html", ".htm")
_CAPTIONS = (".vtt", ".srt")
_MARKDOWN = (".md", ".markdown", ".mdx", ".qmd", ".rmd")
_ASCIIDOC = (".adoc", ".asciidoc")
_PLAIN = (".txt", ".text")
_NESTED = frozenset({".json", ".jsonl", ".yaml", ".yml"})
# Formats of notes. JSON and its kin are learned when they are named: most of them are for programs, and an export of a
# memory is for `facts import`.
TEXT_SUFFIXES = (".txt", ".text", ".log", ".csv", ".tsv", *_PAGES, *_CAPTIONS, *_MARKDOWN, *_ASCIIDOC)
# An export of Slack has a folder for each channel, and beside them the list of people.
_PEOPLE = "users.json"
# The first message of an export begins within so much.
_EXPORT_LOOK_BYTES = 4096
_OF_EXPORT = (b'"thread_ts"', b'"ts"', b'"created_at"', b'"createdAt"'), (b'"text"', b'"body"')
TOO_LARGE = Unreadable(f"is too large (more than {FILE_BYTES_MAX >> 20} MB): split it")
TOO_NESTED = Unreadable("holds more values than a person writes, for programs to read: save what matters as a file of its own")
DOCUMENT_TOO_LARGE = Unreadable(f"is too large (more than {DOCUMENT_BYTES_MAX >> 20} MB): split it")
UNCHANGED = Unreadable("is as it was read before")


def is_learned(path: Path) -> bool:
    """Whether a folder gives this file, by its name, or as an export of messages."""
    return path.suffix.lower() in (*TEXT_SUFFIXES, *suffixes()) or (path.suffix == ".json" and _is_export(path))


def _is_export(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            begin = file.read(_EXPORT_LOOK_BYTES)
    except OSError:
        return False
    return all(any(key in begin for key in keys) for keys in _OF_EXPORT)


def _people_beside(path: Path) -> dict[str, str]:
    """The names of the people in an export of which this file is a part."""
    body = read_bytes(path.absolute().parent.parent / _PEOPLE)
    if not isinstance(body, bytes):
        return {}
    from hive_mind.runtime.texts.messages import people_in

    return people_in(body.decode("utf-8", "replace"))


def read_bytes(path: Path) -> bytes | Unreadable:
    """A file's bytes, or why they are not to be had."""
    try:
        if path.is_dir():
            # Only a folder below the one that was named: it could not be looked into.
            return Unreadable("is a folder that can't be read: check its rights")
        if not path.is_file():
            return Unreadable("is not a regular file" if path.exists() else "is not there")
        is_document = path.suffix.lower() in suffixes()
        if path.stat().st_size > (DOCUMENT_BYTES_MAX if is_document else FILE_BYTES_MAX):
            return DOCUMENT_TOO_LARGE if is_document else TOO_LARGE
        return path.read_bytes()
    except OSError as error:
        return Unreadable(f"can't be read ({reason_of(error)})")


def read_text(path: Path) -> str | Unreadable:
    """A file's text, or why there is none."""
    found = read_document(path)
    return found.text if isinstance(found, Document) else found


def read_document(path: Path, known: str = "") -> Document | Unreadable:
    """A file's text and what of it is left out, or why there is none: `UNCHANGED` for a digest that is `known`.

    A document of another program may take minutes.
    """
    body = read_bytes(path)
    if isinstance(body, Unreadable):
        return body
    if (digest := sha256(body).hexdigest()) == known:
        return UNCHANGED
    document = document_in(path, body)
    return replace(document, digest=digest) if isinstance(document, Document) else document


def document_in(path: Path, body: bytes) -> Document | Unreadable:
    """The text in the bytes of a file."""
    if format := format_of(path, body):
        return read_apart(format, body) if body else EMPTY
    text = decoded(body)
    if isinstance(text, Unreadable):
        return text
    # A command that reads no file loads nothing that reads.
    from hive_mind.cognition.extraction.html_text import is_html

    if path.suffix.lower() in _PAGES or is_html(text):
        document = document_of_html(text)
        return document if document.text.strip() else EMPTY
    text = _text_in(path, text)
    return text if isinstance(text, Unreadable) else Document(text)


def _text_in(path: Path, text: str) -> str | Unreadable:
    """The text that a file is that is no page.

    Of HTML in Markdown it is what a browser would show; of JSON and YAML each value with all its keys; of
    captions who says what; of Python the docstrings and constants, of other languages comments with the code below them.
    """
    from hive_mind.cognition.extraction.screen_text import is_manual, text_of_captions, text_of_manual
    from hive_mind.cognition.extraction.source_text import is_source, text_of_python, text_of_source

    suffix = path.suffix.lower()
    if suffix in _MARKDOWN:
        text = shown_in_markdown(text)
    elif suffix in _PLAIN and is_manual(text):
        text = text_of_manual(text)
    elif suffix in _ASCIIDOC or (suffix in _PLAIN and is_asciidoc(text)):
        text = text_of_asciidoc(text)
    elif suffix in _CAPTIONS:
        text = text_of_captions(text)
    elif suffix == ".py":
        text = text_of_python(text, path.name)
    elif is_source(suffix):
        text = text_of_source(text, suffix)
    elif suffix in _NESTED:
        # They need libraries that few commands do.
        from hive_mind.runtime.texts.messages import text_of_threads
        from hive_mind.runtime.texts.nested_text import nested_text

        nested = (text_of_threads(text, _people_beside(path)) if suffix.startswith(".json") else None) or nested_text(text)
        if nested is None:
            return TOO_NESTED
        text = nested
    return text if text.strip() else EMPTY

"""A collection's documents: text files below one folder, each with what its front matter says about it; and their chunks.

A document's id is its path below the folder, its category the first folder on that path. A file that can't be taken (too large,
no text, a link that leads out) is skipped, counted and named; one bad file never keeps the others from being found.

Chunks are cut at headings, and wherever a section is longer than a chunk may be. A token is a word of up to twelve characters, a
piece of a longer one, a single character of a script without spaces, or one punctuation mark: never fewer than a language model's
tokenizer makes of usual text, whichever it is.
"""

import os
import stat
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from struct import Struct

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hive_mind.counted import whole_characters
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.model.ids import UNSPACED
from hive_mind.regex import regex
from hive_mind.retrieval import Chunking

# Files that are documents, by how their names end.
DOCUMENT_SUFFIXES = frozenset((".md", ".markdown", ".txt", ".rst", ".text"))
# A book of a thousand pages is some 2 MB; what is larger is a dump or a log, and would be cut into thousands of chunks.
DOCUMENT_BYTES_MAX = 8 << 20
_FRONT_MATTER_CHARACTERS_MAX = 64 << 10
_SUFFIXES = tuple(DOCUMENT_SUFFIXES)
# Size, time of the content, time of anything, number of the file. Text would take as long to write as the rest of looking.
_STATE = Struct("<qqqQ")
_VALUES_MAX, _VALUE_CHARACTERS_MAX = 100, 4_000


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as the folder shows it, not read yet. `state` changes whenever the file may have changed."""

    id: str
    path: str
    state: bytes

    @property
    def changed_ns(self) -> int:
        """When anything of the file last changed, in nanoseconds since 1970."""
        return int(_STATE.unpack(self.state)[2])


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not taken, and why."""

    id: str
    why: str


@dataclass(slots=True)
class Listing:
    """The files of a folder."""

    seen: list[ListedFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read. `fields` holds each field's values as text; `body` is without the front matter.

    `title` is what the front matter or the first heading says, "" where neither does.
    """

    id: str
    title: str
    body: str
    fields: Mapping[str, tuple[str, ...]]
    hash: bytes = b""

    def field(self, name: str) -> str:
        return next(iter(self.fields.get(name, ())), "")


def listed(folder: Path) -> Listing:
    """Every document of a folder, by id. Raises `InvalidInput` where there is no such folder."""
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder of documents at {folder}: make it, or change documents_dir of the collection")
    listing, folder_stat = Listing(), folder.stat()
    _list(folder, "", folder.resolve(), listing, ((folder_stat.st_dev, folder_stat.st_ino),))
    listing.seen.sort(key=attrgetter("id"))
    return listing


def read(file: ListedFile) -> Document | Skipped:
    try:
        raw = Path(file.path).read_bytes()
    except OSError as error:
        return Skipped(file.id, f"can't be read ({reason_of(error)})")
    if b"\0" in raw:
        return Skipped(file.id, "is binary, not text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Skipped(file.id, "is not UTF-8 text")
    return parsed(file.id, text, blake2b(raw, digest_size=16).digest())


def parsed(id: str, text: str, hash: bytes = b"") -> Document | Skipped:
    """A document from its text: front matter between two lines of "---", then the body."""
    front, body = _parted(text.replace("\r\n", "\n"))
    try:
        values = _fields(front)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Skipped(id, f"has front matter other than a list of fields ({' '.join(str(error).split())[:120]})")
    folder, _, _ = id.rpartition("/")
    if folder:
        values.setdefault("category", (folder.split("/")[0],))
    headings = (heading[1] for line in body.splitlines()[:50] if (heading := heading_of(line)))
    title = next(iter(values.get("title", ())), "") or next(headings, "")
    return Document(id, title, body, {"path": (id,), **({"title": (title,)} if title else {}), **values}, hash)


def _list(folder: Path, prefix: str, root: Path, listing: Listing, above: tuple[tuple[int, int], ...]) -> None:
    try:
        entries = sorted(os.scandir(folder), key=attrgetter("name"))
    except OSError as error:
        listing.skipped.append(Skipped(prefix.rstrip("/"), f"can't be read ({reason_of(error)})"))
        return
    for entry in entries:
        if entry.name[0] != ".":
            _take(entry, prefix + entry.name, root, listing, above)


def _take(entry: "os.DirEntry[str]", id: str, root: Path, listing: Listing, above: tuple[tuple[int, int], ...]) -> None:
    try:
        if entry.is_symlink() and not Path(entry.path).resolve(strict=True).is_relative_to(root):
            listing.skipped.append(Skipped(id, "is a link that leads out of the folder"))
            return
        entry_stat = entry.stat()
    except (OSError, RuntimeError):
        listing.skipped.append(Skipped(id, "is a link that leads nowhere"))
        return
    if stat.S_ISDIR(entry_stat.st_mode):
        place = (entry_stat.st_dev, entry_stat.st_ino)
        if place in above or len(above) > 50:
            listing.skipped.append(Skipped(id, "is a link to a folder above it"))
        else:
            _list(Path(entry.path), id + "/", root, listing, (*above, place))
    elif id.lower().endswith(_SUFFIXES):
        folder_stat = entry_stat
        if not stat.S_ISREG(folder_stat.st_mode):
            listing.skipped.append(Skipped(id, "is not a regular file"))
        elif folder_stat.st_size > DOCUMENT_BYTES_MAX:
            listing.skipped.append(Skipped(id, f"has {folder_stat.st_size:,} bytes, more than {DOCUMENT_BYTES_MAX:,}: split it"))
        elif (name := id.encode("utf-8", "replace").decode()) != id:
            listing.skipped.append(Skipped(name, "has a name that is not UTF-8 text"))
        else:
            # The time of the last change of anything can't be set back, unlike that of the content.
            state = _STATE.pack(folder_stat.st_size, folder_stat.st_mtime_ns, folder_stat.st_ctime_ns, folder_stat.st_ino)
            listing.seen.append(ListedFile(id, entry.path, state))


def _parted(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        return "", text
    end = text.find("\n---", 3, _FRONT_MATTER_CHARACTERS_MAX)
    line_end = text.find("\n", end + 1)
    closing = text[end + 1 : line_end if line_end >= 0 else len(text)].rstrip()
    if end < 0 or closing != "---":
        # A rule at the top of a text that has no front matter.
        return "", text
    return text[4 : end + 1], text[line_end + 1 :] if line_end >= 0 else ""


def _fields(front: str) -> dict[str, tuple[str, ...]]:
    if not front.strip():
        return {}
    # Read, not loaded: nothing is built of it, "1.10" stays a version and "no" a word.
    node = yaml.compose(front, yaml.SafeLoader)
    if node is None:
        return {}
    if not isinstance(node, MappingNode):
        raise ValueError("it must be lines of name: value")
    pairs = [(name, value) for name, value in node.value if isinstance(name, ScalarNode)]
    return {whole_characters(name.value): _values(value) for name, value in pairs[:_VALUES_MAX]}


def _values(value: Node) -> tuple[str, ...]:
    several = value.value if isinstance(value, SequenceNode) else [value]
    texts = [
        whole_characters(node_value.value.strip()[:_VALUE_CHARACTERS_MAX])
        for node_value in several[:_VALUES_MAX]
        if isinstance(node_value, ScalarNode)
    ]
    return tuple(dict.fromkeys(text for text in texts if text))


def left_out(listing: Listing, names: Container[str]) -> dict[str, str]:
    tried = (read(file) for file in listing.seen if file.id in names)
    return {skipped.id: skipped.why for skipped in (*listing.skipped, *tried) if isinstance(skipped, Skipped)}


def all_read(folder: Path) -> Iterator[Document | Skipped]:
    listing = listed(folder)
    yield from listing.skipped
    for file in listing.seen:
        yield read(file)


_TOKEN = regex(rf"[{UNSPACED}]|\w{{1,12}}|[^\w\s]")
_HEADING = regex(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = regex(r" {0,3}(`{3,}+|~{3,}+)(.*)")
_END = regex(r"[.!?…。！？][\"'”’)\]]*\s|\n")
_PARAGRAPH = regex(r"\n\s*\n")
# Every chunk below a heading has its name again. A longer one is no name, and still stands in the text.
HEADING_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document. `heading` is the path of headings above and at it, "" for text before the first."""

    heading: str
    text: str


def chunks_of(text: str, chunking: Chunking) -> list[Chunk]:
    """All chunks of a document in order. None is empty, none longer than `max_tokens`."""
    has_headings = chunking.strategy == "by_heading" and chunking.format == "markdown"
    sections = _sections(text, chunking) if has_headings else [Chunk("", text)]
    return [Chunk(section.heading, piece) for section in sections for piece in pieces(section.text, chunking)]


def pieces(text: str, chunking: Chunking) -> Iterator[str]:
    """A text in pieces of at most `max_tokens`, each beginning `overlap_tokens` before the former ends."""
    text = text.strip()
    # A token has at least one character, so a short text needs no counting.
    if len(text) <= chunking.max_tokens:
        if text:
            yield text
        return
    spans = [match.span() for match in _TOKEN.finditer(text)]
    overlap = min(chunking.overlap_tokens, chunking.max_tokens - 1)
    start = 0
    while start < len(spans):
        end = _good_end(text, spans, start, chunking.max_tokens, overlap)
        yield text[spans[start][0] : spans[end - 1][1]]
        if end == len(spans):
            return
        start = end - overlap


def tail(text: str, tokens: int) -> str:
    spans = [match.span() for match in _TOKEN.finditer(text[-16 * tokens :])]
    return text[-16 * tokens :][spans[-tokens:][0][0] :].strip() if spans else ""


def _good_end(text: str, spans: list[tuple[int, int]], start: int, most: int, overlap: int) -> int:
    """Where a piece should end: at the last paragraph or sentence of its second half, else where it is full."""
    full = start + most
    if full >= len(spans):
        return len(spans)
    # Not before the middle, nor so early that the next piece would begin where this one did.
    first = start + max(most // 2, overlap + 1)
    if first >= full:
        return full
    window = text[spans[first - 1][1] : spans[full][0]]
    for pattern in (_PARAGRAPH, _END):
        ends = [match.start() for match in pattern.finditer(window)]
        if ends:
            limit = spans[first - 1][1] + ends[-1] + 1
            return max(number for number in range(first, full + 1) if spans[number - 1][0] < limit or number == first)
    return full


def _sections(text: str, chunking: Chunking) -> list[Chunk]:
    """Cut before every heading up to the level; deeper headings stay inside. Two equal headings begin two sections.

    A heading with nothing but a deeper one below it begins that one's section: alone it says nothing.
    """
    chunks: list[Chunk] = []
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence, is_bare = "", False
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        was_fenced, fence = bool(fence), _fence_after(fence, bare)
        heading = None if was_fenced or fence else heading_of(bare)
        if heading and heading[0] <= chunking.heading_level:
            level, title = heading
            if not (is_bare and level > path[-1][0]):
                chunks.append(Chunk(_named(path), "".join(lines)))
                lines = []
            is_bare = True
            path = [*(heading for heading in path if heading[0] < level), (level, title)]
        elif bare.strip():
            is_bare = False
        lines.append(line)
    chunks.append(Chunk(_named(path), "".join(lines)))
    return chunks


def heading_of(line: str) -> tuple[int, str] | None:
    """Level and title of a line that is a heading (CommonMark), None for any other; in time that grows with the line alone."""
    match = _HEADING.match(line)
    if not match:
        return None
    title = line[match.end() :].strip()
    bare = title.rstrip("#")
    # Marks at the end close the heading, where a space parts them from it: "C#" is a title.
    if not bare or bare[-1].isspace():
        title = bare.rstrip()
    return len(match[1]), title[:HEADING_CHARACTERS_MAX]


def _named(path: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in path if title)


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line, "" for none: "#" in code is no heading."""
    match = _FENCE.fullmatch(line)
    if not match:
        return fence
    marks, rest = match[1], match[2]
    if not fence:
        # A back tick in the rest makes it inline code (CommonMark).
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip()
    return "" if closes else fence

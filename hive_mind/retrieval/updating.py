"""Bringing an index up to date with its folder: what is new, what has changed, what is gone.

A file whose size and times are as before is not even read; one that was read and has the same bytes is not cut again; a chunk
whose text is known is not embedded again. Embeddings are kept as they are made, everything else in one transaction at the end:
an interruption leaves the former index, and the next update goes on where this one stopped.

In RAM a collection is the index that agents' memories use, and beside it what filters and boosts need (`MemoryIndex`): one per
text form, because the configuration decides what of a text is indexed, and all of it rebuilt from the file.
"""

import re
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from pathlib import Path, PurePosixPath

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from hive_mind.model.ids import canonical
from hive_mind.ranking.form import mixed_vector, weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.vector import Vector, VectorArm
from hive_mind.ranking.within import Within
from hive_mind.retrieval import Chunking, TextForm
from hive_mind.retrieval.chunk_file import ChunkFile, ChunkRow, DocumentRow
from hive_mind.retrieval.documents import Skipped, chunks_of, listed, read, tail

Report = Callable[[str, int, int], None]

# A file that was changed so shortly before it was looked at may change again without its times showing it.
_UNSETTLED_NS = 1_000_000_000
_REPORT_EVERY = 100
# Raise it whenever documents are read or cut in another way than before.
FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of an update, in documents; `chunks` are all there are now, `embedded` the texts that were embedded."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Changes:
    """The rows to write."""

    documents: list[DocumentRow] = field(default_factory=list)
    chunks: list[ChunkRow] = field(default_factory=list)
    replaced: dict[int, str] = field(default_factory=dict)
    """Documents that have changed, by their former number."""
    removed: list[int] = field(default_factory=list)
    touched: dict[int, bytes] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unchanged: int = 0

    @property
    def gone(self) -> list[int]:
        """Former numbers of what is no longer there as it was."""
        return [*self.replaced, *self.removed]


def changes_since(file: ChunkFile, folder: Path, chunking: Chunking, report: Report) -> Changes:
    """Compare a folder with what is kept of it; nothing is written."""
    now_ns = time.time_ns()
    listing = listed(folder)
    known_by_id = file.known()
    is_same_form = file.meta().get("form") == form_of(chunking)
    doubtful = [
        seen
        for seen in listing.seen
        if not is_same_form or (before := known_by_id.get(seen.id)) is None or before.state != seen.state
    ]
    ids_there = {seen.id for seen in listing.seen}
    changes = Changes(skipped=listing.skipped, unchanged=len(listing.seen) - len(doubtful))
    next_document, next_chunk = file.next_numbers()
    for number, listed_file in enumerate(doubtful, start=changes.unchanged + 1):
        document, known = read(listed_file), known_by_id.get(listed_file.id)
        state = listed_file.state if now_ns - listed_file.changed_ns > _UNSETTLED_NS else b""
        if isinstance(document, Skipped):
            changes.skipped.append(document)
            changes.removed += [known.number] if known else []
        elif known and is_same_form and known.hash == document.hash:
            changes.unchanged += 1
            if known.state != state:
                changes.touched[known.number] = state
        else:
            if known:
                changes.replaced[known.number] = listed_file.id
            changes.documents.append(
                DocumentRow(next_document, document.id, state, document.hash, document.title, document.fields)
            )
            for ordinal, chunk in enumerate(chunks_of(document.body, chunking)):
                row = ChunkRow(next_chunk, next_document, ordinal, chunk.heading, chunk.text, b"")
                key = text_key(embedded_text(document.title, document.field("speaker"), row))
                changes.chunks.append(replace(row, key=key))
                next_chunk += 1
            next_document += 1
        if number % _REPORT_EVERY == 0:
            report("documents", number, len(listing.seen))
    report("documents", len(listing.seen), len(listing.seen))
    changes.removed += [known.number for id, known in known_by_id.items() if id not in ids_there]
    return changes


def write(file: ChunkFile, changes: Changes, chunking: Chunking, unused_vectors: Iterable[bytes]) -> None:
    if not (changes.documents or changes.gone or changes.touched) and file.meta().get("form") == form_of(chunking):
        return
    with file.changing():
        file.forget(changes.gone)
        file.add(changes.documents, changes.chunks)
        file.touch(changes.touched)
        file.forget_vectors(unused_vectors)
        file.set_meta({"form": form_of(chunking)})


def form_of(chunking: Chunking) -> str:
    return f"{FORMAT} {chunking.model_dump_json()}"


def text_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def embedded_text(title: str, speaker: str, chunk: ChunkRow) -> str:
    """The part of a chunk that is embedded: its text, and where it stands unless it says that itself."""
    if speaker:
        return f"{speaker}: {chunk.text}"
    above = chunk.heading if chunk.heading.startswith(title) else " > ".join(part for part in (title, chunk.heading) if part)
    return chunk.text if canonical(above) in canonical(chunk.text[: len(above) + 16]) else f"{above}\n{chunk.text}"


Rows = NDArray[np.int64]
Filters = Mapping[str, Sequence[str]]
_Key = tuple[tuple[str, tuple[str, ...]], ...]

# As much of the chunk before as a reader would look back at; all of it would drown the chunk's own words.
_BEFORE_TOKENS = 48
DATE_FIELDS = ("date", "said_at")
_NO_DATE = -1
# Bounds of what is cached of parts: their number, and their chunks as a multiple of the collection.
_PARTS_MAX, _PARTS_CHUNKS = 16, 4


@dataclass(frozen=True, slots=True)
class Worded:
    """A chunk as `ranking.form` takes it."""

    content: str
    concept: str
    said_at: str
    speaker: str
    before: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilteredChunks:
    """Chunks that filters let through, chosen before scoring. `copies` are its text keys in order, for counting equals."""

    within: Within
    copies: NDArray[np.uint64]
    newest: int


class MemoryIndex:
    """Documents and their chunks, findable. Chunks are added in order, a whole document at a time."""

    def __init__(self, form: TextForm, arm: VectorArm | None) -> None:
        self._form = form
        self.index = FactIndex(arm)
        self.documents: dict[int, DocumentRow] = {}
        self.numbers, self.owners, self._texts, self._days = array("q"), array("q"), array("Q"), array("q")
        self._holders: dict[int, list[int]] = {}
        self._parts: dict[_Key, FilteredChunks] = {}
        self._last: tuple[Filters, FilteredChunks] | None = None
        self.without_vector = 0

    def add(self, document: DocumentRow, chunks: Sequence[ChunkRow], vectors: Mapping[bytes, Vector]) -> None:
        self._forget_parts()
        self.documents[document.number] = document
        self._holders[document.number] = list(range(len(self.numbers), len(self.numbers) + len(chunks)))
        day = _NO_DATE
        with suppress(ValueError):
            day = date.fromisoformat(_date_text(document)[:10]).toordinal()
        for chunk, worded in zip(chunks, self._worded(document, chunks), strict=True):
            vector = vectors.get(chunk.key)
            before = first(document, "before") if self._form.neighbours and chunk.ordinal == 0 else ""
            vector = None if vector is None else mixed_vector(vector, vectors.get(text_key(before)) if before else None)
            self.without_vector += vector is None
            self.index.add(id_of(document.id, chunk.ordinal), weighted_terms(worded), vector)
            self.numbers.append(chunk.number)
            self.owners.append(document.number)
            self._texts.append(int.from_bytes(text_key(canonical(chunk.text))[:8], "big"))
            self._days.append(day)

    def remove(self, number: int, chunks: Sequence[ChunkRow]) -> None:
        """Take a document out; `chunks` are those it was added with."""
        self._forget_parts()
        document = self.documents.pop(number)
        for chunk, worded in zip(chunks, self._worded(document, chunks), strict=True):
            id = id_of(document.id, chunk.ordinal)
            self.without_vector -= self.index.vector(id) is None
            self.index.remove(id, weighted_terms(worded))
        del self._holders[number]

    def part(self, filters: Filters) -> FilteredChunks:
        """The chunks that every filter lets through: of each field one of the values. Without filters, everything."""
        # One search asks several times for the same.
        if self._last is not None and self._last[0] is filters:
            return self._last[1]
        key = tuple(sorted((name, tuple(sorted(values))) for name, values in filters.items()))
        if key not in self._parts:
            # Those chosen first make room.
            chosen = [
                number
                for number, row in self.documents.items()
                if all(set(row.fields.get(name, ())) & set(values) for name, values in filters.items())
            ]
            rows = np.array(sorted(row for number in chosen for row in self._holders[number]), np.int64)
            part = FilteredChunks(self.index.part(rows), np.sort(self.texts(rows)), int(self.days(rows).max(initial=_NO_DATE)))
            room = _PARTS_CHUNKS * len(self.numbers) - len(part.within.rows)
            while self._parts and (
                len(self._parts) >= _PARTS_MAX or sum(len(chunks.within.rows) for chunks in self._parts.values()) > room
            ):
                del self._parts[next(iter(self._parts))]
            self._parts[key] = part
        self._last = (filters, self._parts[key])
        return self._parts[key]

    def _forget_parts(self) -> None:
        self._parts.clear()
        self._last = None

    def copies(self, rows: Rows, part: FilteredChunks) -> NDArray[np.int64]:
        """How many chunks of a part have the same text as each of these, itself included."""
        keys = self.texts(rows)
        counts: NDArray[np.int64] = np.searchsorted(part.copies, keys, "right") - np.searchsorted(part.copies, keys, "left")
        return counts

    def texts(self, rows: Rows) -> NDArray[np.uint64]:
        """The key that tells the text of each chunk from other texts."""
        return np.frombuffer(self._texts, np.uint64)[rows] if len(rows) else np.empty(0, np.uint64)

    def days(self, rows: Rows) -> NDArray[np.int64]:
        """The date of each chunk in days; below 0 if it has none."""
        return np.frombuffer(self._days, np.int64)[rows] if len(rows) else np.empty(0, np.int64)

    def document_at(self, row: int) -> DocumentRow:
        return self.documents[self.owners[row]]

    def terms(self, chunk: ChunkRow) -> frozenset[str]:
        return frozenset(weighted_terms(Worded(chunk.text, "", "", "", "")))

    def _worded(self, document: DocumentRow, chunks: Sequence[ChunkRow]) -> Iterable[Worded]:
        speaker = first(document, "speaker") if self._form.speaker else ""
        said_at = _date_text(document) if self._form.date else ""
        for place, chunk in enumerate(chunks):
            about = f"{document.title or _named(document.id)} {chunk.heading}"
            neighbours = self._form.neighbours
            earlier = [tail(chunk.text, _BEFORE_TOKENS) for chunk in chunks[max(0, place - neighbours) : place]]
            if neighbours > place and (before := first(document, "before")):
                earlier.insert(0, before)
            yield Worded(chunk.text, about, said_at, speaker, "\n".join(earlier))


def _named(id: str) -> str:
    """The words of a file's name; none, where it is only a number."""
    stem = PurePosixPath(id).stem
    return re.sub(r"[-_.]+", " ", stem) if re.search(r"[^\W\d_]{3}", stem) else ""


def id_of(document: str, ordinal: int) -> str:
    """A chunk's id inside the index: of even distribution, so that the order of ties says nothing about names."""
    return text_key(f"{document}#{ordinal}").hex()


def first(document: DocumentRow, field: str) -> str:
    return next(iter(document.fields.get(field, ())), "")


def _date_text(document: DocumentRow) -> str:
    return next((text for name in DATE_FIELDS if (text := first(document, name))), "")

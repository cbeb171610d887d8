"""Bringing an index up to date with its folder: what is new, what has changed, what is gone.

A file whose size and times are as before is not even read; one that was read and has the same bytes is not cut again; a chunk
whose text is known is not embedded again. Embeddings are kept as they are made, everything else in one transaction at the end:
an interruption leaves the former index, and the next update goes on where this one stopped.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from hive_mind.model.ids import canonical
from hive_mind.retrieval.files.collection import Chunking
from hive_mind.retrieval.files.documents import Document, ListedFile, Skipped, listed, read
from hive_mind.retrieval.indexing.chunk_file import ChunkFile, ChunkRow, DocumentRow, Known
from hive_mind.retrieval.indexing.chunking import chunks_of

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
    states = file.states()
    is_same_form = file.meta().get("form") == form_of(chunking)
    doubtful = [seen_file for seen_file in listing.seen if not is_same_form or states.get(seen_file.id) != seen_file.state]
    there = {seen_file.id for seen_file in listing.seen}
    gone = [id for id in states if id not in there]
    known = file.known([*(seen_file.id for seen_file in doubtful if seen_file.id in states), *gone])
    changes = Changes(skipped=listing.skipped, unchanged=len(listing.seen) - len(doubtful))
    numbers = _Numbers(*file.next_numbers())
    for done, listed_file in enumerate(doubtful, start=changes.unchanged + 1):
        _look(listed_file, known.get(listed_file.id), changes, numbers, (chunking, is_same_form, now_ns))
        if done % _REPORT_EVERY == 0:
            report("documents", done, len(listing.seen))
    report("documents", len(listing.seen), len(listing.seen))
    changes.removed += [known[id].number for id in gone]
    return changes


def write(file: ChunkFile, changes: Changes, chunking: Chunking, unused_vectors: Iterable[bytes]) -> None:
    if not (changes.documents or changes.gone or changes.touched) and file.meta().get("form") == form_of(chunking):
        return
    with file.changing():
        file.forget(changes.gone)
        for row in changes.documents:
            file.add_document(row)
        file.add_chunks(changes.chunks)
        file.touch(changes.touched)
        file.forget_vectors(unused_vectors)
        file.set_meta({"form": form_of(chunking)})


def form_of(chunking: Chunking) -> str:
    """The settings that decide how a document becomes chunks."""
    return f"{FORMAT} {chunking.model_dump_json()}"


def text_key(text: str) -> bytes:
    """Names a text by its content."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def embedded_text(title: str, speaker: str, chunk: ChunkRow) -> str:
    """The part of a chunk that is embedded: its text, and where it stands unless it says that itself."""
    if speaker:
        return f"{speaker}: {chunk.text}"
    above = chunk.heading if chunk.heading.startswith(title) else " > ".join(part for part in (title, chunk.heading) if part)
    return chunk.text if canonical(above) in canonical(chunk.text[: len(above) + 16]) else f"{above}\n{chunk.text}"


@dataclass(slots=True)
class _Numbers:
    document: int
    chunk: int


def _look(file: ListedFile, known: Known | None, changes: Changes, numbers: _Numbers, how: tuple[Chunking, bool, int]) -> None:
    chunking, is_same_form, now_ns = how
    document = read(file)
    if isinstance(document, Skipped):
        changes.skipped.append(document)
        if known:
            changes.removed.append(known.number)
        return
    state = file.state if now_ns - file.changed_ns > _UNSETTLED_NS else b""
    if known and is_same_form and known.hash == document.hash:
        changes.unchanged += 1
        if known.state != state:
            changes.touched[known.number] = state
        return
    if known:
        changes.replaced[known.number] = file.id
    _add(document, state, changes, numbers, chunking)


def _add(document: Document, state: bytes, changes: Changes, numbers: _Numbers, chunking: Chunking) -> None:
    row = DocumentRow(numbers.document, document.id, state, document.hash, document.title, document.fields)
    changes.documents.append(row)
    changes.chunks += chunk_rows(document, row.number, numbers.chunk, chunking)
    numbers.document += 1
    numbers.chunk = changes.chunks[-1].number + 1 if changes.chunks else numbers.chunk


def chunk_rows(document: Document, number: int, first: int, chunking: Chunking) -> Sequence[ChunkRow]:
    rows = []
    for ordinal, chunk in enumerate(chunks_of(document.body, chunking)):
        row = ChunkRow(first + ordinal, number, ordinal, chunk.heading, chunk.text, b"")
        rows.append(replace(row, key=text_key(embedded_text(document.title, document.field("speaker"), row))))
    return rows

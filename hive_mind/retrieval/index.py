"""The index of a collection: kept in one file, searched in RAM, brought up to date when asked to.

The file is the truth, the indexes in memory are a cache, as in an agent's memory. An update of the file by another process is
noticed at the next search.

The embedded text of a chunk is its own with the headings above it; the text that came before a document (a turn of a
conversation) is embedded by itself, and mixed in when the index is loaded.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from hive_mind.embed import Embedder
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.memory.opening import NewVectorArm
from hive_mind.memory.reranking import of_this_process
from hive_mind.memory.vectors import VectorSource
from hive_mind.ranking.vector import Vector
from hive_mind.retrieval import Collection, Method, RetrievalConfig, TextForm
from hive_mind.retrieval.chunk_file import ChunkFile, ChunkRow, DocumentRow
from hive_mind.retrieval.searching import (
    Candidate,
    QueryResult,
    Result,
    asked,
    is_answered_by_words,
    ranked,
    reranked,
    selected,
)
from hive_mind.retrieval.updating import (
    Changes,
    Indexed,
    MemoryIndex,
    Report,
    changes_since,
    embedded_text,
    first,
    text_key,
    write,
)
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import vector_arms

_EMBED_BATCH = 128
# Showing this many documents takes some 100 ms; more would keep searches waiting.
_SHOWN_MAX = 200

Wanted = Mapping[bytes, str]
"""Texts by their keys."""


async def open_index(
    workspace: Workspace, collection: Collection | str, settings: Settings, embedder: Embedder
) -> "CollectionIndex":
    """The index of a collection as it was left; `update` brings it up to date. The caller closes the embedder.

    Raises `WorkspaceError`, `InvalidInput`, `DatabaseUnreadable` or `DatabaseLocked`.
    """
    description = workspace.collection(collection) if isinstance(collection, str) else collection
    folder = workspace.documents_folder(description)
    file = await asyncio.to_thread(ChunkFile, workspace.index / f"{description.name}.sqlite")
    return CollectionIndex(file, folder, description, embedder, vector_arms(settings))


class CollectionIndex:
    """For one event loop; any number of its tasks. Closing it leaves the embedder open."""

    def __init__(self, file: ChunkFile, folder: Path, collection: Collection, embedder: Embedder, new_arm: NewVectorArm) -> None:
        self.collection = collection
        self._file, self._folder, self._new_arm = file, folder, new_arm
        self._vectors = VectorSource(embedder)
        self._memory_indexes: dict[TextForm, MemoryIndex] = {}
        self._version, self._revision = file.version(), 0
        # One lock for updating, one for loading: a search need not wait for an update.
        self._turn, self._loading = asyncio.Lock(), asyncio.Lock()

    @property
    def has_embeddings(self) -> bool:
        return self._vectors.is_on

    async def update(self, report: Report | None = None) -> Indexed:
        """Take in what has changed in the folder. `report` gets (what, done, total), from another thread.

        Stopped at any moment, it leaves the index as it was.
        """
        progress = report or (lambda *_: None)
        async with self._turn:
            changes = await asyncio.to_thread(changes_since, self._file, self._folder, self.collection.chunking, progress)
            embedded, note = await self._embed(changes, progress)
            former = self._file.chunks_in(changes.gone) if self._memory_indexes else []
            stale = unused(self._file, changes) if changes.gone and self._file.has_vectors() else ()
            await asyncio.to_thread(write, self._file, changes, self.collection.chunking, stale)
            self._show(changes, former, embedded > 0)
        return Indexed(
            added=len(changes.documents) - len(changes.replaced),
            changed=len(changes.replaced),
            removed=len(changes.removed),
            unchanged=changes.unchanged,
            embedded=embedded,
            chunks=self._file.counts()[1],
            skipped=tuple(changes.skipped),
            notes=(note,) if note else (),
        )

    def facets(self) -> dict[str, dict[str, int]]:
        """How many documents have each value of each field that is not text, most frequent first."""
        counts: dict[str, Counter[str]] = {
            name: Counter() for name, field in self.collection.known_fields.items() if field.type != "text"
        }
        for document in self._file.documents():
            for name, counter in counts.items():
                counter.update(document.fields.get(name, ()))
        return {name: dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))) for name, counter in counts.items()}

    def documents(self) -> tuple[str, ...]:
        return tuple(sorted(self._file.known()))

    def counts(self) -> tuple[int, int]:
        return self._file.counts()

    async def search(self, query: str, config: RetrievalConfig) -> QueryResult:
        """The results of the collection for a query. Raises `InvalidInput` for a filter on a field that can't filter."""
        self._check(config)
        memory = await self._memory_index(config.text)
        method, notes = self._method(config)
        if method != "keyword" and is_answered_by_words(memory, config, query):
            method, notes = "keyword", [*notes, "only identifiers: answered by words alone, nothing was embedded"]
        vector = None if method == "keyword" else await self._vectors.of_query(query)
        if method != "keyword" and vector is None:
            method, notes = "keyword", [*notes, "the embedding model failed: answered by words alone"]
        if vector is not None and memory.without_vector:
            notes.append(f"{memory.without_vector} chunks have no embedding: bring the index up to date")
        search_query = asked(config, query, method, vector)
        ranking = ranked(memory, config, search_query)
        detection = config.distraction_detection
        if detection.enabled and ranking.candidates and ranking.candidates[0].disagreement is None:
            notes.append(f"no signal {detection.signal!r}: it compares words with meaning, which needs a hybrid query")
        candidates, note = await self._looked_at_again(memory, config, query, ranking.candidates)
        selection = selected(candidates, config, memory.index.vector, lambda rows: self._words(memory, rows))
        return QueryResult(
            query=query,
            results=self._results(memory, selection.chosen),
            scored=ranking.scored,
            cut_at=selection.cut.kept if selection.cut.is_cliff else None,
            why_cut=selection.why,
            method=method,
            fusion=config.retrieval.fusion if method == "hybrid" else "none",
            semantic_weight={"keyword": 0.0, "vector": 1.0}.get(method, search_query.settings.semantic_weight),
            anchors=tuple(" ".join(terms) for terms in search_query.anchors.required),
            dropped=tuple(result.chunk_id for result in self._results(memory, selection.dropped)),
            duplicates=ranking.duplicates,
            notes=tuple([*notes, note] if note else notes),
            filtered_to=len(memory.part(config.filters).within.rows) if config.filters else None,
        )

    async def close(self) -> None:
        """Release the file. Closing twice is fine."""
        async with self._turn:
            self._memory_indexes.clear()
            self._file.close()

    async def __aenter__(self) -> "CollectionIndex":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def _check(self, config: RetrievalConfig) -> None:
        for name in config.filters:
            if name not in self.collection.filterable:
                can = ", ".join(self.collection.filterable) or "none"
                raise InvalidInput(f"collection {self.collection.name!r} can't be filtered by {name!r}; fields that can: {can}")
        if config.retrieval.method == "vector" and not self.has_embeddings:
            raise InvalidInput("method 'vector' needs embeddings: choose a model with --embed, or method 'keyword'")

    def _method(self, config: RetrievalConfig) -> tuple[Method, list[str]]:
        method = config.retrieval.method
        if method == "hybrid" and not self.has_embeddings:
            return "keyword", ["no embedding model: answered by words alone"]
        return method, []

    async def _memory_index(self, form: TextForm) -> MemoryIndex:
        """The collection in RAM, loaded if it is not there or no longer what the file says."""
        async with self._loading:
            if (version := self._file.version()) != self._version:
                self._memory_indexes.clear()
                self._version = version
            while (memory := self._memory_indexes.get(form)) is None:
                revision = self._revision
                loaded = await asyncio.to_thread(self._loaded, form)
                # Updates made meanwhile may be in it or not; then once more.
                if revision == self._revision:
                    self._memory_indexes[form] = loaded
            return memory

    def _loaded(self, form: TextForm) -> MemoryIndex:
        arm = self._new_arm(self._vectors.dimension) if self._vectors.is_on else None
        memory, vectors = MemoryIndex(form, arm), self._kept_vectors()
        documents = {row.number: row for row in self._file.documents()}
        for number, chunks in itertools.groupby(self._file.chunks(), key=lambda chunk: chunk.document):
            # Another process may have written between the two readings; the next search will see that.
            if number in documents:
                memory.add(documents[number], list(chunks), vectors)
        return memory

    def _kept_vectors(self) -> Mapping[bytes, Vector]:
        if not self._vectors.is_on:
            return {}
        vectors = self._file.vectors(self._vectors.model)
        return {key: vector for key, vector in vectors.items() if vector.shape == (self._vectors.dimension,)}

    def _show(self, changes: Changes, former: Sequence[ChunkRow], has_new_vectors: bool) -> None:
        """Show searches the durable state. On their own thread, so that none sees half of it."""
        is_foreign = self._version != (version := self._file.version())
        lacks_vectors = has_new_vectors and any(memory.without_vector for memory in self._memory_indexes.values())
        self._revision += 1
        if is_foreign or lacks_vectors or len(changes.documents) + len(changes.gone) > _SHOWN_MAX:
            # A search under way keeps the former index; the next one loads, on another thread.
            self._memory_indexes.clear()
            self._version = version
        if not self._memory_indexes or not (changes.documents or changes.gone):
            return
        vectors = self._kept_vectors()
        rows_before, rows_now = _by_document(former), _by_document(changes.chunks)
        for memory in self._memory_indexes.values():
            for number in changes.gone:
                memory.remove(number, rows_before.get(number, []))
            for document in changes.documents:
                memory.add(document, rows_now.get(document.number, []), vectors)

    async def _embed(self, changes: Changes, report: Report) -> tuple[int, str]:
        """Embed what has no embedding yet and keep it batch by batch. Where the model fails, keywords have to do."""
        if not self._vectors.is_on:
            return 0, ""
        texts_by_key: Wanted = await asyncio.to_thread(missing, self._file, changes, self._vectors.model)
        items = list(texts_by_key.items())
        for start in range(0, len(items), _EMBED_BATCH):
            batch = items[start : start + _EMBED_BATCH]
            try:
                put_vectors = await self._vectors.of_texts([text for _, text in batch])
            except BackendError as error:
                return start, f"{len(items) - start} texts were not embedded and are found by words only: {error}"
            vectors = [put.vector for put in put_vectors]
            await asyncio.to_thread(self._file.keep_vectors, self._vectors.model, [key for key, _ in batch], vectors)
            report("embeddings", start + len(batch), len(items))
        return len(items), ""

    async def _looked_at_again(
        self, memory: MemoryIndex, config: RetrievalConfig, query: str, candidates: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], str]:
        if not config.rerank.model:
            return candidates, ""
        best = candidates[: config.rerank.top_n]
        texts = [row.text for _, row in self._with_rows(memory, best)]
        scores, note = await of_this_process().scores_or_note(config.rerank.model, query, texts)
        return (reranked(candidates, scores) if scores else candidates), note

    def _with_rows(self, memory: MemoryIndex, candidates: Sequence[Candidate]) -> list[tuple[Candidate, ChunkRow]]:
        rows = self._file.chunks_at(memory.numbers[candidate.row] for candidate in candidates)
        pairs = [(candidate, rows.get(memory.numbers[candidate.row])) for candidate in candidates]
        # One that is gone was taken out by another process this very moment.
        return [(candidate, row) for candidate, row in pairs if row is not None]

    def _words(self, memory: MemoryIndex, rows: Sequence[int]) -> list[frozenset[str]]:
        chunks = self._file.chunks_at(memory.numbers[row] for row in rows)
        return [memory.terms(chunks[number]) if (number := memory.numbers[row]) in chunks else frozenset() for row in rows]

    def _results(self, memory: MemoryIndex, candidates: Sequence[Candidate]) -> tuple[Result, ...]:
        results = []
        for rank, (candidate, row) in enumerate(self._with_rows(memory, candidates), 1):
            document = memory.document_at(candidate.row).id
            scores = {name: getattr(candidate, name) for name in Candidate.__slots__ if name not in ("row", "id")}
            results.append(Result(rank, f"{document}#{row.ordinal}", document, row.heading, row.text, **scores))
        return tuple(results)


def _by_document(chunks: Sequence[ChunkRow]) -> dict[int, list[ChunkRow]]:
    rows: dict[int, list[ChunkRow]] = {}
    for chunk in chunks:
        rows.setdefault(chunk.document, []).append(chunk)
    return rows


def missing(file: ChunkFile, changes: Changes, model: str) -> Wanted:
    """Texts without an embedding of this model, of everything there will be after the changes."""
    keys = file.vector_keys(model)
    removed_ids = set(changes.gone)
    rows = {row.number: row for row in file.documents() if row.number not in removed_ids}
    numbers = [number for key, number, _ in file.chunk_keys() if key not in keys]
    texts_by_key: dict[bytes, str] = {}
    new = {row.number: row for row in changes.documents}
    for documents, chunks in ((rows, file.chunks_at(numbers).values()), (new, changes.chunks)):
        for chunk in chunks:
            if chunk.key not in keys and (document := documents.get(chunk.document)):
                texts_by_key[chunk.key] = embedded_text(document.title, first(document, "speaker"), chunk)
        texts_by_key |= {key: text for key, text in _befores(documents.values()).items() if key not in keys}
    return texts_by_key


def unused(file: ChunkFile, changes: Changes) -> list[bytes]:
    """Keys that only documents needed which are gone now."""
    gone = set(changes.gone)
    former, needed = set[bytes](), {chunk.key for chunk in changes.chunks} | set(_befores(changes.documents))
    for key, _, document in file.chunk_keys():
        (former if document in gone else needed).add(key)
    for row in file.documents():
        (former if row.number in gone else needed).update(_befores([row]))
    return sorted(former - needed)


def _befores(documents: Iterable[DocumentRow]) -> dict[bytes, str]:
    texts = (first(document, "before") for document in documents)
    return {text_key(text): text for text in texts if text}

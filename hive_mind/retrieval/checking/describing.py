"""The contents of a collection: its fields, which of them can filter, and their values with how many documents have each."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hive_mind.retrieval.files.collection import BUILT_IN, Collection
from hive_mind.retrieval.files.documents import Document, Skipped, all_read
from hive_mind.retrieval.files.workspace import Workspace

Facets = Mapping[str, Mapping[str, int]]
"""For each field, its values and how many documents have each."""

# Of a field with more values than this, the most frequent are shown.
VALUES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """A field with its values, the most frequent first, each with how many documents have it."""

    name: str
    type: str
    is_filterable: bool
    values: tuple[tuple[str, int], ...]
    values_count: int
    """How many values there are, also those that are not shown."""


@dataclass(frozen=True, slots=True)
class Description:
    """A collection, as the author of a configuration has to know it."""

    name: str
    documents: int
    fields: tuple[FieldDescription, ...]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """The fields of a collection's documents."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...]

    @property
    def facets(self) -> Facets:
        """Values of every field but the texts, counted."""
        return facets_of(document.fields for document in self.documents)


def contents(workspace: Workspace, collection: Collection) -> Contents:
    """The documents of a collection, read. Raises `WorkspaceError` where they are not there."""
    read = tuple(all_read(workspace.documents_folder(collection)))
    documents = tuple(one for one in read if isinstance(one, Document))
    return Contents(documents, tuple(one for one in read if isinstance(one, Skipped)))


def facets_of(documents: Iterable[Mapping[str, Iterable[str]]]) -> Facets:
    """How many documents have each value of each field."""
    counted: dict[str, Counter[str]] = {}
    for fields in documents:
        for name, values in fields.items():
            counted.setdefault(name, Counter()).update(values)
    return counted


def described(collection: Collection, facets: Facets, documents: int, skipped: tuple[Skipped, ...] = ()) -> Description:
    """The collection with what its documents hold, by what an index or `contents` counted."""
    known_fields = collection.known_fields
    # Undeclared fields of documents are shown too: that is how one finds out which could filter.
    undeclared = sorted(set(facets) - set(known_fields) - set(BUILT_IN))
    shown = [*known_fields, *(name for name in ("category",) if name not in known_fields and facets.get(name)), *undeclared]
    fields = tuple(_field(name, collection, facets.get(name, {})) for name in shown)
    return Description(collection.name, documents, fields, skipped)


def _field(name: str, collection: Collection, counts: Mapping[str, int]) -> FieldDescription:
    declared = collection.known_fields.get(name)
    if declared and declared.type == "text":
        # Of texts hardly two are equal; an index does not count them either.
        counts = {}
    values = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return FieldDescription(
        name,
        declared.type if declared else "not declared",
        name in collection.filterable,
        tuple(values[:VALUES_SHOWN]),
        len(values),
    )

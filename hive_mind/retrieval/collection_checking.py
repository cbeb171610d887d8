"""What contradicts itself in a collection whose form is right, and what its documents do not bear out. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from hive_mind.forms.finding import Finding
from hive_mind.retrieval.collection import BUILT_IN, Collection

_TOLD_MAX = 20


def collection_findings(collection: Collection) -> Iterator[Finding]:
    """What can be said without its documents."""
    yield from _chunking(collection)
    yield from _declared(collection)


def _chunking(collection: Collection) -> Iterator[Finding]:
    chunking = collection.chunking
    tokens, overlap = chunking.max_tokens, chunking.overlap_tokens
    if overlap >= tokens:
        told = f"is {overlap} and max_tokens is {tokens}: a chunk would never get on; lower it, a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), told)
    elif overlap * 2 > tokens:
        told = f"is {overlap} and max_tokens is {tokens}: most text is found twice; a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), told, is_warning=True)
    if chunking.strategy == "by_heading" and chunking.format == "plain":
        told = "is plain, where no line is a heading; use markdown, or strategy fixed"
        yield Finding(("chunking", "format"), told)
    if chunking.strategy == "fixed" and chunking.heading_level != 2:
        told = "has no effect with strategy fixed; use by_heading, or remove it"
        yield Finding(("chunking", "heading_level"), told, is_warning=True)


def _declared(collection: Collection) -> Iterator[Finding]:
    listed = collection.filterable_fields
    for number, name in enumerate(listed):
        declared = collection.fields.get(name)
        if name in listed[:number]:
            yield Finding(("filterable_fields", number), f"{name} stands in the list twice; keep one of them")
        elif declared and "filterable" in declared.model_fields_set and not declared.filterable:
            yield Finding(("filterable_fields", number), f"{name} can filter here and can't in fields.{name}; say one of them")
    for name, one in collection.fields.items():
        if one.filterable and one.type == "text":
            told = "is text, of which hardly two are equal, and can filter; make it a keyword, or not filterable"
            yield Finding(("fields", name, "type"), told, is_warning=True)


def documents_findings(collection: Collection, documents: Iterable[tuple[str, Mapping[str, Iterable[str]]]]) -> Iterator[Finding]:
    """What its documents, given with id and fields, do not bear out."""
    known = {name: one.type for name, one in collection.known_fields.items()}
    seen: set[str] = set()
    is_empty, told = True, 0
    for document, values in documents:
        is_empty = False
        seen.update(name for name, some in values.items() if any(some))
        for name, type in known.items():
            wrong = next((value for value in values.get(name, ()) if not _is(type, value)), None)
            if wrong is not None and told < _TOLD_MAX:
                told += 1
                yield Finding(
                    _place(collection, name), f'is a {type} and in {document} it is "{wrong[:40]}"; correct one of them'
                )
    if is_empty:
        yield Finding(("documents_dir",), f"no document lies in {collection.documents_dir} (.md, .txt, .rst); put some there")
        return
    for name in known:
        if name not in seen and name not in BUILT_IN:
            told_of = f"no document has {name}; write it in their front matter, or remove it"
            yield Finding(_place(collection, name), told_of, is_warning=True)
        elif name == "category" and name not in seen:
            yield Finding(_place(collection, name), "no document lies in a folder, which would be its category", is_warning=True)


def _place(collection: Collection, name: str) -> tuple[str | int, ...]:
    if name in collection.fields:
        return ("fields", name)
    return ("filterable_fields", collection.filterable_fields.index(name))


def _is(type: str, value: str) -> bool:
    try:
        if type == "number":
            float(value)
        elif type == "date":
            date.fromisoformat(value[:10])
    except ValueError:
        return False
    return True

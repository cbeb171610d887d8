"""Contradictions in collections and golden sets whose form is right, and what the documents do not bear out. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Some
from datetime import date

from hive_mind.counted import counted
from hive_mind.forms.tree import Finding, Path
from hive_mind.retrieval.files.collection import BUILT_IN, QUESTIONS_MIN, Collection, Golden, GoldenQuery
from hive_mind.suggestions import did_you_mean

_REPORTED_MAX = 20

# Comparing letter by letter with ten thousand names takes seconds.


def collection_findings(collection: Collection) -> Iterator[Finding]:
    """Mistakes that show without its documents."""
    yield from _chunking(collection)
    yield from _declared(collection)


def _chunking(collection: Collection) -> Iterator[Finding]:
    chunking = collection.chunking
    tokens, overlap = chunking.max_tokens, chunking.overlap_tokens
    if overlap >= tokens:
        message = f"is {overlap} and max_tokens is {tokens}: chunks would never advance; lower it, a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), message)
    elif overlap * 2 > tokens:
        message = f"is {overlap} and max_tokens is {tokens}: most text is found twice; a tenth is usual"
        yield Finding(("chunking", "overlap_tokens"), message, is_warning=True)
    if chunking.strategy == "by_heading" and chunking.format == "plain":
        message = "is plain, where no line is a heading; use markdown, or strategy fixed"
        yield Finding(("chunking", "format"), message)
    if chunking.strategy == "fixed" and chunking.heading_level != 2:
        message = "has no effect with strategy fixed; use by_heading, or remove it"
        yield Finding(("chunking", "heading_level"), message, is_warning=True)


def _declared(collection: Collection) -> Iterator[Finding]:
    listed = collection.filterable_fields
    for number, name in enumerate(listed):
        declared = collection.fields.get(name)
        if name in listed[:number]:
            yield Finding(("filterable_fields", number), f"{name} is in the list twice; keep one of them")
        elif declared and "filterable" in declared.model_fields_set and not declared.filterable:
            yield Finding(("filterable_fields", number), f"{name} can filter here and can't in fields.{name}; keep one of them")
    for name, one in collection.fields.items():
        if one.filterable and one.type == "text":
            message = "is text, whose values hardly ever repeat, and can filter; make it a keyword, or not filterable"
            yield Finding(("fields", name, "type"), message, is_warning=True)


def documents_findings(collection: Collection, documents: Iterable[tuple[str, Mapping[str, Iterable[str]]]]) -> Iterator[Finding]:
    """Statements that its documents, given with id and fields, do not bear out."""
    known = {name: one.type for name, one in collection.known_fields.items()}
    seen: set[str] = set()
    is_empty, reported = True, 0
    for document, values in documents:
        is_empty = False
        seen.update(name for name, some in values.items() if any(some))
        for name, type in known.items():
            wrong = next((value for value in values.get(name, ()) if not _is(type, value)), None)
            if wrong is not None and reported < _REPORTED_MAX:
                reported += 1
                yield Finding(
                    _place(collection, name), f'is a {type} and in {document} it is "{wrong[:40]}"; correct one of them'
                )
    if is_empty:
        yield Finding(("documents_dir",), f"no document lies in {collection.documents_dir} (.md, .txt, .rst); put some there")
        return
    for name in known:
        if name not in seen and name not in BUILT_IN:
            name_in_fact = f"no document has {name}; write it in their front matter, or remove it"
            yield Finding(_place(collection, name), name_in_fact, is_warning=True)
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


def golden_findings(golden: Golden, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    """All of it. `documents` are the ids there are, `left_out` those that no index takes, with why."""
    yield from _repeated(golden)
    for number, query in enumerate(golden.queries):
        yield from _labels(("queries", number), query, documents, left_out)
    yield from _split(golden)
    yield from _whole(golden)


def _repeated(golden: Golden) -> Iterator[Finding]:
    given = ("id", lambda one: one.id), ("query", lambda one: " ".join(one.query.casefold().split()))
    keys: dict[str, Callable[[GoldenQuery], str]] = dict(given)
    for field, value_of in keys.items():
        first: dict[str, int] = {}
        for number, query in enumerate(golden.queries):
            value = value_of(query)
            if value and value in first:
                other = f"queries[{first[value]}]"
                what = f"{query.id} is also the id of {other}" if field == "id" else f"is the same question as {other}"
                yield Finding(("queries", number, field), f"{what}; give it another, or remove it")
            first.setdefault(value, number)


def _labels(path: Path, query: GoldenQuery, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    if not query.query.strip():
        yield Finding((*path, "query"), "is empty; give it a value")
    if not query.relevant and not query.distractors:
        yield Finding(path, "names neither relevant documents nor distractors, so nothing can be measured; name some")
    for field, names in (("relevant", query.relevant), ("distractors", query.distractors)):
        before: set[str] = set()
        for number, name in enumerate(names):
            if name in left_out:
                yield Finding((*path, field, number), f"{name} can't be found: it {left_out[name]}; fix it, or remove it")
            elif message := _wrong(name, before, documents):
                yield Finding((*path, field, number), message)
            before.add(name)
    relevant = set(query.relevant)
    for number, name in enumerate(query.distractors):
        if name in relevant:
            message = f"{name} is relevant too, in queries[{path[-1]}].relevant; a document is one or the other"
            yield Finding((*path, "distractors", number), message)


def _wrong(name: str, before: Some[str], documents: Some[str]) -> str:
    if name in before:
        return f"{name} is in the list twice; keep one of them"
    if name in documents:
        return ""
    if name.startswith(("/", "~")) or ".." in name.replace("\\", "/").split("/"):
        return "leads out of the collection's folder; name documents by their path below it"
    meant = did_you_mean(name, documents, "correct its path below the collection's folder, or take it out")
    return f"there is no document {name[:80]}; {meant}"


def _split(golden: Golden) -> Iterator[Finding]:
    without = [number for number, query in enumerate(golden.queries) if query.split is None]
    if without and len(without) < len(golden.queries):
        message = f"has no split and others do; write train or test ({len(without)} without)"
        yield Finding(("queries", without[0], "split"), message)
        return
    for part in ("train", "test"):
        count = sum(query.split == part for query in golden.queries)
        if not without and count < QUESTIONS_MIN:
            message = (
                f"only {count} of the questions are for {part}; at least {QUESTIONS_MIN} are needed for an interval, better 30"
            )
            yield Finding(("queries",), message, is_warning=True)


def _whole(golden: Golden) -> Iterator[Finding]:
    if len(golden.queries) < QUESTIONS_MIN:
        message = (
            f"only {counted(len(golden.queries), 'question')}: differences will look like chance; at least {QUESTIONS_MIN} are "
            f"needed for an interval, better 30, and with {QUESTIONS_MIN - 1} only a gain at each of them counts"
        )
        yield Finding(("queries",), message, is_warning=True)
    if not any(query.distractors for query in golden.queries):
        yield Finding(("queries",), "no question names distractors, so contamination can't be seen; name some", is_warning=True)
    if not any(query.relevant for query in golden.queries):
        yield Finding(("queries",), "no question has a relevant document, so nothing can be found; name some")

"""Contradictions in a configuration whose form is right, what in it has no effect, and filters that match nothing.

Beside it the contents of a collection: its fields, which of them can filter, and their values with how many documents have each.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from hive_mind.counted import did_you_mean
from hive_mind.forms import Finding, Path, Tree, fields
from hive_mind.retrieval import BUILT_IN, DATE_FIELDS, RESULTS_MAX, Collection, RetrievalConfig
from hive_mind.retrieval.documents import Document, Skipped, all_read
from hive_mind.retrieval.workspace import Workspace, changed

_EMBED = "index it with an embedding model"

_LISTED = 8
# Where a setting stands, what says the same without it, and why it has no effect.
_Ineffective = tuple[tuple[str, ...], Any, str]
# Comparing letter by letter with a hundred thousand values takes seconds.


def config_findings(
    config: RetrievalConfig, collection: Collection, *, has_embeddings: bool, tree: Tree | None = None
) -> Iterator[Finding]:
    """All of it but the filters. The tree, if given, distinguishes what was written from defaults."""
    method, known_fields = config.retrieval.method, collection.known_fields.keys()
    if method != "keyword" and not has_embeddings:
        message = f"{method} needs embeddings and collection {config.collection} has none; {_EMBED}, or use keyword"
        yield Finding(("retrieval", "method"), message)
    yield from contradictions(config, tree)
    # Without these fields every document counts alike.
    for boost, names in (("trust", ("trust",)), ("recency", DATE_FIELDS)):
        if getattr(config.boosts, boost) and not known_fields & set(names):
            absent = f"collection {collection.name} declares no field {' or '.join(names)}"
            yield _warning(("boosts", boost), f"lifts nothing: {absent}; declare it, or remove this")


def contradictions(config: RetrievalConfig, tree: Tree | None = None) -> Iterator[Finding]:
    yield from _bounds(config, tree)
    method, detection = config.retrieval.method, config.distraction_detection
    if detection.enabled and method != "hybrid" and detection.signal != "coverage":
        message = f"compares words with meaning, and the method is {method}; use hybrid, signal coverage, or switch it off"
        yield Finding(("distraction_detection", "enabled"), message)
    yield from (_warning(path, message) for path, _, message in _ineffective(config))
    yield from (_warning(path, message) for path, is_so, message in _extremes(config) if is_so)


def _bounds(config: RetrievalConfig, tree: Tree | None) -> Iterator[Finding]:
    dynamic, top_k = config.dynamic_k, config.retrieval.top_k
    path = ("dynamic_k", "max_results")
    # A default gives way to a smaller top_k: nobody who lowers the one wrote the other.
    is_written = tree.at(path)[1] == path if tree else dynamic.max_results != RESULTS_MAX
    most = dynamic.max_results if is_written else min(dynamic.max_results, top_k)
    if most > top_k:
        message = f"is {most} and retrieval.top_k is {top_k}; lower it to {top_k}, or raise top_k"
        yield Finding(path, message)
    if dynamic.min_results > most:
        whose = "max_results" if is_written or most < top_k else "retrieval.top_k"
        message = f"is {dynamic.min_results} and {whose} is {most}; lower it to at most {most}, or raise {whose}"
        yield Finding(("dynamic_k", "min_results"), message)


def effective(config: RetrievalConfig) -> RetrievalConfig:
    """The same configuration without the settings that have no effect beside the others."""
    # A setting that goes may have hidden another one: where rrf_k stands, nobody wrote the fusion.
    while changes := {path: value for path, value, _ in _ineffective(config)}:
        simpler, _ = changed(config, changes)
        if simpler is None or simpler == config:
            break
        config = simpler
    return config


def _ineffective(config: RetrievalConfig) -> Iterator[_Ineffective]:
    """Where a setting has no effect, the value that says so (None: no value), and why."""
    retrieval = config.retrieval
    names: tuple[str, ...]
    if retrieval.method != "hybrid":
        why, names = f"is for hybrid and the method is {retrieval.method}", ("fusion", "semantic_weight", "rrf_k")
    elif retrieval.fusion == "rrf":
        why, names = "is for fusion linear and this one is rrf", ("semantic_weight",)
    else:
        why, names = "is for fusion rrf and this one is linear", ("rrf_k",)
    for name in _changed(retrieval, *names):
        # That only rrf_k stands there made the fusion rrf; nobody wrote it.
        if not (name == "fusion" and "rrf_k" in retrieval.model_fields_set):
            yield ("retrieval", name), None, f"has no effect: it {why}; remove it"
    if retrieval.adaptive in ("weights", "both") and (retrieval.method != "hybrid" or retrieval.fusion == "rrf"):
        method = f"method {retrieval.method}" if retrieval.method != "hybrid" else "fusion rrf"
        rest = "anchors" if retrieval.adaptive == "both" else "none"
        yield ("retrieval", "adaptive"), rest, f"adapts weights, and {method} has none; use anchors or none"
    for section in ("dynamic_k", "distraction_detection", "diversity"):
        part = getattr(config, section)
        if not part.enabled:
            for name in _changed(part, *(set(fields(type(part))) - {"enabled"})):
                yield (section, name), None, f"has no effect while {section}.enabled is false; switch it on, or remove it"
    if not config.rerank.model:
        for name in _changed(config.rerank, "top_n"):
            yield ("rerank", name), None, "has no effect without rerank.model; name one, or remove it"


def _extremes(config: RetrievalConfig) -> tuple[tuple[Path, bool, str], ...]:
    retrieval, dynamic, detection = config.retrieval, config.dynamic_k, config.distraction_detection
    depth, top_k, top_n = retrieval.depth, retrieval.top_k, config.rerank.top_n
    threshold, limit = ("distraction_detection", "disagreement_threshold"), detection.disagreement_threshold
    is_by_relevance, is_full = config.diversity.lambda_ == 1, dynamic.min_results == config.results_max
    return (
        (("retrieval", "depth"), depth < top_k, f"is {depth} and top_k is {top_k}: it is taken as {top_k}; raise it"),
        (("dynamic_k", "gap_threshold_factor"), dynamic.enabled and dynamic.gap_threshold_factor <= 1,
         "counts any gap above the mean as a cliff; 2 to 6 are usual"),
        (("dynamic_k", "min_results"), dynamic.enabled and is_full,
         "leaves nothing to cut: it is as large as the most there can be; lower it"),
        (threshold, detection.enabled and limit == 0, "flags every result as a distraction; raise it"),
        (threshold, detection.enabled and limit == 1, "flags nothing: no result can be above 1; lower it"),
        (("diversity", "lambda"), config.diversity.enabled and is_by_relevance,
         "chooses by relevance alone, as without diversity; lower it, or switch it off"),
        (("rerank", "top_n"), bool(config.rerank.model) and top_n < top_k,
         f"is {top_n} and top_k is {top_k}: results behind it keep their place; raise it"),
    )  # fmt: skip


def _changed(part: BaseModel, *names: str) -> list[str]:
    """Fields that were written with a value of their own; a default that is spelled out misleads nobody."""
    weights: dict[str, tuple[str, Any]] = {
        info.alias or name: (name, info.default) for name, info in type(part).model_fields.items()
    }
    return [name for name in sorted(names) if getattr(part, weights[name][0]) != weights[name][1]]


def _warning(path: Path, message: str) -> Finding:
    return Finding(path, message, is_warning=True)


def filter_findings(
    config: RetrievalConfig, collection: Collection, facets: Mapping[str, Mapping[str, int]]
) -> Iterator[Finding]:
    """Fields that do not exist or can't filter, and values that no document has."""
    for name, values in config.filters.items():
        path = ("filters", name)
        if name not in collection.known_fields:
            yield Finding(path, f"is not a field of collection {collection.name}; {_fields(name, collection)}")
        elif name not in collection.filterable:
            message = f'can\'t filter; give it "filterable": true in collections/{collection.name}.json, or remove the filter'
            yield Finding(path, message)
        elif not values:
            yield Finding(
                path, f"is an empty list and would match nothing; name values, or remove it{_there(facets.get(name, {}))}"
            )
        elif name in facets or collection.known_fields[name].type != "text":
            # An index does not count the values of texts.
            counts = facets.get(name, {})
            for number, value in enumerate(values):
                value_path = ("filters", name, number)
                if value not in counts:
                    yield Finding(value_path, f'no document has {name} "{value[:60]}"; {_meant(value, counts)}')
                elif value in values[:number]:
                    yield Finding(value_path, "is in the list twice; keep one of them", is_warning=True)
            if counts and set(counts) <= set(values):
                yield Finding(("filters", name), f"filters nothing: these are all values of {name}; remove it", is_warning=True)


def combination(config: RetrievalConfig, documents: Iterable[Mapping[str, Iterable[str]]]) -> Iterator[Finding]:
    """Filters that match something each and nothing together."""
    values_by_field = {name: set(values) for name, values in config.filters.items()}
    if len(values_by_field) > 1 and not any(
        all(values & set(document.get(name, ())) for name, values in values_by_field.items()) for document in documents
    ):
        yield Finding(("filters",), f"no document matches {' and '.join(values_by_field)} together; remove one, or add values")


def _fields(name: str, collection: Collection) -> str:
    if not collection.filterable:
        return 'none of its fields can filter; declare one with "filterable": true'
    return did_you_mean(name, collection.filterable, f"these can filter: {', '.join(collection.filterable[:_LISTED])}")


def _meant(value: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return "no document has any value of it; give them one, or remove the filter"
    suggestion = did_you_mean(value, counts)
    return f"{suggestion}{_there(counts).replace('; t', ' T', 1)}" if suggestion else _there(counts).removeprefix("; ")


def _there(counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = f" and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return f"; there are {', '.join(f'{value} ({count})' for value, count in ordered[:_LISTED])}{rest}"


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
        # How many documents have each value of each field.
        documents = (document.fields for document in self.documents)
        counted: dict[str, Counter[str]] = {}
        for values_by_field in documents:
            for name, values in values_by_field.items():
                counted.setdefault(name, Counter()).update(values)
        return counted


def contents(workspace: Workspace, collection: Collection) -> Contents:
    """The documents of a collection, read. Raises `WorkspaceError` where they are not there."""
    entries = tuple(all_read(workspace.documents_folder(collection)))
    documents = tuple(entry for entry in entries if isinstance(entry, Document))
    return Contents(documents, tuple(entry for entry in entries if isinstance(entry, Skipped)))


def described(collection: Collection, facets: Facets, documents: int, skipped: tuple[Skipped, ...] = ()) -> Description:
    """The collection with what its documents hold, by what an index or `contents` counted."""
    known_fields = collection.known_fields
    # Undeclared fields of documents are shown too: that is how one finds out which could filter.
    undeclared = sorted(set(facets) - set(known_fields) - set(BUILT_IN))
    field_names = [*known_fields, *(name for name in ("category",) if name not in known_fields and facets.get(name)), *undeclared]
    fields = tuple(_field(name, collection, facets.get(name, {})) for name in field_names)
    return Description(collection.name, documents, fields, skipped)


def _field(name: str, collection: Collection, counts: Mapping[str, int]) -> FieldDescription:
    declared = collection.known_fields.get(name)
    if declared and declared.type == "text":
        # Of texts hardly two are equal; an index does not count them either.
        counts = {}
    values = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return FieldDescription(
        name,
        declared.type if declared else "not declared",
        name in collection.filterable,
        tuple(values[:VALUES_SHOWN]),
        len(values),
    )

"""Filters against what the documents have: a filter that matches nothing finds nothing, and nobody sees why. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from hive_mind.forms.finding import Finding
from hive_mind.retrieval.collection import Collection
from hive_mind.retrieval.configuration import RetrievalConfig

_LISTED = 8
# Comparing letter by letter with a hundred thousand values takes seconds.
_COMPARED = 2000


def filter_findings(
    config: RetrievalConfig, collection: Collection, facets: Mapping[str, Mapping[str, int]]
) -> Iterator[Finding]:
    """Fields that do not exist or can't filter, and values that no document has."""
    for name, values in config.filters.items():
        path = ("filters", name)
        if name not in collection.known_fields:
            yield Finding(path, f"is no field of collection {collection.name}; {_fields(name, collection)}")
        elif name not in collection.filterable:
            told = f'can\'t filter; give it "filterable": true in collections/{collection.name}.json, or remove the filter'
            yield Finding(path, told)
        elif not values:
            yield Finding(
                path, f"is an empty list and would match nothing; name values, or remove it{_there(facets.get(name, {}))}"
            )
        elif name in facets or collection.known_fields[name].type != "text":
            # An index does not count the values of texts.
            yield from _values(name, values, facets.get(name, {}))


def combination(config: RetrievalConfig, documents: Iterable[Mapping[str, Iterable[str]]]) -> Iterator[Finding]:
    """Filters that match something each and nothing together."""
    wanted = {name: set(values) for name, values in config.filters.items()}
    if len(wanted) > 1 and not any(all(values & set(one.get(name, ())) for name, values in wanted.items()) for one in documents):
        yield Finding(("filters",), f"no document matches {' and '.join(wanted)} together; remove one, or add values")


def _values(name: str, values: list[str], counts: Mapping[str, int]) -> Iterator[Finding]:
    for number, value in enumerate(values):
        path = ("filters", name, number)
        if value not in counts:
            yield Finding(path, f'no document has {name} "{value[:60]}"; {_meant(value, counts)}')
        elif value in values[:number]:
            yield Finding(path, "stands in the list twice; keep one of them", is_warning=True)
    if counts and set(counts) <= set(values):
        yield Finding(("filters", name), f"filters nothing: these are all values of {name}; remove it", is_warning=True)


def _fields(name: str, collection: Collection) -> str:
    if not collection.filterable:
        return 'none of its fields can filter; declare one with "filterable": true'
    close = get_close_matches(name[:64].lower(), collection.filterable, n=1)
    return f"did you mean {close[0]}?" if close else f"these can filter: {', '.join(collection.filterable[:_LISTED])}"


def _meant(value: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return "no document has any value of it; give them one, or remove the filter"
    alike = {one.lower(): one for one in list(counts)[:_COMPARED]}
    close = get_close_matches(value[:64].lower(), alike, n=1)
    return (
        f"did you mean {alike[close[0]]}?{_there(counts).replace('; t', ' T', 1)}" if close else _there(counts).removeprefix("; ")
    )


def _there(counts: Mapping[str, int]) -> str:
    """The values there are, the most frequent first."""
    if not counts:
        return ""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    more = f" and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return f"; there are {', '.join(f'{value} ({count})' for value, count in ordered[:_LISTED])}{more}"

"""The input of a search, checked before anything is looked for."""

from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import BOUNDS, OF_SOME
from hive_mind.model.query import METHODS, Query


def asked_for(query: str | Query, limit: int) -> Query:
    """The input of a search, checked. `limit` is for a query given as text. Raises `InvalidInput`."""
    asked_query = Query(query, limit) if isinstance(query, str) else query
    BOUNDS["limit"].refuse("limit", asked_query.limit)
    if asked_query.method not in METHODS:
        raise InvalidInput(f"there is no method {asked_query.method!r} to search by; there are {', '.join(METHODS)}")
    BOUNDS["min_confidence"].refuse("min_confidence", asked_query.min_confidence)
    return asked_query


def refuse_limit(limit: int | None) -> None:
    """Raises `InvalidInput` for a list of less than one fact; None is all."""
    if limit is not None:
        OF_SOME.refuse("limit", limit)

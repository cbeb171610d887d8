"""The input of a search, checked before anything is looked for."""

from hive_mind.errors import InvalidInput
from hive_mind.model.query import METHODS, Query


def asked_for(query: str | Query, limit: int) -> Query:
    """The input of a search, checked. `limit` is for a query given as text. Raises `InvalidInput`."""
    asked = Query(query, limit) if isinstance(query, str) else query
    refuse_limit(asked.limit)
    if asked.method not in METHODS:
        raise InvalidInput(f"there is no method {asked.method!r} to search by; there are {', '.join(METHODS)}")
    if not 0.0 <= asked.min_confidence <= 1.0:
        raise InvalidInput(f"min_confidence is a number from 0 to 1, not {asked.min_confidence}")
    return asked


def refuse_limit(limit: int) -> None:
    """Raises `InvalidInput` for less than one fact."""
    if limit < 1:
        raise InvalidInput(f"a search returns at least one fact: limit {limit} is too small")

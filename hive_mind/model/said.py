"""What a fact says: the fields of a statement, which facts, candidates and lines of an export have under the same names.

What turns one into another, bounds it, or looks for what must not leave an agent goes by these: a field that `Statement` lacks
stays at home, and one that it gets is carried, bounded and looked through wherever the others are.
"""

from operator import attrgetter
from typing import Any

from hive_mind.model.evidence import Statement

_OF_THE_VECTOR = ("model", "vector")
FIELDS = tuple(name for name in Statement.__struct_fields__ if name not in _OF_THE_VECTOR)
TEXTS = ("content", "concept", "before")
"""May be long. All others are names: of a speaker, a day, an entity."""
LISTS = tuple(
    name for name, default in zip(Statement.__struct_fields__[1:], Statement.__struct_defaults__, strict=True) if default == ()
)
_ONE = tuple(name for name in FIELDS if name not in TEXTS and name not in LISTS)

_fields, _texts, _one, _lists = (attrgetter(*names) for names in (FIELDS, TEXTS, _ONE, LISTS))


def said_of(one: object) -> dict[str, Any]:
    """Its fields by name, to make another of them."""
    return dict(zip(FIELDS, _fields(one), strict=True))


def texts_of(one: object) -> tuple[str, ...]:
    """Those that may be long, in the order of `TEXTS`."""
    texts: tuple[str, ...] = _texts(one)
    return texts


def names_of(one: object) -> tuple[str, ...]:
    """All names in it."""
    return (*_one(one), *(name for names in _lists(one) for name in names))

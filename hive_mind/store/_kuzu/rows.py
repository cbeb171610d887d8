"""Rows of an old database as changes, each proven where it can be: an id is a hash of what it names.

A row that can't be right is an error that says which one it was: nothing false is taken over. The tables had no column
`held_back` and no `offered` in their first version.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec
import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.model.ids import entity_id, episode_id, fact_id
from hive_mind.store._checks import check
from hive_mind.store.base import AddEntity, AddEpisode, AddFact, Change, PutVector, SetMeta

MEMORY, META = "Memory", "Meta"
TABLES = frozenset({MEMORY, META})
VERSION_KEY, VERSION_MAX = "schema:version", 2
_NAMED = "named:"
_TOLD_CHARACTERS = 60
_FIELDS = get_type_hints(Fact).keys()
_LISTS = {name for name, hint in get_type_hints(Fact).items() if hint == tuple[str, ...]}

Row = Mapping[str, Any]

_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class BadRow(Exception):
    """A row that is not as it was written. The message names it."""


def change_of(table: str, row: Row) -> Change | None:
    """What a row is; None for one that is the database's own. Raises `BadRow`."""
    try:
        change = _node(row) if table == MEMORY else _value(row)
        if change is not None:
            check([change])
    except (ValueError, TypeError, LookupError, AttributeError, msgspec.MsgspecError, InvalidInput) as error:
        raise BadRow(f"{_name(table, row)}: {error}") from error
    return change


def _node(row: Row) -> Change:
    identity, kind, text = row["id"], row["kind"], row["content"]
    match kind:
        case "fact":
            fact = _fact(row)
            _prove(identity, fact_id(text))
            return AddFact(fact)
        case "episode":
            (source,) = _texts(row["sources"])
            _prove(identity, episode_id(text, source))
            times = row["said_at"], row["learned_at_us"]
            return AddEpisode(Episode(identity, text, source, *times, row["speaker"], row["title"], row["summary"]))
        case "entity":
            _prove(identity, entity_id(text))
            return AddEntity(identity, text)
    raise ValueError(f"there is no kind {kind!r}")


def _fact(row: Row) -> Fact:
    lists = {name: _texts(row[name]) for name in _LISTS & row.keys()}
    return msgspec.convert({name: row[name] for name in _FIELDS & row.keys()} | lists, Fact)


def _value(row: Row) -> Change | None:
    key, model = row["key"], row["model"]
    if not model:
        if key != VERSION_KEY and not key.startswith(_NAMED):
            raise ValueError("there is no such named value")
        return SetMeta(key.removeprefix(_NAMED), row["value"]) if key != VERSION_KEY else None
    # The length kept ("a", "b:c") and ("a:b", "c") apart.
    prefix = f"vector:{len(model)}:{model}:"
    if not key.startswith(prefix):
        raise ValueError("its key is of another model")
    numbers = np.frombuffer(b64decode(row["value"], validate=True), dtype="<f2")
    return PutVector(model, key.removeprefix(prefix), numbers.astype(np.float32))


def _prove(given: str, computed: str) -> None:
    if given != computed:
        raise ValueError(f"its id is not that of its content ({computed})")


def _name(table: str, row: Row) -> str:
    if table == META:
        return f"value {str(row['key'])[:_TOLD_CHARACTERS]!r}"
    return f"{row['kind'] or 'row'} {row['id']} {str(row['content'])[:_TOLD_CHARACTERS]!r}"

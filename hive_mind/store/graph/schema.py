"""The tables of the graph: a person exploring it sees these.

Columns are the fields of our values, so a new field becomes a column by itself, and `VERSION` changes with it: a graph of
another version is made anew. A relation table takes the ends that facts have, and those an imported file has brought along.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

import msgspec

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation, Sharing

FACT, EPISODE, ENTITY = KINDS = ("Fact", "Episode", "Entity")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """A relation between two kinds."""

    relation: str
    from_kind: str
    to_kind: str

    @property
    def label(self) -> str:
        """Its name in a file's name."""
        return f"{self.relation}-{self.from_kind}-{self.to_kind}"


STANDARD = (
    Pair(Relation.DERIVES_FROM.value, FACT, EPISODE),
    Pair(Relation.SUPERSEDES.value, FACT, FACT),
    Pair(Relation.CONTRADICTS.value, FACT, FACT),
    Pair(Relation.MENTIONS.value, FACT, ENTITY),
)

_TYPES = {
    str: "STRING",
    Sharing: "STRING",
    int: "INT64",
    float: "DOUBLE",
    tuple[str, ...]: "STRING[]",
    tuple[int, ...]: "INT64[]",
}


def _columns(of: type) -> dict[str, str]:
    return {name: _TYPES[hint] for name, hint in get_type_hints(of).items()}


COLUMNS = {
    FACT: _columns(Fact) | {"state": "STRING"},
    EPISODE: _columns(Episode),
    ENTITY: {"id": "STRING", "name": "STRING"},
}

VERSION = zlib.crc32(repr((COLUMNS, STANDARD)).encode())


def kind_of(value: Fact | Episode | str) -> str:
    """The table a node of the record belongs to."""
    return FACT if isinstance(value, Fact) else EPISODE if isinstance(value, Episode) else ENTITY


def row_of(id: str, value: Fact | Episode | str) -> Row:
    """A node of the record as a row; an entity is its name."""
    if isinstance(value, str):
        return {"id": id, "name": value}
    # Kuzu takes lists, and no tuples.
    row: Row = {name: list(part) if isinstance(part, tuple) else part for name, part in msgspec.to_builtins(value).items()}
    if isinstance(value, Fact):
        row["state"] = state_of(value)
    return row


def state_of(fact: Fact) -> str:
    """Of a fact: current, superseded or retracted."""
    return "retracted" if fact.is_retracted else "superseded" if fact.superseded_by else "current"


def node_tables() -> list[str]:
    return [
        f"CREATE NODE TABLE {kind}({', '.join(f'`{name}` {type_}' for name, type_ in columns.items())}, PRIMARY KEY(id))"
        for kind, columns in COLUMNS.items()
    ]


def relation_tables(pairs: Iterable[Pair]) -> list[str]:
    """Statements that create them, with these pairs beside the standard ones."""
    ends: dict[str, list[str]] = {}
    for pair in dict.fromkeys((*STANDARD, *pairs)):
        ends.setdefault(pair.relation, []).append(f"FROM {pair.from_kind} TO {pair.to_kind}")
    return [f"CREATE REL TABLE {relation}({', '.join(columns)})" for relation, columns in ends.items()]


TABLES = "\n".join(
    (
        *(f"  (:{kind} {{{', '.join(columns)}}})" for kind, columns in COLUMNS.items()),
        *(f"  (:{pair.from_kind})-[:{pair.relation}]->(:{pair.to_kind})" for pair in STANDARD),
    )
)
"""The tables in words a person can write a query by."""

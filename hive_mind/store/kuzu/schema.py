"""The tables of an agent's database, and the steps from each version of them to the next.

Two node tables and no third: each costs 6 MB of memory and 1 MB of disk in every open database, relation tables cost
next to nothing. A fact, an episode and an entity are rows of `Memory`; named values and cached embeddings are rows of `Meta`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hive_mind.model.fact import Relation

FACT, EPISODE, ENTITY = "fact", "episode", "entity"

VERSION_KEY = "schema:version"


class Migration(NamedTuple):
    """One step: the statements that lead from version n to version n + 1. All of them happen, or none."""

    statements: tuple[str, ...]


# Only ever append: a database on somebody's disk may need any of these. A step says in words what it changes.
MIGRATIONS: Sequence[Migration] = (
    # From an empty file to the first tables.
    Migration(
        (
            "CREATE NODE TABLE Memory("
            "id STRING PRIMARY KEY, kind STRING, seq INT64, confidence DOUBLE, learned_at_us INT64, content STRING, "
            "concept STRING, sources STRING, said_at STRING, speaker STRING, before STRING, entities STRING, labels STRING, "
            "sharing STRING, superseded_by STRING, title STRING, summary STRING)",
            "CREATE NODE TABLE Meta(key STRING PRIMARY KEY, seq INT64, model STRING, value STRING)",
            "CREATE REL TABLE DERIVES_FROM(FROM Memory TO Memory)",
            "CREATE REL TABLE SUPERSEDES(FROM Memory TO Memory)",
            "CREATE REL TABLE CONTRADICTS(FROM Memory TO Memory)",
            "CREATE REL TABLE MENTIONS(FROM Memory TO Memory)",
        )
    ),
    # Facts say why they were not shared, and for which sources they were.
    Migration(
        (
            "ALTER TABLE Memory ADD held_back STRING DEFAULT ''",
            "ALTER TABLE Memory ADD offered STRING DEFAULT '[]'",
        )
    ),
)

TABLES = frozenset({"Memory", "Meta", *Relation})

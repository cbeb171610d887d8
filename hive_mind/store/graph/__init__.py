"""The graph of an agent's memory in Kuzu, made of its record: for people and programs that explore, path by path.

`Graph` asks; all else runs in a process of its own, the only one that loads Kuzu: `server` answers, by `questions` or, for Cypher
of others, within the walls of `guard`; `making` makes the tables of `schema`; `seal` says which file may be trusted.
"""

from hive_mind.store.graph.client import Graph
from hive_mind.store.graph.schema import TABLES
from hive_mind.store.graph.values import Edge, Neighbourhood, Path, Rows, Thing

__all__ = ["TABLES", "Edge", "Graph", "Neighbourhood", "Path", "Rows", "Thing"]

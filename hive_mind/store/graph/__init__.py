"""The graph of an agent's memory: for people and programs that explore, path by path.

`Graph` asks. `questions` are answered from the record. Cypher is answered by `server`, a process of its own and the only one that
loads Kuzu, within the walls of `guard`; `making` makes its database of the record, `seal` says whether a file may be trusted.
"""

from hive_mind.store.graph.client import Graph
from hive_mind.store.graph.questions import Edge, Neighbourhood, Path, Rows, Thing
from hive_mind.store.graph.schema import TABLES

__all__ = ["TABLES", "Edge", "Graph", "Neighbourhood", "Path", "Rows", "Thing"]

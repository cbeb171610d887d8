"""The graph of an agent's memory: for people and programs that explore, path by path.

`Graph` asks. `questions` are answered from the record. Cypher is answered by `server`, a process of its own and the only one that
loads Kuzu, within walls of its own; `making` makes its database of the record, `pipe` says whether a file may be trusted.
"""

from hive_mind.store.graph.client import Graph
from hive_mind.store.graph.questions import TABLES, Edge, Neighbourhood, Path, Rows, Thing

__all__ = ["TABLES", "Edge", "Graph", "Neighbourhood", "Path", "Rows", "Thing"]

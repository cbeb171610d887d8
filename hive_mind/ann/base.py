"""The interface of a vector index: it is the `VectorArm` that the ranking asks for, opened by a plain `open(dimension)`.

The protocol belongs to its caller, so it lives in `hive_mind.ranking.vector` and is only named again here. Every
index returns exact cosines; an approximate one may miss a neighbour, never misjudge it.
"""

from hive_mind.ranking.vector import Cosines, Narrow, Positions, Vector, VectorArm

__all__ = ["Cosines", "Narrow", "Positions", "Vector", "VectorArm"]

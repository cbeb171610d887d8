"""What a vector index must do: it is the `VectorArm` that the ranking asks for, opened by a plain `open(dimension)`.

The protocol belongs to the one who calls it, so it lives in `hive_mind.ranking.vector` and is only named again here. Every
index returns exact cosines; an approximate one may miss a neighbour, never misjudge it.
"""

from hive_mind.ranking.vector import Cosines, Narrow, Positions, Vector, VectorArm

__all__ = ["Cosines", "Narrow", "Positions", "Vector", "VectorArm"]

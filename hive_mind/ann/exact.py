"""Compare the question with every vector: always right, and up to some ten thousand vectors as fast as anything.

The work is one matrix product, which lives with the ranking; measured in benchmarks/search.py.
"""

from hive_mind.ranking.vector import ExactVectors, VectorArm


def open(dimension: int) -> VectorArm:
    return ExactVectors(dimension)

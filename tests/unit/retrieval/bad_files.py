"""Files of a workspace that can't be used, of every kind, each with what has to be said of it: line, path and message."""

from tests.unit.retrieval.bad_collections import COLLECTIONS
from tests.unit.retrieval.bad_configs import CONFIGS, WITHOUT_EMBEDDINGS
from tests.unit.retrieval.bad_golden_sets import AUTH, GOLDEN_SETS

__all__ = ["AUTH", "COLLECTIONS", "CONFIGS", "GOLDEN_SETS", "WITHOUT_EMBEDDINGS"]

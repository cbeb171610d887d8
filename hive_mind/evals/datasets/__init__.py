"""Questions with known answers: what a data set is, and how the formats in use are read into one."""

from hive_mind.evals.datasets.base import Dataset, Document, LabelledQuestion, Scope, pooled
from hive_mind.evals.datasets.jsonl import load_jsonl
from hive_mind.evals.datasets.load import load_dataset
from hive_mind.evals.datasets.locomo import load_locomo

__all__ = [
    "Dataset",
    "Document",
    "LabelledQuestion",
    "Scope",
    "load_dataset",
    "load_jsonl",
    "load_locomo",
    "pooled",
]

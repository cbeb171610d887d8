"""Questions with known answers: the form of a data set, readers for the formats in use, and a writer."""

from hive_mind.evals.datasets.base import Dataset, Document, LabelledQuestion, Scope, pooled, says_something
from hive_mind.evals.datasets.conversations import load_locomo, load_longmemeval
from hive_mind.evals.datasets.jsonl import load_jsonl, with_questions, write_jsonl
from hive_mind.evals.datasets.load import FORMATS, load_beir, load_dataset, load_memory

__all__ = [
    "FORMATS",
    "Dataset",
    "Document",
    "LabelledQuestion",
    "Scope",
    "load_beir",
    "load_dataset",
    "load_jsonl",
    "load_locomo",
    "load_longmemeval",
    "load_memory",
    "pooled",
    "says_something",
    "with_questions",
    "write_jsonl",
]

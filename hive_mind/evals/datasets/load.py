"""Read a data set without saying which format it is in: the file names tell."""

from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Dataset
from hive_mind.evals.datasets.jsonl import CORPUS_SUFFIX, load_jsonl
from hive_mind.evals.datasets.locomo import load_locomo


def load_dataset(path: Path, name: str = "") -> Dataset:
    """A folder or file of either format; `name` chooses among several JSONL sets of a folder. Raises `InvalidInput`."""
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder; check the path")
    holds_jsonl = path.is_dir() and any(path.glob(f"*{CORPUS_SUFFIX}"))
    if holds_jsonl or path.suffix == ".jsonl":
        return load_jsonl(path, name)
    if path.is_dir() or path.suffix == ".json":
        return load_locomo(path)
    raise InvalidInput(f"{path}: not a data set; give a .json file of LoCoMo, NAME{CORPUS_SUFFIX}, or a folder of those")

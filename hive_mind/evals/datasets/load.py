"""Read a data set without saying which format it is in: file names tell and, where they don't, their content."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Dataset, Document, LeftOut, Scope
from hive_mind.evals.datasets.beir import CORPUS, QRELS, QUERIES, is_beir, load_beir
from hive_mind.evals.datasets.conversations import load_locomo, load_longmemeval
from hive_mind.evals.datasets.files import read_bytes
from hive_mind.evals.datasets.from_memory import load_export
from hive_mind.evals.datasets.jsonl import CORPUS_SUFFIX, load_jsonl
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX
from hive_mind.model.fact import NAME_CHARACTERS_MAX
from hive_mind.model.ids import canonical

Load = Callable[[Path, str], Dataset]


def load_dataset(path: Path, name: str = "", format: str = "auto") -> Dataset:
    """A data set of one of `FORMATS`, or of the one it looks like.

    `name` chooses among several JSONL sets or LongMemEval files of a folder, and among the parts of a BEIR set; the others have
    nothing to choose. Of documents longer than a fact can be the beginning is kept, and they are counted. Raises `InvalidInput`.
    """
    if format not in ("auto", *FORMATS):
        raise InvalidInput(f"unknown data set format {format!r}; known: auto, {', '.join(FORMATS)}")
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder; check the path")
    return fitting(FORMATS[detected(path) if format == "auto" else format](path, name))


def detected(path: Path) -> str:
    """The format of what is there. Raises `InvalidInput` for what is in none of them."""
    if path.is_dir():
        return _of_folder(path)
    if path.suffix == ".jsonl":
        return _of_lines(path)
    if path.suffix == ".tsv" and path.parent.name == QRELS:
        return "beir"
    # LongMemEval's files are also found without an ending.
    if path.suffix in (".json", ""):
        return _of_json(path)
    raise InvalidInput(
        f"{path}: not a data set; give a .json file of LoCoMo or LongMemEval, NAME{CORPUS_SUFFIX}, or a folder of those or BEIR's"
    )


def _of_folder(folder: Path) -> str:
    if any(folder.glob(f"*{CORPUS_SUFFIX}")):
        return "jsonl"
    if is_beir(folder):
        return "beir"
    files = sorted(folder.glob("*.json"))
    return _of_json(files[0]) if files else "locomo"


def _of_lines(path: Path) -> str:
    if path.name in (CORPUS, QUERIES):
        return "beir"
    is_exchange = path.name.endswith((CORPUS_SUFFIX, "queries.jsonl"))
    return "memory" if not is_exchange and read_bytes(path).lstrip().startswith(b'{"type":') else "jsonl"


def _of_json(path: Path) -> str:
    """By a key that only one of them has. Quotation marks inside a text are escaped, so no text looks like a key."""
    body = read_bytes(path)
    if b'"haystack_sessions"' in body:
        return "longmemeval"
    if b'"relevant_knowledge_node_uuids"' in body:
        raise InvalidInput(f"{path}: a question file, which has no documents; give it as the `questions` of a data set")
    return "locomo"


def _locomo(path: Path, name: str) -> Dataset:
    _refuse_name(path, name, "LoCoMo's conversations are read together")
    return load_locomo(path)


def _memory(path: Path, name: str) -> Dataset:
    _refuse_name(path, name, "an export has one agent's facts")
    return load_export(path)


def _beir(path: Path, part: str) -> Dataset:
    """From the folder or any file in it; a file of judgements names its part."""
    if path.suffix == ".tsv":
        return load_beir(path.parent.parent, part or path.stem)
    return load_beir(path if path.is_dir() else path.parent, part)


def _refuse_name(path: Path, name: str, why: str) -> None:
    if name:
        raise InvalidInput(f"{path}: there is no part {name!r} to choose; {why}, so leave it out")


FORMATS: Mapping[str, Load] = {
    "locomo": _locomo,
    "longmemeval": load_longmemeval,
    "beir": _beir,
    "jsonl": load_jsonl,
    "memory": _memory,
}
"""How each format is read, by its name."""


def fitting(dataset: Dataset) -> Dataset:
    """The same with every document cut to what can be kept. `left_out` says of how many the end is missing.

    A memory refuses a statement that is too long, and would refuse the whole set with it. Cut here, every arm holds the same.
    """
    scopes = tuple(
        Scope(scope.name, tuple(_cut(document) for document in scope.documents), scope.questions) for scope in dataset.scopes
    )
    pairs = zip(dataset.scopes, scopes, strict=True)
    shorter = sum(old.text != new.text for was, now in pairs for old, new in zip(was.documents, now.documents, strict=True))
    if not shorter:
        return replace(dataset, scopes=scopes)
    return replace(dataset, scopes=scopes, left_out={**dataset.left_out, LeftOut.LONG_DOCUMENT: shorter})


def _cut(document: Document) -> Document:
    speaker, before = document.speaker[:NAME_CHARACTERS_MAX], document.before[:STATEMENT_CHARACTERS_MAX]
    # The speaker is put before the text.
    prefix_length = len(f"{canonical(speaker)}: ") if canonical(speaker) else 0
    text = _beginning(document.text, STATEMENT_CHARACTERS_MAX - prefix_length)
    if (text, before, speaker) == (document.text, document.before, document.speaker):
        return document
    return replace(document, text=text, before=before, speaker=speaker)


def _beginning(text: str, characters: int) -> str:
    """A text is kept in its canonical form, which may be shorter than what was written, or longer."""
    canonical_text = canonical(text)
    return text if len(canonical_text) <= characters else canonical_text[:characters]

"""Writing a data set in the exchange format, so that reading it gives the same data set.

What was left out when it was read is not in it any more, and so is not counted again.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets._jsonl_lines import DOCUMENT_FIELDS, CorpusLine, QueryLine, QuestionMeta
from hive_mind.evals.datasets.base import Dataset, Document, LabelledQuestion
from hive_mind.evals.datasets.jsonl import CORPUS_SUFFIX, default_source, derived_before
from hive_mind.runtime.files import write_whole

_FOR_ALL = 0o644


def write_jsonl(dataset: Dataset, folder: Path) -> tuple[Path, Path]:
    """The corpus and its questions, in this order; files of these names are replaced. Raises `InvalidInput`.

    The format has one scope: a set of several is pooled first. Each file is there whole or not at all.
    """
    if len(dataset.scopes) != 1:
        raise InvalidInput(f"data set {dataset.name!r} has {len(dataset.scopes)} scopes and the format has one; pool it first")
    # It becomes part of two file names.
    if not dataset.name or dataset.name.startswith(".") or Path(dataset.name).name != dataset.name:
        raise InvalidInput(f"data set {dataset.name!r} can't be written: its name is no file name; give it another one")
    (scope,) = dataset.scopes
    corpus, queries = folder / f"{dataset.name}{CORPUS_SUFFIX}", folder / f"{dataset.name}.queries.jsonl"
    _write(corpus, _corpus_lines(dataset.name, scope.documents))
    _write(queries, (_query_line(question, dataset.groups.get(question.id, "")) for question in scope.questions))
    return corpus, queries


def _write(path: Path, lines: Iterable[msgspec.Struct]) -> None:
    try:
        write_whole(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines), _FOR_ALL)
    except OSError as error:
        raise InvalidInput(f"{path}: can't be written ({error.strerror}); give another folder") from error


def _corpus_lines(name: str, documents: Iterable[Document]) -> Iterator[CorpusLine]:
    previous: Document | None = None
    for document in documents:
        if taken := [key for key in DOCUMENT_FIELDS if key in document.meta]:
            raise InvalidInput(f"document {document.id!r}: its meta has {taken[0]!r}, which is a field of its own; rename it")
        yield CorpusLine(document.id, document.text, _told(name, document, previous) | dict(document.meta))
        previous = document


def _told(name: str, document: Document, previous: Document | None) -> dict[str, str]:
    """What a reader of the file could not know without being told."""
    assumed = dict.fromkeys(DOCUMENT_FIELDS, "")
    assumed |= {"source": default_source(name, document.id), "before": derived_before(previous, document.section)}
    return {key: getattr(document, key) for key in DOCUMENT_FIELDS if getattr(document, key) != assumed[key]}


def _query_line(question: LabelledQuestion, group: str) -> QueryLine:
    meta = {key: getattr(question, key) for key in QuestionMeta.__struct_fields__ if key != "group"}
    return QueryLine(question.id, question.text, dict(question.relevant), QuestionMeta(**meta, group=group))

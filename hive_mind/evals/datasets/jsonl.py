"""The exchange format: `NAME.corpus.jsonl` with one document a line, `NAME.queries.jsonl` with one judged question a line.

    {"_id": "d1", "text": "…", "meta": {"said_at": "2023-05-08", "speaker": "Ann", "section": "s1", "source": "notes"}}
    {"_id": "q1", "text": "…?", "qrels": {"d1": 1, "d7": -1}, "meta": {"category": "temporal", "answer": "…"}}

Everything in `meta` may be missing. A question without a relevant document stays: it shows whether distractors are found.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Dataset, Document, LabelledQuestion, Scope
from hive_mind.evals.datasets.files import decoded, read_bytes

CORPUS_SUFFIX = ".corpus.jsonl"
UNKNOWN_DOCUMENT = "judgements of documents that are not in the corpus"


class _CorpusLine(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="_id")
    text: str
    meta: dict[str, Any] = {}


class _QueryLine(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="_id")
    text: str
    qrels: dict[str, int]
    meta: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class _Files:
    name: str
    corpus: Path
    queries: Path


def load_jsonl(path: Path, name: str = "") -> Dataset:
    """One data set with one scope. `path` is a folder, or one of the two files.

    A folder that holds several sets needs a `name`. `NAME.train_queries.jsonl` and the like are read when given as `path`.
    Raises `InvalidInput`.
    """
    files = _files_in(path, name) if path.is_dir() else _files_beside(path)
    documents = tuple(_documents(files))
    left_out: Counter[str] = Counter()
    questions = tuple(_questions(files, {document.id for document in documents}, left_out))
    return Dataset(files.name, (Scope(files.name, documents, questions),), dict(left_out))


def _files_in(folder: Path, name: str) -> _Files:
    names = sorted(path.name.removesuffix(CORPUS_SUFFIX) for path in folder.glob(f"*{CORPUS_SUFFIX}"))
    if not names:
        raise InvalidInput(f"{folder}: holds no NAME{CORPUS_SUFFIX}; give the folder that does")
    if not name and len(names) > 1:
        raise InvalidInput(f"{folder}: holds several data sets; name one of {', '.join(names)}")
    chosen = name or names[0]
    if chosen not in names:
        raise InvalidInput(f"{folder}: holds no data set {chosen!r}; name one of {', '.join(names)}")
    return _Files(chosen, folder / f"{chosen}{CORPUS_SUFFIX}", folder / f"{chosen}.queries.jsonl")


def _files_beside(path: Path) -> _Files:
    name, _, kind = path.name.removesuffix(".jsonl").rpartition(".")
    if not name or not path.name.endswith(".jsonl") or not (kind == "corpus" or kind.endswith("queries")):
        raise InvalidInput(f"{path}: give NAME{CORPUS_SUFFIX}, NAME.queries.jsonl, or their folder")
    questions = "queries" if kind == "corpus" else kind
    return _Files(name, path.with_name(f"{name}{CORPUS_SUFFIX}"), path.with_name(f"{name}.{questions}.jsonl"))


def _documents(files: _Files) -> Iterator[Document]:
    previous: Document | None = None
    for line in _unique_lines(files.corpus, _CorpusLine):
        facts = {key: str(value) for key, value in line.meta.items()}
        section = facts.pop("section", "")
        before = previous.text if previous and section and previous.section == section else ""
        previous = Document(
            id=line.id,
            text=line.text,
            source=facts.pop("source", "") or f"{files.name}/{line.id}",
            said_at=facts.pop("said_at", ""),
            speaker=facts.pop("speaker", ""),
            section=section,
            before=before,
            meta=facts,
        )
        yield previous


def _questions(files: _Files, known: set[str], left_out: Counter[str]) -> Iterator[LabelledQuestion]:
    for line in _unique_lines(files.queries, _QueryLine):
        relevant = {document: judgement for document, judgement in line.qrels.items() if document in known}
        if missing := len(line.qrels) - len(relevant):
            left_out[UNKNOWN_DOCUMENT] += missing
        category, answer = (str(line.meta.get(key, "")) for key in ("category", "answer"))
        yield LabelledQuestion(line.id, line.text, relevant, category, answer)


Line = TypeVar("Line", _CorpusLine, _QueryLine)


def _unique_lines(path: Path, shape: type[Line]) -> Iterable[Line]:
    first_seen: dict[str, int] = {}
    for number, raw in enumerate(read_bytes(path).splitlines(), 1):
        if not raw.strip():
            continue
        line = decoded(raw, shape, f"{path}, line {number}")
        if line.id in first_seen:
            raise InvalidInput(f"{path}, line {number}: _id {line.id!r} is already on line {first_seen[line.id]}; rename one")
        first_seen[line.id] = number
        yield line

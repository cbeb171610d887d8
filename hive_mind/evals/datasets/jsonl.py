"""The exchange format: `NAME.corpus.jsonl` with one document a line, `NAME.queries.jsonl` with one judged question a line.

    {"_id": "d1", "text": "…", "meta": {"said_at": "2023-05-08", "speaker": "Ann", "section": "s1", "source": "notes",
     "kind": "chat", "topic": "boats"}}
    {"_id": "q1", "text": "…?", "qrels": {"d1": 1, "d7": -1}, "meta": {"category": "temporal", "answer": "…",
     "required": ["red"], "forbidden": ["blue"], "superseded": ["green"], "is_answerable": true}}

Everything in `meta` may be missing; a question's has the fields of `LabelledQuestion`. A question without a relevant document
stays: it shows whether distractors are found.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets._corpus import Corpus
from hive_mind.evals.datasets._jsonl_lines import DOCUMENT_FIELDS, CorpusLine, QueryLine
from hive_mind.evals.datasets.base import Dataset, Document, LabelledQuestion, Scope, says_something
from hive_mind.evals.datasets.files import in_words, read_lines
from hive_mind.evals.datasets.reasons import SILENT_DOCUMENT, SILENT_QUESTION

CORPUS_SUFFIX = ".corpus.jsonl"


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
    corpus = _read_corpus(files)
    left_out = Counter({SILENT_DOCUMENT: len(corpus.silent)})
    groups: dict[str, str] = {}
    questions = tuple(_questions(files, corpus, left_out, groups))
    scope = Scope(files.name, tuple(corpus.documents.values()), questions)
    return Dataset(files.name, (scope,), dict(+left_out), groups=groups)


def derived_before(previous: Document | None, section: str) -> str:
    """What was said just before, where the file does not tell: the document above it, in the same section."""
    if previous is None or not section or previous.section != section:
        return ""
    return f"{previous.speaker}: {previous.text}" if previous.speaker else previous.text


def default_source(name: str, id_: str) -> str:
    """The source of a document whose file names none."""
    return f"{name}/{id_}"


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


def _read_corpus(files: _Files) -> Corpus:
    corpus = Corpus()
    previous: Document | None = None
    for _, line in read_lines(files.corpus, CorpusLine):
        document = _document(files.name, line, previous)
        corpus.take(document)
        previous = corpus.documents.get(document.id, previous)
    return corpus


def _document(name: str, line: CorpusLine, previous: Document | None) -> Document:
    meta = {key: in_words(value) for key, value in line.meta.items()}
    known = {key: meta.pop(key) for key in DOCUMENT_FIELDS if key in meta}
    known["source"] = known.get("source") or default_source(name, line.id)
    known.setdefault("before", derived_before(previous, known.get("section", "")))
    return Document(line.id, line.text, **known, meta=meta)


def _questions(files: _Files, corpus: Corpus, left_out: Counter[str], groups: dict[str, str]) -> Iterator[LabelledQuestion]:
    for _, line in read_lines(files.queries, QueryLine):
        if not says_something(line.text):
            left_out[SILENT_QUESTION] += 1
            continue
        if line.meta.group:
            groups[line.id] = line.meta.group
        yield _labelled(line, corpus.usable(line.qrels, left_out))


def _labelled(line: QueryLine, relevant: dict[str, int]) -> LabelledQuestion:
    meta = line.meta
    return LabelledQuestion(
        id=line.id,
        text=line.text,
        relevant=relevant,
        category=in_words(meta.category),
        answer=in_words(meta.answer),
        intent=meta.intent,
        source_bias=meta.source_bias,
        required=meta.required,
        acceptable=meta.acceptable,
        forbidden=meta.forbidden,
        superseded=meta.superseded,
        is_answerable=meta.is_answerable,
        gap=meta.gap,
        asked_at=meta.asked_at,
    )

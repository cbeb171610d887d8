"""The exchange format: `NAME.corpus.jsonl` with one document a line, `NAME.queries.jsonl` with one judged question a line.

    {"_id": "d1", "text": "…", "meta": {"said_at": "2023-05-08", "speaker": "Ann", "section": "s1", "source": "notes",
     "kind": "chat", "topic": "boats"}}
    {"_id": "q1", "text": "…?", "qrels": {"d1": 1, "d7": -1}, "meta": {"category": "temporal", "answer": "…",
     "required": ["red"], "forbidden": ["blue"], "superseded": ["green"], "is_answerable": true}}

Everything in `meta` may be missing; a question's has the fields of `LabelledQuestion`. A question without a relevant document
stays: it shows whether distractors are found.

Document 003's question file: a JSON object; its `questions` are asked of documents that are there already.

    {"questions": [{"id": "q01", "question": "Why did we …?", "intent": "why-decision",
      "relevant_knowledge_node_uuids": ["…"], "acceptable_answer_keywords": ["sqlite"], "source_bias": "chat",
      "coverage_gap_reason": ""}]}

Other keys of the object, such as its `schema`, are notes for people.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from hive_mind.errors import InvalidInput, reason_of
from hive_mind.evals.datasets import (
    Corpus,
    Dataset,
    Document,
    LabelledQuestion,
    LeftOut,
    Scope,
    in_words,
    one_of,
    read_json,
    read_lines,
    says_something,
    shaped,
)
from hive_mind.regex import regex
from hive_mind.safe_files import write_whole

Id = Annotated[str, msgspec.Meta(min_length=1)]
Judgement = Annotated[int, msgspec.Meta(ge=-1)]
# A keyword is looked for as whole words, so it needs one.
Keyword = Annotated[str, msgspec.Meta(pattern=r"\w")]

DOCUMENT_FIELDS = ("source", "said_at", "speaker", "section", "before", "kind", "topic")
"""Fields that `meta` of a document may set; anything else stays in the document's own `meta`."""

CORPUS_SUFFIX = ".corpus.jsonl"

_FOR_ALL = 0o644


class CorpusLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document."""

    id: Id = msgspec.field(name="_id")
    text: str
    meta: dict[str, Any] = {}


class QuestionMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data about a question besides its words and its judgements."""

    # Left open: sets of others have numbers here.
    category: Any = ""
    answer: Any = ""
    intent: str = ""
    source_bias: str = ""
    required: tuple[Keyword, ...] = ()
    acceptable: tuple[Keyword, ...] = ()
    forbidden: tuple[Keyword, ...] = ()
    superseded: tuple[Keyword, ...] = ()
    is_answerable: bool = True
    gap: str = ""
    asked_at: str = ""
    group: str = ""
    """what it came from together with others, such as a conversation: a field of the set, not of the question"""


class QueryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with its judgements."""

    id: Id = msgspec.field(name="_id")
    text: str
    qrels: dict[str, Judgement]
    meta: QuestionMeta = QuestionMeta()


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
    corpus, previous = Corpus(), None
    for _, line in read_lines(files.corpus, CorpusLine):
        document = _document(files.name, line, previous)
        corpus.take(document)
        previous = corpus.documents.get(document.id, previous)
    left_out = Counter({LeftOut.SILENT_DOCUMENT: len(corpus.silent)})
    groups: dict[str, str] = {}
    questions = tuple(_questions(files, corpus, left_out, groups))
    scope = Scope(files.name, tuple(corpus.documents.values()), questions)
    return Dataset(files.name, (scope,), dict(+left_out), groups=groups)


def derived_before(previous: Document | None, section: str) -> str:
    """The text said just before, where the file does not tell: the document above it, in the same section."""
    if previous is None or not section or previous.section != section:
        return ""
    return f"{previous.speaker}: {previous.text}" if previous.speaker else previous.text


def default_source(name: str, id_: str) -> str:
    return f"{name}/{id_}"


def _files_in(folder: Path, name: str) -> _Files:
    names = sorted(path.name.removesuffix(CORPUS_SUFFIX) for path in folder.glob(f"*{CORPUS_SUFFIX}"))
    if not names:
        raise InvalidInput(f"{folder}: holds no NAME{CORPUS_SUFFIX}; give the folder that does")
    chosen = one_of(folder, names, name, "data set")
    return _Files(chosen, folder / f"{chosen}{CORPUS_SUFFIX}", folder / f"{chosen}.queries.jsonl")


def _files_beside(path: Path) -> _Files:
    name, _, kind = path.name.removesuffix(".jsonl").rpartition(".")
    if not name or not path.name.endswith(".jsonl") or not (kind == "corpus" or kind.endswith("queries")):
        raise InvalidInput(f"{path}: give NAME{CORPUS_SUFFIX}, NAME.queries.jsonl, or their folder")
    questions = "queries" if kind == "corpus" else kind
    return _Files(name, path.with_name(f"{name}{CORPUS_SUFFIX}"), path.with_name(f"{name}.{questions}.jsonl"))


def _document(name: str, line: CorpusLine, previous: Document | None) -> Document:
    meta = {key: in_words(value) for key, value in line.meta.items()}
    fields = {key: meta.pop(key) for key in DOCUMENT_FIELDS if key in meta}
    fields["source"] = fields.get("source") or default_source(name, line.id)
    fields.setdefault("before", derived_before(previous, fields.get("section", "")))
    return Document(line.id, line.text, **fields, meta=meta)


def _questions(files: _Files, corpus: Corpus, left_out: Counter[str], groups: dict[str, str]) -> Iterator[LabelledQuestion]:
    for _, line in read_lines(files.queries, QueryLine):
        if not says_something(line.text):
            left_out[LeftOut.SILENT_QUESTION] += 1
            continue
        if line.meta.group:
            groups[line.id] = line.meta.group
        fields = {key: value for key, value in msgspec.structs.asdict(line.meta).items() if key != "group"}
        fields |= {key: in_words(fields[key]) for key in ("category", "answer")}
        yield LabelledQuestion(line.id, line.text, corpus.usable(line.qrels, left_out), **fields)


def write_jsonl(dataset: Dataset, folder: Path) -> tuple[Path, Path]:
    """The corpus and its questions, in this order; files of these names are replaced. Raises `InvalidInput`.

    The format has one scope: a set of several is pooled first. Each file is there whole or not at all.
    """
    if len(dataset.scopes) != 1:
        raise InvalidInput(f"data set {dataset.name!r} has {len(dataset.scopes)} scopes and the format has one; pool it first")
    # It becomes part of two file names.
    if not dataset.name or dataset.name.startswith(".") or Path(dataset.name).name != dataset.name:
        raise InvalidInput(f"data set {dataset.name!r} can't be written: its name can't be a file name; give it another one")
    (scope,) = dataset.scopes
    corpus, queries = folder / f"{dataset.name}{CORPUS_SUFFIX}", folder / f"{dataset.name}.queries.jsonl"
    query_lines = []
    for question in scope.questions:
        meta = {key: getattr(question, key) for key in QuestionMeta.__struct_fields__ if key != "group"}
        question_meta = QuestionMeta(**meta, group=dataset.groups.get(question.id, ""))
        query_lines.append(QueryLine(question.id, question.text, dict(question.relevant), question_meta))
    for path, lines in ((corpus, _corpus_lines(dataset.name, scope.documents)), (queries, query_lines)):
        try:
            write_whole(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines), _FOR_ALL)
        except OSError as error:
            raise InvalidInput(f"{path}: can't be written ({reason_of(error)}); give another folder") from error
    return corpus, queries


def _corpus_lines(name: str, documents: Iterable[Document]) -> Iterator[CorpusLine]:
    previous: Document | None = None
    for document in documents:
        if keys := [key for key in DOCUMENT_FIELDS if key in document.meta]:
            raise InvalidInput(f"document {document.id!r}: its meta has {keys[0]!r}, which is a field of its own; rename it")
        # Fields that do not follow from the file itself.
        assumed = dict.fromkeys(DOCUMENT_FIELDS, "")
        assumed |= {"source": default_source(name, document.id), "before": derived_before(previous, document.section)}
        fields = {key: value for key in DOCUMENT_FIELDS if (value := getattr(document, key)) != assumed[key]}
        yield CorpusLine(document.id, document.text, fields | dict(document.meta))
        previous = document


_SHORT_ID, _FACT_ID = regex(r"[0-9a-f]{8,}"), regex(r"[0-9a-f]{32}")

Intent = Literal["why-decision", "how-it-works", "state-lookup", "cross-source", "adversarial"]


class _Entry(msgspec.Struct, frozen=True):
    id: Id
    question: str
    relevant_knowledge_node_uuids: list[str]
    intent: Literal[Intent, ""] = ""
    acceptable_answer_keywords: tuple[Keyword, ...] = ()
    # Free: which kinds of sources there are, the data says.
    source_bias: str = ""
    coverage_gap_reason: str = ""


def with_questions(dataset: Dataset, file: Path) -> Dataset:
    """The same documents with the questions of the file instead of their own. Raises `InvalidInput`.

    Node ids are ids of documents, in a memory's data set those of its facts. A set of several scopes has to be pooled before, or
    the scope to ask would not be clear.
    """
    if len(dataset.scopes) != 1:
        raise InvalidInput(
            f"{file}: its questions are asked of one scope, and {dataset.name!r} has {len(dataset.scopes)}; pool it"
        )
    (scope,) = dataset.scopes
    document_ids = {document.id for document in scope.documents}
    left_out = Counter({reason: count for reason, count in dataset.left_out.items() if reason in LeftOut.ABOUT_DOCUMENTS})
    questions = tuple(_asked_of(_entries(file), document_ids, left_out))
    return replace(dataset, scopes=(replace(scope, questions=questions),), left_out=dict(+left_out), mended=0)


def _entries(file: Path) -> list[_Entry]:
    value = read_json(file)
    listed = value.get("questions") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise InvalidInput(f"{file}: no object with a list of `questions`; give a question file")
    entries = [shaped(plain, _Entry, f"{file}, question {number}") for number, plain in enumerate(listed, 1)]
    first_seen: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        if first_seen.setdefault(entry.id, number) != number:
            raise InvalidInput(f"{file}, question {number}: {entry.id!r} is already question {first_seen[entry.id]}; rename one")
    return entries


def _asked_of(entries: list[_Entry], document_ids: set[str], left_out: Counter[str]) -> Iterator[LabelledQuestion]:
    for entry in entries:
        node_ids = dict.fromkeys(entry.relevant_knowledge_node_uuids, 1)
        relevant = {document: 1 for document in (_document_of(node_id, document_ids) for node_id in node_ids) if document}
        left_out[LeftOut.UNKNOWN_DOCUMENT] += len(node_ids) - len(relevant)
        if not says_something(entry.question):
            left_out[LeftOut.SILENT_QUESTION] += 1
        elif node_ids and not relevant:
            left_out[LeftOut.NO_DOCUMENT_LEFT] += 1
        elif not (node_ids or entry.acceptable_answer_keywords or entry.coverage_gap_reason):
            left_out[LeftOut.NOTHING_TO_MEASURE] += 1
        else:
            # Where no document is named and it is said why, nothing answers the question, and a good answer says so.
            yield LabelledQuestion(
                entry.id,
                entry.question,
                relevant,
                intent=entry.intent,
                source_bias=entry.source_bias,
                acceptable=entry.acceptable_answer_keywords,
                is_answerable=bool(relevant) or not entry.coverage_gap_reason,
                gap=entry.coverage_gap_reason,
            )


def _document_of(id_or_beginning: str, document_ids: set[str]) -> str:
    """The document, which may be named by the beginning of its id as commands print it, where it is a fact's; "" for none."""
    if id_or_beginning in document_ids or not _SHORT_ID.fullmatch(id_or_beginning):
        return id_or_beginning if id_or_beginning in document_ids else ""
    beginning_so = [id for id in document_ids if id.startswith(id_or_beginning) and _FACT_ID.fullmatch(id)]
    return beginning_so[0] if len(beginning_so) == 1 else ""

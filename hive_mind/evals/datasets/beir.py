"""BEIR's folders (Thakur et al. 2021): `corpus.jsonl`, `queries.jsonl`, and a part of the questions judged in `qrels/PART.tsv`.

A document's title and text are one text, because that is what is searched. Questions of other parts are not left out: they
belong to another measurement.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Corpus, Dataset, Document, LabelledQuestion, LeftOut, Scope, says_something
from hive_mind.evals.datasets.files import in_words, one_of, read_lines, read_text
from hive_mind.regex import regex

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_USUAL_PART = "test"


class _CorpusLine(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="_id")
    text: str
    title: str = ""
    metadata: dict[str, Any] = {}


class _QueryLine(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="_id")
    text: str


def load_beir(folder: Path, part: str = "") -> Dataset:
    """One part of a set, as one scope; without a name "test", or the only part there is. Raises `InvalidInput`."""
    qrels = _part(folder, part)
    name = folder.resolve().name
    corpus = _corpus(folder, name)
    left_out = Counter({LeftOut.SILENT_DOCUMENT: len(corpus.silent)})
    questions = tuple(_questions(folder, qrels, corpus, left_out))
    return Dataset(name, (Scope(name, tuple(corpus.documents.values()), questions),), dict(+left_out))


def is_beir(folder: Path) -> bool:
    """Whether a folder looks like one of these, complete or not."""
    return (folder / QRELS).is_dir() or any((folder / name).is_file() for name in (CORPUS, QUERIES))


def _part(folder: Path, part: str) -> Path:
    names = sorted(path.stem for path in (folder / QRELS).glob("*.tsv"))
    if not names:
        raise InvalidInput(f"{folder}: holds no {QRELS}/PART.tsv; add the judgements, as {QRELS}/{_USUAL_PART}.tsv")
    preferred = part or (_USUAL_PART if _USUAL_PART in names else "")
    return folder / QRELS / f"{one_of(folder, names, preferred, 'part')}.tsv"


def _corpus(folder: Path, name: str) -> Corpus:
    corpus = Corpus()
    for _, line in read_lines(folder / CORPUS, _CorpusLine):
        meta = {key: in_words(value) for key, value in line.metadata.items()}
        corpus.take(Document(line.id, titled(line.title, line.text), f"{name}/{line.id}", meta=meta))
    return corpus


def titled(title: str, text: str) -> str:
    """Title and text as one text. A title without an end would run into the first sentence."""
    title, text = title.strip(), text.strip()
    if not title or not text:
        return title or text
    return f"{title} {text}" if title.endswith((".", "!", "?", ":")) else f"{title}. {text}"


def _questions(folder: Path, qrels: Path, corpus: Corpus, left_out: Counter[str]) -> Iterator[LabelledQuestion]:
    judgements = read_qrels(qrels)
    question_ids: set[str] = set()
    for _, line in read_lines(folder / QUERIES, _QueryLine):
        question_ids.add(line.id)
        if line.id not in judgements.by_question:
            continue
        if not says_something(line.text):
            left_out[LeftOut.SILENT_QUESTION] += 1
        elif relevant := corpus.usable(judgements.by_question[line.id], left_out):
            yield LabelledQuestion(line.id, line.text, relevant)
        else:
            left_out[LeftOut.NO_DOCUMENT_LEFT] += 1
    unknown = [judged for question, judged in judgements.by_question.items() if question not in question_ids]
    left_out.update({LeftOut.REPEATED_JUDGEMENT: judgements.repeated, LeftOut.UNKNOWN_QUESTION: sum(map(len, unknown))})
    judged = {question for path in (folder / QRELS).glob("*.tsv") for question in judged_questions(path)}
    left_out[LeftOut.UNJUDGED_QUESTION] = len(question_ids - judged)


# Some sets write 1.0, which is the same judgement.
_WHOLE = regex(r"(-?\d{1,9})(?:\.0+)?", re.ASCII)


@dataclass(slots=True)
class Judgements:
    """By question, in the order of the file. `repeated` counts lines that say again what is said already."""

    by_question: dict[str, dict[str, int]] = field(default_factory=dict)
    repeated: int = 0


def read_qrels(path: Path) -> Judgements:
    """The judgements of a file: lines of question id, document id and a whole number, below one line of titles.

    Raises `InvalidInput` with the line.
    """
    judgements = Judgements()
    first_seen: dict[tuple[str, str], int] = {}
    for number, question, document, said in _rows(path):
        place = f"{path}, line {number}"
        grade = _grade(said, place)
        judged = judgements.by_question.setdefault(question, {})
        if judged.setdefault(document, grade) != grade:
            first = first_seen[question, document]
            raise InvalidInput(
                f"{place}: question {question!r} and document {document!r} are judged {grade} here and {judged[document]} "
                f"on line {first}; keep one"
            )
        if (question, document) in first_seen:
            judgements.repeated += 1
        first_seen.setdefault((question, document), number)
    return judgements


def judged_questions(path: Path) -> set[str]:
    """Ids of the questions that a file judges. Raises `InvalidInput`."""
    return {question for _, question, _, _ in _rows(path)}


def _rows(path: Path) -> Iterator[tuple[int, str, str, str]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.rstrip("\r").split("\t")]
        if len(columns) != 3 or not all(columns):
            raise InvalidInput(
                f"{path}, line {number}: not three values; write question id, document id and judgement with tabs between them"
            )
        question, document, grade = columns
        # Titles, unless somebody left them out.
        if number > 1 or _WHOLE.fullmatch(grade):
            yield number, question, document, grade


def _grade(grade: str, place: str) -> int:
    match = _WHOLE.fullmatch(grade)
    if match is None or int(match[1]) < -1:
        raise InvalidInput(
            f"{place}: judgement must be a whole number of at least -1, not {grade!r}; -1 is a distractor, above 0 is relevant"
        )
    return int(match[1])

"""Document 003's question file: a JSON object; its `questions` are asked of documents that are there already.

    {"questions": [{"id": "q01", "question": "Why did we …?", "intent": "why-decision",
      "relevant_knowledge_node_uuids": ["…"], "acceptable_answer_keywords": ["sqlite"], "source_bias": "chat",
      "coverage_gap_reason": ""}]}

Other keys of the object, such as its `schema`, are notes for people.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Dataset, LabelledQuestion, says_something
from hive_mind.evals.datasets.files import read_json, shaped
from hive_mind.evals.datasets.jsonl import Id, Keyword
from hive_mind.evals.datasets.reasons import (
    ABOUT_DOCUMENTS,
    NO_DOCUMENT_LEFT,
    NOTHING_TO_MEASURE,
    SILENT_QUESTION,
    UNKNOWN_DOCUMENT,
)
from hive_mind.regex import regex

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
    known = {document.id for document in scope.documents}
    left_out = Counter({reason: count for reason, count in dataset.left_out.items() if reason in ABOUT_DOCUMENTS})
    questions = tuple(_questions(_entries(file), known, left_out))
    return replace(dataset, scopes=(replace(scope, questions=questions),), left_out=dict(+left_out), mended=0)


def _entries(file: Path) -> list[_Entry]:
    value = read_json(file)
    listed = value.get("questions") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise InvalidInput(f"{file}: no object with a list of `questions`; give a question file")
    entries = [shaped(one, _Entry, f"{file}, question {number}") for number, one in enumerate(listed, 1)]
    first_seen: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        if first_seen.setdefault(entry.id, number) != number:
            raise InvalidInput(f"{file}, question {number}: {entry.id!r} is already question {first_seen[entry.id]}; rename one")
    return entries


def _questions(entries: list[_Entry], known: set[str], left_out: Counter[str]) -> Iterator[LabelledQuestion]:
    for entry in entries:
        named = dict.fromkeys(entry.relevant_knowledge_node_uuids, 1)
        relevant = {document: 1 for document in (_document_of(one, known) for one in named) if document}
        left_out[UNKNOWN_DOCUMENT] += len(named) - len(relevant)
        if not says_something(entry.question):
            left_out[SILENT_QUESTION] += 1
        elif named and not relevant:
            left_out[NO_DOCUMENT_LEFT] += 1
        elif not (named or entry.acceptable_answer_keywords or entry.coverage_gap_reason):
            left_out[NOTHING_TO_MEASURE] += 1
        else:
            yield _labelled(entry, relevant)


def _document_of(named: str, known: set[str]) -> str:
    """The document, which may be named by the beginning of its id as commands print it, where it is a fact's; "" for none."""
    if named in known or not _SHORT_ID.fullmatch(named):
        return named if named in known else ""
    beginning_so = [one for one in known if one.startswith(named) and _FACT_ID.fullmatch(one)]
    return beginning_so[0] if len(beginning_so) == 1 else ""


def _labelled(entry: _Entry, relevant: dict[str, int]) -> LabelledQuestion:
    """Where no document is named and it is said why, nothing answers the question, and a good answer says so."""
    return LabelledQuestion(
        entry.id,
        entry.question,
        relevant,
        intent=entry.intent,
        source_bias=entry.source_bias,
        acceptable=entry.acceptable_answer_keywords,
        is_answerable=bool(relevant) or not entry.coverage_gap_reason,
        gap=entry.coverage_gap_reason,
    )

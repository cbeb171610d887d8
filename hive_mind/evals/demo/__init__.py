"""A small world to try everything on: eight months in the life of a tidal power cooperative, and questions about them.

Written for this project; the island, its people and its rules are invented. The conversations, notes and logs hold what makes
remembering hard: figures that change, pumps and rules with nearly the same name, "last Friday". Asking is left to the caller;
answers are scored here: whether the quoted evidence was found, how early, and what was answered. As a data set, the corpus's
paragraphs are the documents, and the quoted ones are relevant.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope
from hive_mind.measure import macro_mean
from hive_mind.model.content import Content
from hive_mind.model.decoding import json_decoder
from hive_mind.model.gathered import Answer
from hive_mind.model.query import Hit

Kind = Literal["who", "when", "what", "number", "identifier", "multi-hop", "changed", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question as somebody might ask it.

    `evidence` quotes the documents, any one quote answers it (a multi-hop question needs them all); none: it can't be answered.
    An answer is good when it holds one of the `keywords`.
    """

    id: str
    question: str
    kind: Kind
    evidence: tuple[str, ...]
    keywords: tuple[str, ...]


def documents() -> list[Content]:
    folder = files(__name__).joinpath("documents")
    texts = sorted((file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir())
    return [Content(text, source=name) for name, text in texts]


def questions() -> list[DemoQuestion]:
    lines = files(__name__).joinpath("questions.jsonl").read_bytes().splitlines()
    return [json_decoder(DemoQuestion)(line) for line in lines]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """One question's result.

    `recall` is the share of the needed evidence among the hits, `reciprocal_rank` 1 / place of the first evidence (0: not found);
    both are None where there is none to find. `is_right`: the answer holds an accepted word, or rightly was "not known".
    """

    question: DemoQuestion
    recall: float | None
    reciprocal_rank: float | None
    is_known: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Outcomes of one kind taken together. `unknown` counts the answers "not known"."""

    kind: str
    questions: int
    recall: float | None
    reciprocal_rank: float | None
    right: int
    unknown: int


def outcome(question: DemoQuestion, hits: Sequence[Hit], answer: Answer) -> DemoResult:
    """The result of one question; `hits` are those that count, best first."""
    if not question.evidence:
        return DemoResult(question, None, None, answer.is_known, not answer.is_known)
    found = sum(any(quote in hit.fact.content for hit in hits) for quote in question.evidence)
    recall = found / len(question.evidence) if question.kind == "multi-hop" else float(found > 0)
    places = (place for place, hit in enumerate(hits, 1) if any(quote in hit.fact.content for quote in question.evidence))
    right = any(word in answer.text for word in question.keywords)
    return DemoResult(question, recall, next((1 / place for place in places), 0.0), answer.is_known, right)


def summaries(outcomes: Iterable[DemoResult]) -> list[Summary]:
    """One per kind in its usual order, then "all" over every kind."""
    everything = list(outcomes)
    kinds = [(kind, [result for result in everything if result.question.kind == kind]) for kind in KINDS]
    return [_summary(name, group) for name, group in [*kinds, ("all", everything)] if group]


def _summary(kind: str, group: Sequence[DemoResult]) -> Summary:
    return Summary(
        kind,
        len(group),
        macro_mean(result.recall for result in group),
        macro_mean(result.reciprocal_rank for result in group),
        sum(result.is_right for result in group),
        sum(not result.is_known for result in group),
    )


def demo_dataset() -> Dataset:
    """One scope. A question that nothing answers has no relevant document."""
    paragraphs = tuple(part for content in documents() for part in _paragraphs(content))
    return Dataset("demo", (Scope("demo", paragraphs, tuple(_labelled(question, paragraphs) for question in questions())),))


def _paragraphs(content: Content) -> Iterator[Document]:
    kind = "chat" if content.source[:4].isdecimal() else content.source.rpartition(".")[0]
    before = ""
    for number, line in enumerate(line.strip() for line in content.text.splitlines()):
        if any(character.isalnum() for character in line):
            id = f"{content.source}:{number + 1}"
            yield Document(id, line, content.source, content.said_at, section=content.source, before=before, kind=kind)
            before = line


def _labelled(question: DemoQuestion, found_documents: tuple[Document, ...]) -> LabelledQuestion:
    relevant = {document.id: 1 for document in found_documents if any(quote in document.text for quote in question.evidence)}
    answerable = question.kind != "unanswerable"
    return LabelledQuestion(
        question.id, question.question, relevant, question.kind, acceptable=question.keywords, is_answerable=answerable
    )

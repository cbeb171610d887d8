"""The demo's corpus in the form of any other data set: its paragraphs are the documents, the quoted ones are relevant."""

from collections.abc import Iterator

from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope
from hive_mind.evals.demo import DemoQuestion, documents, questions
from hive_mind.model.content import Content


def demo_dataset() -> Dataset:
    """One scope. A question that nothing answers has no relevant document."""
    found = tuple(part for content in documents() for part in _paragraphs(content))
    return Dataset("demo", (Scope("demo", found, tuple(_labelled(question, found) for question in questions())),))


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

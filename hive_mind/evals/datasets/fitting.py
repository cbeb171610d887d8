"""Documents as long as a memory keeps them: of a longer one the beginning is kept, and it is counted.

A memory refuses a statement that is too long, and would refuse the whole data set with it. Cut here, every arm holds the same.
"""

from dataclasses import replace

from hive_mind.evals.datasets.base import Dataset, Document, Scope
from hive_mind.evals.datasets.reasons import LONG_DOCUMENT
from hive_mind.memory.intake import NAME_CHARACTERS_MAX, STATEMENT_CHARACTERS_MAX
from hive_mind.model.ids import canonical


def fitting(dataset: Dataset) -> Dataset:
    """The same with every document cut to what can be kept. `left_out` says of how many the end is missing."""
    scopes = tuple(
        Scope(scope.name, tuple(_cut(document) for document in scope.documents), scope.questions) for scope in dataset.scopes
    )
    pairs = zip(dataset.scopes, scopes, strict=True)
    shorter = sum(_is_cut(old, new) for was, now in pairs for old, new in zip(was.documents, now.documents, strict=True))
    if not shorter:
        return replace(dataset, scopes=scopes)
    return replace(dataset, scopes=scopes, left_out={**dataset.left_out, LONG_DOCUMENT: shorter})


def _cut(document: Document) -> Document:
    speaker, before = document.speaker[:NAME_CHARACTERS_MAX], document.before[:STATEMENT_CHARACTERS_MAX]
    # Who spoke is put before what was said.
    named = len(f"{canonical(speaker)}: ") if canonical(speaker) else 0
    text = _beginning(document.text, STATEMENT_CHARACTERS_MAX - named)
    if (text, before, speaker) == (document.text, document.before, document.speaker):
        return document
    return replace(document, text=text, before=before, speaker=speaker)


def _beginning(text: str, characters: int) -> str:
    """A text is kept in its canonical form, which may be shorter than what was written, or longer."""
    kept = canonical(text)
    return text if len(kept) <= characters else kept[:characters]


def _is_cut(old: Document, new: Document) -> bool:
    return new.text != old.text

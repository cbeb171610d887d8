"""The documents of one scope while they are read: which can be found, and which say nothing and are counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hive_mind.evals.datasets.base import Document, says_something
from hive_mind.evals.datasets.reasons import JUDGED_SILENT, UNKNOWN_DOCUMENT


@dataclass(slots=True)
class Corpus:
    """Documents by id in their order, and the ids of those without a word."""

    documents: dict[str, Document] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    def take(self, document: Document) -> None:
        """Keep it, if it says something."""
        if says_something(document.text):
            self.documents[document.id] = document
        else:
            self.silent.add(document.id)

    def usable(self, judgements: Mapping[str, int], left_out: Counter[str]) -> dict[str, int]:
        """Judgements of documents that can be found; the others are counted."""
        usable = {document: judgement for document, judgement in judgements.items() if document in self.documents}
        silent = len(judgements.keys() & self.silent)
        left_out.update({JUDGED_SILENT: silent, UNKNOWN_DOCUMENT: len(judgements) - len(usable) - silent})
        return usable

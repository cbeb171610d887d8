"""Output: an answer with its sources, or an honest "not known"."""

from dataclasses import dataclass, field

from hive_mind.model.gathered import Gathered
from hive_mind.model.query import Hit


@dataclass(frozen=True, slots=True)
class Question:
    """A person's question. `asked_at` (ISO 8601, or "") is the time "yesterday" in the question refers to; `as_of_us`: see
    `Query`."""

    text: str
    asked_at: str = ""
    as_of_us: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is for a person; `sources` are the facts it rests on, best first, empty when nothing is known.

    `method` says how the text came about: "quoted" (verbatim from memory), "reasoned" (a language model wrote it), "collected"
    (counted or listed over all facts) or "unknown".
    `confidence` is in [0, 1]. `closest` is what was found where nothing of it answers for certain, best first.
    `completeness`, `gathered` and `note` are those of the search behind it (`SearchResult`).
    """

    text: str
    sources: tuple[Hit, ...]
    method: str
    confidence: float
    closest: tuple[Hit, ...] = ()
    completeness: float = 1.0
    gathered: Gathered | None = field(default=None, compare=False, repr=False)
    note: str = ""

    @property
    def is_known(self) -> bool:
        """Whether memory held anything that answers."""
        return self.method != "unknown"

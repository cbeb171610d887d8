"""What comes out: an answer with its sources, or an honest "not known"."""

from dataclasses import dataclass

from hive_mind.model.query import Hit


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks. `asked_at` (ISO 8601, or "") is what "yesterday" in the question refers to."""

    text: str
    asked_at: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is for a person; `sources` are the facts it rests on, best first, empty when nothing is known.

    `method` says how the text came about: "quoted" (verbatim from memory), "reasoned" (a language model wrote it) or "unknown".
    `confidence` is in [0, 1].
    """

    text: str
    sources: tuple[Hit, ...]
    method: str
    confidence: float

    @property
    def is_known(self) -> bool:
        """Whether memory held anything that answers."""
        return self.method != "unknown"

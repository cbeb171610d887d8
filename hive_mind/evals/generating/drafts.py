"""What a story is made of before it has a place in a session: turns, exchanges of turns, and questions that point at turns.

Turns are told apart by identity: two people may say the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["chat", "log", "minutes", "ticket"]
Intent = Literal["why-decision", "how-it-works", "state-lookup", "cross-source", "adversarial"]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What one agent says. `topic` is the project, machine, account or person it is about, "" for nothing in particular."""

    text: str
    speaker: str
    topic: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Turns that follow each other without anybody in between, in one session: a slot in time of a domain.

    `rank` in [0, 1) is where in the session it comes.
    """

    slot: int
    domain: int
    kind: Kind
    rank: float
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its labels, as `LabelledQuestion`, of turns instead of documents."""

    category: str
    intent: Intent
    text: str
    relevant: Sequence[Turn] = ()
    distractors: Sequence[Turn] = ()
    required: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    answer: str = ""
    gap: str = ""


@dataclass(slots=True)
class Story:
    """Exchanges and the questions they answer."""

    exchanges: list[Exchange] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return sum(len(exchange.turns) for exchange in self.exchanges)

"""The second gate: a judge's ruling on facts that the first one would let through. Without one, everything it lets through goes.

    stored ─gate─▶ held back "awaiting judgement" ─review─▶ shared, or held back with the reason
                   (only its agent finds it)

An outbox must never wait for a model or a person while it settles. So a review returns the rulings it knows at once, is given the
other facts, and has them looked at again when it knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hive_mind.model.fact import Fact


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision on a fact. `refusal`: why it may not leave home, as a clause; "" where it may."""

    refusal: str = ""


ALLOWED = Ruling()
AWAITING = Ruling("awaiting judgement")


class Review(Protocol):
    """The judge of one agent's facts."""

    def ruling(self, fact: Fact) -> Ruling | None:
        """The decision on it; None where that is not known yet. Does not wait, and raises nothing."""
        ...

    def want(self, facts: Sequence[Fact]) -> None:
        """Have these judged; returns at once. When something is decided, `reconsider` their ids."""
        ...

"""The second gate: what a judge says of facts that the first one would let through. Without one, everything it lets through goes.

    stored ─gate─▶ held back "awaiting judgement" ─review─▶ shared, or held back with the reason
                   (its agent finds it, nobody else)

An outbox must never wait for a model or a person while it settles. So a review says at once what it knows, is given what it does
not, and has those facts looked at again when it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hive_mind.model.fact import Fact


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is decided of a fact. `refusal`: why it may not leave home, as a clause; "" where it may."""

    refusal: str = ""


ALLOWED = Ruling()
AWAITING = Ruling("awaiting judgement")


class Review(Protocol):
    """Who judges the facts of one agent."""

    def ruling(self, fact: Fact) -> Ruling | None:
        """What is decided of it; None where that is not known yet. Does not wait, and raises nothing."""
        ...

    def want(self, facts: Sequence[Fact]) -> None:
        """Have these judged; returns at once. When something is decided, `reconsider` their ids."""
        ...

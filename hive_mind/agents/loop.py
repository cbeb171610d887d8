"""The OODA loop (observe, orient, decide, act; Boyd) as four steps that can each be called alone.

An agent's turn is one pass. The steps themselves are the business of `learning` and `answering`; here is only their order.
"""

from typing import Protocol, TypeVar

Given = TypeVar("Given", contravariant=True)
Observed = TypeVar("Observed")
Oriented = TypeVar("Oriented")
Decided = TypeVar("Decided")
Done = TypeVar("Done", covariant=True)


class Steps(Protocol[Given, Observed, Oriented, Decided, Done]):
    """Four steps; each takes what the one before it gave."""

    async def observe(self, given: Given) -> Observed:
        """Take in what there is, and refuse what can't be worked with."""
        ...

    async def orient(self, observed: Observed) -> Oriented:
        """Find out what it means here."""
        ...

    async def decide(self, oriented: Oriented) -> Decided:
        """Choose what to do. Changes nothing yet."""
        ...

    async def act(self, decided: Decided) -> Done:
        """Do it."""
        ...


async def turn(steps: Steps[Given, Observed, Oriented, Decided, Done], given: Given) -> Done:
    """One pass through the loop."""
    return await steps.act(await steps.decide(await steps.orient(await steps.observe(given))))

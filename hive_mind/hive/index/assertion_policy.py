"""Questions of an index about assertions and agents that the shares alone don't answer."""

from typing import Protocol

from hive_mind.model.evidence import Sealed, Stamp


class AssertionPolicy(Protocol):
    """A replica's questions to its node about assertions and agents, as of now."""

    @property
    def version(self) -> int:
        """Grows when trust, quarantine or retractions may have changed."""
        ...

    def is_visible(self, given: Sealed) -> bool:
        """Whether it counts: neither expired nor by an agent under quarantine."""
        ...

    def is_quarantined(self, fact_id: str) -> bool:
        """Whether the fact is kept from searches."""
        ...

    def trust(self, agent: str) -> float:
        """In [0, 2]."""
        ...

    def voucher(self, agent: str) -> str:
        """The name of its voucher, or its own."""
        ...

    def faded(self, confidence: float, stamp: Stamp) -> float:
        """A confidence as it is now."""
        ...

    def may_expire(self) -> bool:
        """Whether anything here can: otherwise nothing is checked one by one."""
        ...

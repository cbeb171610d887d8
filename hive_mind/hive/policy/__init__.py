"""A node's decisions on input and storage: admission, seals, the registry and the rights in it, expiry.

Here are the questions of partition replicas and of their index to their node, about assertions and agents; `node_policy` answers.

`LIMITS` are the reasons why input of a member beyond any honest one's amount was forgotten. Status shows them.
"""

from typing import Protocol

from hive_mind.hive.policy.seal import Seal
from hive_mind.model.evidence import Assertion, Sealed, Stamp

TOO_MANY_ENTRIES = "a registry entry of a writer with too many"
TOO_MANY_REMOVALS = "a removal by a member that takes back too much"
TOO_MANY_BOOTS = "a boot of a node with too many"
AFTER_DISMISSAL = "a registry entry of a dismissed moderator"

LIMITS = frozenset({TOO_MANY_ENTRIES, TOO_MANY_REMOVALS, TOO_MANY_BOOTS, AFTER_DISMISSAL})


class Authority(Protocol):
    """A partition replica's questions before it keeps or drops an assertion: permissions, and the node's own knowledge."""

    @property
    def tenant(self) -> str:
        """The tenant these facts belong to."""
        ...

    @property
    def seal(self) -> Seal:
        """How seals are made and checked."""
        ...

    @property
    def quota(self) -> int:
        """Live assertions an agent may have in a partition."""
        ...

    @property
    def removals_max(self) -> int:
        """Proofs of what somebody took back that a partition keeps of it."""
        ...

    @property
    def boots_max(self) -> int:
        """Boots of a node that a partition knows without knowing anything live of them."""
        ...

    def is_moderator(self, name: str) -> bool:
        """Whether it may take back what others assert."""
        ...

    def is_withdrawn(self, assertion: Assertion) -> bool:
        """Whether a retraction or redaction that everybody knows covers it."""
        ...

    def is_expired(self, given: Sealed) -> bool:
        """Whether its time is over by this node's own clock."""
        ...


class AssertionPolicy(Protocol):
    """An index's questions that the shares alone don't answer, as of now."""

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

"""A partition replica's questions to its node before it keeps or drops an assertion; `node_policy` answers.

`LIMITS` are the reasons why input of a member beyond any honest one's amount was forgotten. Status shows them.
"""

from typing import Protocol

from hive_mind.hive.policy.seal import Seal
from hive_mind.model.evidence import Assertion, Sealed

TOO_MANY_ENTRIES = "a registry entry of a writer with too many"
TOO_MANY_REMOVALS = "a removal by a member that takes back too much"
TOO_MANY_BOOTS = "a boot of a node with too many"
AFTER_DISMISSAL = "a registry entry of a dismissed moderator"

LIMITS = frozenset({TOO_MANY_ENTRIES, TOO_MANY_REMOVALS, TOO_MANY_BOOTS, AFTER_DISMISSAL})


class Authority(Protocol):
    """A partition replica's questions to its node: permissions, and the node's own knowledge."""

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

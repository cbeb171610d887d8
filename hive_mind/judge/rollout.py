"""Rolling out: which cases a new rule decides, which judgements are audited, and when a rule is taken back.

A case is chosen by a hash of it under a key, so every process chooses the same without asking another, a larger share holds
every case of a smaller one, and who does not know the key can't tell which case will be looked at.
"""

from hashlib import blake2b
from typing import NamedTuple

from hive_mind.measure.shares import wilson_bounds

STEPS = (0.1, 0.5, 1.0)
"""The shares of the cases that a rule decides, one after the other."""

# Fewer decisions could be one person on one day; it is also what calibration asks for.
DECISIONS_MIN = 20


class RolloutRecord(NamedTuple):
    """How often people decided what a rule said, among the cases that it matched and they looked at."""

    agreed: float
    decided: float

    def is_refuted(self, target: float) -> bool:
        """Whether it agrees with people less often than `target`, with 95 % confidence."""
        return self.decided > 0 and wilson_bounds(self.agreed, self.decided)[1] < target


def chosen(case_digest: str, share: float, key: str) -> bool:
    """Whether this case is among the `share` of all cases that are chosen under this key."""
    name = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    number = blake2b(case_digest.encode("utf-8", "surrogatepass"), key=name, digest_size=8).digest()
    return int.from_bytes(number, "big") < share * 2**64


def next_share(share: float, record: RolloutRecord, target: float) -> float:
    """How much a rule may decide from now on: the next step after enough decisions, 0 once it is refuted."""
    if record.is_refuted(target):
        return 0.0
    if record.decided < DECISIONS_MIN or record.agreed < target * record.decided:
        return share
    return next((step for step in STEPS if step > share), 1.0)

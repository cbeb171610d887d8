"""What stands behind candidates, given fact by fact: `rank` takes it column by column."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hive_mind.model.gathered import Pool
from hive_mind.ranking.pipeline import Rows, Support, SupportOf


class FactSupport(NamedTuple):
    """Of one fact."""

    confirmations: float = 0.0
    trust: float = 0.5
    confidence: float = 1.0


ALONE = FactSupport()


def alike(rows: Rows, one: FactSupport = ALONE) -> Support:
    """The same behind each."""
    return Support(*(np.full(len(rows), share, dtype=np.float64) for share in one))


def by_id(pool: Pool, of: Callable[[str], FactSupport]) -> SupportOf:
    """What `of` says of each candidate's id."""

    def support_of(rows: Rows) -> Support:
        some = [of(pool.ids[row]) for row in rows.tolist()]
        return Support(*np.array(some, dtype=np.float64).reshape(-1, 3).T)

    return support_of

"""How much a rater's word counts in a large hive: trust that flows from moderators along good experience (Kamvar et al. 2003).

A ring of agents that praise each other gets none unless somebody inside the flow praises one of them.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# How often the flow starts again at the moderators: the paper's value. Higher trusts those near to them more.
RESTART = 0.2
# The rest shrinks by 1 − RESTART each time: after 50 less than 2 in 100,000 is undecided.
ITERATIONS = 50


def eigentrust(rater: Places, subject: Places, balance: Floats, size: int, trusted: Places) -> Floats:
    """Weights in [0, 1] of `size` agents, from rows (rater, subject, good − bad experience) and those trusted beforehand.

    The agents that receive most, half of the flow between them, weigh 1; others less in proportion. Half of the flow, not of the
    agents: a ring is many agents with little flow.
    """
    start = np.zeros(size)
    start[trusted] = 1.0 / len(trusted)
    praise = np.maximum(balance, 0.0)
    given = np.bincount(rater, praise, size)
    share = praise / np.maximum(given[rater], 1e-12)
    silent = given <= 0
    flow = start
    for _ in range(ITERATIONS):
        # Who praises nobody passes its part back to where it came from.
        arrived = np.bincount(subject, share * flow[rater], size) + flow[silent].sum() * start
        flow = (1.0 - RESTART) * arrived + RESTART * start
    received = np.sort(flow)[::-1]
    enough = received[np.searchsorted(np.cumsum(received), received.sum() / 2)]
    weights: Floats = np.minimum(1.0, flow / enough)
    return weights

"""How long does a question take that a hundred members must answer, when one reply in a hundred is slow?

The model of Dean and Barroso, "The Tail at Scale" (2013), in virtual time with a fixed seed: replies take about 10 ms, 1 % of
them half a second to one and a half. So the figures are the same everywhere. `python -m benchmarks.tail [--json FILE]`.
"""

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from benchmarks.harness import parser_of, told
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.messages import PoolReply, PoolRequest, SearchReply

SHARE_SLOW, MEDIAN_MS, SPREAD = 0.01, 10.0, 0.5
PAUSE_MS, DEADLINE_MS = 50, 2_000
# Nobody is asked a second time: how a plain scatter fares.
PATIENT, PATIENT_MS = ScatterSettings(hedge_budget=0.0, hedge_burst=0, reask_ms=1_000_000), 60_000


@dataclass(frozen=True)
class Tail:
    """Of all questions: times in virtual milliseconds, requests beyond one for each set, share complete in time."""

    what: str
    p50_ms: float
    p99_ms: float
    extra_load: float
    complete_at_200_ms: float
    complete: float


class Members:
    """Everybody who answers, and a virtual clock."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._arriving: list[tuple[int, int, str, SearchReply, Scatter]] = []
        self.sent = 0

    def post(self, effects: list[Send | SearchLocal], now_ms: int, scatter: Scatter) -> None:
        for effect in effects:
            assert isinstance(effect, Send)
            assert isinstance(effect.message, PoolRequest)
            self.sent += 1
            arrival = now_ms + ceil(self._reply_ms())
            heapq.heappush(self._arriving, (arrival, self.sent, effect.to[0], answer(effect.message), scatter))

    def until(self, end_ms: int) -> Iterator[tuple[int, str, SearchReply, Scatter]]:
        """What arrives by then, in order."""
        while self._arriving and self._arriving[0][0] <= end_ms:
            now_ms, _, sender, reply, scatter = heapq.heappop(self._arriving)
            yield now_ms, sender, reply, scatter

    def _reply_ms(self) -> float:
        if self._rng.random() < SHARE_SLOW:
            return self._rng.uniform(500.0, 1_500.0)
        return MEDIAN_MS * self._rng.lognormvariate(0.0, SPREAD)


def answer(request: PoolRequest) -> SearchReply:
    none = np.empty(0, dtype=np.float32)
    return PoolReply(request.query, request.replica_set, Pool((), none, none, none), EvidenceColumns())


def tail(what: str, questions: int, *, is_patient: bool = False, fan_out: int = 100, seed: int = 1) -> Tail:
    """One asker, one question after the other."""
    sets = tuple(ReplicaSet(f"s{n}", tuple(f"n{n}.{r}" for r in range(3)), (f"p{n}",)) for n in range(fan_out))
    settings, deadline_ms = (PATIENT, PATIENT_MS) if is_patient else (ScatterSettings(), DEADLINE_MS)
    members, latencies, now_ms = Members(seed), Latencies(settings), 0
    times, complete = [], 0
    # The asker has to learn what is slow; the first questions do not count.
    for number in range(-20, questions):
        if number == 0:
            members.sent = 0
        asked = Ask(f"q{number}", Probe((), Anchors(), None, 1), deadline_ms)
        scatter = Scatter(asked, Asker("asker", sets, 1, settings, latencies), now_ms)
        done_ms = run(scatter, members, latencies, now_ms)
        if number >= 0:
            times.append(done_ms - now_ms)
            complete += scatter.gathered().completeness == 1.0
        now_ms = done_ms + PAUSE_MS
    least = questions * fan_out
    quick = sum(time <= 200 for time in times) / questions
    p50, p99 = np.quantile(times, [0.5, 0.99]).tolist()
    return Tail(what, p50, p99, members.sent / least - 1.0, quick, complete / questions)


def run(scatter: Scatter, members: Members, latencies: Latencies, now_ms: int) -> int:
    """Until it is done; gives the time."""
    members.post(scatter.start(now_ms), now_ms, scatter)
    while scatter.wake_at_ms is not None:
        wake_ms = scatter.wake_at_ms
        for now_ms, sender, reply, of in members.until(wake_ms):
            latencies.mark_alive(sender)
            members.post(of.take(sender, reply, now_ms), now_ms, of)
            if scatter.wake_at_ms is None:
                return now_ms
            if scatter.wake_at_ms < wake_ms:
                break
        else:
            now_ms = wake_ms
            members.post(scatter.tick(now_ms), now_ms, scatter)
    return now_ms


def main() -> None:
    options = parser_of(__doc__, "json", questions=1_000).parse_args()
    told(
        [tail("nobody asked twice", options.questions, is_patient=True), tail("rivals for the slow", options.questions)],
        options.json,
    )


if __name__ == "__main__":
    main()

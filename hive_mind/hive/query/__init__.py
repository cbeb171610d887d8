"""Response times of members as one node sees them: when to hedge, how often, and which members to ask last.

Shared by all questions of a node, so that a member that has died costs one question and not every one. Members that answer
late, or not at all, are named here for the status.
"""

from collections import deque
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from hive_mind.model.bounds import Setting


@dataclass(frozen=True)
class ScatterSettings:
    """How members are asked. Times in milliseconds."""

    deadline_ms: Annotated[int, Setting("deadline_s", gt=0, le=60, per=1000)] = 2_000
    """Deadline of a question; then the answer is partial. A longer one hears slow members more often, and waits longer for dead
    ones."""
    deepening_share: float = 0.25
    """Of the deadline, at least for asking for more candidates. Raise it and more is found of members that have much of what is
    asked for; slow members are waited for alone for less long."""
    reask_ms: int = 200
    """After this time a message counts as lost. A lower value makes loss cheaper, but asks slow members twice for nothing."""
    hedge_quantile: float = 0.95
    """A reply slower than this share of replies gets a rival at another replica. Raise it: fewer requests, a longer tail."""
    hedge_budget: float = 0.10
    """Rivals per request, so that a hive that is slow as a whole is not asked twice as much."""
    hedge_burst: int = 25
    """Rivals that can be saved up."""
    hedge_first_ms: int = 100
    """How slow is slow, until enough replies were seen."""
    hedge_least_ms: int = 5
    """Never sooner: nobody would notice what it saves."""
    suspect_ms: int = 10_000
    """So long a member that stayed silent is tried last."""
    doubted_ms: int = 100
    """So long members that are believed dead are waited for, in each round, where nobody else can answer. Raise it
    and a member that lives all the same is heard more often; every question waits that long while a group is dead."""
    reply_bytes_max: int = 4 << 20
    """Size of a page of facts, roughly; the rest takes further requests. A reply too large for the bus would never arrive."""


_ENOUGH = 20
_REMEMBERED = 1_000
# The quantile moves slowly, and sorting a thousand numbers for every reply would cost more than the reply.
_RENEWED_EVERY = 50
# Members exchange every few seconds, so one that is still late is soon seen to be.
_LATE_FOR_MS = 60_000


class Latencies:
    """Reply times, the budget for rivals, and suspicions."""

    def __init__(self, settings: ScatterSettings | None = None) -> None:
        self._settings = settings or ScatterSettings()
        self._times: deque[int] = deque(maxlen=_REMEMBERED)
        self._quantile_ms = self._settings.hedge_first_ms
        self._observations = 0
        self._tokens = float(self._settings.hedge_burst)
        self._suspected: dict[str, int] = {}
        self._late: dict[str, tuple[int, int | None]] = {}
        """Members that did not answer in time: when that was seen first, and when last; None where it may have been a start."""
        self.suspects: frozenset[str] = frozenset()
        """Members believed dead by their missed beats."""

    @property
    def slow_ms(self) -> int:
        """From here on a reply is slow: the quantile of reply times seen."""
        return self._quantile_ms

    def observe(self, elapsed_ms: int) -> None:
        self._times.append(elapsed_ms)
        self._observations += 1
        if self._observations % _RENEWED_EVERY == 0 or self._observations == _ENOUGH:
            place = ceil(self._settings.hedge_quantile * len(self._times)) - 1
            self._quantile_ms = min(max(sorted(self._times)[place], self._settings.hedge_least_ms), self._settings.reask_ms)

    def asked(self, requests: int = 1) -> None:
        """First requests were sent: each earns its share of a rival."""
        self._tokens = min(self._tokens + requests * self._settings.hedge_budget, float(self._settings.hedge_burst))

    def take_hedge(self) -> bool:
        """Whether a rival may be asked now; if so, it is paid for."""
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def suspect(self, node: str, now_ms: int) -> None:
        self._suspected[node] = now_ms + self._settings.suspect_ms

    def mark_alive(self, node: str) -> None:
        """It lives. Worth telling for any message of it."""
        self._suspected.pop(node, None)
        if node in self.suspects:
            self.suspects -= {node}

    def unanswered(self, node: str, now_ms: int) -> None:
        """A question ended without what only this member could have said."""
        self._late[node] = now_ms, now_ms

    def exchanged(self, node: str, elapsed_ms: int, now_ms: int) -> None:
        """A reply to this node took this time. One that takes longer than a question may is of no use to any.

        One that was away answers late all that was sent meanwhile: what was sent since tells.
        """
        if elapsed_ms <= self._settings.deadline_ms:
            self._late.pop(node, None)
            return
        first_ms, last_ms = self._late.get(node, (now_ms, None))
        self._late[node] = first_ms, now_ms if now_ms - elapsed_ms >= first_ms else last_ms

    def late(self, now_ms: int) -> tuple[str, ...]:
        """Members whose last answer came too late for a question, or did not come, lately; sorted."""
        times = sorted(self._late.items())
        return tuple(node for node, (_, last_ms) in times if last_ms is not None and now_ms - last_ms < _LATE_FOR_MS)

    def doubt(self, node: str, now_ms: int) -> int:
        """How little an answer of it is to be expected: 0, 1 where it did not answer lately, 2 where it is believed dead."""
        if not self._suspected and not self.suspects:
            return 0
        return 2 if node in self.suspects else int(self.is_suspect(node, now_ms))

    def is_suspect(self, node: str, now_ms: int) -> bool:
        return now_ms < self._suspected.get(node, now_ms)

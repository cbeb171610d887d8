"""Questions to one replica set or two, replies to them, and who is asked while time passes."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Anchors, EvidenceColumns, Occurrences, Pool, Probe
from hive_mind.model.messages import PoolReply
from hive_mind.model.query import TermStatistics

SETTINGS = ScatterSettings()
RED = Probe(("red", "red", "pump"), Anchors(), None, depth=10)
PLAIN = Probe((), Anchors(), None, depth=10)
ONE = (ReplicaSet("s", ("a", "b", "c"), ("p0", "p1")),)
TWO = (ReplicaSet("s", ("a", "b"), ("p0", "p1")), ReplicaSet("t", ("c", "d"), ("p2",)))


def scatter_of(
    read_set: Sequence[ReplicaSet], probe: Probe = PLAIN, deadline_ms: int = 2_000, node: str = "me", **more: Any
) -> Scatter:
    latencies = more.pop("latencies", None) or Latencies()
    return Scatter(Ask("q", probe, deadline_ms, 0.3), Asker(node, tuple(read_set), 7, SETTINGS, latencies), 0, **more)


def begun(*given: Any, **more: Any) -> Scatter:
    """One whose members have been asked, at 0."""
    scatter = scatter_of(*given, **more)
    scatter.start(0)
    return scatter


def pool_reply(part: str, *ids: str, missing: tuple[str, ...] = (), confirmations: float = 0.2) -> PoolReply:
    scores = np.arange(1, len(ids) + 1, dtype=np.float32)
    half = np.full(len(ids), 0.5, dtype=np.float32)
    pool = Pool(ids, scores, np.full(len(ids), np.nan, np.float32), np.zeros(len(ids), np.float32))
    return PoolReply("q", part, pool, EvidenceColumns(np.full(len(ids), confirmations, np.float32), half, half), missing)


def red_reply(part: str, *ids: str, documents: int = 1, missing: tuple[str, ...] = ()) -> PoolReply:
    """To `RED`, of somebody who has so many documents, all red: one of these candidates after the other is longer."""
    count = len(ids)
    words = Occurrences(
        TermStatistics(documents, 10.0 * documents, {"red": documents}, 100.0 * documents),
        lengths=np.arange(10, 10 + count, dtype=np.float32),
        counts=(count, 0),
        rows=np.arange(count, dtype="<u2").tobytes(),
        weights=np.ones(count, np.float32),
    )
    return msgspec.structs.replace(pool_reply(part, *ids, missing=missing), words=words)


def asked(effects: Sequence[Send | SearchLocal]) -> list[tuple[str, str]]:
    """(node, replica set) of each request; the node itself as "me"."""
    return [
        (effect.to[0], effect.message.replica_set) if isinstance(effect, Send) else ("me", effect.request.replica_set)
        for effect in effects
    ]


def wait(scatter: Scatter, until_ms: int = 10_000) -> list[tuple[int, str, str]]:
    """Lets time pass: (when, node, replica set) of each request."""
    out: list[tuple[int, str, str]] = []
    while scatter.wake_at_ms is not None and scatter.wake_at_ms <= until_ms:
        now_ms = scatter.wake_at_ms
        out += [(now_ms, *one) for one in asked(scatter.tick(now_ms))]
    return out


def without_rivals() -> Latencies:
    latencies = Latencies()
    while latencies.take_hedge():
        pass
    return latencies

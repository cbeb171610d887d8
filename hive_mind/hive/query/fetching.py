"""The facts themselves, once their holders are known: the second half of a question, and the last step before an answer.

Only decides, like `scatter`: the node sends what `start`, `take` and `tick` return.
"""

from collections.abc import Callable, Iterable, Iterator

from hive_mind.hive.effects import Fetch, SearchLocal, Send
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import ReplicaSetShare, Round, To, Window, effect
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import FactsReply, FactsRequest, SearchReply

Requests = list[Send | SearchLocal]


class FetchScatter:
    """The facts themselves, from their holders; from other replicas where one stays silent or has let go of a fact."""

    def __init__(
        self,
        fetch: Fetch,
        read_set: tuple[ReplicaSet, ...],
        node: str,
        settings: ScatterSettings,
        latencies: Latencies,
        now_ms: int,
        may_hold: Callable[[str, ReplicaSet], bool] = lambda _id, _set: True,
    ) -> None:
        """`may_hold` tells whether this replica set can have a fact of unknown holder."""
        self._fetch, self._node = fetch, node
        self._end_ms = now_ms + fetch.deadline_ms
        self._facts_held: dict[str, HiveFact] = {}
        self._cut: set[str] = set()
        """Members without room for everything they were asked for."""
        self._bytes_max = settings.reply_bytes_max
        window = Window(now_ms, self._end_ms)
        parts = [*_by_holder(fetch, read_set), *_by_set(fetch, read_set, may_hold)]
        self._round = Round(parts, node, window, settings, latencies)
        self.is_done = False
        self.silent: tuple[str, ...] = ()

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> Requests:
        if now_ms >= self._end_ms:
            self.is_done = True
            return []
        return self._sent(self._round.start(now_ms), now_ms) + self._advance(now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> Requests:
        """Take a reply. A late, repeated or unsolicited one changes nothing."""
        if self.is_done or not isinstance(reply, FactsReply) or reply.query != self._fetch.request:
            return []
        awaited = self._round.parts_awaited_of(sender)
        facts = {fact.id: fact for fact in reply.facts}
        # A reply does not say which request it answers: one that holds nothing of a part may be about another, or come twice.
        is_sure = len(awaited) == 1 and sender not in self._cut
        about = [part for part in awaited if is_sure or not facts or not facts.keys().isdisjoint(self._round.open_of(part))]
        out = [to for part in about for to in self._take(sender, part, facts, is_cut=reply.is_cut, now_ms=now_ms)]
        return self._sent(out, now_ms) + self._advance(now_ms)

    def tick(self, now_ms: int) -> Requests:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms) + self._advance(now_ms)

    def gathered(self) -> tuple[HiveFact, ...]:
        """Those that were found, in the order in which they were wanted, each once."""
        return tuple(self._facts_held[id] for id in dict.fromkeys(id for id, _ in self._fetch.wanted) if id in self._facts_held)

    def _take(self, sender: str, part: str, facts: dict[str, HiveFact], *, is_cut: bool, now_ms: int) -> list[To]:
        """The facts a reply has of one part. A sender without room for all is asked for the rest."""
        still = self._round.open_of(part)
        if now_ms >= self._end_ms or not still:
            self._round.note(sender, part, now_ms)
            return []
        hive_facts = {id: facts[id] for id in still if id in facts}
        rest = [id for id in still if id not in facts]
        self._facts_held.update(hive_facts)
        if is_cut and hive_facts and rest:
            self._cut.add(sender)
            return self._round.ask_for_rest(sender, part, rest, now_ms)
        return self._round.take(sender, part, rest, now_ms)

    def _advance(self, now_ms: int) -> Requests:
        has_all = all(id in self._facts_held for id, _ in self._fetch.wanted)
        if has_all or self._round.has_ended(now_ms):
            self.silent, self.is_done = self._round.close(now_ms), True
        return []

    def _sent(self, requests: Iterable[To], now_ms: int) -> Requests:
        left_ms = self._end_ms - now_ms
        return [effect(to.node, self._request(to, left_ms), self._node) for to in requests]

    def _request(self, to: To, left_ms: int) -> FactsRequest:
        # Within a node nothing travels.
        bytes_max = 0 if to.node == self._node else self._bytes_max
        return FactsRequest(self._fetch.request, self._round.open_of(to.part), left_ms, bytes_max)


def _by_holder(fetch: Fetch, read_set: tuple[ReplicaSet, ...]) -> list[ReplicaSetShare]:
    """The facts to ask each holder for, and the other members that keep the same."""
    ids_by_holder: dict[str, list[str]] = {}
    for id, holder in dict(reversed(fetch.wanted)).items():
        if holder:
            ids_by_holder.setdefault(holder, []).append(id)
    return [
        ReplicaSetShare(
            holder,
            (holder, *(m for replica_set in read_set if holder in replica_set.members for m in replica_set.members)),
            tuple(ids),
        )
        for holder, ids in sorted(ids_by_holder.items())
    ]


def _by_set(
    fetch: Fetch, read_set: tuple[ReplicaSet, ...], may_hold: Callable[[str, ReplicaSet], bool]
) -> Iterator[ReplicaSetShare]:
    """Where to look for what nobody named a holder of. A replica set is no node, so its part must not be called like one."""
    lost = dict.fromkeys(id for id, holder in fetch.wanted if not holder)
    for replica_set in read_set if lost else ():
        if ids := tuple(id for id in lost if may_hold(id, replica_set)):
            yield ReplicaSetShare(f"\0{replica_set.name}", replica_set.members, ids)

"""Asking until everything has been spoken for: one round of requests to the members of several replica sets.

One member of each set is asked. One that is slow gets a rival, one that is silent is asked again and then replaced, one that
can't speak for all its set holds is complemented. Those believed dead are asked last, all together, and hardly waited for: they
may live after all, but an answer must not wait for a group that is gone. By default a rival comes after 100 ms, the second
request after 200, and another member after 400 where no rival is waited for; a silent one is tried last for 10 s. `scatter`,
`listing` and `questions` define requests and replies.
"""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass

import msgspec

from hive_mind.hive.effects import SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.messages import SearchRequest

_ASKS_MAX = 2
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class ReplicaSetShare:
    """The items one replica set must cover (partitions, or facts), and the members able to, in the order in which to try."""

    name: str
    members: tuple[str, ...]
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asker:
    """Which node asks which replica sets, in which epoch."""

    node: str
    read_set: tuple[ReplicaSet, ...]
    epoch: int
    settings: ScatterSettings
    latencies: Latencies

    def parts(self) -> list[ReplicaSetShare]:
        """Every replica set with all it holds."""
        return [ReplicaSetShare(replica_set.name, replica_set.members, replica_set.partitions) for replica_set in self.read_set]


@dataclass(frozen=True, slots=True)
class To:
    """Send the request about this part to this node."""

    node: str
    part: str


class _Asked(msgspec.Struct):
    first_ms: int
    sent_ms: int
    patience_ms: int
    """After what time a request to it counts as lost."""
    is_dead: bool
    """Whether it is believed to be."""
    times: int = 1
    is_answered: bool = False
    is_given_up: bool = False


class _Quest(msgspec.Struct, eq=False):
    """How far one part got."""

    part: ReplicaSetShare
    is_doubted: bool
    """Whether all members able to answer stayed silent lately: then they are asked together, and not waited for to the end."""
    open: set[str]
    asked: dict[str, _Asked] = msgspec.field(default_factory=dict)
    rival_ms: int = _NEVER
    due_ms: int = _NEVER

    def awaited(self) -> Iterator[tuple[str, _Asked]]:
        return (
            (node, progress) for node, progress in self.asked.items() if not progress.is_answered and not progress.is_given_up
        )

    def next_member(self) -> str | None:
        return next((member for member in self.part.members if member not in self.asked), None)

    @property
    def is_over(self) -> bool:
        if not self.open:
            return True
        if self.next_member() is not None:
            return False
        return all(
            progress.is_answered or (progress.is_given_up and (self.is_doubted or progress.is_dead))
            for progress in self.asked.values()
        )


class Round:
    """One round. Only decides: the caller sends what `start`, `tick` and `take` return."""

    def __init__(self, parts: Sequence[ReplicaSetShare], asker: Asker, start_ms: int, end_ms: int) -> None:
        """It lasts until `end_ms` at the latest."""
        self._node, self._latencies, settings = asker.node, asker.latencies, asker.settings
        self.start_ms, self.end_ms = start_ms, end_ms
        self._quests = {part.name: self._quest(part) for part in parts}
        # Those that somebody is still waited for.
        self._active = {name: quest for name, quest in self._quests.items() if not quest.is_over}
        self._lost_ms = _lost_ms(self._active.values(), end_ms - start_ms, settings, self._latencies)
        self._doubted_ms = max(1, settings.doubted_ms // _ASKS_MAX)
        self._censored_ms = settings.reask_ms
        self.requests = 0

    @property
    def names(self) -> Set[str]:
        return self._quests.keys()

    @property
    def is_over(self) -> bool:
        return not self._active

    @property
    def wake_at_ms(self) -> int:
        return min([self.end_ms, *(quest.due_ms for quest in self._active.values())])

    def move(self, start_ms: int, end_ms: int) -> None:
        """Give it other times: somebody has more to say than the first ones left room for."""
        self.start_ms, self.end_ms = start_ms, end_ms

    def has_ended(self, now_ms: int) -> bool:
        return now_ms >= self.end_ms or self.is_over

    def open_items(self) -> tuple[str, ...]:
        return tuple(sorted(item for quest in self._quests.values() for item in quest.open))

    def open_of(self, name: str) -> tuple[str, ...]:
        return tuple(sorted(self._quests[name].open))

    def asked(self) -> set[str]:
        return {node for quest in self._quests.values() for node in quest.asked} - {self._node}

    def answered(self, name: str) -> frozenset[str]:
        return frozenset(node for node, question in self._quests[name].asked.items() if question.is_answered)

    def parts_awaited_of(self, node: str) -> list[str]:
        return [n for n, quest in self._quests.items() if node in quest.asked and not quest.asked[node].is_answered]

    def start(self, now_ms: int) -> list[To]:
        out: list[To] = []
        for quest in self._active.values():
            # Asking them in turn would cost their timeouts one after the other.
            members = quest.part.members if quest.is_doubted else quest.part.members[:1]
            out.extend([self._first(quest, member, now_ms) for member in members])
            self._set_due(quest)
        self._latencies.asked(self.requests)
        return out

    def tick(self, now_ms: int) -> list[To]:
        """Requests due: rivals for the slow, another try with the silent, others in place of the lost."""
        if now_ms >= self.end_ms:
            return []
        due = [(name, quest) for name, quest in self._active.items() if quest.due_ms <= now_ms]
        out = [to for _, quest in due for to in self._overdue(quest, now_ms)]
        for name, quest in due:
            if quest.is_over:
                del self._active[name]
        return out

    def expects(self, sender: str, name: str) -> bool:
        """Whether a first answer of this node about this part is awaited and of use."""
        quest = self._quests.get(name)
        return bool(quest and quest.open and sender in quest.asked and not quest.asked[sender].is_answered)

    def note(self, sender: str, name: str, now_ms: int) -> None:
        """Take an answer, useful or not: its latency is recorded."""
        quest = self._quests.get(name)
        if quest is None or sender == self._node or (question := quest.asked.get(sender)) is None or question.is_answered:
            return
        self._latencies.mark_alive(sender)
        self._latencies.exchanged(sender, now_ms - question.first_ms, now_ms)
        # After a second request nobody can tell which of them was answered (Karn's rule).
        if question.times == 1:
            self._latencies.observe(now_ms - question.first_ms)
        question.is_answered = True

    def take(self, sender: str, name: str, missing: Collection[str], now_ms: int) -> list[To]:
        """An answer that speaks for all of a part but `missing`. Ask `expects` first."""
        quest = self._quests[name]
        self.note(sender, name, now_ms)
        quest.asked[sender].is_answered = True
        quest.open.intersection_update(missing)
        out: list[To] = []
        if quest.open and not any(quest.awaited()):
            out += self._others(quest, now_ms)
        if quest.is_over:
            self._active.pop(name, None)
        else:
            self._set_due(quest)
        return out

    def ask_for_rest(self, sender: str, name: str, missing: Collection[str], now_ms: int) -> list[To]:
        """An answer for all of a part but `missing`, of a member that has more to say. Ask `expects` first.

        It is asked at once, as if for the first time.
        """
        quest = self._quests[name]
        quest.open.intersection_update(missing)
        self.note(sender, name, now_ms)
        self._latencies.asked(int(sender != self._node))
        to = self._first(quest, sender, now_ms)
        self._active[name] = quest
        self._set_due(quest)
        return [to]

    def spoken_for(self, name: str, missing: Collection[str]) -> None:
        """A member outside this round covered all of a part but `missing`."""
        quest = self._quests[name]
        quest.open.intersection_update(missing)
        if quest.is_over:
            self._active.pop(name, None)

    def close(self, now_ms: int) -> tuple[str, ...]:
        """The round is over: which nodes stayed silent. A request that lost a race, and in no unusual time, is not silence."""
        silent: set[str] = set()
        for quest in self._quests.values():
            for node, question in quest.asked.items():
                if question.is_answered or node == self._node:
                    continue
                if quest.open:
                    self._latencies.unanswered(node, now_ms)
                waited_ms = now_ms - question.first_ms
                if waited_ms > self._latencies.slow_ms:
                    self._latencies.suspect(node, now_ms)
                    if question.times == 1:
                        # It counts as slow; leaving it out would make the quantile sink with every question.
                        self._latencies.observe(min(waited_ms, self._censored_ms))
                if quest.open or question.is_given_up or waited_ms >= self._lost_ms:
                    silent.add(node)
        return tuple(sorted(silent))

    def _quest(self, part: ReplicaSetShare) -> _Quest:
        now_ms, latencies = self.start_ms, self._latencies
        if len(part.members) > 1:
            # Sorting is stable: among equals the topology's order holds.
            order = sorted(dict.fromkeys(part.members), key=lambda m: m != self._node and 1 + latencies.doubt(m, now_ms))
            part = ReplicaSetShare(part.name, tuple(order), part.items)
        is_doubted = bool(part.members) and part.members[0] != self._node and latencies.doubt(part.members[0], now_ms) > 0
        return _Quest(part, is_doubted, set(part.items))

    def _first(self, quest: _Quest, member: str, now_ms: int) -> To:
        is_dead = member in self._latencies.suspects
        patience_ms = min(self._lost_ms, self._doubted_ms) if is_dead else self._lost_ms
        quest.asked[member] = _Asked(now_ms, now_ms, patience_ms, is_dead)
        quest.rival_ms = now_ms + self._latencies.slow_ms
        return self._to(quest, member)

    def _to(self, quest: _Quest, member: str) -> To:
        self.requests += member != self._node
        return To(member, quest.part.name)

    def _overdue(self, quest: _Quest, now_ms: int) -> list[To]:
        out = [to for node, question in list(quest.awaited()) for to in self._repeat(quest, node, question, now_ms)]
        member = quest.next_member()
        if member is not None:
            if not any(quest.awaited()):
                out += self._others(quest, now_ms)
            elif now_ms >= quest.rival_ms and member not in self._latencies.suspects:
                quest.rival_ms = now_ms + self._latencies.slow_ms
                if self._latencies.take_hedge():
                    out.append(self._first(quest, member, now_ms))
        self._set_due(quest)
        return out

    def _others(self, quest: _Quest, now_ms: int) -> list[To]:
        """Ask further members, as nobody is waited for any more."""
        # Where the next is believed dead, those after it too.
        left = [member for member in quest.part.members if member not in quest.asked]
        members = left if left and left[0] in self._latencies.suspects else left[:1]
        self._latencies.asked(len(members))
        return [self._first(quest, member, now_ms) for member in members]

    def _repeat(self, quest: _Quest, node: str, question: _Asked, now_ms: int) -> Iterator[To]:
        """Ask again what may have got lost; give up the second time. Within a node nothing gets lost."""
        if now_ms < self._due_ms(question):
            return
        if question.times < _ASKS_MAX and node != self._node:
            question.times, question.sent_ms = question.times + 1, now_ms
            yield self._to(quest, node)
        else:
            question.is_given_up = True
            if node != self._node:
                self._latencies.suspect(node, now_ms)

    def _set_due(self, quest: _Quest) -> None:
        due_ms = [self._due_ms(question) for _, question in quest.awaited()]
        member = quest.next_member() if due_ms and len(quest.asked) < len(quest.part.members) else None
        rival_ms = quest.rival_ms if member is not None and member not in self._latencies.suspects else _NEVER
        quest.due_ms = min([*due_ms, rival_ms])

    def _due_ms(self, question: _Asked) -> int:
        """Until when a reply is waited for. Giving up takes longer than asking again, where there is much time."""
        if question.times < _ASKS_MAX or question.is_dead:
            return question.sent_ms + question.patience_ms
        return question.sent_ms + max(question.patience_ms, (self.end_ms - self.start_ms) // 10)


def _lost_ms(quests: Collection[_Quest], left_ms: int, settings: ScatterSettings, latencies: Latencies) -> int:
    """After what time a request counts as lost: every member has time to be asked twice, and one more at the very least."""
    members = max((len(quest.part.members) for quest in quests), default=1)
    patience_ms = max(2 * latencies.slow_ms, left_ms // (_ASKS_MAX * members))
    return max(1, min(settings.reask_ms, patience_ms, left_ms // (_ASKS_MAX + 1)))


def effect(to: str, request: SearchRequest, node: str) -> Send | SearchLocal:
    """How `node` asks: itself without a message."""
    return SearchLocal(request, reply_to=node) if to == node else Send((to,), request)

"""Many members that only gossip, in one thread and virtual time: real shares, timetables and exchanges, a seeded network."""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from hive_mind.hive.effects import Now, Taken
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.replication import Gossip, GossipSettings
from hive_mind.hive.replication.exchange import Exchanges
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.evidence import Assertion, Reason, Sealed, Stamp, Statement, actor_id
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Message, RegistryEntry, SyncOffer, SyncState, SyncStep

ALL = "all"
PACK = msgspec.msgpack.Encoder().encode
DELAY_MS = 50


class Authority:
    """Believes everybody; what is in `expired` is over."""

    tenant = "default"

    def __init__(self, quota: int = 1 << 40, seal: Seal = UNSEALED) -> None:
        self.quota, self.seal = quota, seal
        self.removals_max = self.boots_max = 1 << 40
        self.expired: set[bytes] = set()

    def is_moderator(self, name: str) -> bool:
        return name == "moderator"

    def is_withdrawn(self, assertion: Assertion) -> bool:
        del assertion
        return False

    def is_expired(self, given: Sealed) -> bool:
        return given.dot in self.expired


class NoRegistry:
    """Nobody wrote anything to it."""

    def fingerprint(self, key: bytes) -> bytes:
        return key

    def entries(self) -> Iterable[RegistryEntry]:
        return ()


NO_REGISTRY = NoRegistry()


class Member:
    """A node that holds every partition it is given and does no more than exchange."""

    def __init__(
        self,
        name: str,
        chance: Random,
        settings: GossipSettings | None = None,
        partitions: Sequence[str] = (ALL,),
        quota: int = 1 << 40,
    ) -> None:
        self.name, self.chance, self.settings = name, chance, settings or GossipSettings()
        self.authority = Authority(quota)
        self.shares: dict[str, PartitionReplica] = {}
        self._stamps = itertools.count(1)
        self.meetings = 0
        self.is_greedy = False
        self.boot(partitions)

    def boot(self, partitions: Sequence[str] = ()) -> None:
        """Begin (again): what is held stays, what an exchange remembered does not."""
        self.incarnation = self.chance.randbytes(8)
        actor = actor_id(self.name, self.incarnation)
        self.gossip = Gossip(self.name, self.settings, self.chance)
        self.exchanges = Exchanges(self.incarnation, self.settings)
        for partition in partitions or tuple(self.shares):
            former, share = self.shares.get(partition), PartitionReplica(partition, actor, self.name, self.incarnation)
            if former is not None:
                _reload(share, former)
            self.shares[partition] = share

    @property
    def share(self) -> PartitionReplica:
        return next(iter(self.shares.values()))

    def say(self, *texts: str, confidence: float = 0.8, agent: str = "", partition: str = "") -> Taken:
        said = [self._assertion(text, confidence, agent or self.name) for text in texts]
        return self.shares[partition or self.share.partition].assert_all(said, self.authority)

    def _assertion(self, text: str, confidence: float, agent: str) -> Assertion:
        stamp = Stamp(1_000 + next(self._stamps), 0, actor_id(self.name, self.incarnation))
        return Assertion(fact_id(text), agent, f"{agent}/{text[:20]}", confidence, stamp, Statement(text))

    def take_back(self, text: str, by: str = "", why: Reason = "retracted") -> Taken:
        """As the author of each assertion, or as somebody else, who may or may not. "expired" convinces no other clock."""
        taken = Taken()
        for given in list(self.share.assertions(fact_id(text))):
            who, stamp = by or given.assertion.agent, Stamp(1_000 + next(self._stamps))
            taken.add(self.share.remove(fact_id(text), [given.dot], who, why, stamp, self.authority))
        return taken

    def contents(self) -> list[str]:
        return [given.assertion.statement.content for share in self.shares.values() for given in share.all_sealed()]

    def offer(self, now: Now, peer: str = "") -> SyncOffer:
        session = self.chance.randbytes(16)
        return self.exchanges.offer(session, self.shares.values(), NO_REGISTRY.fingerprint(session), now, peer)

    def receive(self, sender: str, message: Message, now: Now) -> Iterable[Message]:
        match message:
            case SyncOffer():
                is_welcome = self.gossip.admits(sender, now)
                return self.exchanges.on_offer(sender, message, self.shares, NO_REGISTRY, now) if is_welcome else ()
            case SyncState():
                return self.exchanges.on_state(sender, message, NO_REGISTRY) or ()
            case SyncStep():
                return self._receive_step(sender, message, now)
            case _:
                raise AssertionError(message)

    def _allowance(self, agent: str) -> int:
        """Little for an agent at its quota; a member that does not care sends all the same."""
        if self.is_greedy:
            return 1 << 40
        count = sum(given.assertion.agent == agent for given in self.share.all_sealed())
        return 1 << 40 if count < self.authority.quota else max(self.authority.quota // 20, 1)

    def _receive_step(self, sender: str, step: SyncStep, now: Now) -> Iterable[Message]:
        if (share := self.shares.get(step.partition)) is None or not self.exchanges.admits(sender, step):
            return ()
        share.take(step.adds, step.removals, step.heads, self.authority)
        answer = self.exchanges.on_step(sender, step, share, self._allowance)
        if answer.up_to or answer.beyond:
            share.join(answer.up_to, answer.beyond, step.heads, self.authority)
        if answer.deferred:
            self.gossip.resume(sender, now)
        return answer.messages


def _reload(share: PartitionReplica, former: PartitionReplica) -> None:
    """As from a journal."""
    for given in former.all_sealed():
        share.load("assertion", given.dot, PACK(given))
    for dot, removal in former.proofs().items():
        share.load("proof", dot, PACK(removal))
    for actor, head in former.heads.items():
        share.load("head", actor, PACK(head))
    context = former.members.context
    share.finish_loading(context.up_to, context.beyond)


class Crowd:
    """Members and the network between them. Messages take about `DELAY_MS`, are lost by chance, and cost what they are packed."""

    def __init__(self, members: Sequence[Member], chance: Random, loss: float = 0.0, *, counts_bytes: bool = True) -> None:
        self.members = {member.name: member for member in members}
        self.chance, self.loss, self.counts_bytes = chance, loss, counts_bytes
        self.ms = 0
        self.sent_bytes: Counter[str] = Counter()
        self.messages = 0
        self.counts_part_of, self.part_bytes = "", 0
        self.trust: dict[str, float] = {}
        self.passive: set[str] = set()
        self.is_cut: Callable[[str, str], bool] = lambda _sender, _receiver: False
        self._queue: list[tuple[float, int, str, str, Message | None]] = []
        self._numbers = itertools.count()
        for name, member in self.members.items():
            # Anywhere in a period: as a fleet is that has run for a while.
            member.gossip.start(Now(0, 0))
            self._wake(name, chance.uniform(0, member.settings.period_ms))

    def run(self, until_ms: int, is_done: Callable[[], bool] = lambda: False, check_every_ms: int = 0) -> bool:
        """Whether it was done by then; asked after every `check_every_ms`."""
        next_check = self.ms + check_every_ms
        while self._queue and self._queue[0][0] <= until_ms:
            at, _, sender, receiver, message = heapq.heappop(self._queue)
            while check_every_ms and at >= next_check:
                self.ms = next_check
                if is_done():
                    return True
                next_check += check_every_ms
            self.ms = int(at)
            self._happens(sender, receiver, message)
        self.ms = until_ms
        return is_done()

    def post(self, sender: str, receiver: str, messages: Iterable[Message]) -> None:
        for message in messages:
            self.messages += 1
            if self.counts_bytes:
                self.sent_bytes[sender] += len(PACK(message))
                if self.counts_part_of not in ("", sender) and isinstance(message, SyncStep):
                    agent = self.counts_part_of
                    self.part_bytes += sum(len(PACK(add)) for add in message.adds if add.assertion.agent == agent)
                    self.part_bytes += sum(len(PACK(removal)) for removal in message.removals if removal.by == agent)
            if self.chance.random() >= self.loss and not self.is_cut(sender, receiver):
                self._push(self.ms + self.chance.expovariate(1 / DELAY_MS), sender, receiver, message)

    def _happens(self, sender: str, receiver: str, message: Message | None) -> None:
        member, now = self.members[receiver], Now(self.ms, self.ms)
        if message is not None:
            self.post(receiver, sender, member.receive(sender, message, now))
            return
        if receiver not in self.passive:
            for peer in member.gossip.due(
                now, tuple(self.members), lambda name: self.trust.get(name, 1.0), member.exchanges.is_open
            ):
                self.post(receiver, peer, [member.offer(now, peer)])
        self._wake(receiver, max(member.gossip.wake_at_ms, self.ms + 1))

    def _wake(self, name: str, at: float) -> None:
        self._push(at, "", name, None)

    def _push(self, at: float, sender: str, receiver: str, message: Message | None) -> None:
        heapq.heappush(self._queue, (at, next(self._numbers), sender, receiver, message))


def exchange(here: Member, there: Member, chance: Random | None = None, loss: float = 0.0, twice: float = 0.0) -> int:
    """One exchange to its end, with messages lost, repeated and in any order if there is `chance`. How many were sent."""
    # A period later than its last one, so that nobody is told to come less often.
    here.meetings += 1
    now = Now(0, here.meetings * here.settings.period_ms)
    under_way: list[tuple[Member, Member, Message]] = [(here, there, here.offer(now))]
    sent = 0
    while under_way:
        sender, receiver, message = under_way.pop(chance.randrange(len(under_way)) if chance else 0)
        sent += 1
        if chance and chance.random() < loss:
            continue
        if chance and chance.random() < twice:
            under_way.append((sender, receiver, message))
        under_way += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, now)]
    return sent

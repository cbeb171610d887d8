"""A node together with its part in the membership: the unit a process runs.

Events about members go to `Membership`, those of applications to `AppMessages`, everything else to the node; a newly received
topology reaches the node in the same step.
The node is built only when it is known which topology holds: a topology in a journal is newer than any file, and a node that
joins with nothing but the address of a bus has to ask first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from hive_mind.counted import IN_A_LINE, first_of
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive import Chance
from hive_mind.hive.effects import (
    Acknowledge,
    Effect,
    Event,
    Evict,
    Kept,
    Leave,
    Now,
    Persist,
    Put,
    Rearrange,
    Received,
    Reconnected,
    Say,
    Tick,
)
from hive_mind.hive.membership import MEMBERSHIP, Membership
from hive_mind.hive.node import HiveNode
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.replication.reliable_channels import AppMessages
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.log import EVERYBODY, is_name
from hive_mind.model.messages import (
    AppMessage,
    AppMessageReceipt,
    Heartbeat,
    SearchReply,
    SearchRequest,
    TopologyRequest,
    TopologyUpdate,
)

NewNode = Callable[[Topology, bool], HiveNode]
"""Builds the node for a topology; whether the hive begins with it."""


class Member:
    """The part a runner runs. Call `start` once, then `handle` for each event; perform the effects in their order."""

    def __init__(self, new_node: NewNode, membership: Membership, chance: Chance) -> None:
        self.membership = membership
        self.app_messages = AppMessages(
            membership.name,
            lambda: membership.topology.nodes if membership.topology else (),
            chance,
            is_there=lambda name, now: name not in membership.suspects and membership.is_known(name, now),
        )
        self._new_node = new_node
        self._node: HiveNode | None = None
        self._journal: list[Kept] = []

    @property
    def name(self) -> str:
        return self.membership.name

    @property
    def is_ready(self) -> bool:
        """Whether there is a node; before that agents can do nothing."""
        return self._node is not None

    @property
    def node(self) -> HiveNode:
        """The node. Raises `BackendUnavailable` before it is known which hive this is."""
        if self._node is None:
            raise BackendUnavailable("hive", f"node {self.name} has not yet heard of any member; see that others run")
        return self._node

    def start(self, journal: Iterable[Kept], now: Now) -> list[Effect]:
        """Take back what the journal kept. Once, before the first event."""
        records = self.app_messages.start(journal, now)
        membership_records = [record for record in records if record.table == MEMBERSHIP and isinstance(record, Put)]
        self._journal = [record for record in records if record.table != MEMBERSHIP]
        effects = self.membership.start(membership_records, now)
        return [*self._build(now), *effects]

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Effects of an event, in this order. A `HiveError` refuses it and has changed nothing."""
        match event:
            case Say(to=to) if strangers := self._strangers(to, now):
                there = first_of(self.membership.topology.nodes if self.membership.topology else (), IN_A_LINE)
                raise InvalidInput(f"there is no member {strangers[0]!r}: send to one of {there}, or to everybody")
            case Say() | Received(_, AppMessage() | AppMessageReceipt()):
                return self.app_messages.handle(event, now)
            case Received(sender, Heartbeat() | TopologyUpdate() | TopologyRequest() as message, delivery):
                effects = self._followed(self.membership.receive(sender, message, now), now)
                return [*effects, Acknowledge(delivery)] if delivery else effects
            case Received(_, _, delivery) if self._node is None:
                # Nothing is promised, so a member that needs an answer asks again.
                return [Acknowledge(delivery)] if delivery else []
            case Received(sender, message, delivery) if isinstance(message, SearchRequest) and self._is_strange(sender, now):
                self.membership.refuse("a question from a node that is not a member and sends no heartbeat")
                return [Acknowledge(delivery)] if delivery else []
            case Tick():
                effects = [*self.app_messages.handle(event, now), *self._followed(self.membership.tick(now), now)]
                return effects if self._node is None else [*effects, *self._node.handle(event, now)]
            case Reconnected():
                effects = [*self.app_messages.handle(event, now), *self.membership.beat(now)]
                return effects if self._node is None else [*effects, *self._node.handle(event, now)]
            case Rearrange(topology):
                return self._followed(self.membership.adopt(topology, now), now)
            case Leave():
                return self.membership.leave(now)
            case Evict(member):
                return self._followed(self.membership.evict(member, now), now)
        return self.node.handle(event, now)

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """Search the replica for a peer; None where there is nothing to say."""
        return None if self._node is None else self._node.search(request, now)

    def index_some(self, now: Now) -> bool:
        return self._node is not None and self._node.index_some(now)

    def prepare(self, event: Event, now: Now) -> Iterator[None]:
        return iter(()) if self._node is None else self._node.prepare(event, now)

    def wake_at_ms(self, now: Now) -> int:
        wake_ms, again_ms = self.membership.wake_at_ms(now), self.app_messages.wake_at_ms()
        wake_ms = wake_ms if again_ms is None else min(wake_ms, again_ms)
        return wake_ms if self._node is None else min(wake_ms, self._node.wake_at_ms(now))

    def presume_silent(self, names: Iterable[str], now: Now) -> None:
        """These members have stopped, as a host knows that hosted them; questions go to others from now on."""
        self.membership.presume_silent(names, now)
        self.node.questions.latencies.suspects = self.membership.suspects

    def has_handed_over(self, now: Now) -> bool:
        """Whether there is nothing here that others still need. Those that are suspected get it from those that have it."""
        if self._node is None:
            return True
        topology, suspects = self._node.topology, self.membership.suspected(now)
        if topology.nodes == (self.name,):
            return True
        is_kept_elsewhere = not self._node.outbox.has_unkept() and _has_handed_over(self._node.partitions, suspects)
        return not self.membership.is_in and is_kept_elsewhere

    def _followed(self, effects: Sequence[Effect], now: Now) -> list[Effect]:
        """Effects of the membership, and their consequences for the node: all records first, then everything else."""
        all_effects = [*effects, *self._follow(now)]
        records = [record for effect in all_effects if isinstance(effect, Persist) for record in effect.records]
        later_effects: list[Effect] = [effect for effect in all_effects if not isinstance(effect, Persist)]
        return [Persist(records), *later_effects] if records else later_effects

    def _strangers(self, names: Sequence[str], now: Now) -> list[str]:
        """Receivers of whom nobody has heard. Until this node knows the members, there is no saying."""
        if self.membership.topology is None:
            return []
        return [name for name in names if name != EVERYBODY and is_name(name) and not self.membership.is_known(name, now)]

    def _is_strange(self, name: str, now: Now) -> bool:
        """Whether its questions go unanswered. A joining or leaving node gets answers: it must ask as members do."""
        return not self.membership.is_known(name, now)

    def _follow(self, now: Now) -> list[Effect]:
        """Tell the node what has come to be known."""
        news = self.membership.news()
        if self._node is None:
            return self._build(now)
        self._node.questions.latencies.suspects = self.membership.suspects
        self._node.partitions.expect(self.membership.outsiders(now))
        return [effect for step in news for effect in self._node.handle(Rearrange(step.topology, step.is_next), now)]

    def _build(self, now: Now) -> list[Effect]:
        topology = self.membership.topology
        if topology is None:
            return []
        is_founding = not self.membership.is_learned and self.membership.is_in
        self._node = self._new_node(topology, is_founding)
        journal, self._journal = self._journal, []
        return self._node.start(journal, now)


def _has_handed_over(partitions: Partitions, suspects: frozenset[str]) -> bool:
    """Whether of everything that moved away all holders that live have it, and one at the very least."""
    for partition, waiting in partitions.leaving.items():
        holders = set(partitions.topology.holders(partition)) - {partitions.node}
        if not waiting <= suspects or (holders and waiting >= holders):
            return False
    return True

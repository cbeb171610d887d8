"""Membership of a hive: members, liveness, and agreement on both.

Every node beats: it tells all others that it lives, which topology it knows, and whether it wants in or out. The topology is a
remembered value with an epoch, and of two the higher epoch wins everywhere; so it does not matter in which order, how often or
from which peer a node gets it. The next one is made by the unsuspected member of the smallest name. Two that both think they are
this member make different epochs, so one of their topologies wins, and a node taken in by the other one is still asking.

Where the hive has seals, every beat bears that of its sender and every topology that of its maker, which must have been a member
of the one before it; anything else is refused, from any sender. A boot that seals is heard once it has answered a beat of this
one: so beats replayed by a stranger keep no member alive and bring none back.

Only decides. Clocks: differences of the own monotonic one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive import Chance
from hive_mind.hive.effects import Effect, Now, Persist, Put, Send
from hive_mind.hive.heartbeats import Heartbeats, LivingBoots, MemberState, is_short, mark_of, state_of
from hive_mind.hive.policy import UNSEALED, Seal, is_sealed_heartbeat, sealed_heartbeat, sealed_topology
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.log import (
    EVERYBODY,
    Step,
    TopologyLog,
    TopologyVersion,
    is_believed,
    is_name,
    is_to_propose,
    is_too_far,
    next_epoch,
    pack,
    steps_of,
    successor,
    wanted,
)
from hive_mind.model.bounds import Setting
from hive_mind.model.messages import AnnouncedTopology, Heartbeat, MembershipMessage, TopologyRequest, TopologyUpdate

MEMBERSHIP = "membership"
TOPOLOGIES = b"topologies"

ALL = (EVERYBODY,)
"""To a bus: everybody of the hive but the sender."""

# Silent strangers stay visible for this multiple of the suspicion time-out.
_REMEMBERED = 20
_FINDINGS_MAX = 100
_NEVER_MS = 1 << 62
_TOO_FAR = "an epoch that no hive can have reached yet"


@dataclass(frozen=True)
class MembershipSettings:
    """Times in milliseconds. All members of a hive should have the same."""

    beat_ms: Annotated[int, Setting("beat_s", gt=0, le=600, per=1000)] = 1_000
    """Between two signs of life. Each goes to everybody: raise it for hives of hundreds of nodes, and suspectAfterS with it."""
    suspect_after_ms: Annotated[int, Setting("suspect_after_s", gt=0, le=3600, per=1000)] = 3_500
    """Silence after which a node is asked last and waited for no longer: three beats may get lost."""
    gone_after_ms: int = 0
    """So long it is silent before it is a member no longer and others take over what it held. 0: never, because it comes back.
    Copying everything it held costs more than waiting for a restart, so no less than some minutes."""
    settle_ms: int = 2_000
    """Joins and leaves that come within this time make one new topology. Raise it and there are fewer; each moves facts."""


class Membership:
    """One node's part in it. `start` once, then `receive` and `tick`; perform the effects in their order.

    `topology` is the one the hive began with, or None for a node that knows nothing but the bus. `wants_in`: to be a member, also
    again after the others removed it. `incarnation` is drawn anew at every boot. `seal` is the node's; its seals are for `hive`
    alone.
    """

    def __init__(
        self,
        name: str,
        incarnation: bytes,
        topology: Topology | None,
        settings: MembershipSettings,
        chance: Chance,
        *,
        joins: str | None = None,
        seal: Seal = UNSEALED,
        hive: str = "",
    ) -> None:
        if not is_name(name):
            raise InvalidInput(f"a node can't be called {name!r}: give it a short printable name")
        self.name, self.settings = name, settings
        self.is_leaving = False
        self.is_learned = False
        """Whether the topology is another than the one this node was made with."""
        self._incarnation, self._chance, self._joins = incarnation, chance, joins
        self._heartbeats, self._boots = Heartbeats(name, settings.suspect_after_ms), LivingBoots(incarnation)
        self._number = 0
        self._beat_at_ms = self._awake_ms = 0
        self._known_ms: dict[str, int] = {}
        """Since when this node knows that somebody is a member."""
        self._asked_ms: int | None = None
        self._pending_ms: int | None = None
        """Since when this node knows of joins or leaves that it is to deal with."""
        self.suspects: frozenset[str] = frozenset()
        """Members that had been silent for too long when this node last looked."""
        self._findings: list[str] = []
        self._twins: set[str] = set()
        self._seal, self._hive = seal, hive
        self._past = TopologyLog()
        if topology is not None:
            self._past = TopologyLog((self._made(topology, 0),))
        self._news: list[Step] = []
        self.refused: dict[str, int] = {}
        """Refused input, by reason."""

    @property
    def topology(self) -> Topology | None:
        return self._past.topology

    @property
    def is_in(self) -> bool:
        return self.name in self._past.members

    def start(self, journal: Iterable[Put], now: Now) -> list[Effect]:
        """Take back what the journal kept; the first beat."""
        for record in journal:
            if (record.table, record.key) == (MEMBERSHIP, TOPOLOGIES):
                past = TopologyLog.of(record.value)
                if past.epoch > self._past.epoch:
                    self._past, self.is_learned = past, True
        self._awake_ms = now.mono_ms
        self._known_ms = dict.fromkeys(self._past.members, now.mono_ms)
        return self.beat(now)

    def receive(self, sender: str, message: MembershipMessage, now: Now) -> list[Effect]:
        """A message of another node. Raises `WireError` for an invalid topology, before any change."""
        self._wake(now)
        match message:
            case Heartbeat():
                return self._hear(sender, message, now)
            case TopologyRequest(epoch):
                # A node without a topology has none to send, also where the epoch in the request is below any valid one.
                return [Send((sender,), self._past.since(epoch))] if self._past.epoch > max(epoch, 0) else []
            case TopologyUpdate():
                return self._learn(sender, message, now)

    def tick(self, now: Now) -> list[Effect]:
        self._wake(now)
        self._look_round(now)
        effects = self._propose(now)
        if now.mono_ms >= self._beat_at_ms:
            effects += self.beat(now)
            self._heartbeats.forget(self._past.members, now.mono_ms - _REMEMBERED * self.settings.suspect_after_ms)
        return effects

    def leave(self, now: Now) -> list[Effect]:
        """Ask to leave, until the process ends. Beats carry the wish."""
        self.is_leaving = True
        return self.beat(now)

    def adopt(self, topology: Topology, now: Now) -> list[Effect]:
        """A person, or this node itself, has made another topology. One of no higher epoch changes nothing."""
        if topology.epoch <= self._past.epoch:
            return []
        follows = self._past.epoch
        effect = self._keep((self._made(topology, follows),), now, is_next=True)
        return [effect, Send(ALL, self._past.since(follows))]

    def evict(self, name: str, now: Now) -> list[Effect]:
        """A person has decided that a member is gone for good. One that lives asks to be let in again. Raises `InvalidInput`."""
        topology, members = self.topology, self._past.members
        if topology is None or not self.is_in:
            raise InvalidInput(f"{self.name} is not a member itself, so it can't put {name} out of the hive")
        if name not in members:
            raise InvalidInput(f"{name} is not a member of this hive; its members are {', '.join(sorted(members))}")
        if name == self.name:
            raise InvalidInput(f"{name} can't put itself out of the hive; it can leave")
        epoch = next_epoch(self._past.epoch, self.name, self._incarnation)
        return self.adopt(successor(topology, members - {name}, epoch, self._heartbeats), now)

    def news(self) -> tuple[Step, ...]:
        """The topologies that came to hold since this was last asked, in their order."""
        steps, self._news = tuple(self._news), []
        return steps

    def wake_at_ms(self, now: Now) -> int:
        """Monotonic time at which `tick` has something to do."""
        del now
        settled = [] if self._pending_ms is None else [self._pending_ms + self.settings.settle_ms]
        return min([self._beat_at_ms, *settled])

    def suspected(self, now: Now) -> frozenset[str]:
        self._look_round(now)
        return self.suspects

    def outsiders(self, now: Now) -> frozenset[str]:
        """Nodes with heartbeats that are not members: one may have left, and still have something to hand over."""
        return (
            frozenset(name for name in self._heartbeats.names() if self._heartbeats.is_present(name, now.mono_ms))
            - self._past.members
        )

    def is_known(self, name: str, now: Now) -> bool:
        return name in self._past.members or self._heartbeats.is_present(name, now.mono_ms)

    def refuse(self, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def presume_silent(self, names: Iterable[str], now: Now) -> None:
        """These members have stopped, as a host knows that hosted them: none is waited for until it is heard."""
        self._wake(now)
        self._known_ms |= dict.fromkeys(names, now.mono_ms - self.settings.suspect_after_ms - 1)
        self._look_round(now)

    def silent_ms(self, name: str, now: Now) -> int:
        """For how long nothing was heard of a member; where nothing ever was, since this node knows that it is one."""
        last = self._heartbeats.get(name)
        return now.mono_ms - (last.received_ms if last else self._known_ms.get(name, now.mono_ms))

    def heard(self, now: Now) -> frozenset[str]:
        """All that were ever heard, but for members that are silent now."""
        return frozenset(self._heartbeats.names()) - self.suspected(now)

    def view(self, now: Now) -> tuple[MemberState, ...]:
        names = sorted(self._past.members | set(self._heartbeats.names()))
        suspects = self.suspected(now)
        return tuple(
            state_of(name, self._heartbeats, now.mono_ms, is_member=name in self._past.members, is_suspect=name in suspects)
            for name in names
        )

    def findings(self) -> tuple[str, ...]:
        findings, self._findings = tuple(self._findings[:_FINDINGS_MAX]), []
        return findings

    def _hear(self, sender: str, beat: Heartbeat, now: Now) -> list[Effect]:
        # A beat without a number only tests the bus.
        if beat.number <= 0 or not is_name(sender) or not self._is_genuine(sender, beat):
            return []
        is_present = self._heartbeats.is_present(sender, now.mono_ms)
        lives = not beat.seal or self._boots.note_answer(sender, beat, is_present=is_present)
        reply = self._reply(sender, beat, now, lives=lives)
        is_fresh = lives and self._heartbeats.record(sender, beat, now.mono_ms)
        if not self._heartbeats.has_twin(sender, now.mono_ms):
            self._twins.discard(sender)
        elif sender not in self._twins:
            self._twins.add(sender)
            self._find(f"two processes call themselves {sender}: stop one of them or give it another name")
        if not is_fresh:
            return reply
        if sender in self.suspects:
            self._look_round(now)
        return reply + (self._ask(sender, now) if beat.epoch > self._past.epoch else [])

    def _reply(self, sender: str, beat: Heartbeat, now: Now, *, lives: bool) -> list[Effect]:
        """A beat for the sender alone, where it asks for one, or has to show that it lives."""
        if sender == self.name:
            return []
        asks = not lives and self._boots.ask_if_due(sender, beat, self._number + 1, now.mono_ms, self.settings.beat_ms)
        if not asks and not beat.asks:
            return []
        return [Send((sender,), self._said(now, asks=asks, answers=mark_of(beat) if beat.asks else b""))]

    def _is_genuine(self, sender: str, beat: Heartbeat) -> bool:
        # The last heartbeat of each sender is kept, also of strangers: so its size is bounded.
        if not is_short(beat):
            self.refuse("a beat longer than any of ours")
            return False
        if not is_sealed_heartbeat(self._seal, self._hive, sender, beat):
            self.refuse("a beat that its sender did not seal")
            return False
        # A node that waits for a topology beyond the limit would make no other meanwhile.
        if is_too_far(beat.epoch, self._past.epoch):
            self.refuse(_TOO_FAR)
            return False
        return True

    def _ask(self, whom: str, now: Now) -> list[Effect]:
        """Ask what holds; one at a time, as everybody has the same to tell, and the next may be asked if this one does not."""
        if self._asked_ms is not None and now.mono_ms - self._asked_ms < self.settings.beat_ms:
            return []
        self._asked_ms = now.mono_ms
        return [Send((whom,), TopologyRequest(self._past.epoch))]

    def _learn(self, sender: str, update: TopologyUpdate, now: Now) -> list[Effect]:
        if update.epoch <= self._past.epoch:
            return []
        steps = steps_of(update)
        if is_too_far(update.epoch, self._past.epoch):
            self.refuse(_TOO_FAR)
            return []
        if not is_believed(self._seal, self._hive, self._past, steps, self._heartbeats):
            self.refuse("a topology that no member of the one before it made and sealed")
            return []
        is_next = steps[0].announced.follows == self._past.epoch != 0
        if update.follows and self._past.epoch and not is_next:
            # Something came between that would be missed.
            return self._ask(sender, now)
        return [self._keep(steps if is_next else steps[-1:], now, is_next=is_next)]

    def _find(self, finding: str) -> None:
        if finding not in self._findings:
            self._findings.append(finding)

    def _wake(self, now: Now) -> None:
        """Time in which this node slept is not held against the others, which could not be heard."""
        slept_ms = now.mono_ms - self._awake_ms - 2 * self.settings.beat_ms
        # A beat may have come a little before it was read.
        self._awake_ms = max(self._awake_ms, now.mono_ms)
        if slept_ms > 0:
            self._known_ms = {name: at_ms + slept_ms for name, at_ms in self._known_ms.items()}
            self._heartbeats.excuse(slept_ms)

    def _look_round(self, now: Now) -> None:
        after_ms = self.settings.suspect_after_ms
        peers = self._past.members - {self.name}
        self.suspects = frozenset(name for name in peers if self.silent_ms(name, now) > after_ms)

    def beat(self, now: Now) -> list[Effect]:
        """Say now that this node lives, whenever the next beat was due. Without beats nothing is, and nobody is suspected."""
        if not self.settings.beat_ms:
            self._beat_at_ms = _NEVER_MS
            return []
        # A tenth of jitter either way: nodes that started together would otherwise always beat together.
        self._beat_at_ms = now.mono_ms + int(self.settings.beat_ms * self._chance.uniform(0.9, 1.1))
        return [Send(ALL, self._said(now))]

    def _said(self, now: Now, *, asks: bool = False, answers: bytes = b"") -> Heartbeat:
        self._number += 1
        wants_in, past = self._joins is not None and not self.is_leaving, self._past
        head = (self._incarnation, self._number, past.epoch, past.digest, wants_in, self.is_leaving, self._joins or "")
        beat = sealed_heartbeat(self._seal, self._hive, self.name, Heartbeat(*head, asks=asks, answers=answers))
        self._heartbeats.touch(beat, now.mono_ms)
        return beat

    def _made(self, topology: Topology, follows: int) -> TopologyVersion:
        announced = AnnouncedTopology(pack(topology), self.name, follows)
        return TopologyVersion(topology, sealed_topology(self._seal, self._hive, announced))

    def _keep(self, steps: Sequence[TopologyVersion], now: Now, *, is_next: bool) -> Persist:
        for step in steps:
            self._news.append(Step(step.topology, is_next))
            self._past = self._past.followed_by(step, is_next=is_next)
        self.is_learned, self._pending_ms = True, None
        self._known_ms = {name: self._known_ms.get(name, now.mono_ms) for name in self._past.members}
        self._look_round(now)
        return Persist([Put(MEMBERSHIP, TOPOLOGIES, self._past.packed())])

    def _propose(self, now: Now) -> list[Effect]:
        """Make the next topology, if that is this node's task and there was time for others to say what they want too."""
        topology = self.topology
        is_proposer = is_to_propose(self.name, self._past.members, self.suspects, self._heartbeats, now.mono_ms)
        if topology is None or not is_proposer or not self._needs_another(now):
            self._pending_ms = None
            return []
        if self._pending_ms is None:
            self._pending_ms = now.mono_ms
        if now.mono_ms - self._pending_ms < self.settings.settle_ms:
            return []
        epoch = next_epoch(self._past.epoch, self.name, self._incarnation)
        try:
            return self.adopt(successor(topology, self._wanted(now), epoch, self._heartbeats), now)
        except WireError as error:
            self._pending_ms = None
            self._find(f"no topology can be made of the nodes that want to be members: {error}")
            return []

    def _needs_another(self, now: Now) -> bool:
        """Whether members come or go; or some know another topology of the same epoch, which one of a higher one must replace."""
        beats = self._heartbeats.fresh(now.mono_ms)
        if any(beat.epoch > self._past.epoch for beat in beats):
            return False
        is_torn = any(beat.epoch == self._past.epoch and beat.digest != self._past.digest for beat in beats)
        return is_torn or self._wanted(now) != self._past.members

    def _wanted(self, now: Now) -> frozenset[str]:
        limit_ms = self.settings.gone_after_ms
        peers = self._past.members - {self.name} if limit_ms else frozenset[str]()
        return wanted(
            self._past.members, (name for name in peers if self.silent_ms(name, now) > limit_ms), self._heartbeats, now.mono_ms
        )

"""One member of a hive: a node, the agents attached to it with their memories, and the bus to the others.

Founders of a hive all give the same list of initial members; a member that joins gives only the bus. Mostly a
process is one member with one agent; `open_node` is for those that are more.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.bus.base import EventBus
from hive_mind.bus.dead_letters import file_of
from hive_mind.cognition.reader import Reader
from hive_mind.embed.base import Embedder
from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import Now
from hive_mind.hive.member import Member
from hive_mind.hive.membership.membership import Membership, MembershipSettings
from hive_mind.hive.policy.seal import UNSEALED, Seal
from hive_mind.hive.replication.app_messages import AppMessages
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.placement import PARTITIONS, REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, Founding, spec_of
from hive_mind.identity.cipher import Cipher
from hive_mind.identity.envelopes import Signing
from hive_mind.identity.seals import KeySeal
from hive_mind.memory.base import Hive
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.model.messages import Heartbeat, Receipt
from hive_mind.opening import opening
from hive_mind.runtime.buses import open_bus, open_buses
from hive_mind.runtime.erasure.erasing import Eraser
from hive_mind.runtime.members.members_seen import MembersSeen, members_seen
from hive_mind.runtime.members.nodes import Borrowed, News, fresh_chance, make_node, open_journal
from hive_mind.runtime.node.app_message_log import AppMessageLog
from hive_mind.runtime.node.base import HIVE, RunnerSettings, system_clock
from hive_mind.runtime.node.encrypted_bus import encrypted
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.node.requests import ByDomain
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.secrets.keys import KeyFolder, Proof
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, quoting_reader
from hive_mind.runtime.workers.status import HANGS_AFTER_S

__all__ = ["MemberPlan", "Report", "RunningMember", "open_bus", "open_member", "open_node"]

Report = Callable[[str], None]

_POLL_S = 0.05
# A member of another machine may be cut off for a moment only.
_DEAD_AFTER = 3


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """The identity of a process in its hive. `members` are all founders; in a federated hive each may be "group:name".

    `searches`: another bus for messages that matter only while they are fresh. Joining needs neither topology nor members.
    """

    name: str
    bus: str
    hive: str = HIVE
    topology: str = DEFAULT
    members: tuple[str, ...] = ()
    group: str = ""
    is_joining: bool = False
    searches: str = ""
    replicas: int = REPLICAS
    partitions: int = PARTITIONS
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Federated: words by group."""
    broadcast_threshold: float = BROADCAST_THRESHOLD
    routes_by_domain: bool = False
    """Federated: questions with a group's words are put to that group first."""
    proof: Proof | None = None
    """How it proves its identity, and wants others to; None: any client that may write to the bus is trusted."""
    gate: PromotionSettings = field(default_factory=PromotionSettings)
    nodes: HiveSettings = field(default_factory=HiveSettings)
    membership: MembershipSettings = field(default_factory=MembershipSettings)
    # A broker may take its time, and nobody else waits for it.
    runner: RunnerSettings = field(default_factory=lambda: RunnerSettings(outgoing=OutgoingSettings(wait_s=5.0)))

    def founding(self) -> Topology | None:
        """The topology that the hive begins with; None for a member that joins. Raises `InvalidInput`."""
        if self.is_joining:
            return None
        names = tuple(dict.fromkeys(member.rpartition(":")[2] for member in self.members))
        if self.name not in names or len(names) < len(self.members):
            raise InvalidInput(f"--members must list every founding member, including {self.name}; later members use --join")
        spec = spec_of(self.topology)
        groups = _groups(self.members) if "groups" in spec.settings else {"": names}
        return spec.build(
            Founding(
                groups,
                self.domains,
                self.broadcast_threshold,
                replicas=self.replicas,
                partitions=self.partitions,
            )
        )


@dataclass(eq=False)
class RunningMember:
    """Open one with `open_member`; close it, or use it with `async with`."""

    plan: MemberPlan
    member: Member
    app_messages: AppMessages
    message_log: AppMessageLog
    desk_pages: DeskPages
    runner: NodeRunner
    _release: Callable[[], Awaitable[None]]
    signing: Signing | None
    unread: Counter[str]
    """Messages that came and were not encrypted for it, by reason."""
    is_kept: bool
    """Whether its agents' memories outlive the process."""

    def __post_init__(self) -> None:
        self.agents: dict[str, LearningAgent] = {}
        self._memories: dict[str, DistributedCognitiveMemory] = {}
        self._news, self._eraser = News(self.runner), Eraser(self.plan.name, self.runner)

    def now(self) -> Now:
        return system_clock()

    def attach(self, name: str, local: CognitiveMemory, reader: Reader) -> LearningAgent:
        """Let an agent share this node: its memory is its own, and what it may share goes to the hive from here."""
        hive: Hive = ByDomain(self.runner) if self.plan.routes_by_domain else self.runner
        forgets = self.plan.nodes.standing.expiry.is_on
        memory = DistributedCognitiveMemory(
            local, hive, agent=name, gate=self.plan.gate, forgets=forgets, has_lost=self._has_lost
        )
        self._news.attach(memory)
        self._memories[name] = memory
        agent = self.agents[name] = LearningAgent(name, memory, reader)
        return agent

    def _has_lost(self) -> bool:
        return self.member.is_ready and self.member.node.partitions.has_lost

    @property
    def agent(self) -> LearningAgent:
        """The first, or only one."""
        return next(iter(self.agents.values()))

    @property
    def memory(self) -> DistributedCognitiveMemory:
        """The first agent's."""
        return next(iter(self._memories.values()))

    def look_at_keys(self) -> None:
        """Take in what was issued and revoked in its folder since. Raises `ConfigError`."""
        if self.plan.proof is not None and self.signing is not None:
            KeyFolder(self.plan.proof.folder, self.plan.hive).refresh(self.signing)

    @property
    def secret_epoch(self) -> int:
        """Number of the newest epoch that it encrypts in, or waits for the key of; 0 where it encrypts nothing."""
        epochs = self.signing.epochs if self.signing is not None else None
        return epochs.newest if epochs is not None else 0

    @property
    def keyless(self) -> str:
        """Why it can't encrypt, where it has to; "" else."""
        epochs = self.signing.epochs if self.signing is not None else None
        return epochs.lack if epochs is not None else ""

    async def erase(self) -> None:
        """Carry out what the hive is to forget, as far as it is known here. To be called again and again."""
        if self.is_in:
            node = self.member.node
            await self._eraser.look(node.registry, self._memories, system_clock().wall_ms, node.partitions.erased)

    def silent(self) -> tuple[str, ...]:
        """Members that were not heard lately, or never."""
        states = self.member.membership.view(system_clock())
        names = {state.name for state in states if state.state != "suspected" and state.silent_ms is not None}
        topology = self.member.membership.topology
        return tuple(name for name in (topology.nodes if topology else ()) if name != self.plan.name and name not in names)

    def dead(self, is_running: Callable[[str], bool]) -> tuple[str, ...]:
        """Members that said nothing for `_DEAD_AFTER` times the time after which one is suspected.

        For `HANGS_AFTER_S` where the process runs all the same, or was not heard yet since this node began.
        """
        membership, now = self.member.membership, system_clock()
        names = {state.name for state in membership.view(now) if state.silent_ms is not None}
        soon_ms, late_ms = _DEAD_AFTER * self.plan.membership.suspect_after_ms, int(HANGS_AFTER_S * 1000)
        silent = {name: membership.silent_ms(name, now) for name in self.silent()}
        may_be = [name for name, ms in silent.items() if ms > soon_ms]
        return tuple(name for name in may_be if silent[name] > late_ms or (name in names and not is_running(name)))

    @property
    def ahead_ms(self) -> int:
        """By how much the clock of this machine is ahead of those of the other members."""
        return self.member.node.time.ahead_ms(system_clock()) if self.member.is_ready else 0

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that was begun here: to others, to the memory, or into an index."""
        if not self.member.is_ready:
            return True
        node = self.member.node
        is_open = len(node.outbox) or self.app_messages.unconfirmed or node.replica.is_behind
        return bool(is_open or self._news.is_busy or self.runner.is_busy)

    @property
    def is_in(self) -> bool:
        """Whether it is a member by now, and knows of which hive."""
        return self.member.is_ready and self.member.membership.is_in

    async def until_ready(self, timeout_s: float, report: Report) -> tuple[str, ...]:
        """As `until_in`, and then everything pending was sent to the hive."""
        silent = await self.until_in(timeout_s, report)
        for memory in self._memories.values():
            await memory.settle()
        return silent

    async def until_in(self, timeout_s: float, report: Report) -> tuple[str, ...]:
        """Return when the bus carries what is sent, and all members were heard, or with those that were not heard in time.

        Raises `BackendError` where the bus carries nothing, or nobody took a joiner in.
        """
        until_s = asyncio.get_running_loop().time() + timeout_s
        await self.runner.ping(Receipt(""), timeout_s=timeout_s)
        if self.plan.searches:
            await self.runner.ping(Heartbeat(b"", 0, 0), timeout_s=timeout_s)
        if waited_for := ", ".join(self.silent()) or ("" if self.is_in else "somebody to take it in"):
            report(f"waiting for {waited_for}")
        # Nothing tells when a beat has come, and it is waited for only once.
        while (self.silent() or not self.is_in) and asyncio.get_running_loop().time() < until_s:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        if not self.is_in:
            raise BackendTimeout(
                "hive", f"nobody took {self.plan.name} in within {timeout_s:g} s; does hive {self.plan.hive!r} run here?"
            )
        return self.silent()

    async def leave(self, timeout_s: float) -> bool:
        """Hand everything over and be a member no more; whether that was done in time."""
        until_s = asyncio.get_running_loop().time() + timeout_s
        await self.runner.leave()
        while not self.member.has_handed_over(system_clock()):
            if asyncio.get_running_loop().time() > until_s:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    def members_seen(self) -> MembersSeen:
        return members_seen(self.member, system_clock())

    async def close(self) -> None:
        """Finish what is under way; others keep what this one had to say, or it says it when it comes back."""
        try:
            await asyncio.gather(*(agent.close() for agent in self.agents.values()))
        finally:
            await self._release()
            await self._news.finish()


@opening
async def open_member(settings: Settings, plan: MemberPlan, embedder: Embedder, bus: EventBus | None = None) -> RunningMember:
    """Connect and begin, with one agent called like the node.

    `embedder` stays open; a `bus` that is handed in, too. Raises `ConfigError` or `BackendError`.
    """
    local = memory_with(settings, plan.name, Borrowed(embedder))
    running = await open_node(settings, plan, embedder, bus)
    running.attach(plan.name, local, quoting_reader(settings))
    return running


async def open_node(settings: Settings, plan: MemberPlan, embedder: Embedder, bus: EventBus | None = None) -> RunningMember:
    """The same without an agent: `attach` as many as there are."""
    founding, signing = plan.founding(), _signing(plan)
    seal = KeySeal(signing.keyring, plan.hive, is_required=signing.is_required) if signing else UNSEALED
    opened = bus or await open_buses(plan.bus, plan.searches, settings.home / "hives" / plan.hive, plan.name)
    unread = Counter[str]()
    carrier = _carrier(opened, signing, plan, unread)
    runner: NodeRunner | None = None

    async def release() -> None:
        if runner is not None:
            await runner.close()
        if bus is None:
            await opened.close()

    try:
        chance = fresh_chance()
        tuned = _tuned(plan.nodes, carrier.capabilities.envelope_bytes_max)
        membership = _membership(plan, founding, chance, seal)
        member = Member(
            lambda topology, is_founding: make_node(
                plan.name, topology, tuned, settings, embedder, is_founding=is_founding, seal=seal
            ),
            membership,
        )
        app_messages = AppMessages(
            member,
            lambda: membership.topology.nodes if membership.topology else (),
            chance,
            is_there=lambda name, now: name not in membership.suspects and membership.is_known(name, now),
        )
        message_log = AppMessageLog(lambda: app_messages.kept)
        # Before anything can come.
        desk_pages = DeskPages(plan.name, message_log.write, partial(_is_there, app_messages), lambda: app_messages.kept)
        app_messages.deliver_to(desk_pages.write)
        journal = await open_journal(settings, plan.hive, plan.name)
        runner = NodeRunner(
            app_messages,
            journal,
            carrier,
            settings=replace(plan.runner, hive=plan.hive),
            knows=lambda name: membership.topology is not None and name in membership.topology.nodes,
            signing=signing,
            letters=None if settings.store == "memory" else file_of(settings.home / "hives" / plan.hive, plan.name),
        )
        await runner.start()
    except BaseException:
        await release()
        raise
    is_kept = settings.store != "memory"
    return RunningMember(plan, member, app_messages, message_log, desk_pages, runner, release, signing, unread, is_kept)


def _signing(plan: MemberPlan) -> Signing | None:
    if (proof := plan.proof) is None:
        return None
    return KeyFolder(proof.folder, plan.hive).signing(proof.name, proof.mode, proof.key, is_encrypted=proof.is_encrypted)


def _membership(plan: MemberPlan, founding: Topology | None, chance: Chance, seal: Seal) -> Membership:
    boot, settings = secrets.token_bytes(8), plan.membership
    return Membership(plan.name, boot, founding, settings, chance, joins=plan.group, seal=seal, hive=plan.hive)


def _carrier(bus: EventBus, signing: Signing | None, plan: MemberPlan, unread: Counter[str]) -> EventBus:
    """The bus as a node has it: where that is wanted, it carries nothing in plain."""
    if signing is None or signing.epochs is None:
        return bus
    return encrypted(bus, Cipher(signing.epochs, plan.hive, plan.nodes.standing.tenant), unread)


def _tuned(nodes: HiveSettings, bytes_max: int | None) -> HiveSettings:
    """Batches, steps and answers that fit a message of this bus."""
    if bytes_max is None:
        return nodes
    # The rest is for what is beside assertions, proofs and spans: heads, what was seen, and the envelope.
    most = bytes_max * 3 // 4
    batch, step = min(nodes.delivery.batch_bytes_max, most), min(nodes.gossip.step_bytes_max, most)
    delivery, gossip = replace(nodes.delivery, batch_bytes_max=batch), replace(nodes.gossip, step_bytes_max=step)
    scatter = replace(nodes.scatter, reply_bytes_max=min(nodes.scatter.reply_bytes_max, most))
    return replace(nodes, delivery=delivery, gossip=gossip, scatter=scatter)


def _groups(members: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Names by group; those without one in pairs."""
    groups: dict[str, list[str]] = {}
    free = [member for member in members if ":" not in member]
    for number, name in enumerate(free):
        groups.setdefault(f"group-{number // 2}", []).append(name)
    for member in members:
        group, colon, name = member.partition(":")
        if colon:
            groups.setdefault(group, []).append(name)
    return {group: tuple(names) for group, names in groups.items()}


def _is_there(messages: AppMessages, name: str) -> bool:
    return messages.is_there(name, system_clock())

"""The host of one process: the only one that opens nodes, with their journals, and memories at them; it closes all in one order.

A program's fleet, a worker and a process that is one member of a hive differ in what they put at its nodes, and over which bus.
"""

import asyncio
import logging
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Generic, TypeVar, cast

from hive_mind import backends
from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.awaiting import Closable, opening
from hive_mind.bus import EventBus
from hive_mind.bus.dead_letters import file_of
from hive_mind.embed import Embedder
from hive_mind.errors import HiveError
from hive_mind.hive.member import Member
from hive_mind.hive.membership import Membership
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import UNSEALED, Seal
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.identity import KeySeal
from hive_mind.identity.epochs import Cipher, Signing
from hive_mind.journal import Journal
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.buses import open_buses
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.member import AppMessageLog, RunningMember
from hive_mind.runtime.node import system_clock
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.routes import encrypted
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, quoting_reader, vector_arms

# So a node that has nothing to do reads twice a second, however many others beat.
_GATHER_S = 0.5

_log = logging.getLogger(__name__)

Agent = TypeVar("Agent", bound=Closable)
"""The thing that a process has at a node: a memory, or an agent with more than that."""


class Host(Generic[Agent]):
    """Nodes over one bus, and the agents at them, by name. `embedder` is shared by all memories.

    It closes what it `owns`; an embedder and a bus that are not said to be its own stay open.
    """

    def __init__(self, settings: Settings, embedder: Embedder, bus: EventBus | None = None) -> None:
        self.settings, self.embedder, self.bus = settings, embedder, bus
        self.nodes: dict[str, RunningMember] = {}
        self.agents: dict[str, Agent] = {}
        self._owned: list[Closable] = []

    def owns(self, *parts: Closable) -> None:
        """They are closed with it, the last first."""
        self._owned += parts

    def memory_of(
        self, agent: str, node: RunningMember | None, ranking: RankingSettings | None = None
    ) -> CognitiveMemory | DistributedCognitiveMemory:
        """An agent's memory, which shares at its node if it has one. Raises `ConfigError`."""
        local = memory_with(self.settings, agent, Borrowed(self.embedder), ranking)
        return node.attach(agent, local) if node else local

    async def open_node(
        self, plan: MemberPlan, founding: Topology | None = None, closing: AsyncExitStack | None = None
    ) -> RunningMember:
        """A node that has begun. `founding`: the topology of a hive that is all here; `closing`: of what is closed behind it.

        Raises `ConfigError` or `BackendError`.
        """
        assert self.bus is not None  # noqa: S101 - it is opened before any node
        founding, signing, unread = founding or plan.founding(), _signing(plan), Counter[str]()
        seal = KeySeal(signing.keyring, plan.hive, is_required=signing.is_required) if signing else UNSEALED
        carrier = _carrier(self.bus, signing, plan, unread)
        chance, boot = fresh_chance(), secrets.token_bytes(8)
        tuned = _tuned(plan.nodes, carrier.capabilities.envelope_bytes_max)
        membership = Membership(plan.name, boot, founding, plan.membership, chance, joins=plan.group, seal=seal, hive=plan.hive)
        member = Member(
            lambda topology, is_founding: self._new_node(plan.name, topology, tuned, seal, is_founding=is_founding),
            membership,
            chance,
        )
        messages, is_kept = member.app_messages, self.settings.store != "memory"
        message_log = AppMessageLog(lambda: messages.kept)
        desk_pages = DeskPages(
            plan.name, message_log.write, lambda name: messages.is_there(name, system_clock()), lambda: messages.kept
        )
        # Before anything can come.
        messages.deliver_to(desk_pages.write)
        folder = self.settings.home / "hives" / plan.hive
        runner = NodeRunner(
            member,
            await self._journal(plan),
            carrier,
            settings=replace(plan.runner, hive=plan.hive, gather_s=lambda: _gather_s(membership)),
            knows=lambda name: membership.topology is not None and name in membership.topology.nodes,
            signing=signing,
            letters=file_of(folder, plan.name) if is_kept else None,
        )
        try:
            await runner.start()
        except BaseException:
            await runner.close()
            raise
        running = self.nodes[plan.name] = RunningMember(
            plan, member, message_log, desk_pages, runner, closing or AsyncExitStack(), signing, unread, is_kept
        )
        return running

    async def close(self) -> None:
        """Agents first, so that what they still want to share is taken; then nodes, then what it owns. Twice is fine.

        All of it, whatever fails. Raises what failed first.
        """
        agents, nodes, owned = list(self.agents.values()), list(self.nodes.values()), self._owned[::-1]
        self.agents, self.nodes, self._owned = {}, {}, []
        failures = await all_of((agent.close() for agent in agents), "an agent")
        failures += await all_of((node.close() for node in nodes), "a node")
        for part in owned:
            failures += await all_of([part.close()], type(part).__name__)
        if failures:
            raise failures[0]

    def _new_node(self, name: str, topology: Topology, hive: HiveSettings, seal: Seal, *, is_founding: bool) -> HiveNode:
        """A node that finds by the vectors of this embedder."""
        embedder, new_arm = self.embedder, vector_arms(self.settings)
        return HiveNode(
            name,
            topology,
            chance=fresh_chance(),
            settings=replace(hive, model=embedder.model),
            new_arm=lambda: new_arm(embedder.dimension) if embedder.dimension else None,
            is_founding=is_founding,
            seal=seal,
        )

    async def _journal(self, plan: MemberPlan) -> Journal:
        """In a file beside the agents' databases, or nowhere where these keep nothing either."""
        kind = "memory" if self.settings.store == "memory" else "sqlite"
        path = self.settings.home / "hives" / plan.hive / f"{plan.name}.sqlite"
        return cast(Journal, await backends.load("journal", kind).open(path))


@opening
async def open_member(settings: Settings, plan: MemberPlan, embedder: Embedder, bus: EventBus | None = None) -> RunningMember:
    """Connect and begin, with one agent called like the node.

    `embedder` stays open; a `bus` that is handed in, too. Raises `ConfigError` or `BackendError`.
    """
    local, closing = memory_with(settings, plan.name, Borrowed(embedder)), AsyncExitStack()
    try:
        if bus is None:
            bus = await open_buses(plan.bus, plan.searches, settings.home / "hives" / plan.hive, plan.name)
            closing.push_async_callback(bus.close)
        running = await Host[LearningAgent](settings, embedder, bus).open_node(plan, closing=closing)
    except BaseException:
        await closing.aclose()
        raise
    running.agent = LearningAgent(plan.name, running.attach(plan.name, local), quoting_reader(settings))
    closing.push_async_callback(running.agent.close)
    return running


async def all_of(work: Iterable[Awaitable[None]], subject: str) -> list[Exception]:
    """Do all of it; a failure is logged and stops no other."""
    outcomes = [outcome for outcome in await asyncio.gather(*work, return_exceptions=True) if isinstance(outcome, Exception)]
    for outcome in outcomes:
        if isinstance(outcome, HiveError):
            _log.warning("%s: %s", subject, outcome)
        else:
            _log.error("%s: %s", subject, outcome, exc_info=outcome)
    return outcomes


def fresh_chance() -> random.Random:
    """Chance that no other boot of any node has."""
    return random.Random(secrets.randbits(128))  # noqa: S311 - for jitter and names that must not repeat


class Borrowed:
    """An embedder many memories use; its owner closes it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.embed_passages, self.embed_query = embedder.embed_passages, embedder.embed_query

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def close(self) -> None:
        """Nothing: it is borrowed."""


def _gather_s(membership: Membership) -> float:
    """For how long beats may wait to be read together: for half of one, and so that one may still get lost beside that.

    Not at all while a member is silent: its return is heard at once.
    """
    beat_ms, suspect_after_ms = membership.settings.beat_ms, membership.settings.suspect_after_ms
    return 0.0 if membership.suspects else min(_GATHER_S, beat_ms / 2000, max(suspect_after_ms - 2 * beat_ms, 0) / 2000)


def _signing(plan: MemberPlan) -> Signing | None:
    if (proof := plan.proof) is None:
        return None
    return KeyFolder(proof.folder, plan.hive).signing(proof.name, proof.mode, proof.key, is_encrypted=proof.is_encrypted)


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

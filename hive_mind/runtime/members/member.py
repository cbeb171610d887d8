"""One member of a hive as its host has it: a node, what runs it, and the memories attached to it.

From the first beat until it is a member, and what it says of itself afterwards.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.bus import BrokerVitals
from hive_mind.errors import BackendError, BackendTimeout, ConfigError
from hive_mind.hive.effects import Delete, Now, Put, Record
from hive_mind.hive.member import Member
from hive_mind.hive.policy import LIMITS
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.hive.topology.spec import holding_of
from hive_mind.identity.epochs import Signing
from hive_mind.memory.base import Hive
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import Heartbeat, Receipt
from hive_mind.runtime.erasing import Eraser
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.metrics import NodeFigures, figures_of, lag_of, set_aside
from hive_mind.runtime.node import system_clock
from hive_mind.runtime.node.intake import ByDomain
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.workers import HANGS_AFTER_S, MembersSeen, NodeStatus, members_seen

_log = logging.getLogger(__name__)

Report = Callable[[str], None]

_POLL_S = 0.05
# A member of another machine may be cut off for a moment only.
_DEAD_AFTER = 3
# Others of the fleet start at the same time; one that is down must not keep this one from being of use.
_OTHERS_S = 5.0
_AGAIN_S = 1.0
_FINDINGS_MAX = 20
# Looks until the folder of keys is read again: what was revoked meanwhile counts within seconds.
_KEYS_EVERY = 5
_MESSAGES = "app.told"
_KEPT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class AppMessageEntry:
    """`times` says how often it was acted on."""

    id: str
    sender: str
    kind: str
    text: str
    times: int


class AppMessageLog:
    """Messages from other agents to this one, for programs that use an agent as a service: the last `_KEPT_MAX`, oldest first.

    `journal` gives what the node's had, once that was read.
    """

    def __init__(self, journal: Callable[[], Iterable[Put]] = tuple) -> None:
        self._journal = journal
        self._loaded: dict[str, tuple[int, AppMessageEntry]] | None = None

    @property
    def _entries(self) -> dict[str, tuple[int, AppMessageEntry]]:
        # Lazily: the first message may arrive while the journal is read.
        if self._loaded is None:
            decode = msgpack_decoder(AppMessageEntry)
            puts = [put for put in self._journal() if put.table == _MESSAGES]
            numbered = sorted((int.from_bytes(put.key, "big"), decode(put.value)) for put in puts)
            self._loaded = {entry.id: (number, entry) for number, entry in numbered}
        return self._loaded

    def entries(self) -> list[AppMessageEntry]:
        return [entry for _, entry in self._entries.values()]

    def write(self, message: IncomingMessage) -> Sequence[Record]:
        """Keep it: the handler of `AppMessages`."""
        entries = self._entries
        number, former = entries.get(message.id, (0, None))
        number = number or next(reversed(entries.values()), (0, None))[0] + 1
        text = message.data.decode("utf-8", "replace")
        entry = AppMessageEntry(message.id, message.sender, message.kind, text, former.times + 1 if former else 1)
        entries[message.id] = number, entry
        records: list[Record] = [Put(_MESSAGES, number.to_bytes(8, "big"), msgspec.msgpack.encode(entry))]
        while len(entries) > _KEPT_MAX:
            oldest, _ = entries.pop(next(iter(entries)))
            records.append(Delete(_MESSAGES, oldest.to_bytes(8, "big")))
        return records


@dataclass(eq=False)
class RunningMember:
    """Opened by a host, or by `open_member` for one agent; then close it, or use it with `async with`."""

    plan: MemberPlan
    member: Member
    message_log: AppMessageLog
    desk_pages: DeskPages
    runner: NodeRunner
    closing: AsyncExitStack
    """Ends what was opened for it, the last first."""
    signing: Signing | None
    unread: Counter[str]
    """Messages that came and were not encrypted for it, by reason."""
    is_kept: bool
    """Whether its agents' memories outlive the process."""
    agent: LearningAgent = field(init=False)
    """The one that `open_member` opens with it."""

    def __post_init__(self) -> None:
        self._memories: dict[str, DistributedCognitiveMemory] = {}
        self._eraser = Eraser(self.plan.name, self.runner)
        self._notices: set[asyncio.Task[None]] = set()
        """Memories that hear just now that others have their facts."""
        self.closing.push_async_callback(lambda: asyncio.gather(*self._notices))
        self.closing.push_async_callback(self.runner.close)
        self.has_entered = False
        """Whether it has been a member since it was started."""
        self._error, self._looks = "", 0
        self._silent: frozenset[str] = frozenset()
        """Those that were silent at the last look."""
        self._findings: deque[str] = deque(maxlen=_FINDINGS_MAX)

    @property
    def name(self) -> str:
        return self.plan.name

    def now(self) -> Now:
        return system_clock()

    def attach(self, name: str, local: CognitiveMemory) -> DistributedCognitiveMemory:
        """Let an agent share this node: its memory is its own, and what it may share goes to the hive from here."""
        hive: Hive = ByDomain(self.runner) if self.plan.routes_by_domain else self.runner
        forgets = self.plan.nodes.standing.expiry.is_on
        memory = DistributedCognitiveMemory(
            local, hive, agent=name, gate=self.plan.gate, forgets=forgets, has_lost=self._has_lost
        )
        self._memories[name] = memory
        self.runner.on_shared(partial(self._notify, memory))
        return memory

    def _notify(self, memory: DistributedCognitiveMemory, fact_ids: tuple[str, ...]) -> None:
        task = asyncio.ensure_future(memory.on_shared(fact_ids))
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    def _has_lost(self) -> bool:
        return self.member.is_ready and self.member.node.partitions.has_lost

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

    @property
    def is_to_erase(self) -> bool:
        """Whether the hive is to forget something that it did not carry out yet."""
        return self.has_entered and self.is_in and bool(self._eraser.due(self.member.node.registry))

    async def erase(self) -> None:
        """Carry out what the hive is to forget, as far as it is known here. To be called again and again."""
        if self.is_in:
            node = self.member.node
            await self._eraser.look(node.registry, self._memories, system_clock().wall_ms, node.partitions.erased)

    def silent(self) -> tuple[str, ...]:
        """Members that were not heard lately, or never."""
        membership = self.member.membership
        names, topology = membership.heard(system_clock()), membership.topology
        return tuple(name for name in (topology.nodes if topology else ()) if name != self.plan.name and name not in names)

    def late(self) -> tuple[str, ...]:
        """Members that are heard, and answer too late for a question, or not at all."""
        late = self.member.node.questions.latencies.late(system_clock().mono_ms) if self.member.is_ready else ()
        silent = self.silent() if late else ()
        return tuple(name for name in late if name not in silent)

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
        is_open = len(node.outbox) or self.member.app_messages.unconfirmed or node.replica.is_behind
        return bool(is_open or self._notices or self.runner.is_busy)

    @property
    def is_in(self) -> bool:
        """Whether it is a member by now, and knows of which hive."""
        return self.member.is_ready and self.member.membership.is_in

    @property
    def is_connected(self) -> bool:
        """Whether its bus can be reached."""
        return self.runner.health.is_connected

    @property
    def is_ready(self) -> bool:
        """Whether it can share and ask."""
        return self.has_entered and self.is_in and self.is_connected and not self._refusal

    @property
    def is_even(self) -> bool:
        """Whether nothing of it is on its way, and nobody lacks what it holds."""
        member = self.member
        return not member.is_ready or not (len(member.node.outbox) or lag_of(member.node))

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

    async def leave(self, timeout_s: float, own_nodes: frozenset[str] = frozenset()) -> bool:
        """Hand everything over and be a member no more; whether that was done in time.

        Where only nodes of its own process are members there is nobody to take it.
        """
        topology = self.member.membership.topology
        if topology is None or set(topology.nodes) <= own_nodes:
            return True
        until_s = asyncio.get_running_loop().time() + timeout_s
        await self.runner.leave()
        while not self.member.has_handed_over(system_clock()):
            if asyncio.get_running_loop().time() > until_s:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def enter(self, report: Report, gives_up_s: float | None = None) -> None:
        """Return when it is a member. Tried until it works, unless it is to give up: then it raises `BackendError`."""
        while not self.has_entered:
            try:
                silent = await self.until_in(gives_up_s or _OTHERS_S, lambda state: report(f"{self.name}: {state}"))
            except BackendError as error:
                if gives_up_s is not None:
                    raise
                self._log_error(str(error))
                if self.runner.failure:
                    return
                await asyncio.sleep(_AGAIN_S)
            else:
                self.has_entered, self._error, self._silent = True, "", frozenset(silent)

    def look(self, report: Report) -> None:
        """Record findings for the status and the log, and report members that fall silent or return, a line each."""
        if self.has_entered:
            before, self._silent = self._silent, frozenset(self.silent())
            for name in sorted(before ^ self._silent):
                is_silent = name in self._silent
                report(f"{self.name}: nothing is heard of {name}" if is_silent else f"{self.name}: {name} is back")
        for finding in self.member.membership.findings():
            _log.warning("%s: %s", self.name, finding)
            self._findings.append(finding)
        self._looks += 1
        if self._looks % _KEYS_EVERY == 0:
            try:
                self.look_at_keys()
            except ConfigError as error:
                _log.warning("%s: %s", self.name, error)

    def members_seen(self) -> MembersSeen:
        return members_seen(self.member, system_clock())

    def figures(self) -> list[NodeFigures]:
        return figures_of(self.member, self.runner)

    def status(self) -> NodeStatus:
        figures = next(iter(self.figures()), None)
        topology = self.member.membership.topology
        received = self.runner.timings.of.get("received")
        vitals = self.runner.health.vitals or BrokerVitals()
        silent = self.silent()
        holding = holding_of(topology, self.name, silent) if topology else None
        return NodeStatus(
            name=self.name,
            group=self.plan.group,
            is_ready=self.is_ready,
            is_busy=self.is_busy,
            epoch=topology.epoch if topology else 0,
            members=tuple(topology.nodes) if topology else (),
            silent=silent,
            late=self.late(),
            partitions=holding.partitions if holding else -1,
            last_copies=holding.last if holding else 0,
            facts=figures.facts if figures else 0,
            outbox=figures.outbox_batches if figures else 0,
            lag=figures.lag_dots if figures else 0,
            is_connected=self.is_connected,
            messages=received.count if received else 0,
            findings=tuple(self._findings),
            error=self._trouble(),
            damaged=self.runner.damaged,
            identity=self.plan.proof.mode if self.plan.proof else "off",
            unproven={**self.runner.figures.unproven, **self.unread},
            set_aside=set_aside(self.runner.health),
            limited={why: count for why, count in (figures.refused if figures else {}).items() if why in LIMITS},
            secret_epoch=self.secret_epoch,
            keyless=self.keyless,
            refusal=self._refusal or vitals.trouble,
            broker_used_bytes=vitals.used_bytes,
            broker_limit_bytes=vitals.limit_bytes,
            ahead_of_members_ms=self.ahead_ms,
            ahead_of_broker_ms=vitals.ahead_ms,
        )

    async def close(self) -> None:
        """Finish what is under way; others keep what this one had to say, or it says it when it comes back. Twice is fine."""
        try:
            await self.closing.aclose()
        finally:
            # A caller who gave up on closing left it to go on, and the journal is locked until it is over.
            await self.runner.close()

    @property
    def _refusal(self) -> str:
        """Why nothing can be written by it; "" while something can."""
        runner = self.runner
        if runner.failure:
            return f"node {self.name} has stopped: {runner.failure}"
        if trouble := runner.letters.trouble:
            return f"refused messages can't be written, so they are not acknowledged: {trouble}"
        return f"the bus takes nothing: {runner.refusal}" if runner.refusal and self.is_connected else ""

    def _trouble(self) -> str:
        if not self.is_connected and not self.runner.failure:
            return f"the bus can't be reached: {self.runner.health.last_error or 'no answer'}"
        return self._refusal or self._error

    def _log_error(self, error: str) -> None:
        if error != self._error:
            _log.warning("%s: %s", self.name, error)
        self._error = error

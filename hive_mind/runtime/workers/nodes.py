"""One node of a worker: from the first beat until it is a member, and what it says of itself afterwards."""

import asyncio
import logging
from collections import deque
from pathlib import Path

from hive_mind.bus.base import BrokerVitals
from hive_mind.errors import BackendError, ConfigError
from hive_mind.hive.policy.authority import LIMITS
from hive_mind.hive.topology.holdings import holding_of
from hive_mind.hive.topology.spec import reads
from hive_mind.runtime.members.member import MemberPlan, RunningMember
from hive_mind.runtime.node.base import RunnerSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.observing.figures import figures_of, lag_of, set_aside
from hive_mind.runtime.observing.metrics import NodeFigures
from hive_mind.runtime.secrets.keys import Proof
from hive_mind.runtime.workers.config import NodeConfig, WorkerConfig
from hive_mind.runtime.workers.status import NodeStatus

_log = logging.getLogger(__name__)

# Others of the fleet start at the same time; one that is down must not keep this one from being of use.
_OTHERS_S = 5.0
_AGAIN_S = 1.0
_FINDINGS_MAX = 20
# Looks until the folder of keys is read again: what was revoked meanwhile counts within seconds.
_KEYS_EVERY = 5


def plan_of(config: WorkerConfig, node: NodeConfig) -> MemberPlan:
    """A node as a member of its hive. One that is no founder joins."""
    hive = config.hive
    founders = {name: group for group, names in hive.founders.items() for name in names}
    has_groups = reads(hive.topology, "groups")
    return MemberPlan(
        name=node.name,
        bus=config.bus.url,
        hive=hive.id,
        topology=hive.topology,
        members=tuple(f"{group}:{name}" if has_groups else name for name, group in founders.items()),
        group=node.group,
        is_joining=node.is_joining or node.name not in founders,
        searches=config.bus.searches,
        replicas=hive.replicas,
        partitions=hive.partitions,
        domains=hive.domains,
        broadcast_threshold=hive.broadcast_threshold,
        routes_by_domain=config.domain_routing and reads(hive.topology, "domains"),
        proof=_proof(config),
        gate=config.gate,
        nodes=config.tuning,
        membership=config.membership,
        runner=RunnerSettings(
            ask_deadline_ms=config.ask_deadline_ms,
            fetch_deadline_ms=config.ask_deadline_ms,
            outgoing=OutgoingSettings(wait_s=5.0),
        ),
    )


def _proof(config: WorkerConfig) -> Proof | None:
    identity = config.identity
    if identity.mode == "off":
        return None
    key = Path(identity.key) if identity.key else None
    return Proof(identity.mode, Path(identity.folder), config.process, key, is_encrypted=identity.encryption)


class WorkerNode:
    """A node that runs. `enter` makes it a member; it may have to wait for a bus or for others."""

    def __init__(self, config: NodeConfig, running: RunningMember) -> None:
        self.config, self.running = config, running
        self.has_entered = False
        """Whether it has been a member since it was started."""
        self._error, self._looks = "", 0
        self._findings: deque[str] = deque(maxlen=_FINDINGS_MAX)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def is_connected(self) -> bool:
        """Whether its bus can be reached."""
        return self.running.runner.health.is_connected

    @property
    def is_ready(self) -> bool:
        """Whether it can share and ask."""
        return self.has_entered and self.running.is_in and self.is_connected and not self._refusal

    @property
    def is_even(self) -> bool:
        """Whether nothing of it is on its way, and nobody lacks what it holds."""
        member = self.running.member
        return not member.is_ready or not (len(member.node.outbox) or lag_of(member.node))

    async def enter(self) -> None:
        """Return when it is a member. Tried until it works."""
        while not self.has_entered:
            try:
                silent = await self.running.until_in(_OTHERS_S, lambda state: _log.info("%s: %s", self.name, state))
            except BackendError as error:
                self._log_error(str(error))
                if self.running.runner.failure:
                    return
                await asyncio.sleep(_AGAIN_S)
            else:
                self.has_entered, self._error = True, ""
                _log.info("%s: a member%s", self.name, f"; nothing is heard of {', '.join(silent)}" if silent else "")

    async def erase(self) -> None:
        """Carry out what the hive is to forget, once it is known here."""
        if self.has_entered:
            await self.running.erase()

    def look(self) -> None:
        """Record findings for the status and the log."""
        for finding in self.running.member.membership.findings():
            _log.warning("%s: %s", self.name, finding)
            self._findings.append(finding)
        self._looks += 1
        if self._looks % _KEYS_EVERY == 0:
            try:
                self.running.look_at_keys()
            except ConfigError as error:
                _log.warning("%s: %s", self.name, error)

    async def leave(self, timeout_s: float, own_nodes: frozenset[str]) -> bool:
        """Hand over what it holds; whether that was done in time. With no member but `others` there is nobody to take it."""
        topology = self.running.member.membership.topology
        if topology is None or set(topology.nodes) <= own_nodes:
            return True
        return await self.running.leave(timeout_s)

    def figures(self) -> list[NodeFigures]:
        return figures_of(self.running)

    def status(self) -> NodeStatus:
        running, figures = self.running, next(iter(self.figures()), None)
        topology = running.member.membership.topology
        received = running.runner.timings.of.get("received")
        vitals = running.runner.health.vitals or BrokerVitals()
        silent = running.silent()
        holding = holding_of(topology, self.name, silent) if topology else None
        return NodeStatus(
            name=self.name,
            group=self.config.group,
            is_ready=self.is_ready,
            is_busy=running.is_busy,
            epoch=topology.epoch if topology else 0,
            members=tuple(topology.nodes) if topology else (),
            silent=silent,
            partitions=holding.partitions if holding else -1,
            last_copies=holding.last if holding else 0,
            facts=figures.facts if figures else 0,
            outbox=figures.outbox_batches if figures else 0,
            lag=figures.lag_dots if figures else 0,
            is_connected=self.is_connected,
            messages=received.count if received else 0,
            findings=tuple(self._findings),
            error=self._trouble(),
            damaged=running.runner.damaged,
            identity=running.plan.proof.mode if running.plan.proof else "off",
            unproven={**running.runner.figures.unproven, **running.unread},
            set_aside=set_aside(running.runner.health),
            limited={why: count for why, count in (figures.refused if figures else {}).items() if why in LIMITS},
            secret_epoch=running.secret_epoch,
            keyless=running.keyless,
            refusal=self._refusal or vitals.trouble,
            broker_used_bytes=vitals.used_bytes,
            broker_limit_bytes=vitals.limit_bytes,
            ahead_of_members_ms=running.ahead_ms,
            ahead_of_broker_ms=vitals.ahead_ms,
        )

    async def close(self) -> None:
        """Finish what is under way. Its agents are closed before."""
        await self.running.close()

    @property
    def _refusal(self) -> str:
        """Why nothing can be written by it; "" while something can."""
        runner = self.running.runner
        if runner.failure:
            return f"node {self.name} has stopped: {runner.failure}"
        if trouble := runner.letters.trouble:
            return f"refused messages can't be written, so they are not acknowledged: {trouble}"
        return f"the bus takes nothing: {runner.refusal}" if self.is_connected and runner.refusal else ""

    def _trouble(self) -> str:
        if not self.is_connected and not self.running.runner.failure:
            return f"the bus can't be reached: {self.running.runner.health.last_error or 'no answer'}"
        return self._refusal or self._error

    def _log_error(self, error: str) -> None:
        if error != self._error:
            _log.warning("%s: %s", self.name, error)
        self._error = error

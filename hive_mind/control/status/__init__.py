"""The observed state of a fleet, and its form for people.

Here are the values that people and programs see; `conditions` derives them from what was observed.
"""

from typing import Literal

import msgspec

from hive_mind.runtime.workers import NodeStatus

FleetPhase = Literal["Ready", "Progressing", "Degraded", "Stopped"]


class Condition(msgspec.Struct, frozen=True):
    """One thing that is so or not, in the form of Kubernetes' conditions. `since_ms` 0: not known."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str = ""
    since_ms: int = 0


class ProcessView(msgspec.Struct, frozen=True):
    """One process. `phase` is "missing" where there is none and "silent" where it does not answer."""

    name: str
    phase: str
    pid: int = 0
    is_ready: bool = False
    memory_bytes: int = 0
    cpu_s: float = 0.0
    messages: int = 0
    restarts: int = 0
    since_ms: int = 0
    last_error: str = ""
    nodes: tuple[NodeStatus, ...] = ()
    notices: tuple[str, ...] = ()
    """Notices for a person, about what stops nothing."""


class AgentView(msgspec.Struct, frozen=True):
    """One agent. `pending`: facts that the hive has not confirmed; `lag`: dots that peers of its node lacked."""

    name: str
    phase: str
    is_ready: bool
    process: str
    group: str = ""
    domain: str = ""
    facts: int = 0
    pending: int = 0
    lag: int = 0
    last_error: str = ""
    restarts: int = 0
    since_ms: int = 0
    conditions: tuple[Condition, ...] = ()
    pid: int = 0
    """Of its process; 0 where there is none."""


class FleetStatus(msgspec.Struct, frozen=True):
    """The whole fleet. `facts` adds up what agents hold themselves; `messages` what nodes handled since they were started."""

    name: str
    phase: FleetPhase
    topology: str
    generation: int
    revision: int
    conditions: tuple[Condition, ...]
    processes: tuple[ProcessView, ...]
    agents: tuple[AgentView, ...]
    facts: int = 0
    pending: int = 0
    lag: int = 0
    messages: int = 0
    restarts: int = 0
    last_error: str = ""

    @property
    def broken(self) -> list[str]:
        """ "ClockSkew: the clock of ada is 60 s ahead …"."""
        return [f"{condition.type}: {condition.message}" for condition in self.conditions if condition.status == "False"]

"""The figures of a process, its agents, nodes and bus for Prometheus. Nothing is counted for it: it reads, when it is asked.

Needs the extra `prometheus`. Names and units follow Prometheus' conventions: seconds, and `_total` for what only grows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hive_mind.bus import OTHER_PROGRAM, BusHealth
from hive_mind.errors import BackendError, BackendNotInstalled, reason_of
from hive_mind.hive.member import Member
from hive_mind.hive.node import HiveNode
from hive_mind.runtime.node import Histogram
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.workers import AgentStatus, WorkerStatus

if TYPE_CHECKING:
    from prometheus_client.core import CollectorRegistry, Metric
    from prometheus_client.registry import Collector

    # It brings what draws at random.
    from hive_mind.judge.calibration import JudgeTally


class WorkerCollector:
    """The agents of a worker, and the resources of its process. Register it beside `HiveCollector`; it looks when it is asked."""

    def __init__(self, status: Callable[[], WorkerStatus], tallies: "Callable[[], Mapping[str, JudgeTally]]" = dict) -> None:
        self._status, self._tallies = status, tallies

    def describe(self) -> "Iterable[Metric]":
        return ()

    def collect(self) -> "Iterable[Metric]":
        status = self._status()
        for name, about, figure in _OF_AGENTS:
            yield _family("Gauge", name, about, ["agent"], (([agent.name], figure(agent)) for agent in status.agents))
        yield _family("Gauge", "hive_worker_memory_bytes", "Memory of this process.", [], [([], status.memory_bytes)])
        yield _family("Counter", "hive_worker_cpu_seconds", "Processor time of this process.", [], [([], status.cpu_s)])
        yield from _of_judges(self._tallies())


_OF_AGENTS: Sequence[tuple[str, str, Callable[[AgentStatus], float]]] = (
    ("hive_agent_facts", "Facts this agent learned itself.", lambda agent: agent.facts),
    ("hive_agent_pending_facts", "Facts the hive has not confirmed yet.", lambda agent: agent.pending),
    (
        "hive_agent_up",
        "1 while the agent is of use, asleep or not.",
        lambda agent: float(agent.phase in ("ready", "asleep", "learning")),
    ),
)


def _of_judges(tallies: "Mapping[str, JudgeTally]") -> "Iterable[Metric]":
    if not tallies:
        return
    every = tallies.items()
    judged = (([name, *kind], count) for name, tally in every for kind, count in sorted(tally.judgements.items()))
    yield _family("Counter", "hive_judge_judgements", "Judgements about facts.", ["agent", "action", "cause"], judged)
    sure = (([name], _below(tally), tally.confidence) for name, tally in every)
    yield _family("Histogram", "hive_judge_confidence", "How sure the judge was.", ["agent"], sure)
    tokens = (([name], tally.tokens) for name, tally in every)
    yield _family("Counter", "hive_judge_tokens", "Tokens that judging has cost.", ["agent"], tokens)
    usd = (([name], tally.usd) for name, tally in every)
    yield _family("Counter", "hive_judge_usd", "Money that judging has cost, where prices are known.", ["agent"], usd)
    least = (([name], tally.threshold) for name, tally in every if tally.threshold is not None)
    yield _family("Gauge", "hive_judge_threshold", "How sure it has to be; none: it may not decide alone.", ["agent"], least)


def _below(tally: "JudgeTally") -> list[tuple[str, int]]:
    """How many judgements were less sure than each tenth."""
    below = [(f"{tenth / 10:g}", sum(tally.tenths[lower] for lower in range(tenth + 1))) for tenth in range(1, 10)]
    return [*below, ("+Inf", tally.tenths.total())]


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """One node at one moment. Histograms are by what was done: ask, fetch, promote, retract, received (since it was sent)."""

    node: str
    facts: int
    outbox_batches: int
    """Sent and not yet acknowledged by every holder."""
    lag_dots: int
    """Assertions that peers lacked of what this node holds, when they last compared."""
    inbox_waiting: int
    sends_lost: int
    bus: BusHealth
    refused: Mapping[str, int] = field(default_factory=dict)
    """Messages of others that were refused, by reason."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)


def figures_of(member: Member, runner: NodeRunner) -> list[NodeFigures]:
    """Its node at this moment; nothing before there is one."""
    if not member.is_ready:
        return []
    node, counted = member.node, runner.figures
    refused = Counter(node.refused) + Counter(member.membership.refused)
    refused += Counter({f"message: {kind}": count for kind, count in counted.refused.items()})
    held_items = (share.members.items() for share in node.partitions.shares.values() if share.is_holder)
    return [
        NodeFigures(
            node=node.name,
            facts=len(set[str]().union(*held_items)),
            outbox_batches=len(node.outbox),
            lag_dots=lag_of(node),
            inbox_waiting=counted.waiting,
            sends_lost=counted.sends_lost,
            bus=runner.health,
            refused=refused,
            histograms=dict(runner.timings.of),
        )
    ]


def set_aside(health: BusHealth) -> dict[str, int]:
    """Messages that nobody here could handle, by what is wrong with them."""
    # A message of no hive becomes nobody's dead letter.
    unreadable = {f"unreadable ({trouble})": count for trouble, count in sorted(health.unreadable.items())}
    handled = health.dead_letters - sum(count for trouble, count in health.unreadable.items() if trouble != OTHER_PROGRAM)
    return unreadable | ({"that it could not take": handled} if handled > 0 else {})


def lag_of(node: HiveNode) -> int:
    """Number of assertions that this node holds and others lacked, when they last compared."""
    lagging = [(peer, partition, lag.missing) for peer, partition, lag in node.repair.exchanges.lagging()]
    if not lagging:
        return 0
    topology, partitions = node.topology, frozenset(node.topology.held_by(node.name))
    return sum(missing for peer, partition, missing in lagging if partition in partitions and peer in topology.holders(partition))


Source = Callable[[], Sequence[NodeFigures]]

_OF_NODES: Sequence[tuple[str, str, str, Callable[[NodeFigures], float]]] = (
    ("Gauge", "hive_facts", "Facts this node can find.", lambda node: node.facts),
    ("Gauge", "hive_outbox_parcels", "Batches that some holder has not acknowledged.", lambda node: node.outbox_batches),
    (
        "Gauge",
        "hive_replica_lag_dots",
        "Assertions of this node that peers lacked when they last compared.",
        lambda node: node.lag_dots,
    ),
    ("Gauge", "hive_inbox_waiting", "Envelopes that wait to be handled.", lambda node: node.inbox_waiting),
    ("Gauge", "hive_bus_connected", "1 while the bus can be reached.", lambda node: float(node.bus.is_connected)),
    ("Counter", "hive_sends_lost", "Messages the bus did not take; what matters is sent again.", lambda node: node.sends_lost),
    ("Counter", "hive_bus_reconnects", "How often the bus was reached anew.", lambda node: node.bus.reconnects),
    ("Counter", "hive_bus_redeliveries", "Deliveries after the first.", lambda node: node.bus.redelivered),
    ("Counter", "hive_bus_duplicates", "Deliveries of what was acknowledged already.", lambda node: node.bus.duplicates),
    ("Counter", "hive_bus_dead_letters", "Envelopes put aside.", lambda node: node.bus.dead_letters),
)


class HiveCollector:
    """Register it: `prometheus_client.REGISTRY.register(HiveCollector(source))`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def describe(self) -> "Iterable[Metric]":
        """Nothing in advance, so that registering asks no node."""
        return ()

    def collect(self) -> "Iterable[Metric]":
        nodes = self._source()
        for kind, name, about, figure in _OF_NODES:
            yield _family(kind, name, about, ["node"], (([node.node], figure(node)) for node in nodes))
        unreadable = (([node.node, why], count) for node in nodes for why, count in node.bus.unreadable.items())
        yield _family(
            "Counter", "hive_bus_unreadable", "Messages of which nothing could be read.", ["node", "reason"], unreadable
        )
        refused = (([node.node, why], count) for node in nodes for why, count in node.refused.items())
        yield _family("Counter", "hive_refused", "Parts of messages that were refused.", ["node", "reason"], refused)
        timed = (([node.node, did], took.cumulative(), took.sum_s) for node in nodes for did, took in node.histograms.items())
        yield _family("Histogram", "hive_operation_seconds", "How long it took.", ["node", "operation"], timed)


def exposition(source: Source, *collectors: "Collector") -> bytes:
    """Everything as text that Prometheus reads, with what other collectors have. Raises `BackendNotInstalled`."""
    registry = _registry(HiveCollector(source), *collectors)
    from prometheus_client import generate_latest

    text: bytes = generate_latest(registry)
    return text


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """Answers Prometheus, until `stop` is called."""

    port: int
    stop: Callable[[], None]


def serve(source: Source, port: int, host: str = "127.0.0.1") -> MetricsServer:
    """Answer Prometheus at http://host:port/metrics, from a thread of its own; port 0 lets the system choose one.

    Raises `BackendNotInstalled` without the extra, `BackendError` for a port that is taken.
    """
    registry = _registry(HiveCollector(source))
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        sentence = f"port {port} on {host} can't be listened on: {reason_of(error)}; give another one"
        raise BackendError("metrics", sentence) from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return MetricsServer(server.server_port, stop)


def _family(kind: str, name: str, about: str, labels: Sequence[str], samples: Iterable[tuple[Any, ...]]) -> "Metric":
    """A metric, with each sample: the values of its labels, and its own."""
    family: Any = getattr(_core(), f"{kind}MetricFamily")(name, about, labels=labels)
    for sample in samples:
        family.add_metric(*sample)
    metric: Metric = family
    return metric


def _registry(*collectors: "Collector") -> "CollectorRegistry":
    registry: CollectorRegistry = _core().CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return registry


def _core() -> Any:
    try:
        from prometheus_client import core
    except ModuleNotFoundError as error:
        raise BackendNotInstalled("metrics", "prometheus", "prometheus") from error
    return core

"""What a worker tells Prometheus besides its nodes' figures: its agents, and what the process takes."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hive_mind.runtime.worker_status import WorkerStatus

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class WorkerCollector:
    """Register it beside `runtime.metrics.HiveCollector`; it looks when it is asked."""

    def __init__(self, status: Callable[[], WorkerStatus]) -> None:
        self._status = status

    def describe(self) -> "Iterable[Metric]":
        """Nothing in advance."""
        return ()

    def collect(self) -> "Iterable[Metric]":
        """Everything, as it is now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        status = self._status()
        facts = GaugeMetricFamily("hive_agent_facts", "Facts this agent learned itself.", labels=["agent"])
        pending = GaugeMetricFamily("hive_agent_pending_facts", "Facts the hive has not confirmed yet.", labels=["agent"])
        up = GaugeMetricFamily("hive_agent_up", "1 while the agent is of use, asleep or not.", labels=["agent"])
        for agent in status.agents:
            facts.add_metric([agent.name], agent.facts)
            pending.add_metric([agent.name], agent.pending)
            up.add_metric([agent.name], float(agent.phase in ("ready", "asleep", "learning")))
        yield from (facts, pending, up)
        yield GaugeMetricFamily("hive_worker_memory_bytes", "Memory of this process.", status.memory_bytes)
        yield CounterMetricFamily("hive_worker_cpu_seconds", "Processor time of this process.", status.cpu_s)

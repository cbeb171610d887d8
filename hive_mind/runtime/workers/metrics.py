"""The figures of a worker for Prometheus besides those of its nodes: its agents, and the resources of the process."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from hive_mind.judge.calibration import JudgeTally
from hive_mind.runtime.workers.status import WorkerStatus

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class WorkerCollector:
    """Register it beside `runtime.observing.metrics.HiveCollector`; it looks when it is asked."""

    def __init__(self, status: Callable[[], WorkerStatus], tallies: Callable[[], Mapping[str, JudgeTally]] = dict) -> None:
        self._status, self._tallies = status, tallies

    def describe(self) -> "Iterable[Metric]":
        return ()

    def collect(self) -> "Iterable[Metric]":
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
        yield from _of_judges(self._tallies())


def _of_judges(tallies: Mapping[str, JudgeTally]) -> "Iterable[Metric]":
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    judged = CounterMetricFamily("hive_judge_judgements", "Judgements about facts.", labels=["agent", "action", "cause"])
    sure = HistogramMetricFamily("hive_judge_confidence", "How sure the judge was.", labels=["agent"])
    tokens = CounterMetricFamily("hive_judge_tokens", "Tokens that judging has cost.", labels=["agent"])
    usd = CounterMetricFamily("hive_judge_usd", "Money that judging has cost, where prices are known.", labels=["agent"])
    least = GaugeMetricFamily("hive_judge_threshold", "How sure it has to be; none: it may not decide alone.", labels=["agent"])
    for agent, tally in tallies.items():
        for (action, cause), count in sorted(tally.judgements.items()):
            judged.add_metric([agent, action, cause], count)
        below = [(f"{tenth / 10:g}", sum(tally.tenths[n] for n in range(tenth + 1))) for tenth in range(1, 10)]
        sure.add_metric([agent], [*below, ("+Inf", tally.tenths.total())], tally.confidence)
        tokens.add_metric([agent], tally.tokens)
        usd.add_metric([agent], tally.usd)
        if tally.threshold is not None:
            least.add_metric([agent], tally.threshold)
    yield from (judged, sure, tokens, usd, least) if tallies else ()

"""What Prometheus is told of judges."""

import pytest

from hive_mind.judge.calibration import JudgeTally
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction
from hive_mind.runtime.metrics import WorkerCollector
from hive_mind.runtime.workers import WorkerStatus

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
prometheus = pytest.importorskip("prometheus_client")


def judged(action: JudgmentAction, cause: str, confidence: float | None = None, tokens: int = 0) -> Judged:
    judgment = Judgment(action=action, reasoning="", cause=cause, confidence=confidence)  # type: ignore[arg-type]
    return Judged(judgment=judgment, case="c", input_tokens=tokens, usd=0.25 if tokens else None)


def told(tallies: dict[str, JudgeTally]) -> str:
    registry = prometheus.CollectorRegistry()
    registry.register(WorkerCollector(lambda: WorkerStatus("town", 1, "", "town", "ready", 1), lambda: tallies))
    return str(prometheus.generate_latest(registry).decode())


def test_judgements_are_counted_by_what_was_decided_and_why_with_confidence_and_cost():
    tally = JudgeTally(threshold=0.7)
    for one in (
        judged(ACCEPT, "agreement", 0.95, 100),
        judged(ACCEPT, "agreement", 0.9, 50),
        judged(ESCALATE, "threshold", 0.29),
        judged(RETRY, "rule"),
    ):
        tally.count(one)

    text = told({"ann": tally})

    for line in (
        'hive_judge_judgements_total{action="accept",agent="ann",cause="agreement"} 2.0',
        'hive_judge_judgements_total{action="escalate",agent="ann",cause="threshold"} 1.0',
        'hive_judge_judgements_total{action="retry",agent="ann",cause="rule"} 1.0',
        'hive_judge_confidence_bucket{agent="ann",le="0.2"} 0.0',
        'hive_judge_confidence_bucket{agent="ann",le="0.3"} 1.0',
        'hive_judge_confidence_bucket{agent="ann",le="0.9"} 2.0',
        'hive_judge_confidence_bucket{agent="ann",le="+Inf"} 3.0',
        'hive_judge_tokens_total{agent="ann"} 150.0',
        'hive_judge_usd_total{agent="ann"} 0.5',
        'hive_judge_threshold{agent="ann"} 0.7',
    ):
        assert line in text


def test_who_may_not_decide_alone_has_no_threshold_and_where_nobody_judges_nothing_is_told():
    assert "hive_judge_threshold{" not in told({"ann": JudgeTally(threshold=None)})
    assert "hive_judge" not in told({})

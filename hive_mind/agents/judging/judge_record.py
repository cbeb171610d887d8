"""How the judge of an agent's facts does, read from the agent's ledger: what it decided, what people said of it, what it cost."""

import logging
from dataclasses import dataclass

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_items import AUDIT, FACT
from hive_mind.agents.judging.judge_learning import Threshold, accepted, precedent_of, threshold_in
from hive_mind.errors import DatabaseUnreadable, WireError
from hive_mind.judge.calibration import CalibrationMetrics, calibrated
from hive_mind.judge.figures import Cost, JudgeFigures, cost, figures
from hive_mind.judge.items import PREFIX, ItemView, folded
from hive_mind.judge.judge_settings import CONFIDENCE_THRESHOLD
from hive_mind.judge.weights import SignalWeights, learned_weights
from hive_mind.ledger.base import Ledger

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """Of one agent. `compared` is how many answers of people the calibration stands on, since it was reset the last time.

    `weights` are those that the answers speak for, also where signals count alike.
    """

    figures: JudgeFigures
    cost: Cost
    calibration: CalibrationMetrics
    threshold: Threshold
    weights: SignalWeights
    are_weights_used: bool
    """The last judgement was made with learned weights."""
    compared: int
    audits: int
    """Items of that kind, answered or not."""
    models: tuple[str, ...]


async def record_of(ledger: Ledger) -> JudgeRecord:
    """As it is now. Raises what a ledger raises."""
    judged = await LedgerLog(ledger).judged()
    by_fact = {one.goal: one for one in judged if one.model}
    views = [view for view in await _views(ledger) if view.item.kind in (FACT, AUDIT)]
    now = await threshold_in(ledger, CONFIDENCE_THRESHOLD)
    known = [
        precedent
        for view in views
        if view.item.subject in by_fact and view.decided_ms > now.since_ms
        if (precedent := precedent_of(view, by_fact[view.item.subject]))
    ]
    weights = learned_weights(known)
    last = next((one for one in reversed(judged) if one.model), None)
    are_used = bool(last and last.weights)
    comparisons = accepted(known, weights.weights_by_goal_type if are_used else None)
    return JudgeRecord(
        figures=figures(one.judgment for one in judged),
        cost=cost(judged),
        calibration=calibrated(comparisons),
        threshold=now,
        weights=weights,
        are_weights_used=are_used,
        compared=len(comparisons),
        audits=sum(view.item.kind == AUDIT for view in views),
        models=tuple(sorted({one.model for one in judged if one.model})),
    )


async def _views(ledger: Ledger) -> list[ItemView]:
    found = []
    for head in await ledger.heads(PREFIX):
        try:
            view = folded(await ledger.read(head.stream))
        except (DatabaseUnreadable, WireError) as error:
            _log.error("an item is left out: %s", error)
        else:
            found += [view] if view else []
    return found

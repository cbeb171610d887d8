"""Calibration of a judge of facts by people: how sure it has to be, kept in the ledger with each move, and undone by one entry;
and how the judge does, read from the same ledger: what it decided, what people said of it, what it cost.

People see every fact that the judge was too unsure of, and a share of those it let pass; so each of these counts for as many as
it stands for. Only facts it would have accepted are compared: withholding too much harms nobody.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_items import AUDIT, FACT
from hive_mind.errors import DatabaseUnreadable, WireError
from hive_mind.judge.calibration import (
    SAMPLES_MIN,
    CalibrationMetrics,
    Comparison,
    are_conclusive,
    calibrated,
    compared,
    moved,
    threshold,
)
from hive_mind.judge.figures import Cost, JudgeFigures, cost, figures
from hive_mind.judge.items import PREFIX, ItemView, folded
from hive_mind.judge.judge_settings import CONFIDENCE_THRESHOLD
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.pipeline import MODEL
from hive_mind.judge.precedent import Judged, Precedent
from hive_mind.judge.weights import SignalWeights, learned_weights
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

STREAM = "judge/threshold"
_MOVED, _RESET = "moved", "reset"
_ACCEPT, _RETRY = JudgmentAction.ACCEPT, JudgmentAction.RETRY


@dataclass(frozen=True, slots=True)
class Threshold:
    """How sure the judge has to be; None: it may not decide alone. `decisions` were known when it moved the last time.

    `since_ms`: what was decided before does not count. `is_learned`: it is not that of the settings.
    """

    value: float | None
    decisions: int = 0
    since_ms: int = 0
    is_learned: bool = False
    seq: int = 0


class _Move(msgspec.Struct, frozen=True):
    threshold: float | None
    decisions: int


def precedent_of(view: ItemView, judged: Judged) -> Precedent | None:
    """A person's decision on a fact beside the model's; None where the model gave none, or nobody decided.

    To reject a fact is to keep it home.
    """
    has_said = any(one.origin == MODEL and one.action for one in judged.judgment.signals)
    if view.decision is None or not has_said:
        return None
    is_right = view.decision.action is _ACCEPT and view.item.subject not in view.decision.wrong
    share = judged.audit if view.item.kind == "audit" and judged.audit else 1.0
    return judged.precedent(_ACCEPT if is_right else _RETRY, share)


def accepted(precedents: Iterable[Precedent], weights: Mapping[str, Mapping[str, float]] | None = None) -> list[Comparison]:
    """Those cases in which the signals, weighed so, say ACCEPT."""
    return [one for one in compared(precedents, weights) if one.action is _ACCEPT]


async def threshold_in(ledger: Ledger, given: float) -> Threshold:
    """The threshold at work; `given` is that of the settings. Raises what a ledger raises."""
    found = Threshold(given)
    for entry in await ledger.read(STREAM):
        if entry.kind == _RESET:
            found = Threshold(given, since_ms=entry.at_ms)
        else:
            move = msgspec.json.decode(entry.body, type=_Move)
            found = Threshold(move.threshold, move.decisions, found.since_ms, is_learned=True)
        found = replace(found, seq=entry.seq + 1)
    return found


async def learned(ledger: Ledger, given: float, comparisons: list[Comparison], now_ms: int) -> Threshold:
    """The threshold after these decisions: higher, or shut, at once; lower by little, and after enough new decisions.

    `comparisons` are those since `Threshold.since_ms`. Raises what a ledger raises.
    """
    now = await threshold_in(ledger, given)
    if not are_conclusive(comparisons):
        return now
    value = moved(now.value, threshold(comparisons))
    is_stricter = now.value is not None and (value is None or value > now.value)
    if value == now.value or not (is_stricter or len(comparisons) - now.decisions >= SAMPLES_MIN):
        return now
    entry = Entry(_MOVED, msgspec.json.encode(_Move(value, len(comparisons))), now_ms)
    if not await ledger.append(STREAM, now.seq, [entry]):
        return await threshold_in(ledger, given)
    return Threshold(value, len(comparisons), now.since_ms, is_learned=True, seq=now.seq + 1)


async def reset(ledger: Ledger, now_ms: int) -> None:
    """Forget what was learned: the setting holds, and only what people decide from now on counts. Raises what a ledger raises."""
    while not await ledger.append(STREAM, len(await ledger.read(STREAM)), [Entry(_RESET, b"", now_ms)]):
        pass


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

"""The log of a judge over a ledger: each judgement with what it rests on, beside it what people decided, and what both teach.

A decision of a person about an item is compared with the judgement that the item is about. From that the judge learns how far
each signal is to be believed, and how sure it has to be of goals of each kind: kept with each move, and undone by one entry.

People see everything that the judge was too unsure of, and a share of what it let pass; so each of these counts for as many as
it stands for. Only what it would have accepted is compared: to withhold too much harms nobody.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from hive_mind.agents.desk import LedgerDesk, key_of, readable_view
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.calibration import (
    SAMPLES_MIN,
    CalibrationMetrics,
    Comparison,
    JudgeTally,
    SignalWeights,
    accepted,
    are_conclusive,
    by_kind,
    calibrated,
    learned_weights,
    moved,
    retries,
    tally_of,
    threshold,
)
from hive_mind.judge.items import DECIDED, NOBODY, PREFIX, REOPENED, ItemView, stream_of
from hive_mind.judge.judgment import FACT, Judged, JudgeSettings, JudgmentAction, ModelReviewConfig, Precedent
from hive_mind.judge.rules import chosen
from hive_mind.ledger import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry
from hive_mind.model.ids import judgment_id

_log = logging.getLogger(__name__)

AUDIT: Literal["audit"] = "audit"
STREAM = "judge/threshold"
_MOVED, _RESET = "moved", "reset"


class Move(msgspec.Struct, frozen=True):
    """A threshold as it was learned, from this many decisions; None: the judge may not decide alone. `kind`: of the goals."""

    value: float | None = msgspec.field(name="threshold")
    decisions: int
    kind: str = FACT


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How sure the judge has to be, by kind of goal where that was learned.

    `since_ms`: what was decided before does not count.
    """

    by_kind: Mapping[str, Move] = field(default_factory=dict)
    since_ms: int = 0
    seq: int = 0


async def thresholds_in(ledger: Ledger) -> Thresholds:
    """Those at work. Raises what a ledger raises."""
    moves, since_ms, entries = dict[str, Move](), 0, await ledger.read(STREAM)
    for entry in entries:
        if entry.kind == _RESET:
            moves, since_ms = {}, entry.at_ms
        else:
            move = json_decoder(Move)(entry.body)
            moves[move.kind] = move
    return Thresholds(moves, since_ms, len(entries))


async def learned(ledger: Ledger, threshold_given: float, comparisons: Iterable[Comparison], now_ms: int) -> Thresholds:
    """The thresholds after these decisions: higher, or shut, at once; lower by little, and after enough new decisions.

    `threshold_given` is that of the settings, `comparisons` are those since `Thresholds.since_ms`. Raises what a ledger raises.
    """
    now = await thresholds_in(ledger)
    moves = [_move(kind, own, threshold_given, now.by_kind.get(kind)) for kind, own in by_kind(comparisons).items()]
    entries = [Entry(_MOVED, msgspec.json.encode(move), now_ms) for move in moves if move]
    if not entries:
        return now
    # Where another process was first, its moves are at work.
    await ledger.append(STREAM, now.seq, entries)
    return await thresholds_in(ledger)


def _move(kind: str, comparisons: list[Comparison], threshold_given: float, former: Move | None) -> Move | None:
    if not are_conclusive(comparisons):
        return None
    now = threshold_given if former is None else former.value
    value = moved(now, threshold(comparisons))
    is_stricter = now is not None and (value is None or value > now)
    is_due = len(comparisons) - (former.decisions if former else 0) >= SAMPLES_MIN
    return Move(value, len(comparisons), kind) if value != now and (is_stricter or is_due) else None


async def reset(ledger: Ledger, now_ms: int) -> None:
    """Forget what was learned: the setting holds, and only what people decide from now on counts. Raises what a ledger raises."""
    await _append(ledger, STREAM, [Entry(_RESET, b"", now_ms)])


async def _append(ledger: Ledger, stream: str, entries: Sequence[Entry]) -> None:
    """At its end, also where others write to it meanwhile."""
    is_kept = not entries
    while not is_kept:
        length = next((head.seq + 1 for head in await ledger.heads(stream) if head.stream == stream), 0)
        is_kept = await ledger.append(stream, length, entries)


JUDGEMENTS = "judged/"
"""of the streams of judgements, followed by a judgement's id: what is judged again is kept again"""
_JUDGED = "judged"
_KEY = "judge/key"
# An amount that a person can still look through; its digest is kept in any case.
_RESULT_MAX_BYTES = 256_000
# Verdicts that nobody but a judge, or nobody at all, answers for: of these a share is looked at by people.
_AUDITED = frozenset(("agreement", "custom", "unattended"))


class LedgerLog:
    """A log over an open ledger, which stays its owner's.

    `audit_share`: how much of what it accepts a person looks at. `learns_weights`: signals count as far as people agreed with
    them.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock_ms: Callable[[], int] = wall_clock_ms,
        *,
        audit_share: float = 0.0,
        learns_weights: bool = False,
    ) -> None:
        self.ledger, self.now_ms = ledger, clock_ms
        self.audit_share, self.learns_weights = audit_share, learns_weights
        self._decided: dict[str, tuple[int, Precedent]] = {}
        self._pos = 0

    async def keep(self, judged: Judged) -> Judged:
        """Durable when it returns; of a result too large only its size. As it is kept: chosen to be looked at, or not.

        Raises `InvalidInput` and what a ledger raises.
        """
        judgment = judged.judgment
        may_be = self.audit_share > 0.0 and judgment.action is JudgmentAction.ACCEPT and judgment.cause in _AUDITED
        if may_be and chosen(judged.case, self.audit_share, await key_of(self.ledger, _KEY, self.now_ms())):
            judged = msgspec.structs.replace(judged, audit=self.audit_share)
        await _append(self.ledger, JUDGEMENTS + judgment.id, [self._entry(judged)])
        return judged

    async def keep_passed(self, cases: Sequence[Judged]) -> None:
        """That these were let pass, and why; all at once, and without what they are. Raises what a ledger raises."""
        entries = [self._entry(msgspec.structs.replace(case, result={})) for case in cases]
        await _append(self.ledger, f"{JUDGEMENTS}passed", entries)

    def _entry(self, judged: Judged) -> Entry:
        return Entry(_JUDGED, _encoded(judged), self.now_ms())

    async def judged(self) -> list[Judged]:
        """All that was judged, in that order."""
        return [case async for case in self.each()]

    async def each(self) -> AsyncIterator[Judged]:
        """The same one by one. Unreadable entries are logged and left out."""
        pos = 0
        while (page := await self.ledger.newer(pos, JUDGEMENTS)).upto != pos:
            for entry in page.entries:
                if case := _read(entry):
                    yield case
            pos = page.upto

    async def last(self, judgment: str) -> Judged | None:
        """The last judgement of this id; None where none was kept. Raises what a ledger raises."""
        entries = await self.ledger.read(JUDGEMENTS + judgment)
        return _read(entries[-1]) if entries else None

    async def taught(self, settings: JudgeSettings) -> JudgeSettings:
        """As sure as people's decisions say one has to be, and signals weighed by them. Raises what a ledger raises."""
        precedents = await self.precedents()
        weights = learned_weights(precedents).weights_by_goal_type if self.learns_weights else {}
        now = await learned(self.ledger, settings.threshold, accepted(precedents, weights), self.now_ms())
        return replace(settings, thresholds={kind: move.value for kind, move in now.by_kind.items()}, weights=weights)

    async def precedent(self, view: ItemView) -> Precedent | None:
        """A person's decision beside the judgement that the item is about; None where one is missing, or no signal was sure."""
        item, decision = view.item, view.decision
        is_of_fact = item.kind in (FACT, AUDIT) and not item.judged
        name = fact_judgment_id(item.agent, item.subject) if is_of_fact else item.judged
        if not name or decision is None or decision.by in NOBODY:
            return None
        judgements = [case for entry in await self.ledger.read(JUDGEMENTS + name) if (case := _read(entry))]
        case = next((case for case in reversed(judgements) if case.model), judgements[-1] if judgements else None)
        signals = case.judgment.signals if case else ()
        if case is None or not any(signal.action and signal.confidence is not None for signal in signals):
            return None
        share = case.audit if item.kind == AUDIT and case.audit else 1.0
        return Precedent(person=action_of(view), kind=case.kind, signals=signals, result=case.result, share=share)

    async def precedents(self) -> list[Precedent]:
        """Those since what was learned was reset the last time."""
        # The decisions of people since the last look. An item that was opened again counts when it is decided again.
        while (page := await self.ledger.newer(self._pos, PREFIX)).upto != self._pos:
            for entry in page.entries:
                if entry.kind in (DECIDED, REOPENED):
                    self._decided.pop(entry.stream, None)
                    view = await readable_view(self.ledger, entry.stream)
                    if view is not None and (precedent_decided := await self.precedent(view)):
                        self._decided[entry.stream] = view.decided_ms, precedent_decided
            self._pos = page.upto
        since_ms = (await thresholds_in(self.ledger)).since_ms
        return [precedent for at_ms, precedent in self._decided.values() if at_ms > since_ms]


def log_of(ledger: Ledger, config: ModelReviewConfig) -> LedgerLog:
    """Where a judge keeps what it judged, and learns from what people said of it."""
    return LedgerLog(ledger, audit_share=config.audit, learns_weights=config.weights == "learned")


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """How the judge of one agent does. `compared` is how many answers of people the calibration stands on, since it was reset.

    `weights` are those that the answers speak for, also where signals count alike.
    """

    tally: JudgeTally
    calibration: CalibrationMetrics
    thresholds: Thresholds
    weights: SignalWeights
    are_weights_used: bool
    """The last judgement was made with learned weights."""
    compared: int
    audits: int
    """Items of that kind, answered or not."""
    models: tuple[str, ...]


async def record_of(ledger: Ledger) -> JudgeRecord:
    """As it is now. Raises what a ledger raises."""
    log = LedgerLog(ledger)
    judged = await log.judged()
    views = [await readable_view(ledger, head.stream) for head in await ledger.heads(PREFIX)]
    precedents = await log.precedents()
    weights = learned_weights(precedents)
    last = next((case for case in reversed(judged) if case.model), None)
    are_used = bool(last and last.weights)
    comparisons = accepted(precedents, weights.weights_by_goal_type if are_used else None)
    return JudgeRecord(
        tally=tally_of(judged),
        calibration=calibrated(comparisons, retries(judged)),
        thresholds=await thresholds_in(ledger),
        weights=weights,
        are_weights_used=are_used,
        compared=len(comparisons),
        audits=sum(view is not None and view.item.kind == AUDIT for view in views),
        models=tuple(sorted({case.model for case in judged if case.model})),
    )


def _encoded(judged: Judged) -> bytes:
    try:
        body = msgspec.json.encode(judged, enc_hook=str)
    except UnicodeEncodeError:
        raise InvalidInput("the result holds an unpaired surrogate: give it as UTF-8") from None
    if len(body) <= _RESULT_MAX_BYTES:
        return body
    return msgspec.json.encode(msgspec.structs.replace(judged, result={"bytes": len(body)}))


def _read(entry: Entry) -> Judged | None:
    try:
        return json_decoder(Judged)(entry.body)
    except msgspec.MsgspecError as error:
        place = f"entry {entry.seq} of {entry.stream}"
        _log.error("a judgement is left out: %s", WireError(f"{place} is malformed ({error}); upgrade"))
        return None


async def decided(desk: LedgerDesk, agent: str = "") -> AsyncIterator[ItemView]:
    """The facts and outputs that people decided about: all that was asked at this desk, or what one agent asked."""
    for item_named in await desk.ids():
        view = await readable_view(desk.ledger, stream_of(item_named))
        if view and is_decided(view) and agent in ("", view.item.agent):
            yield view


def is_decided(view: ItemView) -> bool:
    """Whether a person decided about a fact, or about outputs of a run; that nobody did in time says nothing."""
    decision = view.decision
    if decision is None or decision.by in NOBODY:
        return False
    # An answer to a question is no verdict on what stood beside it.
    is_verdict = bool(view.item.shows) and not (view.item.kind == "question" and decision.edit is not None)
    return view.item.kind == FACT or is_verdict


def action_of(view: ItemView) -> JudgmentAction:
    """The action that a rule would have had to give. Rejecting a fact is RETRY in a rule: it stays home."""
    assert view.decision is not None  # noqa: S101 - it is decided
    action, is_right = view.decision.action, view.item.subject not in view.decision.wrong
    if view.item.kind == FACT or not view.item.shows:
        return JudgmentAction.ACCEPT if action is JudgmentAction.ACCEPT and is_right else JudgmentAction.RETRY
    return action


def shown(view: ItemView) -> dict[str, str]:
    """The parts of the fact, or the outputs, that the person was shown, by the names that conditions use."""
    context = dict(view.item.context)
    if view.item.shows:
        return {name: context.get(name, "") for name in view.item.shows}
    return {
        "text": context.get("fact", view.item.title),
        "concept": context.get("concept", ""),
        "before": context.get("before", ""),
    }


def shown_precedent(view: ItemView) -> Precedent:
    """The decision about what was shown, as rules are made of it and put to it."""
    because = view.decision.because if view.decision else ""
    return Precedent(
        person=action_of(view), kind=view.item.goal_kind or FACT, result=shown(view), case=view.item.title, because=because
    )


def fact_judgment_id(agent: str, fact: str) -> str:
    """The name of the judgements of an agent's fact."""
    return judgment_id(agent, fact, 0)

"""The log of a judge over a ledger: each judgement with what it rests on, beside it what people decided, and what both teach.

A decision of a person about an item is compared with the judgement that the item is about. From that the judge learns how far
each signal is to be believed, and how sure it has to be of goals of each kind: kept with each move, and undone by one entry.

People see everything that the judge was too unsure of, and a share of what it let pass; so each of these counts for as many as
it stands for. Only what it would have accepted is compared: to withhold too much harms nobody.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from hive_mind.agents.desk import key_of, readable_view
from hive_mind.agents.judging.fact_items import judgement_of, precedent_of
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.agreement import SignalWeights, by_kind, learned_weights
from hive_mind.judge.calibration import (
    SAMPLES_MIN,
    CalibrationMetrics,
    Comparison,
    JudgeTally,
    are_conclusive,
    calibrated,
    compared,
    moved,
    retries,
    tally_of,
    threshold,
)
from hive_mind.judge.items import DECIDED, PREFIX, REOPENED, ItemView
from hive_mind.judge.judge_settings import JudgeSettings, ModelReviewConfig
from hive_mind.judge.judgment import FACT, Judged, JudgmentAction, Precedent
from hive_mind.judge.rules import chosen
from hive_mind.ledger.base import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

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


def accepted(precedents: Iterable[Precedent], weights: Mapping[str, Mapping[str, float]] | None = None) -> list[Comparison]:
    """Those cases in which the signals, weighed so, say ACCEPT."""
    return [comparison for comparison in compared(precedents, weights) if comparison.action is JudgmentAction.ACCEPT]


async def thresholds_in(ledger: Ledger) -> Thresholds:
    """Those at work. Raises what a ledger raises."""
    thresholds = Thresholds()
    for entry in await ledger.read(STREAM):
        if entry.kind == _RESET:
            thresholds = Thresholds(since_ms=entry.at_ms)
        else:
            move = json_decoder(Move)(entry.body)
            thresholds = replace(thresholds, by_kind={**thresholds.by_kind, move.kind: move})
        thresholds = replace(thresholds, seq=entry.seq + 1)
    return thresholds


async def learned(ledger: Ledger, threshold_given: float, comparisons: Iterable[Comparison], now_ms: int) -> Thresholds:
    """The thresholds after these decisions: higher, or shut, at once; lower by little, and after enough new decisions.

    `given` is the threshold of the settings, `comparisons` are those since `Thresholds.since_ms`. Raises what a ledger raises.
    """
    now = await thresholds_in(ledger)
    for kind, comparisons_of_kind in by_kind(comparisons).items():
        move = _move(kind, comparisons_of_kind, threshold_given, now.by_kind.get(kind))
        if move is None:
            continue
        if not await ledger.append(STREAM, now.seq, [Entry(_MOVED, msgspec.json.encode(move), now_ms)]):
            return await thresholds_in(ledger)
        now = replace(now, by_kind={**now.by_kind, kind: move}, seq=now.seq + 1)
    return now


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
    while not await ledger.append(STREAM, len(await ledger.read(STREAM)), [Entry(_RESET, b"", now_ms)]):
        pass


_log = logging.getLogger(__name__)

JUDGEMENTS = "judged/"
"""of the streams of judgements, followed by a judgement's id: what is judged again is kept again"""
_JUDGED = "judged"
_KEY = "judge/key"
# An amount that a person can still look through; its digest is kept in any case.
_RESULT_MAX_BYTES = 256_000
# Verdicts that nobody but a judge, or nobody at all, answers for: of these a share is looked at by people.
_AUDITED = frozenset(("agreement", "custom", "unattended"))


class LedgerLog:
    """A `DecisionLog` over an open ledger, which stays its owner's.

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
        if may_be and chosen(judged.case, self.audit_share, await self.key()):
            judged = msgspec.structs.replace(judged, audit=self.audit_share)
        stream = JUDGEMENTS + judgment.id
        entry = Entry(_JUDGED, _encoded(judged), self.now_ms())
        while not await self.ledger.append(stream, len(await self.ledger.read(stream)), [entry]):
            pass
        return judged

    async def keep_passed(self, cases: Sequence[Judged]) -> None:
        """That these were let pass, and why; all at once, and without what they are. Raises what a ledger raises."""
        brief = [msgspec.structs.replace(case, result={}) for case in cases]
        entries = [Entry(_JUDGED, _encoded(case), self.now_ms()) for case in brief]
        stream = f"{JUDGEMENTS}passed"
        while entries and not await self.ledger.append(stream, await self._length(stream), entries):
            pass

    async def _length(self, stream: str) -> int:
        return next((head.seq + 1 for head in await self.ledger.heads(stream) if head.stream == stream), 0)

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

    async def key(self) -> str:
        """A secret of this ledger, made when it is asked for the first time."""
        return await key_of(self.ledger, _KEY, self.now_ms())

    async def taught(self, settings: JudgeSettings) -> JudgeSettings:
        """As sure as people's decisions say one has to be, and signals weighed by them. Raises what a ledger raises."""
        await self._follow()
        since_ms = (await thresholds_in(self.ledger)).since_ms
        precedents = [precedent for at_ms, precedent in self._decided.values() if at_ms > since_ms]
        weights = learned_weights(precedents).weights_by_goal_type if self.learns_weights else {}
        now = await learned(self.ledger, settings.threshold, accepted(precedents, weights), self.now_ms())
        return replace(settings, thresholds={kind: move.value for kind, move in now.by_kind.items()}, weights=weights)

    async def precedent(self, view: ItemView) -> Precedent | None:
        """A person's decision beside the judgement that the item is about; None where there is none of both."""
        if not (name := judgement_of(view)):
            return None
        entries = [case for entry in await self.ledger.read(JUDGEMENTS + name) if (case := _read(entry))]
        about = next(
            (precedent_of_model for precedent_of_model in reversed(entries) if precedent_of_model.model),
            entries[-1] if entries else None,
        )
        return precedent_of(view, about) if about else None

    async def _follow(self) -> None:
        """The decisions of people since the last look. An item that was opened again counts when it is decided again."""
        while (page := await self.ledger.newer(self._pos, PREFIX)).upto != self._pos:
            for entry in page.entries:
                if entry.kind in (DECIDED, REOPENED):
                    await self._note(entry.stream)
            self._pos = page.upto

    async def _note(self, stream: str) -> None:
        self._decided.pop(stream, None)
        view = await readable_view(self.ledger, stream)
        if view is not None and (precedent := await self.precedent(view)):
            self._decided[stream] = view.decided_ms, precedent


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
    views = [view for head in await ledger.heads(PREFIX) if (view := await readable_view(ledger, head.stream))]
    now = await thresholds_in(ledger)
    precedents = [precedent for view in views if view.decided_ms > now.since_ms if (precedent := await log.precedent(view))]
    weights = learned_weights(precedents)
    last = next((case for case in reversed(judged) if case.model), None)
    are_used = bool(last and last.weights)
    comparisons = accepted(precedents, weights.weights_by_goal_type if are_used else None)
    return JudgeRecord(
        tally=tally_of(judged),
        calibration=calibrated(comparisons, retries(judged)),
        thresholds=now,
        weights=weights,
        are_weights_used=are_used,
        compared=len(comparisons),
        audits=sum(view.item.kind == "audit" for view in views),
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
        _log.error(
            "a judgement is left out: %s", WireError(f"entry {entry.seq} of {entry.stream} is malformed ({error}); upgrade")
        )
        return None

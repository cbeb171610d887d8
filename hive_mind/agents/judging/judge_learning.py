"""Calibration of a judge by people: how sure it has to be of goals of each kind, kept in the ledger with each move, and undone by
one entry.

People see everything that the judge was too unsure of, and a share of what it let pass; so each of these counts for as many as
it stands for. Only what it would have accepted is compared: to withhold too much harms nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

import msgspec

from hive_mind.judge.calibration import SAMPLES_MIN, Comparison, are_conclusive, compared, moved, threshold
from hive_mind.judge.case import FACT
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.precedent import Precedent
from hive_mind.ledger.base import Ledger
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
            move = msgspec.json.decode(entry.body, type=Move)
            thresholds = replace(thresholds, by_kind={**thresholds.by_kind, move.kind: move})
        thresholds = replace(thresholds, seq=entry.seq + 1)
    return thresholds


async def learned(ledger: Ledger, given: float, comparisons: Iterable[Comparison], now_ms: int) -> Thresholds:
    """The thresholds after these decisions: higher, or shut, at once; lower by little, and after enough new decisions.

    `given` is the threshold of the settings, `comparisons` are those since `Thresholds.since_ms`. Raises what a ledger raises.
    """
    now = await thresholds_in(ledger)
    for kind, some in groupby(sorted(comparisons, key=lambda one: one.kind), key=lambda comparison: comparison.kind):
        move = _move(kind, list(some), given, now.by_kind.get(kind))
        if move is None:
            continue
        if not await ledger.append(STREAM, now.seq, [Entry(_MOVED, msgspec.json.encode(move), now_ms)]):
            return await thresholds_in(ledger)
        now = replace(now, by_kind={**now.by_kind, kind: move}, seq=now.seq + 1)
    return now


def _move(kind: str, comparisons: list[Comparison], given: float, former: Move | None) -> Move | None:
    if not are_conclusive(comparisons):
        return None
    now = given if former is None else former.value
    value = moved(now, threshold(comparisons))
    is_stricter = now is not None and (value is None or value > now)
    is_due = len(comparisons) - (former.decisions if former else 0) >= SAMPLES_MIN
    return Move(value, len(comparisons), kind) if value != now and (is_stricter or is_due) else None


async def reset(ledger: Ledger, now_ms: int) -> None:
    """Forget what was learned: the setting holds, and only what people decide from now on counts. Raises what a ledger raises."""
    while not await ledger.append(STREAM, len(await ledger.read(STREAM)), [Entry(_RESET, b"", now_ms)]):
        pass

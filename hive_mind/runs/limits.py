"""The spending limits of a run: turns, tokens, money and time. The last turn of a budget can only report the facts known."""

from dataclasses import dataclass

from hive_mind.runs.graphs.spec import Limits, NodeSpec
from hive_mind.runs.state import ActiveNode, RunState

_ALMOST = 0.9
"""From this share of the tokens or the money on, a turn may be the last that can be paid."""
_LEAST_USD = 1e-6


@dataclass(frozen=True, slots=True)
class Left:
    """Tokens and US dollars; None where these have no limit."""

    tokens: int
    usd: float | None


def left_of(state: RunState) -> Left:
    """The budget that has not been counted as used."""
    limits = state.spec.limits
    return Left(limits.tokens - state.tokens, None if limits.usd is None else limits.usd - state.usd)


def is_spent(state: RunState) -> str:
    """Why no further turn may be asked for, or ""."""
    limits = state.spec.limits
    if state.turns >= limits.turns:
        return f"all {limits.turns} turns of the run are used"
    if state.tokens >= limits.tokens:
        return f"{state.tokens:,} of {limits.tokens:,} tokens are used"
    if limits.usd is not None and state.usd >= limits.usd:
        return f"{state.usd:.4f} of {limits.usd:g} US dollars are used"
    return ""


def part_of(limits: Limits, left: Left, among: int) -> Limits:
    """The limits of each of `among` concurrent workers: an equal part of the rest, and never nothing."""
    tokens = max(1, left.tokens // among)
    usd = None if left.usd is None else max(_LEAST_USD, left.usd / among)
    return limits.model_copy(update={"tokens": tokens, "usd": usd})


def is_last(state: RunState, place: ActiveNode, node: NodeSpec) -> bool:
    """Whether the turn to come is the last one, of the run or of this attempt."""
    limits = state.spec.limits
    return (
        state.turns + 1 >= limits.turns
        or state.tokens >= _ALMOST * limits.tokens
        or (limits.usd is not None and state.usd >= _ALMOST * limits.usd)
        or (place.turns + 1 >= node.turns and place.tries >= node.attempts)
    )


def ms_left(state: RunState) -> int:
    """Until the run has used its time."""
    return max(0, round(state.spec.limits.seconds * 1_000) - state.active_ms)


def place_ms_left(place: ActiveNode, node: NodeSpec) -> int | None:
    """Until an attempt has used its time; None where it has as much as it likes."""
    return max(0, round(node.timeout_s * 1_000) - place.active_ms) if node.timeout_s else None

"""A run as plain values: for people who look at it, and for programs."""

from datetime import UTC, datetime
from typing import Any

from hive_mind.agents.desk import LedgerDesk
from hive_mind.runs.state import RunState


async def document_of(run: str, state: RunState, desk: LedgerDesk) -> dict[str, Any]:
    """A run as JSON."""
    views = [view for id in state.waiting if (view := await desk.view(id))]
    outputs = {key: value for key, value in state.buffer.items() if key not in state.inputs}
    wanted = state.spec.goal.outputs if state.spec.goal and state.spec.goal.outputs else outputs
    return {
        "run": run,
        "worker": state.spec.id,
        "version": state.spec.version,
        "inputs": dict(state.inputs),
        "limits": state.spec.limits.model_dump(),
        "status": status_of(state),
        "reason": state.reason or state.paused,
        "at": sorted(place.node for place in state.places.values()),
        "done": list(state.done),
        "outputs": {key: outputs[key] for key in wanted if key in outputs},
        "waiting": [{"id": view.item.id, "kind": view.item.kind, "title": view.item.title} for view in views],
        "steps": state.seq,
        "turns": state.turns,
        "tokens": state.tokens,
        "usd": round(state.usd, 6),
        "begun": _time(state.begun_ms),
        "changed": _time(state.at_ms),
    }


def status_of(state: RunState) -> str:
    """A word for it: how it ended, or whether a person or a process goes on."""
    return state.outcome or ("paused" if state.paused else "parked" if state.is_waiting else "unfinished")


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

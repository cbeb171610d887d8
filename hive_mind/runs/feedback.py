"""A planner's input after a plan has failed: document 001's feedback context."""

from typing import Any

from hive_mind.runs.state import RunState


def feedback_context(state: RunState, why: str = "") -> dict[str, Any]:
    """Its four keys: what succeeded, what failed after how many attempts and why, what is known, which constraints were hurt."""
    failed = [*state.failed, *((place.node, place.attempt, place.errors) for place in state.places.values() if place.errors)]
    known = {key: value for key, value in state.buffer.items() if key != "feedback_context"}
    return {
        "completed_steps": list(state.done),
        "failed_steps": [{"step_id": node, "attempts": attempts, "errors": list(errors)} for node, attempts, errors in failed],
        "accumulated_context": {**known, **({"why": why} if why else {})},
        "constraints_violated": list(state.violated),
    }

"""Where a run goes on: edges that hold, branches that open and meet, and the input of the next node.

Steps are written as they are thought of, each seen by the next: what an event means often depends on the step before.
"""

import json
from collections.abc import Sequence
from typing import Literal

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs.effects import WorkerPlan
from hive_mind.runs.fold import fold
from hive_mind.runs.graphs.spec import EdgeSpec
from hive_mind.runs.prompt import handoff, marker
from hive_mind.runs.state import ActiveNode, BranchFrame, RunState
from hive_mind.runs.steps import Arrived, Closed, Ended, Entered, Forked, Judged, Left, Outcome, Started, Step


class Writing:
    """Steps to be kept together, and the state after them."""

    def __init__(self, state: RunState, plan: WorkerPlan) -> None:
        self.state, self.plan = state, plan
        self.steps: list[Step] = []

    def add(self, step: Step) -> None:
        """One more; none after the end."""
        if self.state.outcome is None:
            self.steps.append(step)
            self.state = fold(self.state, step, self.state.at_ms)

    def end(self, outcome: Outcome, reason: str) -> None:
        self.add(Ended(outcome, reason))


How = Literal["success", "failure"]


def begin(writing: Writing, started: Started) -> None:
    """The first steps of a run."""
    writing.add(started)
    _go(writing, writing.state.spec.entry, "", 0, "")


def leave(writing: Writing, place: ActiveNode, way: How, chosen: str = "") -> None:
    """The place is finished; the nodes after it begin. A condition that fails on its data goes to a person."""
    try:
        targets = _targets(writing.state, place, way, chosen)
    except ConditionError as error:
        why = f"an edge from {place.node} can't be decided: {error}"
        writing.add(Judged(place.id, JudgmentAction.ESCALATE, why, cause="broken"))
        return
    writing.add(Left(place.id, way))
    briefing = _briefing(writing.state, place, way)
    if len(targets) > 1:
        frame = f"f-{place.id}"
        writing.add(Forked(frame, place.id, len(targets)))
        for branch, target in enumerate(targets):
            # A branch that went straight to where the first goes on has ended the others.
            if frame in writing.state.frames:
                _go(writing, target, frame, branch, briefing)
    elif targets:
        _go(writing, targets[0], place.frame, place.branch, briefing)
    else:
        _meet(writing, place.frame)


def options(state: RunState, place: ActiveNode) -> Sequence[EdgeSpec]:
    return [edge for edge in state.spec.from_(place.node) if edge.on == "model"]


def give_up(writing: Writing, places: Sequence[ActiveNode]) -> None:
    """Nobody wants these any more."""
    for place in places:
        writing.add(Left(place.id, "cancelled"))


def _targets(state: RunState, place: ActiveNode, way: How, chosen: str) -> list[str]:
    values_known = {**state.known_at(place), **place.outputs}
    targets = [
        edge.target
        for edge in state.spec.from_(place.node)
        if edge.on in (way, "always")
        or (edge.on == "condition" and way == "success" and Condition(edge.when).holds(output=values_known, result=values_known))
        or (edge.on == "model" and way == "success" and edge.target == chosen)
    ]
    return list(dict.fromkeys(targets))


def _briefing(state: RunState, place: ActiveNode, way: How) -> str:
    write = marker if state.spec.context == "continuous" else handoff
    return write(state, place, has_failed=way == "failure")


def enter(writing: Writing, node: str, message: str) -> None:
    """Begin a node outside any branch."""
    _go(writing, node, "", 0, message)


def _go(writing: Writing, node: str, frame: str, branch: int, message: str) -> None:
    state = writing.state
    spec = state.spec.by_id[node]
    if spec.join and frame in state.frames:
        writing.add(Arrived(frame, branch, node))
        _meet(writing, frame)
    elif state.visits.get(node, 0) >= spec.visits:
        writing.end(
            "failed", f"node {node} was entered {spec.visits} times: the graph goes in circles, or its visits are too few"
        )
    else:
        writing.add(Entered(f"p{state.entered + 1}", node, frame, branch, message))


def _meet(writing: Writing, id: str) -> None:
    """A branch arrived or ended: the next node begins if this was what it waited for."""
    frame = writing.state.frames.get(id)
    if frame is None:
        return
    if not frame.arrived:
        if not frame.live:
            writing.add(Closed(id))
            _meet(writing, frame.parent)
        return
    node = next(iter(frame.arrived.values()))
    if frame.live and writing.state.spec.by_id[node].join != "any":
        return
    give_up(writing, _within(writing.state, frame))
    briefing = f"The branches before this are done. Known so far: {_short(writing.state)}"
    place = f"p{writing.state.entered + 1}"
    writing.add(Entered(place, node, frame.parent, frame.branch, briefing, joins=id))


def _within(state: RunState, frame: BranchFrame) -> list[ActiveNode]:
    """The places of a frame and of those inside it."""
    return [place for place in state.places.values() if _is_within(state, place.frame, frame.id)]


def _is_within(state: RunState, id: str, outer: str) -> bool:
    while id in state.frames:
        if id == outer:
            return True
        id = state.frames[id].parent
    return False


def _short(state: RunState) -> str:
    return json.dumps(dict(state.buffer), ensure_ascii=False, sort_keys=True, default=str)[:2_000]

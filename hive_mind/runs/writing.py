"""Steps as they are thought of, each seen by the next: what an event means often depends on what the step before it made."""

from hive_mind.runs.effects import WorkerPlan
from hive_mind.runs.fold import fold
from hive_mind.runs.state import RunState
from hive_mind.runs.steps import Ended, Outcome, Step


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

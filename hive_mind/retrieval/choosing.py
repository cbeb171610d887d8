"""Which of the configurations that were tried is the best, and how good that choice is on questions it did not see.

Of few questions no half can be held out: the other half would tune on next to nothing. So all of them choose, and what the
choice is worth is cross-validated: each question is answered by the configuration that all others would have chosen. That judges
the choice, where most luck comes in. Who proposed what to try saw every question, so it is still a little kind.
"""

from collections.abc import Sequence
from dataclasses import replace

from hive_mind.retrieval.configuration import RetrievalConfig
from hive_mind.retrieval.halves import CROSSED
from hive_mind.retrieval.measured import Evaluation
from hive_mind.retrieval.tuner import Step, is_better, shows_more_distractors


def takes_over(step: Step, best: Step, start: Step) -> bool:
    """Whether a step is to be the best from now on."""
    return step.is_whole and is_better(step, best) and not shows_more_distractors(step, start)


def best_of(steps: Sequence[Step]) -> Step:
    """The best of some steps, the first of which is what everything began with."""
    start = best = steps[0]
    for step in steps[1:]:
        if takes_over(step, best, start):
            best = step
    return best


def cross_validated(steps: Sequence[Step], config: RetrievalConfig) -> Evaluation:
    """What choosing is worth, under the name of the configuration that all questions chose."""
    whole = {step.number: step for step in steps if step.is_whole}
    k = max(step.measured.k for step in whole.values())
    rows = []
    for place in range(len(steps[0].measured.rows)):
        chosen = best_of([_without(step, place) for step in whole.values()])
        rows.append(whole[chosen.number].measured.rows[place])
    return Evaluation(config, CROSSED, k, tuple(rows))


def _without(step: Step, place: int) -> Step:
    rows = step.measured.rows
    return replace(step, measured=replace(step.measured, rows=(*rows[:place], *rows[place + 1 :])))

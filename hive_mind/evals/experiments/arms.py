"""From the lists of an arm, or of a fault, to the values they multiply to."""

from collections.abc import Iterable
from itertools import product

from hive_mind.evals.experiments.form import ArmForm, FaultForm
from hive_mind.evals.experiments.matrix import ALONE, plain_arm
from hive_mind.evals.experiments.values import Arm, Fault

# Enough that every topology has something to divide, and each agent still has something to say.
AGENTS = 10


def arms_in(form: ArmForm) -> tuple[Arm, ...]:
    """Every arm of a section, each once: what means nothing to a kind is not multiplied into it."""
    arms = (
        plain_arm(Arm(kind, 1 if kind in ALONE else agents, groups, replicas, deal, fan_out, place))
        for kind, agents, groups, replicas, deal, fan_out, place in product(
            form.kind,
            form.agents or [AGENTS],
            form.groups or [0],
            form.replicas or [Arm().replicas],
            form.deal,
            form.fan_out or [0],
            form.place,
        )
    )
    return tuple(dict.fromkeys(arms))


def faults_in(forms: Iterable[FaultForm]) -> tuple[Fault, ...]:
    """Every fault, each once. None given: nothing is wrong."""
    faults = (
        Fault(down, loss, slow, slow_ms if slow else 0)
        for form in forms
        for down, loss, slow, slow_ms in product(form.down, form.loss, form.slow, form.slow_ms)
    )
    return tuple(dict.fromkeys(faults)) or (Fault(),)

"""How a data set is dealt to agents: which of them learns which document. Part of the experiment, so the report names it."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Document

Deal = Callable[[Sequence[Document], int], list[list[Document]]]
_Seeded = Callable[[Sequence[Document], int, int], list[list[Document]]]


def _round_robin(documents: Sequence[Document], agents: int, seed: int) -> list[list[Document]]:  # noqa: ARG001
    """One after the other, as if everybody heard a bit of everything."""
    return [list(documents[number::agents]) for number in range(agents)]


def _by(documents: Sequence[Document], agents: int, seed: int, *, field: str) -> list[list[Document]]:  # noqa: ARG001
    """Documents that belong together stay together; groups go to the agents in turn."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(getattr(document, field), []).append(document)
    dealt: list[list[Document]] = [[] for _ in range(agents)]
    for number, group in enumerate(groups.values()):
        dealt[number % agents].extend(group)
    return dealt


def _random(documents: Sequence[Document], agents: int, seed: int) -> list[list[Document]]:
    """Each to an agent that is drawn, as where facts reach agents by chance."""
    chance = random.Random(f"{seed} deal")  # noqa: S311 - it has to be the same again
    dealt: list[list[Document]] = [[] for _ in range(agents)]
    for document in documents:
        dealt[chance.randrange(agents)].append(document)
    return dealt


_DEALS: Mapping[str, _Seeded] = {
    "round-robin": _round_robin,
    "session": partial(_by, field="section"),
    "speaker": partial(_by, field="speaker"),
    "topic": partial(_by, field="topic"),
    "random": _random,
}
DEALS = tuple(_DEALS)


def deal_by(name: str, seed: int = 1) -> Deal:
    """The way to deal of this name; `seed` decides where it draws. Raises `InvalidInput`."""
    if name not in _DEALS:
        raise InvalidInput(f"unknown deal {name!r}; known: {', '.join(DEALS)}")
    return lambda documents, agents: _DEALS[name](documents, agents, seed)


def names_of(agents: int) -> tuple[str, ...]:
    """Agents of an experiment: "agent-00", "agent-01", …"""
    width = len(str(max(agents - 1, 0)))
    return tuple(f"agent-{number:0{width}d}" for number in range(agents))

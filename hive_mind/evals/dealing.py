"""How a data set is dealt to agents: which of them learns which document. Part of the experiment, so the report names it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Document

Deal = Callable[[Sequence[Document], int], list[list[Document]]]


def _round_robin(documents: Sequence[Document], agents: int) -> list[list[Document]]:
    """One after the other, as if everybody heard a bit of everything."""
    return [list(documents[number::agents]) for number in range(agents)]


def _by(documents: Sequence[Document], agents: int, *, field: str) -> list[list[Document]]:
    """What belongs together stays together; groups go to the agents in turn."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(getattr(document, field), []).append(document)
    dealt: list[list[Document]] = [[] for _ in range(agents)]
    for number, group in enumerate(groups.values()):
        dealt[number % agents].extend(group)
    return dealt


DEALS: Mapping[str, Deal] = {
    "round-robin": _round_robin,
    "session": partial(_by, field="section"),
    "speaker": partial(_by, field="speaker"),
}


def deal_by(name: str) -> Deal:
    """The way to deal of this name. Raises `InvalidInput`."""
    if name not in DEALS:
        raise InvalidInput(f"there is no way to deal {name!r}; known: {', '.join(DEALS)}")
    return DEALS[name]


def names_of(agents: int) -> tuple[str, ...]:
    """Agents of an experiment: "agent-00", "agent-01", …"""
    width = len(str(max(agents - 1, 0)))
    return tuple(f"agent-{number:0{width}d}" for number in range(agents))


def counted(documents: Iterable[Document]) -> int:
    """How many of them say anything that can be kept."""
    return sum(1 for document in documents if any(character.isalnum() for character in document.text))

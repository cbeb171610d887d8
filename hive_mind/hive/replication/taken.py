"""Results of changes to the partitions of a node, as values: each change returns one, and several are joined in their order.

What becomes of it (journal, index, messages to the other holders) is for `node` to say.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hive_mind.hive.effects import Record
from hive_mind.model.evidence import Dot, Removal, Sealed


@dataclass(frozen=True, slots=True)
class Taken:
    """Result of a change: journal records, the facts concerned, new assertions (to tell others), and refusals by reason."""

    records: tuple[Record, ...] = ()
    facts: frozenset[str] = frozenset()
    adds: tuple[Sealed, ...] = ()
    removals: tuple[Removal, ...] = ()
    gone: tuple[Sealed, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    contested: tuple[Dot, ...] = ()
    """Live assertions here that a member without the right took back."""


@dataclass(slots=True)
class Change:
    """A change that is being made, inside `PartitionReplica`."""

    records: list[Record] = field(default_factory=list)
    facts: set[str] = field(default_factory=set)
    adds: list[Sealed] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    gone: list[Sealed] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    contested: list[Dot] = field(default_factory=list)

    def made(self) -> Taken:
        return Taken(
            tuple(self.records),
            frozenset(self.facts),
            tuple(self.adds),
            tuple(self.removals),
            tuple(self.gone),
            self.refused,
            tuple(self.contested),
        )


def joined(parts: Sequence[Taken]) -> Taken:
    """Results of successive changes of one partition, as one."""
    if len(parts) == 1:
        return parts[0]
    refused: Counter[str] = Counter()
    for part in parts:
        refused.update(part.refused)
    return Taken(
        tuple([record for part in parts for record in part.records]),
        frozenset([fact for part in parts for fact in part.facts]),
        tuple([add for part in parts for add in part.adds]),
        tuple([removal for part in parts for removal in part.removals]),
        tuple([assertion for part in parts for assertion in part.gone]),
        refused,
        tuple([dot for part in parts for dot in part.contested]),
    )


def by_partition(changes: Iterable[tuple[str, Taken]]) -> dict[str, Taken]:
    """Results of successive changes, by partition in the order in which these were first changed."""
    parts: dict[str, list[Taken]] = {}
    for partition, share in changes:
        parts.setdefault(partition, []).append(share)
    return {partition: joined(shares) for partition, shares in parts.items()}


def merged(*changes: Mapping[str, Taken]) -> dict[str, Taken]:
    """Results of several changes to all partitions, as one."""
    return by_partition(chain.from_iterable(change.items() for change in changes))

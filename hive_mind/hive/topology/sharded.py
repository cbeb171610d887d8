"""Sharded: a fact lies where its id says, on one replica set of R nodes; a question goes to one member of each set.

Nodes form aligned replica sets of exactly R: members of a set hold the same partitions, so a question needs one member of each
set. The nodes left over are spares: they ask and author and hold nothing, until a node leaves or R of them form another set.

A placement is made from the one before and remembers its table. So partitions move only when sets come and go: those of a
dissolved set go to the others, a new set takes its share of theirs, and no other copy is made. Which ones is
decided by rendezvous hashing under a cap (Thaler and Ravishankar 1998; the cap as in Mirrokni et al. 2018): each pair of set and
partition has a score, and a partition goes to the set with the highest score that has room.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import ClassVar

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology import NO_WISHES, AskingOrder, ReplicaSet

# Few enough that an answer can name what is missing, enough for even shares: at 50 nodes the fullest has 1.04 times the mean, at
# 1,000 nodes 1.3 times (benchmarks/placement.py). Four times as many bring that down to 1.06.
PARTITIONS = 1024
# Two may be lost at once. A fourth copy costs a third more of everything.
REPLICAS = 3

_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Placement:
    """One version of the placement. All that make it by the same steps get the same one.

    A set keeps its number as long as it lives: a dissolved one leaves () in `sets`, and the next one formed takes that place.
    """

    sets: tuple[tuple[str, ...], ...]
    """Members of each replica set, sorted: exactly `replicas`, or all nodes where there are fewer."""
    spares: tuple[str, ...]
    table: tuple[int, ...]
    """The number of the set that holds a partition, by the partition's number."""
    replicas: int = REPLICAS
    epoch: int = 1

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted([*self.spares, *(node for members in self.sets for node in members)]))

    def holders(self, partition: int) -> tuple[str, ...]:
        return self.sets[self.table[partition]]

    def with_nodes(self, nodes: Iterable[str]) -> "Placement":
        """The next placement, for these nodes; this one where they are the same. Moves as little as aligned sets allow.

        Joiners and then spares take the places of leavers. Where they are too few, as few sets as possible are dissolved,
        those first that lost most members, and their other members take places too. R that are left over form a new set.
        """
        names, former_names = _checked(nodes), frozenset(self.nodes)
        if names == former_names:
            return self
        free = sorted(names - former_names) + [spare for spare in self.spares if spare in names]
        places = {n: [node for node in members if node in names] for n, members in enumerate(self.sets) if members}
        # Sets are given up until the others can be filled. Each closes a gap of R nodes; so the count is fixed, and the emptiest
        # saves most copies.
        while len(places) > 1 and sum(self.replicas - len(members) for members in places.values()) > len(free):
            free += places.pop(min(places, key=lambda n: (len(places[n]), -n)))
        for members in places.values():
            missing = self.replicas - len(members)
            members += free[:missing]
            del free[:missing]
        table = _adopted(self.table, places)
        while len(free) >= self.replicas:
            number = next(n for n in range(len(places) + 1) if n not in places)
            places[number], free = free[: self.replicas], free[self.replicas :]
            table = _handed_over(table, number, len(places))
        sets = tuple(tuple(sorted(places.get(n, ()))) for n in range(max(places) + 1))
        return Placement(sets, tuple(sorted(free)), table, self.replicas, self.epoch + 1)


def first_placement(nodes: Iterable[str], replicas: int = REPLICAS, partitions: int = PARTITIONS) -> Placement:
    """The placement a hive begins with.

    Neighbours in the order of names come into different sets: names are often numbered, and numbers near each other
    often share a machine, which must not take a whole set with it.
    """
    if replicas < 1 or partitions < 1:
        raise InvalidInput(f"a placement needs at least one replica and one partition, not {replicas} and {partitions}")
    ordered = sorted(_checked(nodes))
    count = max(1, len(ordered) // replicas)
    sets = {n: ordered[n::count][:replicas] for n in range(count)}
    table = _first_table(count, partitions)
    return Placement(tuple(map(tuple, sets.values())), tuple(ordered[count * replicas :]), table, replicas)


@lru_cache(maxsize=4)
def _first_table(sets_count: int, partitions: int) -> tuple[int, ...]:
    """A controller that watches a fleet wants the same every few seconds."""
    return _adopted((_NOBODY,) * partitions, range(sets_count))


def _checked(nodes: Iterable[str]) -> frozenset[str]:
    if not (distinct := frozenset(nodes)):
        raise InvalidInput("a hive needs at least one node")
    return distinct


def _adopted(table: Sequence[int], sets: Collection[int]) -> tuple[int, ...]:
    """Partitions that have no set any more (or none yet) go to the one with the highest score that has room.

    The cap is the even share: nobody gets more before all have it. Tables that are made anew each time need a looser one (1.15),
    because a partition that no longer fits pushes out the next; here nobody is pushed, so tight costs nothing.
    """
    settled = [number if number in sets else _NOBODY for number in table]
    if not (orphans := [partition for partition, number in enumerate(settled) if number == _NOBODY]):
        return tuple(settled)
    scores = {number: _scores(number, len(table)) for number in sets}
    loads, share = Counter(settled), len(table) // len(sets)
    for partition in orphans:
        room = [n for n in sets if loads[n] < share] or [n for n in sets if loads[n] == share]
        settled[partition] = max(room, key=lambda n: scores[n][partition])
        loads[settled[partition]] += 1
    return tuple(settled)


def _handed_over(table: Sequence[int], newcomer: int, sets_count: int) -> tuple[int, ...]:
    """A new set takes its share: repeatedly the best-scoring partition of the fullest set."""
    settled, loads, scores = list(table), Counter(table), _scores(newcomer, len(table))
    liked = sorted(range(len(table)), key=scores.__getitem__, reverse=True)
    for _ in range(len(table) // sets_count):
        most = max(loads.values())
        partition_moved = next(partition for partition in liked if loads[settled[partition]] == most)
        loads[settled[partition_moved]] -= 1
        settled[partition_moved] = newcomer
        loads[newcomer] += 1
    return tuple(settled)


def _scores(number: int, partitions: int) -> list[int]:
    """How much a set wants each partition: 64 bits each, eight from one digest."""
    digests = (blake2b(f"set {number} block {block}".encode()).digest() for block in range(-(-partitions // 8)))
    return [int.from_bytes(digest[at : at + 8], "big") for digest in digests for at in range(0, 64, 8)]


# 32 bits of an id choose its partition. For a power of two that is exactly even, for any other count of partitions nearly.
_ID_DIGITS = 8


@dataclass(frozen=True)
class Sharded:
    """A placement, ready to be asked."""

    placement: Placement
    name: ClassVar[str] = "sharded"

    @property
    def epoch(self) -> int:
        return self.placement.epoch

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return self.placement.nodes

    def with_nodes(self, nodes: Iterable[str], wishes: Mapping[str, str] = NO_WISHES) -> "Sharded":  # noqa: ARG002
        placement = self.placement.with_nodes(nodes)
        return self if placement is self.placement else Sharded(placement)

    def with_epoch(self, epoch: int) -> "Sharded":
        return Sharded(replace(self.placement, epoch=epoch))

    def home(self, fact_id: str, node: str) -> str:  # noqa: ARG002
        """The partition that the id's first bits name; the author does not matter. `fact_id` is hexadecimal."""
        return self._names[int(fact_id[:_ID_DIGITS], 16) % len(self._names)]

    def copies(self, fact_id: str, node: str, confidence: float) -> tuple[str, ...]:  # noqa: ARG002
        """None: a sharded hive has no place that all can see."""
        return ()

    def holders(self, partition: str) -> tuple[str, ...]:
        """The members of its replica set; nobody for a partition that is not ours."""
        return self._holders.get(partition, ())

    def held_by(self, node: str) -> tuple[str, ...]:
        return self._partitions[self._set_of[node]] if node in self._set_of else ()

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:  # noqa: ARG002
        return self._members[self.home(fact_id, node)]

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:  # noqa: ARG002
        own_set, partitions_of_sets = self._set_of.get(node), self._partitions
        order = sorted((n for n, partitions in enumerate(partitions_of_sets) if partitions), key=lambda n: n != own_set)
        sets = self.placement.sets
        return tuple([ReplicaSet(f"set{n}", self._asking.of(sets[n], node), partitions_of_sets[n]) for n in order])

    def favoured(self, words: tuple[str, ...]) -> frozenset[str]:  # noqa: ARG002
        return frozenset()

    def peers(self, node: str) -> tuple[str, ...]:
        if not self.held_by(node):
            return ()
        return tuple([peer for peer in self.placement.sets[self._set_of[node]] if peer != node])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"p{number:04}" for number in range(len(self.placement.table)))

    @cached_property
    def _holders(self) -> dict[str, tuple[str, ...]]:
        return {name: self.placement.holders(number) for number, name in enumerate(self._names)}

    @cached_property
    def _members(self) -> dict[str, frozenset[str]]:
        sets = tuple(map(frozenset, self.placement.sets))
        return {name: sets[number] for name, number in zip(self._names, self.placement.table, strict=True)}

    @cached_property
    def _set_of(self) -> dict[str, int]:
        return {node: number for number, members in enumerate(self.placement.sets) for node in members}

    @cached_property
    def _partitions(self) -> tuple[tuple[str, ...], ...]:
        names_of_sets: list[list[str]] = [[] for _ in self.placement.sets]
        for name, number in zip(self._names, self.placement.table, strict=True):
            names_of_sets[number].append(name)
        return tuple(tuple(sorted(names)) for names in names_of_sets)

    @cached_property
    def _asking(self) -> AskingOrder:
        return AskingOrder(self.nodes)

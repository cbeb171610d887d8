"""Federated: each group keeps its own facts, everybody keeps the surest ones too, and a question goes to one of each group.

A fact has its home in its author's group and counts there only. One of high confidence is copied to every node besides, so that
a question to the own group alone finds it. Domains of groups change the order and the depth of asking, never what can be found.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology import NO_WISHES, AskingOrder, ReplicaSet
from hive_mind.judge.capability import terms_of

EVERYONE = "everyone"
# Lower it and asking near by finds more, at the price of a copy on every node.
BROADCAST_THRESHOLD = 0.9
ROOT_GROUP = "root"


@dataclass(frozen=True)
class Federated:
    """Groups of nodes, and the root that belongs to all of them: it keeps copies, and what is promoted at it.

    A root that is in no group is in one of its own, called "root". So every node is in exactly one group.
    """

    groups: Mapping[str, Sequence[str]] = field(hash=False)
    domains: Mapping[str, Iterable[str]] = field(default_factory=dict, hash=False)
    """The domains of a group, in words, by its name."""
    root: str | None = None
    broadcast_threshold: float = BROADCAST_THRESHOLD
    """Confidence from which everybody keeps a copy."""
    epoch: int = 1
    group_thresholds: Mapping[str, float] = field(default_factory=dict, hash=False)
    """The same for single groups, by name, where it differs. 0: all facts, 1: only certain ones."""
    name: ClassVar[str] = "federated"

    def __post_init__(self) -> None:
        groups = {group: set(members) for group, members in self.groups.items()}
        if self.root is not None and not any(self.root in members for members in groups.values()):
            groups.setdefault(ROOT_GROUP, set()).add(self.root)
        counts = Counter(node for members in groups.values() for node in members)
        if twice := sorted(node for node, count in counts.items() if count > 1):
            raise InvalidInput(f"a node belongs to one group; in several: {', '.join(twice)}")
        if not counts:
            raise InvalidInput("a hive needs at least one node")
        if unknown := sorted(set(self.domains) - set(groups)):
            raise InvalidInput(f"domains name groups that do not exist: {', '.join(unknown)}")
        if unknown := sorted(set(self.group_thresholds) - set(groups)):
            raise InvalidInput(f"thresholds name groups that do not exist: {', '.join(unknown)}")
        if bad := sorted(group for group, least in self.group_thresholds.items() if not 0.0 <= least <= 1.0):
            raise InvalidInput(f"threshold of {', '.join(bad)} must be in [0, 1]")
        object.__setattr__(self, "groups", {group: tuple(sorted(groups[group])) for group in sorted(groups)})
        object.__setattr__(self, "domains", {group: tuple(sorted(set(self.domains[group]))) for group in sorted(self.domains)})
        object.__setattr__(self, "group_thresholds", dict(sorted(self.group_thresholds.items())))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted(self._group_of))

    def with_nodes(self, nodes: Iterable[str], wishes: Mapping[str, str] = NO_WISHES) -> "Federated":
        """The next version, for these nodes; this one where they are the same.

        Each joiner goes to the group it wishes, new or not, or else to the one that is smallest then, so groups that lost members
        fill up first. An empty group waits for joiners and is not asked; the root's own ends with it.
        """
        names = frozenset(nodes)
        if names == frozenset(self.nodes):
            return self
        stays = [group for group in self.groups if group in self._open_groups or self.root in names]
        groups = {group: [node for node in self.groups[group] if node in names] for group in stays}
        joiners = sorted(names - frozenset(self.nodes), key=lambda joiner: (not wishes.get(joiner), joiner))
        for joiner in joiners:
            wish = wishes.get(joiner) or min(self._open_groups, key=lambda group: (len(groups[group]), group))
            groups.setdefault(wish, []).append(joiner)
        domains = {group: self.domains[group] for group in stays if group in self.domains}
        least = {group: self.group_thresholds[group] for group in stays if group in self.group_thresholds}
        root = self.root if self.root in names else None
        return replace(self, groups=groups, domains=domains, root=root, epoch=self.epoch + 1, group_thresholds=least)

    def with_epoch(self, epoch: int) -> "Federated":
        return replace(self, epoch=epoch)

    def group_of(self, node: str) -> str:
        """The group a node belongs to; of a stranger the smallest, so that its facts have a home too."""
        return self._group_of.get(node, self._smallest)

    def favoured(self, words: Iterable[str]) -> frozenset[str]:
        """Groups with a domain that shares a word with these, letter case and endings aside; their replica sets are named so."""
        return frozenset(group for word in words for term in terms_of(word) for group in self._groups_by_term.get(term, ()))

    def home(self, fact_id: str, node: str) -> str:  # noqa: ARG002
        return self._homes.get(node) or _partition(self._smallest)

    def copies(self, fact_id: str, node: str, confidence: float) -> tuple[str, ...]:  # noqa: ARG002
        """With everyone, for a fact that is sure enough for the author's group."""
        least = self.group_thresholds.get(self.group_of(node), self.broadcast_threshold)
        return (EVERYONE,) if confidence >= least else ()

    def holders(self, partition: str) -> tuple[str, ...]:
        """A group's members, or everyone; nobody for a partition that is not ours."""
        return self._holders.get(partition, ())

    def held_by(self, node: str) -> tuple[str, ...]:
        return (EVERYONE, self._homes[node]) if node in self._homes else ()

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:
        return self._members[(*self.copies(fact_id, node, confidence), self.home(fact_id, node))[0]]

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:
        """One replica set per group, named like it: groups that match `domains` first, then the asker's own, then the others."""
        own_group, matching = self.group_of(node), self.favoured(domains)
        order = sorted(set(self._group_of.values()), key=lambda group: (group not in matching, group != own_group, group))
        partitions = ((group, _partition(group)) for group in order)
        return tuple([ReplicaSet(g, self._asking.of(self._holders[p], node), (p,)) for g, p in partitions])

    def peers(self, node: str) -> tuple[str, ...]:
        """All other nodes: they share what everyone keeps."""
        return tuple([peer for peer in self.nodes if peer != node]) if node in self._homes else ()

    @cached_property
    def _group_of(self) -> dict[str, str]:
        return {node: group for group, members in self.groups.items() for node in members}

    @cached_property
    def _open_groups(self) -> tuple[str, ...]:
        """Those a joiner may come into: not the root's own, unless there is no other."""
        groups = tuple([group for group, members in self.groups.items() if tuple(members) != (self.root,)])
        return groups or tuple(self.groups)

    @cached_property
    def _smallest(self) -> str:
        """Of those with members, a joiner's choice first."""
        return min(
            (group for group, members in self.groups.items() if members),
            key=lambda group: (group not in self._open_groups, len(self.groups[group]), group),
        )

    @cached_property
    def _homes(self) -> dict[str, str]:
        names = {group: _partition(group) for group in self.groups}
        return {node: names[group] for node, group in self._group_of.items()}

    @cached_property
    def _holders(self) -> dict[str, tuple[str, ...]]:
        return {_partition(group): tuple(members) for group, members in self.groups.items()} | {EVERYONE: self.nodes}

    @cached_property
    def _members(self) -> dict[str, frozenset[str]]:
        return {partition: frozenset(nodes) for partition, nodes in self._holders.items()}

    @cached_property
    def _groups_by_term(self) -> dict[str, set[str]]:
        groups_by_term: dict[str, set[str]] = {}
        for group, domains in self.domains.items():
            for term in (term for domain in domains for term in terms_of(domain)):
                groups_by_term.setdefault(term, set()).add(group)
        return groups_by_term

    @cached_property
    def _asking(self) -> AskingOrder:
        return AskingOrder(self.nodes)


def _partition(group: str) -> str:
    return f"group:{group}"

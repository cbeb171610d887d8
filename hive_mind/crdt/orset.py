"""The set that replicas share: add wins, removals are remembered without tombstones, and a change is a few bytes.

An optimised observed-remove set (Bieniusa et al. 2012) with deltas (Almeida, Shoker, Baquero 2014). Every add makes a new *dot*;
an element is in the set while one of its dots is live; removing takes away the dots that were seen, so an add that happened
meanwhile survives. Removals are known from the context alone. The caller decides on rights of removal: see `merge`.

Beside it a set that only grows, for elements never taken back, such as redactions.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock, RLock
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hive_mind.crdt.context import Context, actor_named, checked_dot, differing, dot_from_hex
from hive_mind.model.evidence import Actor, Dot
from hive_mind.model.evidence import dot as dot_of

E = TypeVar("E", bound=Hashable)
MayRemove = Callable[[Dot], bool]


@dataclass(frozen=True, slots=True)
class Delta(Generic[E]):
    """A change, to be applied elsewhere as often and in whatever order it arrives. Its context is the dots it names."""

    added: Mapping[Dot, E]
    removed: frozenset[Dot] = frozenset()


@dataclass(frozen=True, slots=True)
class Merged:
    """Effects of taking in a change: dots that became live, dots that ceased to be, and dots not allowed to be removed."""

    added: tuple[Dot, ...] = ()
    removed: tuple[Dot, ...] = ()
    refused: tuple[Dot, ...] = ()


class ORSet(Generic[E]):
    """A replica of the set. `actor` names its writes: no two replicas share one, nor one before and after a restart."""

    def __init__(self, actor: str | Actor) -> None:
        self._actor = actor_named(actor)
        self._live: dict[Dot, E] = {}
        self._dots: dict[E, Dot | tuple[Dot, ...]] = {}
        self._context = Context()
        self._context_known: Context | None = None
        self._version = 0
        self.lock = RLock()
        """Held by every operation. Hold it yourself to do several as one."""

    @property
    def actor(self) -> Actor:
        return self._actor

    @property
    def live(self) -> Mapping[Dot, E]:
        """Dot → element. A view: iterate it only where no other thread changes the set, or over `tuple(live)`."""
        return MappingProxyType(self._live)

    @property
    def context(self) -> Context:
        with self.lock:
            if self._context_known is None:
                self._context_known = self._context.copy()
            return self._context_known

    @property
    def version(self) -> int:
        """Grows with every change of elements or context, and with nothing else."""
        return self._version

    def contains(self, element: E) -> bool:
        return element in self._dots

    def __contains__(self, element: object) -> bool:
        return element in self._dots

    def __len__(self) -> int:
        return len(self._dots)

    def __iter__(self) -> Iterator[E]:
        """The elements as they are now; changes meanwhile don't disturb."""
        with self.lock:
            return iter(tuple(self._dots))

    def items(self) -> set[E]:
        with self.lock:
            return set(self._dots)

    def dots_of(self, element: E) -> tuple[Dot, ...]:
        dots = self._dots_of(element)
        return dots if len(dots) < 2 else tuple(sorted(dots))

    def has_seen(self, dot: Dot) -> bool:
        with self.lock:
            return self._context.covers(dot)

    def add(self, element: E, supersedes: Iterable[Dot] = ()) -> Delta[E]:
        """Put an element in under a new dot; dots it supersedes go in the same change."""
        with self.lock:
            added = dot_of(self._actor, self._context.next_counter(self._actor))
            self._put(added, element)
            self._context.add(added)
            dots_gone = self._take_away(supersedes)
            self._changed()
            return Delta({added: element}, frozenset(dots_gone))

    def add_all(self, elements: Iterable[E]) -> Delta[E]:
        """Put elements in as one change, each under a new dot."""
        with self.lock:
            added: dict[Dot, E] = {}
            for element in elements:
                added.update(self.add(element).added)
            return Delta(added)

    def remove(self, element: E, only: Callable[[Dot], bool] | None = None) -> Delta[E]:
        """Take away the dots of an element that are known here (those that pass `only`). An unknown element is no change."""
        with self.lock:
            return self.drop([dot for dot in self._dots_of(element) if only is None or only(dot)])

    def drop(self, dots: Iterable[Dot]) -> Delta[E]:
        """Take away dots, whatever they stand for. Those that are not live are left alone."""
        with self.lock:
            dots_gone = self._take_away(dots)
            if dots_gone:
                self._changed()
            return Delta({}, frozenset(dots_gone))

    def apply(self, delta: Delta[E]) -> Merged:
        """Take in a change made elsewhere. Costs what the change has, not what the set has."""
        with self.lock:
            added = sorted([dot for dot in self._context.unseen(delta.added) if dot not in delta.removed])
            for dot in added:
                self._put(dot, delta.added[dot])
                self._context.add(dot)
            dots_gone = self._take_away(sorted(delta.removed))
            is_news = self._context.add_all(sorted(delta.removed))
            if dots_gone or is_news or added:
                self._changed()
            return Merged(tuple(added), tuple(dots_gone))

    def revive(self, dots: Mapping[Dot, E]) -> None:
        """Make dots live again that are covered, for a caller that knows that they were never removed."""
        with self.lock:
            back = {dot: element for dot, element in dots.items() if dot not in self._live and self._context.covers(dot)}
            for dot, element in back.items():
                self._put(dot, element)
            if back:
                self._changed()

    def merge(self, other: "ORSet[E]", may_remove: MayRemove | None = None, heads: Mapping[Actor, int] | None = None) -> Merged:
        """Take in everything of another replica: live stay the dots both have, or one has and the other never saw.

        `may_remove` says whether the other's having removed a dot counts here; `heads` how many writes each actor admits to:
        the other's claims beyond that are ignored. Without both, one lying context empties the set.
        `may_remove` is called under the locks of both sets: let it only look.
        """
        if other is self:
            return Merged()
        with self._lock_of_lower(other), self._lock_of_higher(other):
            context = other.context if heads is None else other.context.within(heads)
            # The dicts themselves: through a view it takes twice as long.
            only_here, only_there = differing(self._live, other._live)  # noqa: SLF001
            new = self._context.unseen(only_there)
            dots_gone, refused = _allowed(context.seen(only_here), may_remove)
            self._put_all(other.live if len(new) == len(other.live) else {dot: other.live[dot] for dot in new})
            self._take_away(dots_gone)
            is_news = self._context.join(context)
            if heads is not None:
                # Otherwise all that is live there was seen there.
                is_news = self._context.add_all(new) or is_news
            if new or dots_gone or is_news:
                self._changed()
            return Merged(tuple(new), tuple(dots_gone), tuple(refused))

    def join_context(self, up_to: Mapping[Actor, int], beyond: Iterable[Dot]) -> None:
        """Cover dots that another replica has seen. Only for a caller that knows that the live dots of both agree."""
        dots_seen = [checked_dot(actor, counter) for actor, counter in up_to.items() if counter > 0]
        with self.lock:
            if self._context.join_all(dots_seen, sorted(beyond)):
                self._changed()

    def copy(self, actor: str | Actor | None = None) -> "ORSet[E]":
        """The same set on its own, to write as `actor`; without one it is for looking only."""
        twin: ORSet[E] = ORSet(self._actor if actor is None else actor)
        with self.lock:
            twin._live, twin._dots, twin._context = self._live.copy(), self._dots.copy(), self._context.copy()
            twin._version = self._version
        return twin

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it (if it takes the elements); equal sets give equal text."""
        with self.lock:
            return {
                "live": [[dot.hex(), element] for dot, element in sorted(self._live.items(), key=lambda entry: entry[0])],
                "context": self._context.to_dict(),
            }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], actor: str | Actor) -> "ORSet[E]":
        """The set that `to_dict` gave, to be written as `actor`. ValueError where it names dots that there can't be."""
        twin: ORSet[E] = cls(actor)
        live = {dot_from_hex(text): element for text, element in data["live"]}
        twin._context = Context.from_dict(data["context"])
        twin._put_all(live)
        twin._context.add_all(sorted(live))
        return twin

    def __eq__(self, other: object) -> bool:
        """Whether both have the same live dots and have seen the same. Their own actors do not matter."""
        if not isinstance(other, ORSet):
            return NotImplemented
        if other is self:
            return True
        with self._lock_of_lower(other), self._lock_of_higher(other):
            return bool(self._context == other._context and self._live == other._live)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ORSet({self._actor.hex()}, {len(self)} elements, {self._context!r})"

    # Both locks, always in the same order: two threads that merge a into b and b into a don't wait for each other for ever.
    def _lock_of_lower(self, orset: "ORSet[E]") -> RLock:
        return self.lock if id(self) < id(orset) else orset.lock

    def _lock_of_higher(self, orset: "ORSet[E]") -> RLock:
        return orset.lock if id(self) < id(orset) else self.lock

    # New dots are added before those they replace are removed: a reader without the lock sees the element throughout.
    def _put(self, dot: Dot, element: E) -> None:
        self._live[dot] = element
        # Nearly every element has one dot: alone it needs no tuple, which is a third of the memory and of the time of a merge.
        first = self._dots.setdefault(element, dot)
        if first is not dot:
            self._dots[element] = (*first, dot) if isinstance(first, tuple) else (first, dot)

    def _put_all(self, added: Mapping[Dot, E]) -> None:
        self._live.update(added)
        first_of = self._dots.setdefault
        for dot, element in added.items():
            if first_of(element, dot) is not dot:
                self._put(dot, element)

    def _dots_of(self, element: E) -> tuple[Dot, ...]:
        dots = self._dots.get(element, ())
        return dots if isinstance(dots, tuple) else (dots,)

    def _take_away(self, dots: Iterable[Dot]) -> list[Dot]:
        dots_gone = []
        for dot in dots:
            if dot not in self._live:
                continue
            dots_gone.append(dot)
            element = self._live.pop(dot)
            # Nearly always it is the only one.
            left = () if self._dots[element] == dot else tuple([each for each in self._dots_of(element) if each != dot])
            if left:
                self._dots[element] = left
            else:
                del self._dots[element]
        return dots_gone

    def _changed(self) -> None:
        self._version += 1
        self._context_known = None


def _allowed(removed: list[Dot], may_remove: MayRemove | None) -> tuple[list[Dot], list[Dot]]:
    """Removals that count here, and the others."""
    if may_remove is None:
        return removed, []
    verdicts = [(dot, may_remove(dot)) for dot in removed]
    return [dot for dot, is_allowed in verdicts if is_allowed], [dot for dot, is_allowed in verdicts if not is_allowed]


class GSet(Generic[E]):
    """A replica of a growing set. Merging is union."""

    def __init__(self, elements: Iterable[E] = ()) -> None:
        self._elements = set(elements)
        self._lock = Lock()

    def add(self, element: E) -> bool:
        """Put an element in, for ever; False if it was there."""
        return bool(self._take({element}))

    def contains(self, element: E) -> bool:
        return element in self._elements

    def __contains__(self, element: object) -> bool:
        return element in self._elements

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[E]:
        return iter(self.items())

    def items(self) -> set[E]:
        with self._lock:
            return self._elements.copy()

    def merge(self, other: "GSet[E]") -> set[E]:
        """Take in everything of another replica; returns the new elements."""
        # Looked at before this one's lock is taken: no thread ever holds two.
        return self._take(other.items())

    def _take(self, elements: set[E]) -> set[E]:
        with self._lock:
            new = elements - self._elements
            self._elements |= new
            return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSet) and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it (if it takes the elements); elements of one kind come sorted."""
        return {"elements": sorted(self.items(), key=lambda element: (type(element).__name__, element))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "GSet[E]":
        return cls(data["elements"])

"""A set that only grows: for elements never taken back, such as redactions."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, Generic, TypeVar

E = TypeVar("E", bound=Hashable)


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
        """The elements as they are now, in no order."""
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
        """The set that `to_dict` gave."""
        return cls(data["elements"])

"""A list in pages, with where one is in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PER_PAGE = 50

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Paged(Generic[_Item]):
    """One page. `count`: of all items; `number` counts from 1."""

    items: Sequence[_Item]
    count: int
    number: int
    per_page: int = PER_PAGE

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.count // self.per_page))

    @property
    def first_item(self) -> int:
        """The place of its first item in the whole list, from 1."""
        return (self.number - 1) * self.per_page + 1 if self.count else 0

    @property
    def last_item(self) -> int:
        """The place of its last item."""
        return min(self.number * self.per_page, self.count)


def paged(items: Sequence[_Item], number: int, per_page: int = PER_PAGE) -> Paged[_Item]:
    """The page of this number, or the last one where there are fewer."""
    last = max(1, -(-len(items) // per_page))
    number = min(number, last)
    return Paged(items[(number - 1) * per_page : number * per_page], len(items), number, per_page)

"""HTML that can't be broken by what stands in it: everything is escaped unless it was made here.

Names come from data sets and from files of others. `tag` escapes whatever is not `Markup`, so nobody can forget to; control
characters and those that turn the direction of writing are taken out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Generic, TypeVar

from hive_mind.printable import in_one_line

_VOID = frozenset("br col hr img link meta".split())


class Markup(str):
    """Text that is HTML already. Only this file makes it out of other text."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def tag(name: str, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """An element. An attribute that is None or False is left out; `class_` and `aria_label` become `class` and `aria-label`."""
    shown = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None and value is not False)
    if name in _VOID:
        return Markup(f"<{name}{shown}>")
    return Markup(f"<{name}{shown}>{joined(*content)}</{name}>")


def joined(*content: Content) -> Markup:
    """Pieces one after another; those that are no markup are escaped."""
    return Markup("".join(_piece(one) for one in content))


def trusted(text: str) -> Markup:
    """A drawing or style sheet of our own, as it is. Never for text that somebody else wrote."""
    return Markup(text)


def _piece(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escape(in_one_line(content))
    return "".join(_piece(one) for one in content)


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(in_one_line(str(value)))}"'


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """A heading, and what stands below it for an item. Numbers stand to the right. `hint` says what is meant."""

    name: str
    of: Callable[[Item], Content]
    is_number: bool = True
    hint: str = ""


def words(name: str, of: Callable[[Item], Content]) -> Column[Item]:
    return Column(name, of, is_number=False)


def table(caption: str, columns: Sequence[Column[Item]], items: Iterable[Item], *, note: str = "") -> Markup:
    """A table with its caption, and a row for each item, which begins with what it is about. Nothing where there are none."""
    rows = [[column.of(item) for column in columns] for item in items]
    if not rows:
        return Markup()
    head = tag(
        "thead", tag("tr", (tag("th", one.name, scope="col", class_=_css(one), title=one.hint or None) for one in columns))
    )
    body = tag("tbody", (tag("tr", _cells(columns, row)) for row in rows))
    markup = tag("table", tag("caption", caption, tag("span", " ", note, class_="note") if note else None), head, body)
    return tag("div", markup, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _cells(columns: Sequence[Column[Item]], row: Sequence[Content]) -> list[Markup]:
    first, *others = row
    rest = (tag("td", value, class_=_css(column)) for column, value in zip(columns[1:], others, strict=True))
    return [tag("th", first, scope="row"), *rest]


def _css(column: Column[Item]) -> str | None:
    return "number" if column.is_number else None

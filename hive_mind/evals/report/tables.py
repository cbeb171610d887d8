"""A table that is read on a phone: it scrolls inside itself, its first column stays, and it can be reached by keyboard."""

from collections.abc import Sequence
from dataclasses import dataclass

from hive_mind.evals.report.markup import Content, Markup, tag


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and whether its cells are numbers (which stand to the right). `hint` says what is meant."""

    name: str
    is_number: bool = True
    hint: str = ""


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Content]], *, note: str = "") -> Markup:
    """A table with its caption; every row begins with what it is about. Nothing where there are no rows."""
    if not rows:
        return Markup()
    head = tag(
        "thead", tag("tr", (tag("th", one.name, scope="col", class_=_css(one), title=one.hint or None) for one in columns))
    )
    body = tag("tbody", (tag("tr", _cells(columns, row)) for row in rows))
    whole = tag("table", tag("caption", caption, tag("span", " ", note, class_="note") if note else None), head, body)
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _cells(columns: Sequence[Column], row: Sequence[Content]) -> list[Markup]:
    first, *others = row
    rest = (tag("td", value, class_=_css(column)) for column, value in zip(columns[1:], others, strict=True))
    return [tag("th", first, scope="row"), *rest]


def _css(column: Column) -> str | None:
    return "number" if column.is_number else None

"""HTML that can't be broken by what stands in it: everything is escaped unless it was made here.

Names come from data sets and from files of others. `tag` escapes whatever is not `Markup`, so nobody can forget to; control
characters and those that turn the direction of writing are taken out.
"""

import unicodedata
from collections.abc import Iterable
from html import escape

# Characters that make the text after them run the other way.
_TURNS = frozenset("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())
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


def plain(text: str) -> str:
    """Text without characters that are not seen but change what is seen."""
    return "".join(_visible(one) for one in text)


def _piece(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escape(plain(content))
    return "".join(_piece(one) for one in content)


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(plain(str(value)))}"'


def _visible(one: str) -> str:
    if one in "\n\t":
        return " "
    hidden = unicodedata.category(one) in {"Cc", "Cs"} or unicodedata.bidirectional(one) in _TURNS
    return "\N{REPLACEMENT CHARACTER}" if hidden else one

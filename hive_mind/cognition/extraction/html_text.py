"""A page's text, laid out as people write notes: titles behind hash signs, items behind dashes, tables between bars.

Parts that a browser would not show (scripts, styles, comments) are left out. Any HTML is read, however broken, in time that grows
with its length: the standard library's parser takes its square for tags that don't end.
"""

import html
import re
from collections.abc import Iterator

from hive_mind.cognition.extraction.screen_text import is_manual, text_of_manual
from hive_mind.regex import regex

_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BLOCKS = frozenset(
    "address article aside blockquote body br details div dl fieldset figcaption figure footer form header hr html legend "
    "main nav ol option p section select summary table tbody tfoot thead ul".split()
)
_LISTS = frozenset(("dl", "ol", "ul"))
# How much further a part of a list is set in than the list: what a term means stands below it.
_ITEMS = {"li": 0, "dt": 0, "dd": 1}
# Deeper ones are no lists that anybody wrote.
_DEPTH_MAX = 16
_TITLE = regex(r"h([1-6])")
_OPENING = regex(r"<[/!?a-zA-Z]")
_TAG_NAME = regex(r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*)")
_UNREAD = regex(r"<(script|style)\b", re.IGNORECASE)
_UNREAD_ENDS = {"script": regex(r"</script", re.IGNORECASE), "style": regex(r"</style", re.IGNORECASE)}
# A value in quotes, or the quote of one that does not end.
_VALUE = regex(r"=\s*(?:\"[^\"]*\"|'[^']*'|(?P<open>[\"']))")
_VALUE_CHARS_MAX, _QUOTED_ENDS_MAX = 2_000, 8
_LONG_NUMBER = regex(r"&#[xX]?[0-9a-fA-F]{9,};?")
_LINK = regex(r"\shref\s{0,9}=\s{0,9}[\"']?((?:https?:|mailto:)[^\"'\s<>]+)", re.IGNORECASE)
_AROUND_ADDRESSES = ".,;:!?()<>[]|"
_BLANK = regex(r"\s+")
_LOOKS = regex(r"\s{0,1000}(?:<!--.{0,1000}?-->\s{0,1000})?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


def is_html(text: str) -> bool:
    """Whether a text begins as pages do."""
    return _LOOKS.match(text) is not None


def text_of_html(page: str) -> tuple[str, int]:
    """Its text, and how many addresses outside of it a reader of the page could have followed and finds nowhere in the text."""
    reader, addresses = _Reader(), set[str]()
    for is_tag, piece in _pieces(page):
        if not is_tag:
            reader.say(_unescaped(piece))
        elif tag := _TAG_NAME.match(piece):
            name = tag["name"].lower()
            if not tag["end"]:
                reader.start(name)
            if name == "a" and not reader.is_hidden and (link := _LINK.search(piece)):
                addresses.add(_unescaped(link[1]))
            if tag["end"] or piece.endswith("/>"):
                reader.end(name)
    text = reader.text
    shown = {word.strip(_AROUND_ADDRESSES) for word in text.split()} if addresses else set()
    count = len({address for address in addresses if not {address, address.removeprefix("mailto:")} & shown})
    return text, count


def _pieces(page: str) -> Iterator[tuple[bool, str]]:
    """Tags, and what stands between them; comments and the content of scripts in neither. Nothing is looked at twice."""
    start, last, last_comment = 0, page.rfind(">"), page.rfind("-->")
    while 0 <= (at := page.find("<", start)) < last:
        yield False, page[start:at]
        if page.startswith("<!--", at) and at < last_comment:
            start = page.find("-->", at) + 3
        elif _OPENING.match(page, at):
            start = _tag_end(page, at) + 1
            tag = page[at:start]
            yield True, tag
            if unread := _UNREAD.match(tag):
                end = _UNREAD_ENDS[unread[1].lower()].search(page, start)
                start = end.start() if end else len(page)
                last = last if end else 0
        else:
            yield False, "<"
            start = at + 1
    yield False, page[start:]


def _tag_end(page: str, at: int) -> int:
    """The place of the ">" that ends a tag, and none within a value in quotes."""
    end = page.find(">", at)
    for _ in range(_QUOTED_ENDS_MAX):
        values = (value["open"] for value in _VALUE.finditer(page, at, end) if value["open"])
        closing = page.find(quote, end, end + _VALUE_CHARS_MAX) if (quote := next(values, "")) else -1
        further = page.find(">", closing) if closing >= 0 else -1
        if further < 0:
            break
        end = further
    return end


def _unescaped(text: str) -> str:
    """With the characters that are meant. A number of thousands of digits is none, and Python refuses it."""
    return html.unescape(_LONG_NUMBER.sub("\N{REPLACEMENT CHARACTER}", text)) if "&" in text else text


class _Reader:
    """Collects lines. `_line` is the one that grows; a table's rows grow cell by cell. Both are kept in pieces till they end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = 0
        self._title: list[str] = []
        self._is_title = False
        self._is_laid_out = False
        self._cells: list[list[str]] | None = None
        self._is_header = False
        self._depth = 0

    @property
    def is_hidden(self) -> bool:
        return self._hidden > 0

    @property
    def text(self) -> str:
        """All lines, below the page's title where no heading says it; more than one empty one between two is never wanted."""
        self._end_row()
        self._end_line()
        title = " ".join("".join(self._title).split())
        headings = [line.removeprefix("# ") for line in self._lines if line.startswith("# ")]
        is_shown = title and any(self._lines) and not any(heading in title or title in heading for heading in headings)
        above = [f"# {title}\n"] if is_shown else []
        return re.sub(r"\n{3,}", "\n\n", "\n".join([*above, *self._lines])).strip() + "\n"

    def start(self, tag: str) -> None:
        self._is_title = tag == "title" and not self._title
        if tag in _HIDDEN:
            self._hidden += 1
        elif title := _TITLE.fullmatch(tag):
            self._paragraph(f"{'#' * int(title[1])} ")
        elif tag in _ITEMS:
            self._end_line()
            self._line = [f"{'  ' * min(max(self._depth - 1, 0) + _ITEMS[tag], _DEPTH_MAX)}- "]
        elif tag in _LISTS and self._cells is None:
            self._depth += 1
            self._end_line() if self._depth > 1 else self._paragraph()
        elif tag in ("tr", "th", "td"):
            if tag == "tr" or self._cells is None:
                self._end_row()
                self._cells, self._is_header = [], tag == "th"
            if tag != "tr":
                self._is_header = tag == "th" and (self._is_header or not self._cells)
                self._cells.append([])
        elif tag == "pre":
            self._paragraph("```\n")
            self._is_laid_out = True
        elif tag in _BLOCKS and self._cells is None:
            if tag in ("br", "tbody", "thead"):
                self._end_line()
            else:
                self._paragraph()

    def end(self, tag: str) -> None:
        self._is_title = False
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == "tr":
            self._end_row()
        elif tag == "pre":
            laid_out = "".join(self._line)
            page = laid_out.removeprefix("```\n")
            self._line = [text_of_manual(page)] if is_manual(page) else [laid_out.rstrip("\n"), "\n```"]
            self._is_laid_out = False
            self._paragraph()
        elif tag in _ITEMS:
            self._end_line()
        elif (tag in _BLOCKS or _TITLE.fullmatch(tag)) and self._cells is None:
            self._depth -= tag in _LISTS and self._depth > 0
            self._end_line() if self._depth else self._paragraph()

    def say(self, data: str) -> None:
        """Text between two tags."""
        if self._is_title:
            self._title.append(data)
        if self._hidden or self._is_title:
            return
        if self._cells:
            self._cells[-1].append(_BLANK.sub(" ", data).replace("|", "/"))
        elif self._is_laid_out:
            self._line.append(data)
        else:
            said = _BLANK.sub(" ", data)
            said = said.lstrip() if not self._line or self._line[-1].endswith(" ") else said
            self._line += [said] if said else []

    def _paragraph(self, begin: str = "") -> None:
        if self._depth and "".join(self._line).strip() == "-" and not begin:
            # The first paragraph of an item is the item.
            return
        self._end_line()
        if self._lines[-2:] != ["", ""]:
            self._lines.append("")
        self._line = [begin] if begin else []

    def _end_line(self) -> None:
        line, self._line = "".join(self._line).rstrip(" "), []
        if line.strip("#- "):
            self._lines.append(line)

    def _end_row(self) -> None:
        cells, self._cells = self._cells, None
        if not cells:
            return
        self._end_line()
        self._lines.append(f"| {' | '.join(''.join(cell).strip() for cell in cells)} |")
        if self._is_header:
            self._lines.append("|" + " --- |" * len(cells))

"""Blocks: the pieces a text is laid out in (paragraph, list item, row, code, utterance, log line) with heading and speaker.

Layout is read line by line and once, so the cost is linear in the text whatever is in it. Sentences within a block are
the business of `sentences`; what "10:22" in front of an utterance means is the business of `temporal`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby, takewhile
from textwrap import dedent

from hive_mind.cognition.extraction.fields import SETTING_CHARS_MAX, apart, laid_out, with_default
from hive_mind.cognition.extraction.messages import as_conversation, speakers_of, turn_of
from hive_mind.cognition.extraction.separated import (
    REFERRED,
    FrontMatter,
    Rows,
    front_matter,
    log_line_of,
    piped,
    rows_of,
    with_tabs,
)
from hive_mind.cognition.extraction.stanzas import with_stanzas
from hive_mind.cognition.extraction.statements import SENTENCE_STOPS, as_items, is_polite, is_question, is_statement
from hive_mind.cognition.temporal import is_day
from hive_mind.regex import regex


class Layout(Enum):
    """How a block stands in its text. It decides how the block is cut and what its words can be."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    UTTERANCE = "utterance"
    RECORD = "record"
    """A row of separated values, one statement whatever is in it."""
    LOG = "log"
    """A line of a log, one statement with its time in front."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `number` counts them, so that two of the same title are two sections. 1 is the highest `level`."""

    title: str
    number: int
    level: int


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is verbatim up to white space. `stamp` is the time in front of an utterance or a log line, as it was written.

    `headings` are those it stands under, the highest first. `lead` is the line that introduces a list, or the header of a table.
    `topic` is the first field of a record, or the items above one in a list. `is_quoted`: a mark in front says that it is from
    another text.
    """

    text: str
    layout: Layout
    headings: tuple[Heading, ...] = ()
    speaker: str = ""
    stamp: str = ""
    lead: str = ""
    topic: str = ""
    is_quoted: bool = False

    @property
    def heading(self) -> str:
        """The title of the section it stands in, or ""."""
        return self.headings[-1].title if self.headings else ""


# A heading longer than this is a paragraph that happens to begin with a hash sign.
_HEADING_CHARS_MAX = 120

# Plain lines at least this long were probably wrapped by an editor, so the sentence goes on in the next one.
_WRAPPED_LINE_CHARS_MIN = 60

# A title with a default behind it is a name, and no sentence.

# Deeper lists are programs' output.
_PARENTS_MAX = 8

# A line in bold divides a section and never ends it.
_BOLD_LEVEL = 7

_HEADING = regex(r"(?P<marks>#{1,6})\s+(?P<title>\S.*)")
_BOLD_LINE = regex(r"(?:\*\*|__)(?P<title>[^*_]{1,120})(?:\*\*|__):?")
_TITLE_MARKS = ("#", "*", "_")
# Where "[2.1.0](…)" leads is no part of a title.
_LINK = regex(r"\[(?P<text>[^\[\]]{1,120})\]\([^()\s]*\)")
_UNDERLINE = regex(r"={3,}|-{3,}")
_ITEM = regex(r"(?:[-*+•▪◦]|(?:\d{1,3}|[a-z])[.)]|\[[ xX]\])\s+(?=\S)")
_DIGIT = regex(r"\d")
# The first line of a manual's page, and the number in front of a title.
_MANUAL = regex(r"(?P<name>[\w.:+-]{1,60}\(\d\w{0,3}\))\s.{0,200}\s(?P=name)")
_NUMBER = regex(r"\A\d{1,2}(?:\.\d{1,2}){1,3}\.?\s{1,4}(?=[^\W\d_])")
_SEPARATED = regex(r"[,;|\t]\S")
# A capital, a figure, or a letter of a script without capitals.
_BEGINS = regex(r"(?![a-zà-öø-ÿа-яα-ω])\w")
_VERSION = regex(r"\d\.\d")
_CHECKED = regex(r"\A\[[ xX]\]\s+")
_QUOTE = regex(r"(?:>[ \t]?){1,8}")
_TABLE_RULE = regex(r"[|:\- \t+]{3,}")
# A key or name with what is said of it, a requirement ("django==4.2"), what begins at a time until another, a number ("1.2.1"),
# and the id of a commit.
_KEYED = regex(
    r"[^\s:.][^:.]{0,40}(?::\s|：)|[\w.-]{1,60}(?:\[[\w,-]{1,60}\])?\s?[=~!<>]?=\s?\S|\d{1,2}[:.]\d\d(?:\s?[-–—]\s?\d|\s\s)|"
    r"\d{4}-\d\d-\d\d(?::|\s\s|\s[A-Z])|"
    r"(?![a-zà-öø-ÿа-яα-ω])\w[^:.–—]{0,40}\s[–—]\s\S|\d{1,2}(?:\.\d{1,2}){1,3}\s\S|(?=[a-f]{0,39}\d)[0-9a-f]{7,40}\s"
)
_COLUMNS = regex(r"\S\s{3}")
# The value of the setting that the heading names.
_DEFAULT = regex(
    r"(?:\*\*)?Default(?: value)?(?::(?:\*\*)?|\*\*:)\s{1,4}(?P<value>[^\s.:](?:[^.:]|[.:](?=\S)){0,60})[.]?", re.IGNORECASE
)
# A heading that is a name in a program.
_NAME = regex(r"[`-]|(?=\S{0,60}[_=])[^\s(]{1,60}\Z")
_FENCE = ("```", "~~~")
_SET_IN = ("    ", "\t")
_STOPS = (*SENTENCE_STOPS, ":", ";")


def blocks(text: str) -> list[Block]:
    """The blocks of a text in reading order. Joined by white space they give back its words, without list marks and labels.

    Code keeps its lines and how far they are set in.
    """
    lines: Sequence[str] = text.splitlines()
    head = front_matter(lines)
    lines = with_stanzas(as_items(as_conversation(lines if head is None else lines[head.lines :])))
    speakers = speakers_of(lines)
    # Lines above the first who speaks are laid out as any text.
    talk = next((place for place, line in enumerate(lines) if turn_of(line.strip(), speakers)), len(lines))
    lines = lines if _has_fence(lines) else [*laid_out(list(with_tabs(list(apart(list(piped(lines[:talk]))))))), *lines[talk:]]
    layouter = _Layouter(speakers)
    if head is not None:
        layouter.state(head, lines)
    layouter.read(lines)
    layout, quoted = list[Block](), list[Block]()
    for block in layouter.blocks:
        if block.is_quoted:
            quoted.append(block)
            continue
        # A quotation right before a message is its lead: somebody else said that, elsewhere.
        if quoted and block.layout is Layout.UTTERANCE and block.stamp and block.headings == quoted[-1].headings:
            block, quoted = replace(block, lead=" ".join(part.text for part in quoted)), []
        layout += [*quoted, block]
        quoted = []
    return layout + quoted


def _has_fence(lines: Iterable[str]) -> bool:
    return any(line.lstrip().startswith(_FENCE) for line in lines)


def section_names(layout: Iterable[Block]) -> Mapping[int, str]:
    """A name for each section, by the number of its heading: "Fixed" under a version or several titles is "2.4.0: Fixed"."""
    sections = {block.headings[-1].number: block.headings for block in layout if block.headings}
    times = Counter(headings[-1].title for headings in sections.values())
    return {
        number: ": ".join(
            heading.title
            for heading in headings[-2:]
            if heading is headings[-1] or times[headings[-1].title] > 1 or _VERSION.search(heading.title)
        )
        for number, headings in sections.items()
    }


@dataclass(slots=True)
class _Layouter:
    """Keeps what a reader keeps in mind from one line to the next: the heading, the list's lead, the block still growing.

    `blocks` are those that are whole.
    """

    _speakers: frozenset[str]
    blocks: list[Block] = field(default_factory=list)
    _headings: tuple[Heading, ...] = ()
    _headings_seen: int = 0
    _blocks_above: int = -1
    _lead: str = ""
    _table_topic: str = ""
    _indent: int = 0
    _item_indent: int = 0
    _last_item: str = ""
    _parents: list[tuple[int, str]] = field(default_factory=list)
    _is_quoted: bool = False
    _code: list[str] | None = None
    _open: Block | None = None
    _parts: list[str] = field(default_factory=list)

    def state(self, head: FrontMatter, lines: Iterable[str]) -> None:
        """The keys at the top; all else stands under their title, or they are about the first one below."""
        title = head.title or next((title for title, _ in map(_title_of, map(str.strip, lines)) if title), "")
        if head.title and len(head.title) <= _HEADING_CHARS_MAX:
            self._begin_section(head.title, level=0)
        self.blocks += (Block(text, Layout.RECORD, self._headings, lead=title, topic=title) for text in head.statements)

    def read(self, lines: Iterable[str]) -> None:
        """All lines, paragraph by paragraph."""
        for has_words, run in groupby(lines, key=lambda line: bool(line.strip())):
            paragraph = list(run)
            if has_words and self._is_code(paragraph):
                self._close(keep_lead=True)
                self._code = paragraph
                self._close_code()
                continue
            if has_words and self._is_title(paragraph):
                self._close()
                self._begin_section(_MANUAL.sub(r"\g<name>", paragraph.pop(0).strip()), _BOLD_LEVEL)
            # The first lines may only say what comes: headings, and a line that ends with a colon.
            leading = takewhile(lambda line: _title_of(line.strip())[0] or line.rstrip().endswith(":"), paragraph)
            start = sum(1 for _ in leading)
            if has_words and (start or self._is_introduced) and self._is_list(paragraph[start:]):
                paragraph[start:] = [f"- {line.strip()}" for line in paragraph[start:]]
            if has_words and len(paragraph) > 1 and all(map(REFERRED.match, map(str.strip, paragraph))):
                self._close()
                self.blocks += (Block(line.strip(), Layout.RECORD, self._headings, lead=self._heading) for line in paragraph)
                continue
            table = self._table(paragraph[start:]) if has_words and self._code is None else None
            for line in paragraph if table is None else paragraph[:start]:
                self._read(line)
            if table is not None:
                self._close(keep_lead=True)
                lead, self._lead = table.header or self._lead, ""
                self.blocks += (
                    Block(row.text, Layout.RECORD, self._headings, lead=lead, topic=row.fields[0]) for row in table.rows
                )
        if self._code is not None:
            self._close_code()
        self._close()

    def _is_code(self, lines: Sequence[str]) -> bool:
        """Whether a paragraph is code because it is set in; sentences, lists and chats may be set in, too."""
        if self._code is not None or not all(line.startswith(_SET_IN) for line in lines):
            return False
        if len(lines) < 2 and not self._lead:
            return False
        stripped = [line.strip() for line in lines]
        if stripped[-1].endswith(SENTENCE_STOPS) or _ITEM.match(stripped[0]) or stripped[0].startswith(("|", ">", *_FENCE)):
            return False
        return not any(turn_of(line, self._speakers) or log_line_of(line) for line in stripped)

    def _is_title(self, paragraph: Sequence[str]) -> bool:
        """Whether a line that stands alone names what follows: "Outlook", or a day. A statement is one, whatever follows.

        One with a figure right below a heading tells of that: "Released 2023-08-17".
        """
        line = paragraph[0].strip()
        is_below = len(self.blocks) == self._blocks_above and self._headings[-1].level < _BOLD_LEVEL
        if is_below and _DIGIT.search(line) and not is_day(line):
            return False
        if not self._stands_alone(paragraph) or self._code is not None or self._is_introduced or line.endswith((*_STOPS, ",")):
            return False
        line = _NUMBER.sub("", line)
        is_named = line[0].isalpha() and not line[0].islower() and not _ITEM.match(line) and not log_line_of(line)
        is_said = is_statement(line) or is_question(line) or is_polite(line) or turn_of(line, self._speakers) is not None
        return is_day(line) or (is_named and not is_said) or _MANUAL.fullmatch(line) is not None

    def _stands_alone(self, paragraph: Sequence[str]) -> bool:
        """Whether the first line has nothing below it, or a list, or text that is set in below capitals.

        Or it is the first of all, or below such a title, and does not go on in the next.
        """
        is_set_in = paragraph[0].isupper() and paragraph[1:2] != [] and paragraph[1].startswith(_SET_IN)
        if len(paragraph) == 1 or is_set_in or _ITEM.match(paragraph[1].strip()):
            return True
        is_first = not self.blocks and self._open is None and not self._headings
        is_next = is_day(paragraph[0].strip()) or (self._headings != () and self._headings[-1].level == _BOLD_LEVEL)
        is_whole = len(paragraph[0]) < _WRAPPED_LINE_CHARS_MIN and _BEGINS.match(paragraph[1]) is not None
        return (is_first or is_next) and is_whole and _SEPARATED.search(paragraph[0]) is None

    def _is_list(self, lines: Sequence[str]) -> bool:
        """Whether lines below a colon are something each: short, and none a sentence or what goes on in the next."""
        return len(lines) > 1 and all(
            len(line) < _WRAPPED_LINE_CHARS_MIN
            and _BEGINS.match(line)
            and not line.rstrip().endswith((*_STOPS, ","))
            and not turn_of(line, self._speakers)
            and not log_line_of(line)
            for line in lines
        )

    def _table(self, lines: Sequence[str]) -> Rows | None:
        table = rows_of([line.strip(" ") for line in lines])
        if table is None or any(turn_of(line.strip(), self._speakers) or log_line_of(line.strip()) for line in lines):
            return None
        return table

    def _read(self, raw: str) -> None:
        line = raw.strip()
        self._indent = len(raw) - len(raw.lstrip())
        quoted = _QUOTE.match(line)
        self._is_quoted = quoted is not None
        line = line[quoted.end() :].lstrip() if quoted else line
        if self._code is not None:
            if line.startswith(_FENCE):
                self._close_code()
            else:
                # The mark of a quotation is code here, or stands before every line of it; only the fence is looked for behind it.
                self._code.append(raw.rstrip())
        elif line.startswith(_FENCE):
            self._close()
            self._code = []
        elif not line:
            self._close()
        elif self._open is not None and self._open.layout is Layout.PROSE and _UNDERLINE.fullmatch(line):
            title = self._parts[-1]
            if len(self._parts) == 1 and len(title) <= _HEADING_CHARS_MAX:
                self._open = None
                self._begin_section(title, level=1 if line[0] == "=" else 2)
            else:
                self._close()
        else:
            self._read_text(line)

    def _read_text(self, line: str) -> None:
        title, level = _title_of(line)
        turn = turn_of(line, self._speakers)
        # A number in bold behind "The number is:" is no title.
        if title and not (level == _BOLD_LEVEL and self._is_introduced and not line.endswith(":")):
            self._close()
            self._begin_section(title, level)
        elif turn is not None:
            self._start(Block(turn.text, Layout.UTTERANCE, speaker=turn.speaker, stamp=turn.stamp))
        elif line[:1] in ("|", "+") and line.endswith(line[0]) and (line[0] == "|" or _TABLE_RULE.fullmatch(line)):
            self._read_row(line)
        elif item := _ITEM.match(line):
            self._start_item(line[item.end() :])
        elif (log := log_line_of(line)) and (log.is_marked or not self._is_wrapped(line)):
            self._start(Block(line, Layout.LOG, stamp=log.stamp))
        # Lines that lost a quotation mark stay apart: joined, they would no longer be words of the text in one run.
        elif self._open is not None and not self._is_quoted and (self._open.layout is Layout.UTTERANCE or self._is_wrapped(line)):
            self._parts.append(line)
        else:
            self._start(Block(line, Layout.PROSE, is_quoted=self._is_quoted))

    @property
    def _is_introduced(self) -> bool:
        """Whether the last line ends with a colon."""
        return (self._parts[-1] if self._open is not None else self._lead).endswith(":")

    def _start_item(self, text: str) -> None:
        """An item that is set in further than the last one stands under it."""
        # An empty line between two items changes nothing.
        last = " ".join(self._parts) if self._open is not None and self._open.layout is Layout.ITEM else self._last_item
        above = [(indent, title) for indent, title in self._parents if indent < self._indent]
        if last and self._item_indent < self._indent and len(above) < _PARENTS_MAX:
            above = [*(parent for parent in above if parent[0] < self._item_indent), (self._item_indent, _CHECKED.sub("", last))]
        self._start(Block(text, Layout.ITEM))
        self._parents, self._item_indent = above, self._indent

    def _read_row(self, line: str) -> None:
        if _TABLE_RULE.fullmatch(line):
            # A table that is drawn has rules above its titles and below its rows.
            if self._open is not None and self._open.layout is Layout.ROW and not self._lead.startswith("|"):
                above = (self._heading, self._lead.rstrip(":")) if self._lead.endswith(":") else ()
                self._table_topic = ": ".join(filter(None, above))
                self._lead, self._open = self._open.text, None
            self._close(keep_lead=True)
        else:
            self._start(Block(line, Layout.ROW, topic=self._table_topic if len(self._table_topic) <= _HEADING_CHARS_MAX else ""))

    def _is_wrapped(self, line: str) -> bool:
        """Whether a sentence of the open block goes on in this line."""
        if self._open is None or self._open.layout not in (Layout.PROSE, Layout.ITEM):
            return False
        last = self._parts[-1]
        if last.endswith(_STOPS):
            return False
        if _KEYED.match(line) or _COLUMNS.search(line):
            return False
        return line[0].islower() or len(last) >= _WRAPPED_LINE_CHARS_MIN

    def _start(self, block: Block) -> None:
        self._close(keep_lead=block.layout in (Layout.ITEM, Layout.ROW))
        self._open, self._parts = block, [block.text]

    def _close(self, *, keep_lead: bool = False) -> None:
        """The block that was still growing is whole."""
        block, self._open = self._open, None
        if block is not None:
            text = " ".join(self._parts)
            lead, topic = self._lead, block.topic
            if block.layout is Layout.ITEM and self._parents:
                # An item within another has those above it as its heading.
                titles = [title.rstrip(":") for _, title in self._parents]
                lead = ": ".join(filter(None, (self._heading or self._lead.rstrip(":"), *titles)))
                topic = lead if len(lead) <= _HEADING_CHARS_MAX else titles[-1]
                topic = with_default(topic, titles[-1], text)
            elif block.layout is Layout.PROSE and not topic and _NAME.match(self._heading):
                title = with_default(self._heading, self._heading, text)
                topic = title if title != self._heading else ""
            self.blocks.append(
                Block(text, block.layout, self._headings, block.speaker, block.stamp, lead, topic, block.is_quoted)
            )
            if (default := _DEFAULT.fullmatch(text)) and self._headings and len(self._heading) <= SETTING_CHARS_MAX:
                # All that stands below explains a setting of this value.
                title = f"{self._heading} (default {default['value']})"
                self._headings = (*self._headings[:-1], replace(self._headings[-1], title=title))
            if block.layout is Layout.PROSE:
                self._lead = text if text.endswith(":") and len(text) <= _HEADING_CHARS_MAX else ""
            self._last_item = text if block.layout is Layout.ITEM else ""
            if not self._last_item:
                self._parents = []
        if not keep_lead and block is not None and block.layout is not Layout.PROSE:
            self._lead = ""

    @property
    def _heading(self) -> str:
        return self._headings[-1].title if self._headings else ""

    def _begin_section(self, title: str, level: int) -> None:
        is_subtitled = [block.layout for block in self.blocks] == [Layout.PROSE] and not self.blocks[0].text.endswith(_STOPS)
        if self._headings_seen == 1 and (not self.blocks or is_subtitled) and level <= self._headings[0].level:
            # Nothing but a line and other headings stands below it: all of them do.
            self._headings = (replace(self._headings[0], level=-1),)
        self._headings_seen += 1
        above = tuple(heading for heading in self._headings if heading.level < level)
        self._headings, self._lead = (*above, Heading(title, self._headings_seen, level)), ""
        self._blocks_above = len(self.blocks)

    def _close_code(self) -> None:
        lines, self._code = self._code or [], None
        if any(lines):
            text = dedent("\n".join(lines)).strip("\n")
            self.blocks.append(Block(text, Layout.CODE, headings=self._headings, lead=self._lead))


def _title_of(line: str) -> tuple[str, int]:
    """The title in a line that is a heading, with its level; "" for any other line."""
    if line[:1] not in _TITLE_MARKS:
        return "", 0
    marked = _HEADING.fullmatch(line)
    match = marked or _BOLD_LINE.fullmatch(line)
    if match is None:
        return "", 0
    title = _LINK.sub(r"\g<text>", match["title"]).strip(" #*:\t")
    # "__init__.py" and "_said(node)" are names.
    title = title.strip("_: ") if not marked or (" " in title and title[0] == title[-1] == "_") else title
    return (title if len(title) <= _HEADING_CHARS_MAX else "", len(marked["marks"]) if marked else _BOLD_LEVEL)

"""AsciiDoc as Markdown: titles, lists, terms with their meanings, code and tables; the values of its attributes in their places.

Comments, pictures and what only the layout of a page needs are gone. Manuals that are written in it often end in ".txt".
"""

import re
from collections.abc import Iterator, Sequence

from hive_mind.regex import regex

_HEADING = regex(r"(={1,6})[ \t]+(\S.*)")
_ATTRIBUTE = regex(r":(!?[\w-]{1,60}!?):(.*)")
_REFERENCE = regex(r"\{([\w-]{1,60})\}")
_BLOCK_TITLE = regex(r"\.([^\s.].*)")
_LIST_OF_ATTRIBUTES = regex(r"\A\[([^\[\]].{0,500})?\][ \t]*")
_ANCHOR = regex(r"\[\[[^\[\]\n]{1,200}\]\]")
_LISTED = regex(r"\A[ \t]*([*]{1,5}|-|\.{1,5})[ \t]+(\S.*)")
_TERM = regex(r"(\S[^\n:]{0,300}(?::[^\n:]{1,300}){0,3}):{2,4}(?:[ \t](.*))?")
_MACRO_BLOCK = regex(r"(?:image|video|audio|include|toc|ifdef|ifndef|ifeval|endif)::.*")
_FENCE = "```"
_UNDERLINE_OFF_MAX = 2
_LISTINGS, _UNSHOWN, _BOXES = ("----", "...."), ("////", "++++"), ("====", "****", "____", "--")
# Of a macro the text in brackets is shown.
_CROSS_REFERENCE = regex(r"<<([^<>\n,]{1,200})(?:,([^<>\n]{1,300}))?>>")
_MACRO = regex(
    r"\b(?:link\w{0,10}:|man:|xref:|mailto:|https?://|kbd:|btn:|menu:|footnote:|image:|icon:)([^\s\[\]]{0,300})\[([^\[\]\n]{0,300})\]"
)
_COLUMNS = regex(r"cols=\"?([^\"\]]{1,200})")
_REPEATED = regex(r"(\d{1,2})\*")
_CELL = regex(r"(?:(?<=\s)|^)(?:[\d.]{0,4}[+*])?[<^>.]{0,3}[a-z]?\|")
_UNDERLINES = "=-~^+"
_UNDERLINED = regex(r"([=~^+-])\1{2,}[ \t]*")
# A paragraph ends before it.
_ENDS_PARAGRAPH = regex(r"[ \t]*+(?:(?:\+|-{2,}|([=*_.+/-])\1{3,}|\|===)[ \t]*|```.*)?")
# Nothing but AsciiDoc writes them; a page has several.
_MARKS = regex(
    r"^(?:(?:include|image|if(?:n?def|eval)|endif)::[^\s\[]{0,200}\[.*\]|\[\[[\w-]{1,60}\]\]|\[(?:verse|NOTE|TIP|source\b.*)\]"
    r"|\+|[^\s.][^\n:]{0,100}::\n[ \t]+\S.*)$|\blink\w{0,10}:[^\s\[\]]{1,200}\[[^\[\]\n]{1,200}\]",
    re.MULTILINE,
)
_MARKS_MIN = 3
_LOOK_CHARS = 20_000


def is_asciidoc(text: str) -> bool:
    """Whether a text of any name is written in it."""
    return sum(1 for _ in zip(_MARKS.finditer(text[:_LOOK_CHARS]), range(_MARKS_MIN), strict=False)) == _MARKS_MIN


def text_of_asciidoc(text: str) -> str:
    """Attributes that the text itself does not give stay as they are written."""
    return "\n".join(_Lines().shown(_on_one_line(text.splitlines()))).strip() + "\n"


def _on_one_line(lines: Sequence[str]) -> Iterator[str]:
    """Titles with a line below as titles with signs before, terms with what they mean, and paragraphs of an item as items."""
    place, fence, is_list, is_open = 0, "", False, False
    while place < len(lines):
        line = lines[place].rstrip()
        following = lines[place + 1].rstrip() if place + 1 < len(lines) else ""
        place += 1
        if fence or _is_fence(line):
            fence = "" if line == fence else fence or line
        elif _is_title(line, following):
            yield f"{'=' * (_UNDERLINES.index(following[0]) + 1)} {line}"
            place, is_list = place + 1, False
            continue
        elif (term := _TERM.fullmatch(line.lstrip())) and "://" not in term[1] and not _MACRO_BLOCK.fullmatch(line):
            is_list = True
            if not term[2]:
                terms, place = _terms(lines, place - 1)
                meaning, place = _paragraph(lines, place)
                yield f"{terms}:: {' '.join(meaning)}"
                continue
        elif line == "--":
            is_open = is_list and not is_open
            continue
        elif listed := _LISTED.fullmatch(line):
            # A list within a block belongs to the item before it.
            line = f"*** {listed[2]}" if is_open else line
            is_list = True
        elif line == "+" and is_list and not following[:1].isspace():
            paragraph, place = _paragraph(lines, place)
            yield from [f"** {' '.join(paragraph)}"] if paragraph else []
            continue
        elif line and line[0].isalpha() and place > 1 and not lines[place - 2].strip():
            is_list = False
        yield line


def _is_fence(line: str) -> bool:
    return line.startswith((*_LISTINGS, *_UNSHOWN)) and len(set(line)) == 1


def _is_title(line: str, following: str) -> bool:
    is_named = line[:1].isalnum() and _UNDERLINED.fullmatch(following) is not None
    return is_named and abs(len(line) - len(following)) <= _UNDERLINE_OFF_MAX


def _terms(lines: Sequence[str], place: int) -> tuple[str, int]:
    """The terms one below another that mean the same, and the place behind them."""
    terms = []
    while place < len(lines) and (term := _TERM.fullmatch(lines[place].strip())) and not term[2]:
        terms.append(term[1])
        place += 1
    return ", ".join(terms), place


def _paragraph(lines: Sequence[str], place: int) -> tuple[list[str], int]:
    """The lines of the next paragraph, and the place behind it; none where what comes next is none."""
    start = place
    while place < len(lines) and not lines[place].strip():
        place += 1
    paragraph = []
    while place < len(lines) and not _ENDS_PARAGRAPH.fullmatch(line := lines[place]) and not _is_begin(line):
        paragraph.append(line.strip())
        place += 1
    following = lines[place].rstrip() if place < len(lines) else ""
    is_title = len(paragraph) == 1 and _is_title(paragraph[0], following)
    return ([], start) if is_title or not paragraph else (paragraph, place)


def _is_begin(line: str) -> bool:
    """Whether a line begins something else than a paragraph."""
    marks = (_HEADING, _BLOCK_TITLE, _LIST_OF_ATTRIBUTES, _LISTED, _MACRO_BLOCK)
    return any(mark.fullmatch(line) for mark in marks) or (_TERM.fullmatch(line.strip()) is not None and "://" not in line)


class _Lines:
    """`_title` and `_attributes` stand above a block and are of the next one."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._title = self._attributes = ""

    def shown(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            bare = line.rstrip()
            if attribute := _ATTRIBUTE.fullmatch(bare):
                self._values[attribute[1].strip("!")] = attribute[2].strip()
            elif (bare.startswith("//") and not bare.startswith("////")) or bare == "+" or _MACRO_BLOCK.fullmatch(bare):
                continue
            elif title := _BLOCK_TITLE.fullmatch(bare):
                self._title = title[1]
            elif attributes := _LIST_OF_ATTRIBUTES.fullmatch(bare):
                self._attributes = attributes[1] or ""
            elif bare.startswith(_UNSHOWN):
                _within(lines, bare)
            elif bare.startswith(_FENCE) or (bare.startswith(_LISTINGS) and len(set(bare)) == 1):
                kind, _, language = self._attributes.partition(",")
                yield from self._lead()
                language = language.split(",")[0].strip() if kind.startswith("source") else ""
                if code := _within(lines, _FENCE if bare.startswith(_FENCE) else bare):
                    yield from (f"{_FENCE}{language or bare.strip('-.`')}", *code, _FENCE)
            elif bare == "|===":
                yield from self._table(_within(lines, bare))
            elif not (bare.startswith(_BOXES) and len(set(bare)) == 1):
                yield from self._line(bare)

    def _lead(self) -> Iterator[str]:
        title, self._title, self._attributes = self._title, "", ""
        if title:
            yield f"{self._inline(title).rstrip(':')}:"

    def _table(self, lines: list[str]) -> Iterator[str]:
        attributes = self._attributes
        yield from self._lead()
        rows = [[cell.strip() for cell in _CELL.split(line)] for line in lines]
        cells: list[str] = []
        for first, *others in rows:
            if first and cells:
                cells[-1] = f"{cells[-1]} {first}".strip()
            cells += others
        width = _columns(attributes) or next((len(row) - 1 for row in rows if len(row) > 1), 1)
        filled = [bool(line.strip()) for line in lines]
        is_titled = "header" in attributes or (filled[:2] == [True, False] and len(rows[0]) - 1 == width)
        for start in range(0, len(cells), width):
            row = [self._inline(cell).replace("|", "/") for cell in cells[start : start + width]]
            yield f"| {' | '.join(row)} |"
            if start == 0 and is_titled:
                yield "|" + " --- |" * width
        yield ""

    def _line(self, line: str) -> Iterator[str]:
        if title := _HEADING.fullmatch(line):
            self._title = self._attributes = ""
            yield f"{'#' * len(title[1])} {self._inline(title[2])}"
        elif item := _LISTED.fullmatch(line):
            yield from self._lead()
            sign, depth = ("1." if item[1].startswith(".") else "-"), len(item[1]) - 1
            yield f"{'  ' * depth}{sign} {self._inline(item[2])}"
        elif (term := _TERM.fullmatch(line.lstrip())) and "://" not in term[1]:
            yield from self._lead()
            yield f"- {self._inline(term[1])}"
            meaning = self._inline(term[2] or "").strip()
            yield from [f"  - {meaning}"] if meaning else []
        else:
            text = self._inline(line)
            if text.strip():
                yield from self._lead()
            yield text

    def _inline(self, text: str) -> str:
        if "{" in text:
            text = _REFERENCE.sub(lambda match: self._values.get(match[1], match[0]), text)
        if "<<" in text:
            text = _CROSS_REFERENCE.sub(lambda match: (match[2] or "").strip() or match[1].replace("_", " ").strip(), text)
        if "[" in text:
            text = _MACRO.sub(_shown_of_macro, _ANCHOR.sub("", text))
        return text


def _shown_of_macro(match: re.Match[str]) -> str:
    if match[0].startswith(("image:", "icon:")):
        return ""
    if match[0].startswith("footnote:"):
        return f" ({match[2]})"
    if match[0].startswith("menu:"):
        return f"{match[1]} > {match[2]}"
    # "git-log(1)" is a page of a manual.
    return f"{match[1]}({match[2]})" if match[2].isdigit() else match[2].strip("^") or match[1]


def _within(lines: Iterator[str], fence: str) -> list[str]:
    """The lines before the one that is the opening one again; all of the rest where none is."""
    within = []
    for line in lines:
        if line.rstrip() == fence:
            break
        within.append(line)
    return within


def _columns(attributes: str) -> int:
    """As many as `cols` names, 0 where it is not there."""
    columns = _COLUMNS.search(attributes)
    if columns is None:
        return 0
    return sum(int(repeated[1]) if (repeated := _REPEATED.match(name.strip())) else 1 for name in columns[1].split(","))

"""Markdown's text as its page shows it: without HTML, comments and the marks of site generators. Code keeps every character. And
AsciiDoc as Markdown: titles, lists, terms with their meanings, code and tables; the values of its attributes in their places.

The marks are boxes and tabs (MkDocs, Docusaurus), alerts (GitHub, Obsidian), tags in braces (GitBook, Jekyll, Hugo), components
(MDX), attributes and footnotes (kramdown, PHP Markdown Extra). A mark's title leads what follows it; its text stays. Comments,
pictures and what only the layout of a page of AsciiDoc needs are gone.
"""

import re
from collections.abc import Iterator

from hive_mind.model.ids import without_comments, without_tags
from hive_mind.regex import regex

_FENCES = ("```", "~~~")
_SET_IN = ("    ", "\t")
_INDENT = 4
# Splitting by a group alternates: what is between two pieces of code, a piece of code, what is between, …
_CODE = regex(r"(`[^`]{1,1000}`)")
_QUOTED = r"\"([^\"\n]{0,300})\""
# `!!! note "Title"` and `=== "Tab"` of MkDocs: what is set in below belongs to it.
_KINDS = r"[\w-]{1,40}(?:[ \t]+[\w-]{1,40}){0,3}"
_BOX = regex(rf"([ \t]*)(?:(?:!!!|\?\?\?\+?)[ \t]+{_KINDS}(?:[ \t]+{_QUOTED})?|===[!+]?[ \t]+{_QUOTED})\s*")
_CONTAINER = regex(r"[ \t]*:{3,9}[ \t]*(?:\{?[\w-]{1,40}\}?)?[ \t]*(?:\[([^\]\n]{0,300})\]|([^:\n]{0,300}))\s*")
_ALERT = regex(r"[ \t]*(?:>[ \t]*)+\[![\w-]{1,40}\][-+]?[ \t]*(.{0,300})")
_TAG_IN_BRACES = regex(r"\{%(?:[^%{\n]|%(?!\})|\{(?!%)){0,1000}%\}|\{\{[<%][^{}\n]{0,1000}[>%]\}\}")
_LINES_OF_TAG_MAX = 20
_TITLE = regex(rf"\b(?:title|label|header|heading|summary)[ \t]*=[ \t]*{_QUOTED}")
_TEXT = regex(rf"\b(?:caption|content|text|description)[ \t]*=[ \t]*{_QUOTED}")
_ATTRIBUTES = regex(r"[ \t]{0,8}(?<!\{)\{[ \t]{0,8}(?:[:#]|\.[a-zA-Z])[^{},\n]{0,200}\}(?!\})")
_FOOTNOTE = regex(r"^\[\^([\w-]{1,60})\]:[ \t]*|\[\^([\w-]{1,60})\]")
_OF_FOOTNOTE = regex(r"^\[\^([\w-]{1,60})\]:", re.MULTILINE)
_COMPONENT = regex(r"</?([A-Z][\w.]{0,60})(?:\s[^<>\n]{0,1000})?/?>")
_OF_COMPONENT = regex(r"</([A-Z][\w.]{0,60})\s?>|<([A-Z][\w.]{0,60})(?:\s[^<>]{0,1000})?/>")
_COMMENT = regex(r"\{/\*(?:[^*{]|\*(?!/\})|\{(?!/\*)){0,1000}\*/\}")
_ONE_VALUE = regex(r"\{\{[<%][ \t]*[\w-]{1,40}[ \t][^=/{}]{1,300}[>%]\}\}")
_SCRIPT = regex(r"import\s.{0,300}['\"];?\s*|export\s+(?:const|default|function|let)\b.{0,1000}")
_ITEM = regex(r" {0,3}(?:[-*+]|\d{1,9}[.)])\s")
_STRUCTURE = ("#", "-", "*", "+", "|", ">", *_FENCES)


def shown_in_markdown(text: str) -> str:
    """The text without marks, tags, character references and comments; its other lines stay lines."""
    if not any(sign in text for sign in ("<", "&", "{", ":::", "!!! ", "??? ", "=== ", "[!", "[^")):
        return text
    names = {closed or alone for closed, alone in _OF_COMPONENT.findall(text)}
    # "[^a-z]" is no footnote where none is called so.
    return "\n".join(_Page(names, set(_OF_FOOTNOTE.findall(text))).shown(_whole(text.split("\n"))))


class _Page:
    """The lines so far: within code, a comment or boxes that are set in; and a title that waits for what it leads."""

    def __init__(self, components: set[str], footnotes: set[str]) -> None:
        self._components, self._footnotes = components, footnotes
        self._in_code = self._in_comment = self._in_list = False
        self._boxes: list[int] = []
        self._title = ""

    def shown(self, lines: Iterator[str]) -> Iterator[str]:
        for line in map(self._out_of_boxes, lines):
            if self._in_comment:
                _, ended, line = line.partition("-->")
                self._in_comment = not ended
            elif line.lstrip().startswith(_FENCES):
                self._in_code = not self._in_code
                yield from self._lead(is_paragraph=False)
                yield line
                continue
            is_set_in = line.startswith(_SET_IN)
            self._in_list = _ITEM.match(line) is not None if line.strip() and not is_set_in else self._in_list
            if self._in_code or (is_set_in and not self._title and not self._in_list):
                yield line
            elif not self._takes_mark(line):
                yield from self._text(line)

    def _out_of_boxes(self, line: str) -> str:
        """Its text is no code, though it is set in."""
        if not line.strip():
            return line
        indent = len(line) - len(line.lstrip(" "))
        if not self._in_code:
            while self._boxes and indent < self._boxes[-1] + _INDENT:
                self._boxes.pop()
        return line[min(len(self._boxes) * _INDENT, indent) :]

    def _takes_mark(self, line: str) -> bool:
        """Whether nothing but a mark stands in it. Its title waits."""
        if box := _BOX.fullmatch(line):
            # The line itself is out of the boxes around it.
            self._boxes.append(len(self._boxes) * _INDENT + len(box[1]))
            self._title = box[2] or box[3] or self._title
        elif container := _CONTAINER.fullmatch(line):
            self._title = container[1] or container[2] or ""
        elif alert := _ALERT.fullmatch(line):
            self._title = alert[1]
        elif not _TEXT.search(line) and (_TAG_IN_BRACES.fullmatch(line.strip()) or self._is_component(line.strip())):
            self._title = " ".join(_TITLE.findall(line)) or self._title
        else:
            return bool(self._components) and _SCRIPT.fullmatch(line) is not None
        return True

    def _is_component(self, line: str) -> bool:
        component = _COMPONENT.fullmatch(line)
        return component is not None and component[1] in self._components

    def _text(self, line: str) -> Iterator[str]:
        line, is_open = without_comments(line)
        self._in_comment = self._in_comment or is_open
        shown = "".join(piece if number % 2 else self._without_marks(piece) for number, piece in enumerate(_CODE.split(line)))
        # The blanks of tags that begin and end a block are none of the line; its own indent means something.
        indent = line[: len(line) - len(line.lstrip())]
        line = line if shown == line else indent + shown.strip()
        if line.strip():
            is_paragraph = not line.lstrip().startswith(_STRUCTURE)
            line = f"{indent}{''.join(self._lead(is_paragraph))}{line.lstrip()}" if is_paragraph and self._title else line
            yield from self._lead(is_paragraph=False)
        yield line

    def _lead(self, is_paragraph: bool) -> Iterator[str]:
        """The title that waits: before a sentence within its line, else as a line."""
        title, self._title = self._title.strip().rstrip(":"), ""
        if title:
            yield f"{title}: " if is_paragraph else f"{title}:"

    def _without_marks(self, piece: str) -> str:
        if "{" in piece:
            piece = _ATTRIBUTES.sub("", _TAG_IN_BRACES.sub(_shown_of_tag, piece))
        if "[^" in piece:
            piece = _FOOTNOTE.sub(lambda mark: "" if (mark[1] or mark[2]) in self._footnotes else mark[0], piece)
        if self._components and ("<" in piece or "{" in piece):
            piece = _COMMENT.sub("", _COMPONENT.sub(self._without_component, piece))
        return without_tags(piece)

    def _without_component(self, match: re.Match[str]) -> str:
        return _shown_of_values(match[0]) if match[1] in self._components else match[0]


def _shown_of_tag(match: re.Match[str]) -> str:
    """One whose value only the generator knows stays: a sentence without it says something else."""
    return _shown_of_values(match[0]) or (match[0] if _ONE_VALUE.fullmatch(match[0]) else "")


def _shown_of_values(tag: str) -> str:
    titles, texts = " ".join(_TITLE.findall(tag)), " ".join(_TEXT.findall(tag))
    return f"{titles}: {texts}" if titles else texts


def _whole(lines: list[str]) -> Iterator[str]:
    """Lines, of which a tag in braces that goes over several is one."""
    tag: list[str] = []
    in_code = False
    for line in lines:
        in_code ^= line.lstrip().startswith(_FENCES)
        if tag or (not in_code and "{" in line and _is_open(line)):
            tag.append(line.strip())
            if "}" in line and _TAG_IN_BRACES.search(" ".join(tag)):
                yield " ".join(tag)
                tag = []
            elif len(tag) > _LINES_OF_TAG_MAX:
                yield from tag
                tag = []
        else:
            yield line
    yield from tag


def _is_open(line: str) -> bool:
    return max(map(line.rfind, ("{%", "{{<"))) > max(map(line.rfind, ("%}", ">}}")))


_HEADING = regex(r"(={1,6})[ \t]+(\S.*)")
_ATTRIBUTE = regex(r":(!?[\w-]{1,60}!?):(.*)")
_REFERENCE = regex(r"\{([\w-]{1,60})\}")
_BLOCK_TITLE = regex(r"\.([^\s.].*)")
_LIST_OF_ATTRIBUTES = regex(r"\[([^\[\]].{0,500})?\][ \t]*")
_ANCHOR = regex(r"\[\[[^\[\]\n]{1,200}\]\]")
_LISTED = regex(r"[ \t]*([*]{1,5}|-|\.{1,5})[ \t]+(\S.*)")
_TERM = regex(r"(\S[^\n:]{0,300}(?::[^\n:]{1,300}){0,3}):{2,4}(?:[ \t](.*))?")
_MACRO_BLOCK = regex(r"(?:image|video|audio|include|toc|ifdef|ifndef|ifeval|endif)::.*")
_FENCE = "```"
_LISTINGS, _UNSHOWN, _BOXES = ("----", "...."), ("////", "++++"), ("====", "****", "____", "--")
# Of a macro the text in brackets is shown.
_CROSS_REFERENCE = regex(r"<<([^<>\n,]{1,200})(?:,([^<>\n]{1,300}))?>>")
_MACRO = regex(
    r"\b(?:link:|xref:|mailto:|https?://|kbd:|btn:|menu:|footnote:|image:|icon:)([^\s\[\]]{0,300})\[([^\[\]\n]{0,300})\]"
)
_COLUMNS = regex(r"cols=\"?([^\"\]]{1,200})")
_REPEATED = regex(r"(\d{1,2})\*")
_CELL = regex(r"(?:(?<=\s)|^)(?:[\d.]{0,4}[+*])?[<^>.]{0,3}[a-z]?\|")


def text_of_asciidoc(text: str) -> str:
    """Attributes that the text itself does not give stay as they are written."""
    return "\n".join(_Lines().shown(iter(text.splitlines()))).strip() + "\n"


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
                yield from self._code(bare, lines)
            elif bare == "|===":
                yield from self._table(_within(lines, bare))
            elif not (bare.startswith(_BOXES) and len(set(bare)) == 1):
                yield from self._line(bare)

    def _lead(self) -> Iterator[str]:
        title, self._title, self._attributes = self._title, "", ""
        if title:
            yield f"{self._inline(title).rstrip(':')}:"

    def _code(self, fence: str, lines: Iterator[str]) -> Iterator[str]:
        kind, _, language = self._attributes.partition(",")
        yield from self._lead()
        language = language.split(",")[0].strip() if kind.startswith("source") else ""
        if code := _within(lines, _FENCE if fence.startswith(_FENCE) else fence):
            yield from (f"{_FENCE}{language or fence.strip('-.`')}", *code, _FENCE)

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
            yield f"{'   ' * depth}{sign} {self._inline(item[2])}"
        elif (term := _TERM.fullmatch(line.lstrip())) and "://" not in line:
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
    return match[2].strip("^") or match[1]


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

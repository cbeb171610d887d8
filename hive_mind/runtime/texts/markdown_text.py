"""Markdown's text as its page shows it: without HTML, comments and the marks of site generators. Code keeps every character.

The marks are boxes and tabs (MkDocs, Docusaurus), alerts (GitHub, Obsidian), tags in braces (GitBook, Jekyll, Hugo), components
(MDX), attributes and footnotes (kramdown, PHP Markdown Extra). A mark's title leads what follows it; its text stays.
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

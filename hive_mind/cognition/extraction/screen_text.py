"""Texts as programs lay them out for a screen, as people write notes.

Pages of manuals as `man` prints them: sections, options with what they do, paragraphs. They are set in blanks: a title at the
margin, a paragraph further in and stretched to its width, an option on a line of its own above what it does, an example further
in than the sentence before it.

Captions, transcripts with times (WebVTT and SubRip), as who said what: they are cut to the width of a screen, so those of one
speaker are joined again; their times are places on a tape and go.
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from hive_mind.regex import regex

# "LOG(1)        Manual        LOG(1)" at the top, and its name at the right below.
_NAME = r"[^\s()]{1,60}\(\w{1,12}\)"
_HEAD = regex(rf"(?P<page>{_NAME})\s.{{0,200}}\s(?P=page)")
_FOOT = regex(rf"(?:\S.{{0,200}})?\s{{3,}}{_NAME}")
_SUBTITLE_INDENT = 3
# A bullet, a number or a short option stands in front of its text.
_TAGGED = regex(r"(?P<tag>\S{1,24}(?: \S{1,24}){0,3})\s{2,}(?=\S)")
_BULLET = regex(r"[o*·•+-]|\d{1,2}[.)]|\(\d{1,2}\)")
_ENDS = (".", ":", "!", "?", ";", ",")
_SENTENCE = regex(r"[A-Z][a-z']{0,15} [a-z][a-z' ,-]{12}")
# A word that was parted at the end of a line.
_PARTED = regex(r"(?<=[a-z])[-\u2010] (?=[a-z])")
_HEAD_CHARS_MAX = 1_000
_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = regex(rf"\A\s*{_TIME}\s*-->\s*{_TIME}\b.*")
_VOICE = regex(r"<v(?:\.[^\s>]{0,40})?\s+(?P<who>[^>]{1,60})>")
_TAG = regex(r"</?[^<>]{0,80}>")
# ">> ANA:" of broadcasters, "- " before a change of speaker.
_NAMED = regex(r"(?:>>\s*|-\s+)?(?P<who>[^\W\d_][\w .'’-]{0,40}):\s+(?P<said>\S.*)")


def is_manual(text: str) -> bool:
    """Whether a text begins as such a page does: with its name at both ends of a line."""
    return _HEAD.fullmatch(text[:_HEAD_CHARS_MAX].strip().partition("\n")[0].rstrip()) is not None


@dataclass(slots=True)
class _Paragraph:
    """Lines that are set in alike; behind a `tag`, as far as where its text begins."""

    indent: int
    lines: list[str]
    tag: str = ""
    text_indent: int = 0

    @property
    def text(self) -> str:
        """In one line, without what only fills it."""
        lines = [" ".join(line.split()) for line in self.lines]
        return _PARTED.sub("", " ".join(lines)) if len(lines) > 1 else lines[0]

    @property
    def is_brief(self) -> bool:
        return len(self.lines) == 1 and not (self.tag or self.lines[0].endswith(_ENDS))


def text_of_manual(text: str) -> str:
    """The page below its name."""
    name, *lines = text.expandtabs().strip().splitlines() or [""]
    titles = [f"# {title}" for title in name.split()[:1]]
    return "\n\n".join((*titles, *_shown(list(_paragraphs(lines))))) + "\n"


def _paragraphs(lines: list[str]) -> Iterator[_Paragraph]:
    """They end where a line is empty, where one is set in otherwise, and before a tag."""
    paragraph: _Paragraph | None = None
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        said, indent = line.strip(), _indent(line)
        if not said or _FOOT.fullmatch(line) or _HEAD.fullmatch(line):
            yield from [paragraph] if paragraph else []
            paragraph = None
            continue
        tagged = _TAGGED.match(said)
        text_indent = indent + tagged.end() if tagged else 0
        if tagged and indent and (_BULLET.fullmatch(tagged["tag"]) or (following.strip() and _indent(following) == text_indent)):
            yield from [paragraph] if paragraph else []
            paragraph = _Paragraph(indent, [said[tagged.end() :]], tagged["tag"], text_indent)
        elif paragraph is not None and indent and indent == paragraph.text_indent:
            paragraph.lines.append(said)
        else:
            yield from [paragraph] if paragraph else []
            paragraph = _Paragraph(indent, [said], text_indent=indent)
    yield from [paragraph] if paragraph else []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_told_of(paragraph: _Paragraph, following: _Paragraph | None) -> bool:
    """Whether a line is a term, and no example: sentences stand further in below it."""
    if following is None or not paragraph.is_brief or following.indent <= paragraph.indent:
        return False
    return _SENTENCE.match(following.text) is not None


def _shown(paragraphs: list[_Paragraph]) -> Iterator[str]:
    # Of the terms that a paragraph may stand under, outermost first; and of the text that an example is set in from.
    terms, text_indent, is_term = list[int](), 0, False
    named, code = list[str](), list[str]()
    for paragraph, following in zip_longest(paragraphs, paragraphs[1:]):
        if not is_term and text_indent and paragraph.indent > text_indent and not _is_told_of(paragraph, following):
            code += [f"{' ' * (paragraph.indent - text_indent)}{line}" for line in paragraph.lines]
            continue
        yield from ["\n".join(("```", *code, "```"))] if code else []
        code, is_bullet = [], _BULLET.fullmatch(paragraph.tag) is not None
        terms = [indent for indent in terms if indent < paragraph.indent]
        below, text_indent = "  " * len(terms), paragraph.text_indent if paragraph.indent > _SUBTITLE_INDENT else 0
        is_term = paragraph.is_brief and following is not None and following.indent > paragraph.indent > _SUBTITLE_INDENT
        if paragraph.indent <= _SUBTITLE_INDENT:
            yield f"{'###' if paragraph.indent else '##'} {paragraph.text}"
        elif paragraph.is_brief and following is not None and following.is_brief and following.indent == paragraph.indent:
            named.append(paragraph.text)
        elif is_term or (paragraph.tag and not is_bullet):
            name = paragraph.text if is_term else paragraph.tag
            yield f"{below}- {', '.join((*named, name))}"
            yield from [] if is_term else [f"{below}  - {paragraph.text}"]
            named = []
            terms.append(paragraph.indent)
        else:
            yield from ["\n".join(named)] if named else []
            named = []
            yield f"{below}- {paragraph.text}" if terms or is_bullet else paragraph.text
    yield from ["\n".join(("```", *code, "```"))] if code else []


def are_captions(text: str) -> bool:
    """Whether a text begins as captions do: with its name and a time, or with the first number and a time."""
    lines = [*text.lstrip()[:_HEAD_CHARS_MAX].splitlines(), ""]
    is_numbered = lines[0].strip().isdecimal() and _TIMES.fullmatch("".join(lines[1:2])) is not None
    return is_numbered or (lines[0].startswith("WEBVTT") and any(map(_TIMES.fullmatch, lines)))


def text_of_captions(text: str) -> str:
    """A paragraph for each turn, with its speaker where the captions name one."""
    turns: list[tuple[str, list[str]]] = []
    for who, said in _said(text.splitlines()):
        if turns and who in (turns[-1][0], ""):
            # Captions that roll up show a line again.
            if said != turns[-1][1][-1]:
                turns[-1][1].append(said)
        else:
            turns.append((who, [said]))
    return "\n\n".join(f"{who}: {' '.join(said)}" if who else " ".join(said) for who, said in turns) + "\n"


def _said(lines: list[str]) -> Iterator[tuple[str, str]]:
    is_caption = False
    for place, line in enumerate(lines):
        if _TIMES.fullmatch(line):
            is_caption = True
        elif not line.strip():
            is_caption = False
        elif is_caption:
            # The number of the next caption may follow without a line between.
            if line.strip().isdecimal() and place + 1 < len(lines) and _TIMES.fullmatch(lines[place + 1]):
                continue
            yield from _spoken(line)


def _spoken(line: str) -> Iterator[tuple[str, str]]:
    voice = _VOICE.search(line)
    said = " ".join(html.unescape(_TAG.sub("", line)).split())
    named = None if voice else _NAMED.fullmatch(said)
    who = voice["who"].strip() if voice else named["who"].strip() if named else ""
    said = named["said"] if named else said
    if said:
        yield who, said

"""Documents into chunks: at headings, and wherever a section is longer than a chunk may be. What keeps and finds them is beside
this.

Pure. A token is a word of up to twelve characters, a piece of a longer one, a single character of a script without spaces, or one
punctuation mark: never fewer than a language model's tokenizer makes of usual text, whichever it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hive_mind.model.ids import UNSPACED
from hive_mind.regex import regex
from hive_mind.retrieval.files.configuration import Chunking

_TOKEN = regex(rf"[{UNSPACED}]|\w{{1,12}}|[^\w\s]")
_HEADING = regex(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = regex(r" {0,3}(`{3,}+|~{3,}+)(.*)")
_END = regex(r"[.!?…。！？][\"'”’)\]]*\s|\n")
_PARAGRAPH = regex(r"\n\s*\n")
# Every chunk below a heading has its name again. A longer one is no name, and still stands in the text.
HEADING_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document. `heading` is the path of headings above and at it, "" for text before the first."""

    heading: str
    text: str


def chunks_of(text: str, chunking: Chunking) -> list[Chunk]:
    """All chunks of a document in order. None is empty, none longer than `max_tokens`."""
    has_headings = chunking.strategy == "by_heading" and chunking.format == "markdown"
    sections = _sections(text, chunking) if has_headings else [Chunk("", text)]
    return [Chunk(section.heading, piece) for section in sections for piece in pieces(section.text, chunking)]


def pieces(text: str, chunking: Chunking) -> Iterator[str]:
    """A text in pieces of at most `max_tokens`, each beginning `overlap_tokens` before the former ends."""
    text = text.strip()
    # A token has at least one character, so a short text needs no counting.
    if len(text) <= chunking.max_tokens:
        if text:
            yield text
        return
    spans = [match.span() for match in _TOKEN.finditer(text)]
    overlap = min(chunking.overlap_tokens, chunking.max_tokens - 1)
    start = 0
    while start < len(spans):
        end = _good_end(text, spans, start, chunking.max_tokens, overlap)
        yield text[spans[start][0] : spans[end - 1][1]]
        if end == len(spans):
            return
        start = end - overlap


def tail(text: str, tokens: int) -> str:
    """The last tokens of a text."""
    spans = [match.span() for match in _TOKEN.finditer(text[-16 * tokens :])]
    return text[-16 * tokens :][spans[-tokens:][0][0] :].strip() if spans else ""


def _good_end(text: str, spans: list[tuple[int, int]], start: int, most: int, overlap: int) -> int:
    """Where a piece should end: at the last paragraph or sentence of its second half, else where it is full."""
    full = start + most
    if full >= len(spans):
        return len(spans)
    # Not before the middle, nor so early that the next piece would begin where this one did.
    first = start + max(most // 2, overlap + 1)
    if first >= full:
        return full
    window = text[spans[first - 1][1] : spans[full][0]]
    for pattern in (_PARAGRAPH, _END):
        ends = [match.start() for match in pattern.finditer(window)]
        if ends:
            limit = spans[first - 1][1] + ends[-1] + 1
            return max(number for number in range(first, full + 1) if spans[number - 1][0] < limit or number == first)
    return full


def _sections(text: str, chunking: Chunking) -> list[Chunk]:
    """Cut before every heading up to the level; deeper headings stay inside. Two equal headings begin two sections.

    A heading with nothing but a deeper one below it begins that one's section: alone it says nothing.
    """
    chunks: list[Chunk] = []
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence, is_bare = "", False
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        was_fenced, fence = bool(fence), _fence_after(fence, bare)
        heading = None if was_fenced or fence else heading_of(bare)
        if heading and heading[0] <= chunking.heading_level:
            level, title = heading
            if not (is_bare and level > path[-1][0]):
                chunks.append(Chunk(_named(path), "".join(lines)))
                lines = []
            is_bare = True
            path = [*(heading for heading in path if heading[0] < level), (level, title)]
        elif bare.strip():
            is_bare = False
        lines.append(line)
    chunks.append(Chunk(_named(path), "".join(lines)))
    return chunks


def heading_of(line: str) -> tuple[int, str] | None:
    """Level and title of a line that is a heading (CommonMark), None for any other; in time that grows with the line alone."""
    match = _HEADING.match(line)
    if not match:
        return None
    title = line[match.end() :].strip()
    bare = title.rstrip("#")
    # Marks at the end close the heading, where a space parts them from it: "C#" is a title.
    if not bare or bare[-1].isspace():
        title = bare.rstrip()
    return len(match[1]), title[:HEADING_CHARACTERS_MAX]


def _named(path: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in path if title)


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line, "" for none: "#" in code is no heading."""
    match = _FENCE.fullmatch(line)
    if not match:
        return fence
    marks, rest = match[1], match[2]
    if not fence:
        # A back tick in the rest makes it inline code (CommonMark).
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip()
    return "" if closes else fence

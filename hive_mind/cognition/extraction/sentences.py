"""Sentences: where one statement ends and the next begins, and how long a piece may be.

Every piece is verbatim up to white space, no piece is longer than its bound, and the cost is linear in the text: binary
junk and a megabyte without a space are only long, never slow. Headings and list items were found before, in `blocks`.

Cutting: blocks into the pieces that may become facts: a sentence, an utterance, a row, a block of code.

Pieces that say nothing alone: a question and its answer become one. "Leon" is no fact, and a question is none either; "who brings
the straps? Jonas: Leon" is one. So is "Where? It is at home." A longer answer of a list of questions stands under its question:
"Q: Are dogs allowed? A: Yes, on a lead, except at noon."

A log of fifty thousand lines says a few hundred things. The lines kept are verbatim: of each pattern the first ones that differ,
and the last one, each with the number of occurrences and the time of the last.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hive_mind.cognition.extraction.blocks import Block, Layout
from hive_mind.cognition.extraction.dating import is_entry
from hive_mind.cognition.extraction.messages import ANSWER_LABELS
from hive_mind.cognition.extraction.separated import message_of
from hive_mind.cognition.extraction.statements import (
    STOPS_OF_SCRIPTS,
    UNSPACED_STOPS,
    is_polite,
    is_question,
    is_statement,
    is_terse_statement,
)
from hive_mind.counted import counted
from hive_mind.regex import regex

SENTENCE_CHARS_MAX = 1000
"""A longer sentence is a table, a log or a blob; it is cut at white space so that a fact stays readable."""

# The look-behind and the possessive repeats matter: a run of a million dots is looked at once, not once per dot.
_STOP = f"[.!?…{STOPS_OF_SCRIPTS}]"
# A space may be forgotten; with other words it is a name of a program, as in "time.After".
_FORGOTTEN = r"(?<=[^\W\d_]{2}[.!?])(?:And|But|The|This|That|These|It|He|She|They|We|You|Then|So|There)\s"
_END = regex(rf"(?<!{_STOP}){_STOP}++[\"'”’»)\]]*+(?=\s|{_FORGOTTEN})|[{UNSPACED_STOPS}]++[」』”’]*+")

# Titles and the like stand before a name, so a capital letter behind them begins no sentence.
_NEVER_LAST = frozenset(
    "dr mr mrs ms prof st mt rev gen col sgt capt lt sen rep hon vs e.g i.e cf approx ca no nos fig figs eq vol ed pp "
    "dep arr max tel nr bzw bspw evtl ggf inkl exkl vgl zzgl abb mwst sra dra pág núm "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun al".split()
)

# These may end a sentence or not. They do when the next word is one that usually begins a sentence.
_SOMETIMES_LAST = frozenset("inc ltd corp co llc plc jr sr etc dept u.s u.k e.u a.m p.m ph.d b.c a.d".split())
_OPENERS = frozenset(
    "the a an this that these those it its he she they we i you his her their our my your there here in on at as after "
    "before but and so if when while however then today yesterday tomorrow later".split()
)
# German writes ordinals with a dot: "bis zum 31. Dezember", "im 2. Stock".
_MONTHS = frozenset("januar jänner februar märz april mai juni juli august september oktober november dezember".split())
_BEFORE_ORDINALS = frozenset("der den dem des das im am vom zum zur beim jeder jeden jedem".split())
_NEXT_WORD = regex(r"\s{0,8}[\"'“‘«(\[]{0,4}(\w{0,24})")
_LAST_WORD_CHARS = 24
_UNIT = regex(r"\d\s?[a-z]$")

# A remark in brackets belongs to the sentence it stands in. One that is longer, or never ends, is none; ":(" opens nothing.
_REMARK_CHARS_MAX = 200
_OPENING = regex(r"(?<![:;=\-])\((?=\S)")

CODE_CHARS_MAX = 4000
"""Half a command is another command: code stays whole while it can be read at a glance, and longer code is cut between lines."""

# A list is read at a glance, and so is the command or the address that a sentence introduces.
_LIST_CHARS_MAX, _INTRODUCED_CHARS_MAX = 600, 200

# Of an item: "Lift. The cabin is old."
_TITLE = regex(r"[^\W\d_a-z][\w'’-]{2,30}+(?: [\w'’-]{1,30}+){0,2}\.")

# A row or a log line is a statement, however few words it has, and separate from the text around it.
STATED = (Layout.RECORD, Layout.LOG)


def sentences(text: str, chars_max: int = SENTENCE_CHARS_MAX) -> list[str]:
    """The sentences of one block of text, stripped, none empty and none longer than `chars_max`."""
    parts: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _ends_sentence(text, start, match):
            parts += pieces(text[start : match.end()], chars_max)
            start = match.end()
    return [*parts, *pieces(text[start:], chars_max)]


def pieces(text: str, chars_max: int) -> Iterator[str]:
    """A text cut at white space into parts of at most `chars_max`; a longer run without any is cut inside."""
    start, end = 0, len(text)
    while end - start > chars_max:
        cut = _last_space(text, start, start + chars_max)
        if stripped := text[start:cut].strip():
            yield stripped
        start = cut
    if stripped := text[start:].strip():
        yield stripped


def grouped(parts: Iterable[str], chars_max: int) -> Iterator[str]:
    """Neighbours joined by a space while they fit: short sentences are found more easily together than one by one."""
    group = ""
    for part in parts:
        if group and len(group) + 1 + len(part) > chars_max:
            yield group
            group = part
        else:
            group = f"{group} {part}" if group else part
    if group:
        yield group


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match.group()
    if mark[0] in UNSPACED_STOPS:
        return True
    # "Torque wrench ........ 4": dots lead to the figure.
    if mark.startswith("....") and text[match.start() - 1].isspace():
        return False
    if _is_in_remark(text, start, match):
        return False
    following = _NEXT_WORD.match(text, match.end())
    upcoming = following[1] if following else ""
    if upcoming[:1].islower() or upcoming == "Defaults":
        # "… said Ana", "i.e. this": a capital would have begun a new sentence. An ellipsis goes on just so; so does a value that
        # says of nothing else what it is.
        return False
    if mark[0] != "." or len(mark) > 1:
        return True
    last = _last_word(text, start, match.start())
    if last in _SOMETIMES_LAST:
        return upcoming.lower() in _OPENERS
    if last.isdecimal() and len(last) <= len("31"):
        return not (upcoming.lower() in _MONTHS or (upcoming.lower() not in _OPENERS and _is_ordinal(text, start, match.start())))
    # "8 to 17 h. The" ends with a unit.
    is_initial = (
        len(last) == 1
        and last.isalpha()
        and last != "i"
        and not _UNIT.search(text[max(start, match.start() - len("9 h")) : match.start()])
    )
    return last not in _NEVER_LAST and not is_initial


def _is_in_remark(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a bracket was opened in this sentence that is closed only behind the mark."""
    end = match.end()
    before = text[max(start, end - _REMARK_CHARS_MAX) : end]
    opened = max((match.start() for match in _OPENING.finditer(before)), default=-1)
    if opened < 0 or ")" in before[opened:]:
        return False
    behind = text[end : end + _REMARK_CHARS_MAX]
    closed = behind.find(")")
    # Another bracket is opened first: then this one was forgotten.
    return closed >= 0 and "(" not in behind[:closed] and "\n\n" not in behind[:closed]


def _is_ordinal(text: str, start: int, end: int) -> bool:
    words = text[max(start, end - _LAST_WORD_CHARS) : end].split()
    return len(words) > 1 and words[-2].lower() in _BEFORE_ORDINALS


def _last_word(text: str, start: int, end: int) -> str:
    tail = text[max(start, end - _LAST_WORD_CHARS) : end].split()
    return tail[-1].lower().lstrip("\"'“‘([") if tail else ""


def _last_space(text: str, start: int, end: int) -> int:
    for position in range(end, start, -1):
        if text[position].isspace():
            return position
    return end


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that may become a candidate. It is kept when one of its `sentences` is a statement.

    `is_reply`: it holds a question and its answer, and is kept however short that is. `is_covered`: another piece holds it.
    `note` is said of it besides, such as how often it occurs.
    """

    text: str
    block: Block
    sentences: tuple[str, ...]
    is_reply: bool = False
    is_covered: bool = False
    note: str = ""


def introduced(layout: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with the sentence that ends in a colon as the first line of what it introduces: code, a list, or a sentence."""
    waiting: Block | None = None
    items: list[Block] = []
    for block in layout:
        if waiting is not None:
            if _goes_on(waiting, items, block):
                items.append(block)
                continue
            yield from _together(waiting, items)
        waiting, items = (block if _introduces(block) else None), []
        if waiting is None:
            yield block
    if waiting is not None:
        yield from _together(waiting, items)


def _introduces(block: Block) -> bool:
    return block.layout in (Layout.PROSE, Layout.ITEM) and block.text.endswith((":", "："))


def _goes_on(lead: Block, blocks: Sequence[Block], block: Block) -> bool:
    """Whether a block belongs to what a lead introduces."""
    if block.headings != lead.headings or (blocks and not block.layout is blocks[0].layout is Layout.ITEM):
        return False
    if lead.layout is Layout.PROSE and block.layout is Layout.PROSE:
        is_short = len(block.text) <= _INTRODUCED_CHARS_MAX and len(sentences(block.text)) == 1
        return is_short and not _introduces(block) and not block.text.endswith("?")
    return block.layout is Layout.CODE or (lead.layout is Layout.PROSE and block.layout is Layout.ITEM)


def _together(lead: Block, blocks: Sequence[Block]) -> Iterator[Block]:
    """A lead with what it introduces. Items stand for themselves besides; those of long or nested lists do so alone."""
    *before, last = sentences(lead.text)
    text = "\n".join([last, *(block.text for block in blocks)])
    is_list = bool(blocks) and blocks[0].layout is Layout.ITEM
    if not blocks or (is_list and (len(text) > _LIST_CHARS_MAX or any(block.topic for block in blocks))):
        yield lead
    else:
        if before:
            yield replace(lead, text=" ".join(before))
        is_code = blocks[0].layout is Layout.CODE
        # It is no lead of its own.
        whole = replace(blocks[0] if is_code else lead, lead=lead.lead)
        yield replace(whole, text=text, layout=Layout.CODE if is_list or is_code else Layout.PROSE)
    yield from blocks if is_list else ()


def cut(layout: Iterable[Block], sentence_chars_max: int, utterance_chars_max: int) -> Iterator[Piece]:
    """The pieces of all blocks in their order; none is longer than it may be."""
    for block in introduced(layout):
        if block.layout is Layout.CODE:
            parts = list(_code(block.text))
        elif block.layout in (Layout.ROW, *STATED):
            parts = list(pieces(block.text, sentence_chars_max))
        else:
            parts = sentences(block.text, sentence_chars_max)
        if block.layout is not Layout.UTTERANCE and not is_entry(block):
            if block.layout in (Layout.PROSE, Layout.ITEM):
                parts = _with_fragments(parts, sentence_chars_max)
            is_titled = len(parts) > 1 and _TITLE.fullmatch(parts[0]) is not None and not is_statement(parts[0])
            if block.layout is Layout.ITEM and is_titled and not block.topic:
                # All of the item is about its title.
                title = ": ".join(filter(None, (block.heading, parts[0].rstrip("."))))
                block, parts = replace(block, topic=title), [f"{parts[0]} {parts[1]}", *parts[2:]]
            yield from (Piece(part, block, (part,)) for part in parts)
            continue
        for group in grouped(parts, utterance_chars_max):
            yield Piece(group, block, tuple(sentences(group, sentence_chars_max)))


def _with_fragments(parts: Sequence[str], chars_max: int) -> list[str]:
    """The sentences, with what says too little to stand alone behind the one it follows: "Train to Corrin. Hotel Mill."."""
    whole: list[str] = []
    for part in parts:
        is_alone = is_statement(part) or is_question(part) or is_polite(part) or is_terse_statement(part)
        if whole and not is_alone and is_statement(whole[-1]) and len(whole[-1]) + len(part) < chars_max:
            whole[-1] = f"{whole[-1]} {part}"
        else:
            whole.append(part)
    return whole


def _code(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and sum(map(len, lines)) + len(lines) + len(line) > CODE_CHARS_MAX:
            yield "\n".join(lines)
            lines = []
        if len(line) > CODE_CHARS_MAX:
            # No line that anybody wrote.
            yield from pieces(line, CODE_CHARS_MAX)
        else:
            lines.append(line)
    if any(map(str.strip, lines)):
        yield "\n".join(lines)


_SPOKEN = (Layout.UTTERANCE, Layout.PROSE)
# A longer answer stands by itself, unless it opens with a word for what was asked about.
_WORDS_MAX, _WORDS_MAX_REFERRING = 8, 25
_REFERRING = regex(
    r"(?:me|i|it|he|she|they|this|that|these|those|there|because|es|er|ich|weil|il|elle|c['’]est|parce|est[áa]|porque)\b",
    re.IGNORECASE,
)
_YES_OR_NO = regex(r"(?:yes|yeah|yep|no|nope|not (?:yet|really)|of course|sure|ja|nein|doch|oui|non|sí|si)\b", re.IGNORECASE)
_OPEN = regex(r"\b(?:who|whom|whose|what|when|where|which|how|why)\b", re.IGNORECASE)

_LABEL = regex(r"(?P<label>[^\W\d_]{1,10})\s?\d{0,3}[:.)]\s+(?P<text>\S.*)", re.DOTALL)


def exchanged(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces in their order; where an answer needs its question, both together stand for the answer."""
    question_piece: Piece | None = None
    for piece in _below_their_questions(pieces):
        if question_piece is not None and _answers(piece, question_piece):
            # Other words said with the question are kept as ever.
            yield replace(
                question_piece,
                is_covered=not any(is_statement(sentence) and not is_question(sentence) for sentence in question_piece.sentences),
            )
            block = replace(piece.block, speaker=question_piece.block.speaker)
            spoken_answer = f"{piece.block.speaker}: {piece.text}" if piece.block.layout is Layout.UTTERANCE else piece.text
            yield Piece(f"{question_piece.sentences[-1]} {spoken_answer}", block, (piece.text,), is_reply=True)
            question_piece = None
            continue
        if question_piece is not None:
            yield question_piece
        question_piece = piece if piece.block.layout in _SPOKEN and is_question(piece.sentences[-1]) else None
        if question_piece is None:
            yield piece
    if question_piece is not None:
        yield question_piece


def _below_their_questions(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, those of a labelled answer with its question as their topic."""
    last: Piece | None = None
    answer: Block | None = None
    topic = ""
    for piece in pieces:
        if piece.block is not answer:
            # The question right above a piece that is labelled as its answer.
            question_match, answer_match = (_LABEL.match(labelled.text) if labelled else None for labelled in (last, piece))
            topic = ""
            if question_match and answer_match and is_question(question_match["text"]):
                answers = ANSWER_LABELS.get(question_match["label"].casefold(), "").split()
                topic = question_match["text"] if answer_match["label"].casefold() in answers else ""
            answer = piece.block if topic else None
        last = piece
        yield replace(piece, block=replace(piece.block, topic=topic)) if topic else piece


def _answers(piece: Piece, question_piece: Piece) -> bool:
    block = piece.block
    if block.layout is not question_piece.block.layout or block.headings != question_piece.block.headings:
        return False
    # Writers of a text answer their own questions; speakers wait for somebody else.
    if (block.layout is Layout.UTTERANCE) == (block.speaker == question_piece.block.speaker):
        return False
    words_max = _WORDS_MAX_REFERRING if _REFERRING.match(piece.text) else _WORDS_MAX
    if is_question(piece.sentences[-1]) or len(piece.text.split()) > words_max:
        return False
    if _YES_OR_NO.match(piece.text):
        return not (is_polite(piece.text) and _OPEN.search(question_piece.sentences[-1]))
    return any(map(str.isalnum, piece.text)) and not is_polite(piece.text)


# A short log is kept line by line.
_LINES_MIN = 50
_KEPT_EACH = 5

_VARIABLE = regex(r"0[xX][0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+")
_NOTE = regex(r"[\d,]+ lines? like it\b")


@dataclass(slots=True)
class _Pattern:
    """Lines of one pattern: places of those that are kept, by message, and of the last."""

    first: dict[str, int] = field(default_factory=dict)
    last: int = 0
    lines: int = 0


def summed_up(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces in their order. Lines that others stand for are marked so."""
    lines = [(place, message_of(piece.text)) for place, piece in enumerate(pieces) if piece.block.layout is Layout.LOG]
    if len(lines) < _LINES_MIN:
        yield from pieces
        return
    patterns: dict[str, _Pattern] = {}
    for place, message in lines:
        pattern = patterns.setdefault(_VARIABLE.sub("#", message), _Pattern())
        pattern.lines += 1
        pattern.last = place
        if message not in pattern.first and len(pattern.first) < _KEPT_EACH:
            pattern.first[message] = place
    notes, places_kept = _kept(pieces, patterns.values())
    for place, piece in enumerate(pieces):
        if piece.block.layout is not Layout.LOG or place in places_kept:
            yield replace(piece, note=notes[place]) if place in notes else piece
        else:
            # As many as the log has lines: much faster than `replace`.
            yield Piece(piece.text, piece.block, piece.sentences, is_reply=piece.is_reply, is_covered=True, note=piece.note)


def is_note(label: str) -> bool:
    """Whether a label says how often a line occurs."""
    return _NOTE.match(label) is not None


def _kept(pieces: Sequence[Piece], patterns: Iterable[_Pattern]) -> tuple[dict[int, str], set[int]]:
    """The notes, and the lines that stay, by place."""
    notes: dict[int, str] = {}
    places_kept: set[int] = set()
    for pattern in patterns:
        places = [*pattern.first.values()]
        # The same message again adds nothing; one that differs shows how it went on.
        if len(pattern.first) > 1 and pattern.last not in places:
            places.append(pattern.last)
        places_kept.update(places)
        if further := pattern.lines - len(places):
            stamp = pieces[pattern.last].block.stamp
            # On each of them: nobody knows which will be found.
            notes |= dict.fromkeys(places, f"{counted(further, 'line')} like it, the last at {stamp}")
    return notes, places_kept

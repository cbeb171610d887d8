"""The reader that needs no key: takes statements out of content word for word, and answers by quoting them.

It copies and never rephrases, so it can't invent; the price is that it can't reason either, and it says so. `blocks`,
`sentences`, `entities` and `temporal` do the reading, `concept_map` and `quoting` the writing; this file puts them together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hive_mind.cognition.blocks import Block, Layout, blocks
from hive_mind.cognition.concept_map import concept_map
from hive_mind.cognition.dating import Dates, dates_of
from hive_mind.cognition.entities import Vocabulary, entities, vocabulary_of
from hive_mind.cognition.logs import message_of, stamp_time
from hive_mind.cognition.quoting import QuotingSettings, quoted_answer
from hive_mind.cognition.reader import Extraction
from hive_mind.cognition.sentences import SENTENCE_CHARS_MAX, grouped, pieces, sentences
from hive_mind.cognition.statements import confidence_of, is_statement
from hive_mind.cognition.temporal import resolved_dates
from hive_mind.memory.intake import statement
from hive_mind.model.answer import Answer, Question
from hive_mind.model.content import Candidate, Content
from hive_mind.model.ids import canonical
from hive_mind.model.query import Hit

GENERAL = "general"
"""The concept of a statement that names nothing and stands under no heading."""

_CONCEPT_CHARS_MAX = 80
# What stands in a row or in a log is stated, however few words it has, and is no part of what is told around it.
_STATED = (Layout.RECORD, Layout.LOG)
_PRONOUNS = ("he ", "she ", "they ", "it ", "his ", "her ", "their ", "its ", "this ", "these ", "that ")


@dataclass(frozen=True, slots=True)
class ExtractiveSettings:
    """`sentence_chars_max`: more keeps long sentences whole and makes facts harder to read.

    `utterance_chars_max`: more keeps an utterance together, which helps to find it, and blurs what it is about.
    `before_chars_max`: more context to find a fact by, and more words that are not its own. A little above the utterances, so
    that they stay whole with their speaker.
    """

    sentence_chars_max: int = SENTENCE_CHARS_MAX
    utterance_chars_max: int = 300
    before_chars_max: int = 350


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of text that may become a candidate. It is kept when one of its `sentences` is a statement."""

    text: str
    block: Block
    sentences: tuple[str, ...]


class ExtractiveReader:
    """Implements `Reader` without a language model. Every candidate is verbatim, up to white space, in its content."""

    def __init__(self, settings: ExtractiveSettings | None = None, quoting: QuotingSettings | None = None) -> None:
        self._settings = settings or ExtractiveSettings()
        self._quoting = quoting or QuotingSettings()

    async def extract(self, content: Content) -> Extraction:
        """Statements with concept, confidence, entities, time and speaker. Never raises for any text."""
        layout = blocks(content.text)
        dates = dates_of(content, layout)
        found = [piece for block in layout for piece in self._pieces(block)]
        vocabulary = vocabulary_of(sentence for piece in found for sentence in piece.sentences)
        kept: dict[str, Candidate] = {}
        for candidate in self._candidates(found, content, dates, vocabulary):
            kept.setdefault(canonical(candidate.content), candidate)
        return Extraction(tuple(kept.values()), dates.said_at)

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        """One line per concept with what it is linked to."""
        return concept_map(candidates, title=content.title)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """The best hits word for word, or an honest "not known"."""
        return quoted_answer(question, hits, self._quoting)

    def _pieces(self, block: Block) -> Iterator[_Piece]:
        limit = self._settings.sentence_chars_max
        if block.layout in (Layout.CODE, Layout.ROW, *_STATED):
            for piece in pieces(block.text, limit):
                yield _Piece(piece, block, (piece,))
            return
        found = sentences(block.text, limit)
        if block.layout is not Layout.UTTERANCE:
            for sentence in found:
                yield _Piece(sentence, block, (sentence,))
            return
        for group in grouped(found, self._settings.utterance_chars_max):
            yield _Piece(group, block, tuple(sentences(group, limit)))

    def _candidates(self, found: list[_Piece], content: Content, dates: Dates, vocabulary: Vocabulary) -> Iterator[Candidate]:
        before = _Before(self._settings.before_chars_max, content.speaker)
        concept = ""
        speakers = frozenset(piece.block.speaker.casefold() for piece in found) | {content.speaker.casefold()}
        for piece in found:
            context = before.of(piece)
            statements = [sentence for sentence in piece.sentences if _states(sentence, piece.block)]
            if not statements:
                continue
            said = _said(piece)
            named = entities(said, vocabulary)
            concept = _concept_of(piece, [name for name in named if name.casefold() not in speakers], concept, content)
            dated = dates.of(piece.block)
            said_at = stamp_time(piece.block.stamp, dated) or dated
            yield Candidate(
                content=piece.text,
                concept=concept,
                confidence=min(confidence_of(sentence, named) for sentence in statements),
                said_at=said_at,
                speaker=piece.block.speaker or content.speaker,
                before=context,
                entities=named,
                labels=resolved_dates(said, said_at),
            )


class _Before:
    """Remembers the last stretch of text in the same section.

    It gives it back exactly as a memory keeps it, with its speaker: a text that is both a fact and before one is embedded once.
    """

    def __init__(self, chars_max: int, speaker: str) -> None:
        self._chars_max = chars_max
        self._speaker = speaker
        self._last: _Piece | None = None

    def of(self, piece: _Piece) -> str:
        """What stands just before this piece; unless it is a row or a log line, it is remembered for the next."""
        last, is_stated = self._last, piece.block.layout in _STATED
        self._last = last if is_stated else piece
        if piece.block.lead:
            return self._kept(piece.block.lead, self._speaker)
        if last is None or last.block.headings != piece.block.headings or is_stated:
            return ""
        return self._kept(last.text, last.block.speaker or self._speaker)

    def _kept(self, text: str, speaker: str) -> str:
        kept = statement(Candidate(text, "", 0.0, speaker=speaker))
        # The end of it is what the next words follow.
        return kept[-self._chars_max :].strip() if self._chars_max else ""


def _states(sentence: str, block: Block) -> bool:
    return any(map(str.isalnum, sentence)) if block.layout in _STATED else is_statement(sentence)


def _said(piece: _Piece) -> str:
    """What the piece says itself: the time and the level of a log line are about it."""
    return message_of(piece.text) if piece.block.layout is Layout.LOG else piece.text


def _concept_of(piece: _Piece, named: Sequence[str], previous: str, content: Content) -> str:
    """A short topic that stays the same when more is said about it. `named` leaves out who is speaking to each other."""
    if piece.block.topic:
        return canonical(piece.block.topic)[:_CONCEPT_CHARS_MAX].rstrip()
    if piece.block.heading:
        return piece.block.heading[:_CONCEPT_CHARS_MAX].rstrip()
    if previous and piece.text.lower().startswith(_PRONOUNS):
        return previous
    topics = (*named[:1], content.title, piece.block.speaker, content.speaker, GENERAL)
    return next(topic for topic in map(canonical, topics) if topic)[:_CONCEPT_CHARS_MAX].rstrip()

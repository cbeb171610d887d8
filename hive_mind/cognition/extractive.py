"""The reader that needs no key: takes statements out of content word for word, and answers by quoting them.

It copies and never rephrases, so it can't invent; the price is that it can't reason either, and it says so. `blocks`,
`sentences`, `entities` and `temporal` do the reading, `quoting` the writing; this file puts them together.

The concept map: what a content is about, one line per concept with what it is linked to.

Counts and copies only; two concepts are linked when one statement names both.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hive_mind.awaiting import off_loop
from hive_mind.cognition import Extraction
from hive_mind.cognition.answering.quoting import QuotingSettings, quoted_answer
from hive_mind.cognition.extraction.blocks import Layout, blocks, section_names
from hive_mind.cognition.extraction.dating import Dates, dates_of, with_entries
from hive_mind.cognition.extraction.html_text import is_html, text_of_html
from hive_mind.cognition.extraction.screen_text import are_captions, text_of_captions
from hive_mind.cognition.extraction.sentences import SENTENCE_CHARS_MAX, STATED, Piece, cut, exchanged, summed_up
from hive_mind.cognition.extraction.separated import message_of
from hive_mind.cognition.extraction.source_text import notes_of_source
from hive_mind.cognition.extraction.stanzas import is_image, signed_in
from hive_mind.cognition.extraction.statements import (
    confidence_of,
    is_brief_statement,
    is_link,
    is_polite,
    is_question,
    is_statement,
    is_terse_statement,
)
from hive_mind.cognition.temporal import moments, resolved_dates
from hive_mind.memory.entities import Vocabulary, entities, vocabulary_of
from hive_mind.memory.intake import statement
from hive_mind.model.content import Candidate, Content, LeftOut
from hive_mind.model.fact import place_label, with_places
from hive_mind.model.gathered import Answer, Question, SearchResult
from hive_mind.model.ids import canonical, shown
from hive_mind.model.query import Hit

GENERAL = "general"
"""The concept of a statement that names nothing and stands under no heading."""

_CONCEPT_CHARS_MAX = 80
_PRONOUNS = ("he ", "she ", "they ", "it ", "his ", "her ", "their ", "its ", "this ", "these ", "that ")

# A map is read at a glance. Omissions are counted on the last line.
_CONCEPTS_MAX = 40
_LINKS_MAX = 8


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


class ExtractiveReader:
    """Implements `Reader` without a language model. Every candidate is verbatim, up to white space, in its content.

    Of a page, captions or source code it is so without their marks.
    """

    def __init__(self, settings: ExtractiveSettings | None = None, quoting: QuotingSettings | None = None) -> None:
        self._settings = settings or ExtractiveSettings()
        self._quoting = quoting or QuotingSettings()

    async def extract(self, content: Content) -> Extraction:
        """Statements with concept, confidence, entities, time and speaker. Never raises for any text."""
        return await off_loop(len(content.text), self._extracted, content)

    def _extracted(self, content: Content) -> Extraction:
        layout = with_entries(blocks(as_notes(shown(content.text))))
        dates = dates_of(content, layout)
        settings = self._settings
        pieces = list(summed_up(list(exchanged(cut(layout, settings.sentence_chars_max, settings.utterance_chars_max)))))
        # Log lines like others have no words of their own, and are most of a long log.
        vocabulary = vocabulary_of(sentence for piece in pieces if not _is_repeated(piece) for sentence in piece.sentences)
        candidates: dict[str, Candidate] = {}
        left_out: list[LeftOut] = []
        for piece, candidate in self._candidates(pieces, content, dates, vocabulary, section_names(layout)):
            if candidate is None:
                left_out += [] if piece.is_covered and not _is_repeated(piece) else [LeftOut(piece.text, _why_not(piece))]
            elif (text := canonical(candidate.content)) in candidates:
                left_out.append(LeftOut(candidate.content, "said before"))
                if piece.block.headings:
                    candidates[text] = _also_under(candidates[text], piece, candidate, settings.before_chars_max)
            else:
                candidates[text] = candidate
        return Extraction(tuple(candidates.values()), dates.said_at, left_out=tuple(left_out))

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        """One line per concept with what it is linked to, the most often mentioned first; "" for no candidates."""
        counts: Counter[str] = Counter()
        links: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for candidate in candidates:
            counts[candidate.concept] += 1
            links[candidate.concept].update(name for name in candidate.entities if name != candidate.concept)
        lines: list[str] = []
        for concept, count in counts.most_common(_CONCEPTS_MAX):
            linked = ", ".join(name for name, _ in links[concept].most_common(_LINKS_MAX))
            rest = f", … {len(links[concept]) - _LINKS_MAX} more" if len(links[concept]) > _LINKS_MAX else ""
            statements = "1 statement" if count == 1 else f"{count} statements"
            lines.append(f"{concept} ({statements}): {linked}{rest}" if linked else f"{concept} ({statements})")
        if len(counts) > _CONCEPTS_MAX:
            lines.append(f"… and {len(counts) - _CONCEPTS_MAX} more concepts")
        return "\n".join([content.title, *lines] if content.title and lines else lines)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """The best hits word for word, or an honest "not known"."""
        characters = sum(len(hit.fact.content) for hit in hits)
        searched = hits.searched if isinstance(hits, SearchResult) else 0
        return await off_loop(characters, quoted_answer, question, list(hits), self._quoting, searched)

    def _candidates(
        self,
        pieces: Sequence[Piece],
        content: Content,
        dates: Dates,
        vocabulary: Vocabulary,
        sections: Mapping[int, str],
    ) -> Iterator[tuple[Piece, Candidate | None]]:
        """Each piece with what becomes of it: None where it is left out."""
        last: Piece | None = None
        concept = ""
        speakers = frozenset(piece.block.speaker.casefold() for piece in pieces) | {content.speaker.casefold()}
        for piece in pieces:
            context = _before(piece, last, content.speaker, self._settings.before_chars_max)
            # A row or a log line is before nothing, and "ok" comes between nobody and the answer.
            is_passed_over = piece.block.layout in STATED or piece.is_covered or all(map(is_polite, piece.sentences))
            last = last if is_passed_over else piece
            statements = [] if piece.is_covered else [sentence for sentence in piece.sentences if _states(sentence, piece)]
            if not statements:
                yield piece, None
                continue
            # The time and the level of a log line are about it.
            spoken = message_of(piece.text) if piece.block.layout is Layout.LOG else piece.text
            names = entities(spoken, vocabulary)
            section = sections[piece.block.headings[-1].number] if piece.block.headings else ""
            concept = _concept_of(piece, section, [name for name in names if name.casefold() not in speakers], concept, content)
            said_at = dates.of(piece.block)
            labels = [*(resolved_dates(spoken, said_at) if said_at else ()), *([piece.note] if piece.note else ())]
            # Of the headings that it stands under.
            labels += [place_label([heading.title for heading in piece.block.headings])] if piece.block.headings else []
            yield (
                piece,
                Candidate(
                    content=piece.text,
                    concept=concept,
                    confidence=min(confidence_of(sentence, names) for sentence in statements),
                    said_at=said_at,
                    speaker=piece.block.speaker or content.speaker,
                    before=context,
                    entities=names,
                    keeps_lines=piece.block.layout is Layout.CODE,
                    labels=tuple(labels),
                ),
            )


def as_notes(text: str) -> str:
    """A page, captions or source code as the text that people read in it; any other text as it is."""
    if is_html(text):
        return text_of_html(text)[0]
    if are_captions(text):
        return text_of_captions(text)
    return text if is_image(text.splitlines()) else notes_of_source(text) or text


def _is_repeated(piece: Piece) -> bool:
    return piece.is_covered and piece.block.layout is Layout.LOG


def _also_under(candidate: Candidate, piece: Piece, further: Candidate, chars_max: int) -> Candidate:
    """A text that stands in several sections is found by the names of all, as far as there is room."""
    concept, candidate = further.concept, replace(candidate, labels=with_places(candidate.labels, further.labels))
    names = "; ".join((candidate.before, *candidate.entities, concept))
    if concept in (candidate.concept, *candidate.entities) or len(names) > chars_max:
        return candidate
    # Before a row stand the titles of its columns.
    before = (
        candidate.before if piece.block.layout in (Layout.ROW, *STATED) else "; ".join(filter(None, (candidate.before, concept)))
    )
    return replace(candidate, before=before, entities=(*candidate.entities, concept))


def _before(piece: Piece, last: Piece | None, speaker: str, chars_max: int) -> str:
    """The text just before a piece: its lead, or the `last` one in the same section.

    It is exactly as a memory keeps it, with its speaker: a text that is both a fact and before one is embedded once. The first
    text of a section has the titles above it: "Fix" says nothing without the thing that is broken.
    """
    if not chars_max:
        return ""
    if piece.block.lead:
        text = piece.block.lead
    elif piece.block.layout in STATED:
        return ""
    elif last is None or last.block.headings != piece.block.headings:
        return ": ".join(heading.title for heading in piece.block.headings)[-chars_max:]
    else:
        text, speaker = last.text, last.block.speaker or speaker
    # The end of it is what the next words follow.
    return statement(Candidate(text, "", 0.0, speaker=speaker))[-chars_max:].strip()


def _states(sentence: str, piece: Piece) -> bool:
    block = piece.block
    if piece.is_reply or block.layout in STATED:
        return any(map(str.isalnum, sentence))
    if block.layout is Layout.CODE or is_statement(sentence):
        return any(map(str.isalnum, sentence))
    if block.layout is Layout.ITEM and block.topic:
        # "seats 30" below "Birch".
        is_other = is_question(sentence) or is_polite(sentence) or is_link(sentence) or sentence.endswith(":")
        return not is_other and any(map(str.isalnum, sentence))
    # Its meaning comes from the item or the heading it hangs on: "Released 2023-08-17".
    hangs = bool(block.lead) or block.layout is Layout.ITEM or (bool(block.headings) and block.layout is Layout.PROSE)
    # "4 eggs", "May 2025", "done, commit 7fe21ab".
    is_figured = any(map(str.isalpha, sentence)) and (any(map(str.isdecimal, sentence)) or bool(moments(sentence)))
    is_terse = block.layout is Layout.PROSE and not block.speaker and is_terse_statement(sentence)
    is_told = (
        is_figured and block.layout in (Layout.UTTERANCE, Layout.PROSE) and not (is_question(sentence) or is_polite(sentence))
    )
    return is_terse or is_told or (hangs and (is_brief_statement(sentence) or is_figured))


def _why_not(piece: Piece) -> str:
    """Why a piece is left out; "" where another one tells it."""
    if piece.is_covered:
        return "a log line like others" if piece.block.layout is Layout.LOG else ""
    last = piece.sentences[-1]
    if is_link(last):
        return "the address of a link"
    return "a question" if is_question(last) else "a greeting or thanks" if is_polite(last) else "too few words"


def _concept_of(piece: Piece, section: str, names: Sequence[str], previous: str, content: Content) -> str:
    """A short topic that stays the same when more is said about it. `names` leaves out who is speaking to each other."""
    if signed := signed_in(piece.text):
        return f"signature: {signed}"
    if piece.block.topic:
        return canonical(piece.block.topic)[:_CONCEPT_CHARS_MAX].rstrip()
    if section:
        return (section if len(section) <= _CONCEPT_CHARS_MAX else piece.block.heading)[:_CONCEPT_CHARS_MAX].rstrip()
    if previous and piece.text.lower().startswith(_PRONOUNS):
        return previous
    topics = (*names[:1], content.title, piece.block.speaker, content.speaker, GENERAL)
    return next(topic for topic in map(canonical, topics) if topic)[:_CONCEPT_CHARS_MAX].rstrip()

"""Whatever is read, searched or answered with takes time in proportion to its length: also what nobody writes, again and again.

`test_linear_expressions.py` counts the steps of each expression; here are the functions that use them, with their loops.
"""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from hive_mind.cognition.answering.aliases import aliases_of, as_written, described_in
from hive_mind.cognition.answering.intent import direct, intent_of, parts_of
from hive_mind.cognition.answering.question_terms import focus_of
from hive_mind.cognition.answering.quoting import QuotingSettings, quoted_answer
from hive_mind.cognition.answering.tallying import aggregations_of
from hive_mind.cognition.extraction.screen_text import text_of_manual
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.temporal import moments, resolved_dates
from hive_mind.hive.trust.wording import wording
from hive_mind.memory.entities import entities
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.model.content import Content
from hive_mind.model.gathered import Question
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.ranking.question import anchors, codes
from hive_mind.ranking.tokens import tokenize
from hive_mind.runtime.texts import document_of_html
from hive_mind.runtime.texts.asciidoc_text import text_of_asciidoc
from hive_mind.runtime.texts.markdown_text import shown_in_markdown
from hive_mind.runtime.texts.nested_text import nested_text
from tests.builders import fact
from tests.growth import costly

PIECES = (
    *(" ", "\n", "1,", "1.", "1:", "a", "A ", "a-", "a. ", "Aa ", "(", "[", "<", "<!--", "<td ", "<?", "<![", "</", "<a b='"),
    *("'", "`", "“", "—", "| a ", "*", "# a\n", "- a\n", "a: b\n", "Ann: hi\n", "[12:30]", "2024-01-01 ", "é", "\u0301"),
    *("👩‍👩‍👧", "は", "a@b.c ", "&#64;", "\\", "?", "; ", "12 kg ", "INC-1 ", "is ", "or ", "a, b and ", "password: "),
    *("\x00", "last Monday ", "don't ", "v1.2."),
)
CHARS = 1_000
# They look for more than the others.
CHARS_OF = dict.fromkeys(("through the gate", "answering what", "answering who", "answering how many"), 500)


# Some keep what they found in a text that they have seen.
UNIQUE = count()


def _answered(question: str) -> Callable[[str], object]:
    def answered(text: str) -> object:
        scores = ComponentScores(keyword=5.0, semantic=0.5, exact=0.0, confirmations=0.0, trust=0.5)
        return quoted_answer(
            Question(question), [Hit(fact(f"The pump house {next(UNIQUE)} measured: {text}"), 0.9, scores)], QuotingSettings()
        )

    return answered


def _asked(text: str) -> object:
    return [ask(text) for ask in (direct, intent_of, parts_of, focus_of, described_in, aggregations_of, anchors, codes)]


def _aliases(text: str) -> object:
    hits = [Hit(fact(text), 0.9, ComponentScores(keyword=5.0, semantic=0.5, exact=0.0, confirmations=0.0, trust=0.5))]
    return aliases_of("Is INC-2024-1 open?", hits), as_written("Is pump house 2 open?", hits)


WORK: dict[str, Callable[[str], object]] = {
    "extracted": lambda text: asyncio.run(ExtractiveReader().extract(Content(text, "notes"))),
    "extracted behind a time": lambda text: asyncio.run(ExtractiveReader().extract(Content(f"[12:30]{text}Ann", "notes"))),
    "through the gate": lambda text: decide(fact(f"The pump is red. {text}"), PromotionSettings()),
    "worded": lambda text: wording(f"The pump is {text}"),
    "cut into terms": lambda text: tokenize(text),
    "with entities": entities,
    "with dates": lambda text: (moments(text, "2024-01-01"), resolved_dates(text, "2024-01-01")),
    "Markdown": shown_in_markdown,
    "AsciiDoc": text_of_asciidoc,
    "a manual": text_of_manual,
    "HTML": document_of_html,
    "YAML": nested_text,
    "a question": _asked,
    "with other names": _aliases,
    "answering what": _answered("What did the pump house measure?"),
    "answering who": _answered("Who is the head of the pump house?"),
    "answering how many": _answered("How many kilos did the pump house measure?"),
}


@pytest.mark.parametrize("name", WORK)
def test_a_text_takes_time_in_proportion_to_its_length(name):
    assert costly(WORK[name], PIECES, CHARS_OF.get(name, CHARS)) == []

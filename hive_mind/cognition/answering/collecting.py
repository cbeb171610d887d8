"""Questions that only all facts together answer: how many there are about something, which, and which is the latest.

Their words alone tell, and only where facts are counted: "How many notes are there on D4?", and not "How many pumps
are there?", which some fact answers.
"""

import re
from collections.abc import Iterator

from hive_mind.cognition.answering.quoting import quotation
from hive_mind.counted import IN_A_LINE, counted
from hive_mind.model.aggregation import Aggregated, Aggregation, Kind
from hive_mind.model.gathered import Answer
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.regex import regex

LISTED_MAX = 30
WORDING_CHARS_MAX = 300

_FACTS = r"(?:facts|notes|entries|things|statements|messages|records|reports|mentions|news)"
_FACT = r"(?:fact|note|entry|thing|statement|message|record|report|mention)"
_KNOWN = (
    r"(?:\s+(?:are there|there are|do (?:we|you) (?:know|have|remember)|(?:we|you) (?:know|have)|are known|is known|known|said))?"
)
_ABOUT = r"\s+(?:about|on|of|regarding|concerning|for|(?:that |which )?(?:mention(?:s|ing)?|name(?:s)?))\s+(?P<about>.{1,120})"
_ASKED: tuple[tuple[Kind, str], ...] = (
    ("count", rf"how many {_FACTS}{_KNOWN}{_ABOUT}"),
    ("count", r"how often (?:is|was) (?P<about>.{1,120}?) mentioned"),
    ("list", rf"(?:list|show|name|enumerate|tell)(?: me)? (?:all|every|everything)(?: the)?(?: {_FACTS})?{_KNOWN}{_ABOUT}"),
    ("list", r"(?:list|show|enumerate)(?: me)? all(?: the)? (?P<about>[\w-]+(?: [\w-]+)?)"),
    ("latest", rf"what(?: is|'s|’s| was| are| were) the (?:latest|newest|most recent)(?: (?:{_FACTS}|{_FACT}))?{_KNOWN}{_ABOUT}"),
    ("earliest", rf"what(?: is|'s|’s| was| are| were) the (?:earliest|first|oldest) (?:{_FACTS}|{_FACT}){_KNOWN}{_ABOUT}"),
)
_COMPILED = tuple((kind, regex(pattern, re.IGNORECASE)) for kind, pattern in _ASKED)
_ARTICLE = regex(r"^(?:the|a|an|our|my|your)\s+", re.IGNORECASE)
_MARKS = "?!. \"'“”„‘’"


def aggregations_of(question: str) -> Iterator[Aggregation]:
    """Aggregations that a question wants, in the order in which to try: its subject as it is written, then in the singular."""
    one_line = " ".join(question[:WORDING_CHARS_MAX].split()).strip(_MARKS)
    for kind, pattern in _COMPILED:
        if match := pattern.fullmatch(one_line):
            about = _ARTICLE.sub("", match["about"].strip(_MARKS))
            limit = LISTED_MAX if kind == "list" else 1
            for name in dict.fromkeys((about, about.removesuffix("s"))):
                yield Aggregation(kind, name, limit)
            return


def collected_answer(collected: Aggregated) -> Answer:
    """A number, or facts word for word, with how much of the hive was asked."""
    hits = [Hit(fact, 1.0, ComponentScores(0.0, None, 0.0, 0.0, 0.0)) for fact in collected.facts]
    text = "\n".join([_summary(collected), *map(quotation, hits)])
    return Answer(text, tuple(hits), "collected", round(collected.completeness, 2), completeness=collected.completeness)


def _summary(collected: Aggregated) -> str:
    aggregation, count, shown_count = collected.wanted, collected.count, len(collected.facts)
    facts = counted(count, "fact") + (f" about {aggregation.about}" if aggregation.about else "")
    heading = {
        "count": facts,
        "list": f"All of {facts}, the latest first" if shown_count == count else f"The latest {shown_count} of {facts}",
        "latest": f"The latest of {facts}",
        "earliest": f"The earliest of {facts}",
    }[aggregation.kind]
    return f"{heading}{missing_members(collected)}{':' if collected.facts else '.'}"


def missing_members(collected: Aggregated) -> str:
    """The share of the hive that was asked and who was silent; "" for all of it."""
    if collected.completeness >= 1:
        return ""
    names = ", ".join(collected.silent[:IN_A_LINE]) + (", …" if len(collected.silent) > IN_A_LINE else "")
    silent_members = (
        f"{counted(len(collected.silent), 'member')} did not answer ({names})" if names else "the hive did not answer"
    )
    return f" in {collected.completeness:.0%} of the hive; {silent_members}"

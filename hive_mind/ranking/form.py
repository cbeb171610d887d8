"""The text form of a fact: the parts indexed, as opposed to the parts shown.

Dialogue is found by its speaker, its time, and the text just before; that is worth more than any fusion
(docs/adr/0003-ranking.md). The fact's own words count fully, its surroundings less, and the text shown stays the fact's own.
"""

from collections import Counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.fact import Fact
from hive_mind.ranking.neighbours import ROLES_OF_WHO_ASKS
from hive_mind.ranking.tokens import indexed_terms
from hive_mind.regex import regex

# Weight of a term of the surroundings, however often it stands there. Below 1: then a weight of 1 proves a term the fact's own.
BEFORE_WEIGHT = 0.5
SPEAKER_WEIGHT = 0.95
OWN_WEIGHT_MIN = 1.0
# Of the text before, this number of terms always counts; beyond, no more than the fact has of its own.
_BEFORE_TERMS = 10

# As programs write a day. Of a text with many, the first are what it is about.
_WRITTEN_DAY = regex(r"(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-[0-3]\d(?!\d)")
_DAYS_SPOKEN_MAX = 8

# A turn that only asks is no evidence. A word that stands in no question, repeated for every two characters, makes it some four
# times as long (docs/adr/0003-ranking.md).
_ASKING, _ASKING_CHARACTERS = "onlyasks", 2
_QUESTION_ENDS = ("?", "\uff1f", "\u061f")
_STATEMENT_ENDS = (". ", "! ", ".\n", "!\n", "\u3002", "\uff01")

_MONTHS = "January February March April May June July August September October November December".split()


class Worded(Protocol):
    """The parts of a fact, or of a statement in a hive, that are indexed."""

    @property
    def content(self) -> str:
        """The text said."""
        ...

    @property
    def concept(self) -> str:
        """Its subject."""
        ...

    @property
    def said_at(self) -> str:
        """When, ISO 8601 or ""."""
        ...

    @property
    def speaker(self) -> str:
        """Its speaker, or ""."""
        ...

    @property
    def before(self) -> str:
        """The text just before, or ""."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Keywords."""
        ...


def weighted_terms(fact: Worded) -> dict[str, float]:
    """Each term of the fact with its weight for BM25.

    The speaker is no word of the text either: Noor's words are rarely about Noor.
    """
    own_terms = indexed_terms(own_text(fact))
    terms: dict[str, float] = dict(Counter(own_terms))
    if not (fact.before or fact.concept or fact.speaker):
        return terms
    surroundings = dict.fromkeys(indexed_terms(fact.before))
    around = dict.fromkeys(surroundings, before_weight(len(own_terms), len(surroundings)))
    around |= dict.fromkeys(indexed_terms(fact.concept), BEFORE_WEIGHT) | dict.fromkeys(
        indexed_terms(fact.speaker), SPEAKER_WEIGHT
    )
    for term, weight in around.items():
        terms[term] = terms.get(term, 0.0) + weight
    return terms


def before_weight(own_count: int, before: int) -> float:
    """Weight of each of the different terms before a text with `own` terms.

    A turn is understood from one of its like; a long answer before a short question would drown it in words of another.
    """
    share: float = min(1.0, (_BEFORE_TERMS + own_count) / max(before, 1))
    return BEFORE_WEIGHT * share * share


def own_text(fact: Worded) -> str:
    """The text with its days as people say them: those beside it, and those in it that a program wrote."""
    message = fact.content.removeprefix(f"{fact.speaker}: ") if fact.speaker else fact.content
    days_written = list(dict.fromkeys(_WRITTEN_DAY.findall(message)))[:_DAYS_SPOKEN_MAX] if "-" in message else []
    days = [spoken_date(day) for day in (fact.said_at, *fact.labels, *days_written)]
    asking = [_ASKING] * (len(message) // _ASKING_CHARACTERS) if fact.speaker and only_asks(fact.speaker, message) else []
    return " \n".join([message, *days, *asking]) if any(days) or asking else message


def only_asks(speaker: str, message: str) -> bool:
    """Whether a turn says nothing. What a person asks an assistant tells what that person is about."""
    end = message.rstrip("\"'”’»)* \n")
    return end.endswith(_QUESTION_ENDS) and speaker not in ROLES_OF_WHO_ASKS and not any(mark in end for mark in _STATEMENT_ENDS)


def texts_to_embed(fact: Fact) -> tuple[str, ...]:
    """The fact's own text, then the text before it where there is one."""
    return (fact.content, fact.before) if fact.before else (fact.content,)


def mixed_vector(own_vector: NDArray[np.float32], before: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """One unit vector for a fact with its surroundings, rounded to float16. Shapes (dimension,)."""
    if before is None:
        return own_vector
    mixed = own_vector + np.float32(BEFORE_WEIGHT) * before
    length = float(np.linalg.norm(mixed))
    unit = mixed / length if length > 0 else own_vector
    return unit.astype(np.float16).astype(np.float32)


def spoken_date(text: str) -> str:
    """ "2023-05-08T13:56" as people would ask for it, "8 May 2023"; any other text as it is."""
    year, _, rest = text[:10].partition("-")
    month, _, day = rest.partition("-")
    if not (len(year) == 4 and year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12):
        return text
    name = _MONTHS[int(month) - 1]
    return f"{int(day)} {name} {year}" if day.isdecimal() else f"{name} {year}"

"""The unit kept: a fact, never edited; it is confirmed, superseded or retracted."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hive_mind.model.decoding import converted
from hive_mind.model.ids import canonical, source_digest
from hive_mind.remembered import remembered

CONFIDENCE = 0.8
"""Of a fact stored by hand."""
NAME_CHARACTERS_MAX = 2_000
"""Of a source, a speaker, an entity, a label, a date."""


class Sharing(StrEnum):
    """How far a fact has gone from its agent towards the hive. The agent's own database is the only place that keeps it.

    Proposed: on its way, the hive may have it or not. Held: the agent's node has it. Shared: so has a node that others ask.
    """

    PRIVATE = "private"
    PROPOSED = "proposed"
    HELD = "held"
    SHARED = "shared"
    RETRACTED = "retracted"


KEPT_HOME = "it was stored for its agent alone"
"""The `held_back` of a fact that nothing but storing it again will release."""

FORGOTTEN = "the hive forgot it"
"""The `held_back` of a fact that was shared and that the hive no longer has. Saying it again tells the hive again."""


class Relation(StrEnum):
    """Edges between a fact and what it stands on. The value is the name of the relation table."""

    DERIVES_FROM = "DERIVES_FROM"
    """fact → the episode it was taken from"""
    SUPERSEDES = "SUPERSEDES"
    """newer fact → the fact it replaces"""
    CONTRADICTS = "CONTRADICTS"
    """fact → a fact that can't be true at the same time"""
    MENTIONS = "MENTIONS"
    """fact → an entity it names"""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement an agent holds.

    `confidence` is in [0, 1]. `sources` vouch for it, the first one first, each once. `copied` has those that are copies of
    another, each behind the digest of that one's name and a space: copies and original are one root.
    `learned_at_us` is microseconds since 1970-01-01 UTC; `said_at` is ISO 8601 as precise as known, or "".
    `superseded_by` is the id of the fact that replaced it, or of the episode that no longer says it, or "". `held_back` says why
    it was not shared, or "". `offered` are the sources for which the hive may hold it for this agent, none where it surely does
    not: compared with `sources` they give what is still to be sent to the hive. `turned_at_us` are the times at which it began to
    hold, ceased, held again, and so on, in turn; empty where it only began, with `learned_at_us`. See `times_held`.
    """

    id: str
    content: str
    concept: str
    confidence: float
    sources: tuple[str, ...]
    learned_at_us: int
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    sharing: Sharing = Sharing.PRIVATE
    superseded_by: str = ""
    held_back: str = ""
    offered: tuple[str, ...] = ()
    turned_at_us: tuple[int, ...] = ()
    copied: tuple[str, ...] = ()

    @property
    def roots(self) -> tuple[str, ...]:
        """Where the knowledge comes from: of sources that are copies of one text the first one."""
        if not self.copied:
            return self.sources
        originals = self.originals
        first: dict[str, str] = {}
        for source in self.sources:
            first.setdefault(originals.get(source) or source_digest(source), source)
        return tuple(first.values())

    @property
    def originals(self) -> dict[str, str]:
        """The digest of the source that each copy is one of (`ids.source_digest`), by the copy."""
        return {copy: digest for digest, _, copy in (entry.partition(" ") for entry in self.copied)}

    @property
    def confirmations(self) -> int:
        return len(self.roots) - 1

    def said_by(self, sources: tuple[str, ...]) -> "Fact":
        """As these say it. Where one is left out, no headings stay but the first's: nothing tells whose the others are."""
        labels, copied = self.labels, tuple(entry for entry in self.copied if entry.partition(" ")[2] in sources)
        if not set(self.sources) <= set(sources):
            places = list(filter(_is_place, labels))[: sources[:1] == self.sources[:1]]
            labels = (*keywords_in(labels), *places)
        return replace(self, sources=sources, copied=copied, labels=labels)

    @property
    def places(self) -> list[str]:
        """The headings above its own, for each place where it stands."""
        paths = (path.removesuffix(self.concept).removesuffix(_BELOW) for path in places_in(self.labels))
        return list(filter(None, paths))

    @property
    def is_retracted(self) -> bool:
        """Whether it was taken back: kept for the record, found by id only."""
        return self.sharing is Sharing.RETRACTED

    @property
    def is_current(self) -> bool:
        """Whether a search may return it: neither retracted nor superseded."""
        return not self.superseded_by and not self.is_retracted

    @property
    def times_held(self) -> tuple[int, ...]:
        """When it began to hold, ceased, and so on, in turn: an odd number for a current fact.

        Records of earlier versions do not say when a fact ceased to hold: then it ceased when it began, and held at no time that
        is known.
        """
        times = self.turned_at_us or (self.learned_at_us,)
        return times if len(times) % 2 == int(self.is_current) else (*times, times[-1])

    def held_at(self, at_us: int) -> bool:
        """Whether it had been learned by then, and was neither superseded nor retracted at that time."""
        return sum(1 for time in self.times_held if time <= at_us) % 2 == 1

    def as_held_at(self, at_us: int) -> "Fact":
        """A fact that `held_at` a time as it was then. Its sources are those of today: when each was heard is not kept."""
        sharing = Sharing.PRIVATE if self.is_retracted else self.sharing
        times = tuple(time for time in self.times_held if time <= at_us)
        learned_at_us, turned_at_us = min(self.learned_at_us, times[-1]), times if len(times) > 1 else ()
        return replace(self, superseded_by="", sharing=sharing, learned_at_us=learned_at_us, turned_at_us=turned_at_us)


_PLACE, _PLACE_END, _BELOW = "in “", "”", ": "
# A line that stands in hundreds of files says nothing of any.
_PLACES_MAX = 8


def place_label(titles: Iterable[str]) -> str:
    """A label for the headings that a text stands under, the highest first: a document's title, and what lies below it."""
    return f"{_PLACE}{_BELOW.join(titles)}{_PLACE_END}"


def with_places(labels: tuple[str, ...], further: Iterable[str]) -> tuple[str, ...]:
    """The labels of a text, and those for the headings that it stands under elsewhere, as far as there is room."""
    places = [label for label in further if _is_place(label) and label not in labels]
    return (*labels, *places[: max(0, _PLACES_MAX - len(places_in(labels)))])


def places_in(labels: Iterable[str]) -> list[str]:
    """The headings of each label that is for some."""
    return [label[len(_PLACE) : -1] for label in labels if _is_place(label)]


def keywords_in(labels: Iterable[str]) -> list[str]:
    """The labels that are for no headings."""
    return [label for label in labels if not _is_place(label)]


def _is_place(label: str) -> bool:
    return label.startswith(_PLACE) and label.endswith(_PLACE_END)


class FactList(list[Fact]):
    """Facts, and the share of the hive that was asked for them (`completeness`)."""

    def __init__(self, facts: Iterable[Fact] = (), completeness: float = 1.0) -> None:
        super().__init__(facts)
        self.completeness = completeness


def fact_of(reply: Mapping[str, Any]) -> Fact:
    """The fact of a reply; what else stands there is left out."""
    return converted({**reply, "id": reply["fact_id"]}, Fact)


def turned(fact: Fact, earlier: Fact | None, now_us: int) -> Fact:
    """A changed fact, with the time of the change where it ceases to hold or holds again.

    Without an earlier one it may have changed on its way here: lines taken in together take it back and say it again.
    """
    if earlier is None:
        is_recorded = not fact.turned_at_us or len(fact.turned_at_us) % 2 == int(fact.is_current)
        times = fact.turned_at_us
    else:
        is_recorded, times = fact.is_current == earlier.is_current, earlier.times_held
    if is_recorded:
        return fact
    return replace(fact, turned_at_us=(*times, max(now_us, times[-1] + 1)))


def is_about(about: str, concept: str, entities: Iterable[str]) -> bool:
    """Whether what has this concept and these entities is about what is wanted; letter case does not matter.

    A concept is about each of its words: "Pump D4" about "D4" and about "pump", and "Pump D40" not about "D4".
    """
    name = canonical(about).casefold()
    if name in (folded := concept.casefold()) and (not name or _as_words(name).search(folded)):
        return True
    return any(name == canonical(entity).casefold() for entity in entities)


@remembered(64)
def _as_words(name: str) -> re.Pattern[str]:
    """The name with no letter, digit or hyphen going on before or after it; scripts without spaces have no such bounds."""
    ends = [edge if name[at : at + 1].isascii() else "" for at, edge in ((0, r"(?<![\w-])"), (len(name) - 1, r"(?![\w-])"))]
    return re.compile(f"{ends[0]}{re.escape(name)}{ends[1]}")

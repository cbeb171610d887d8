"""Statements a source has dropped: former, once its present ones are kept.

A source that is a whole (a file) is learned again when it was changed. Its present statements are stored before this is asked: an
agent stopped in between has both, and learning it once more finishes. Only facts from an earlier text of the same source can
become former here: not those stored by hand, and not those of another source, too; of these, this source is left out.

A former statement is paired with the present one that took its place, by their words.

Where a text goes on in the middle of the last line of the one before it, as a log does that somebody is writing, that line was
only begun: its statement was never made, and is taken back instead of being former.

A former fact says when it ceased to be true, and is shown after its successor. A file that was copied, renamed or moved, and
perhaps edited since, is no second voice: that is decided when a source is learned as a whole for the first time, by the
statements that both have. A reader's last note on a source stands under a digest, so that one that is erased leaves no name
behind.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.intake import Intake, Known
from hive_mind.memory.opening import Awake
from hive_mind.memory.recall import KnownFacts
from hive_mind.model.content import Episode, KnownSource, SourceNote
from hive_mind.model.decoding import json_decoder
from hive_mind.model.fact import Fact, Relation, Sharing, turned
from hive_mind.model.ids import canonical, source_digest
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import tokenize
from hive_mind.store import AddFact, Change, Link, ReviseFact, SetMeta


def timed(intake: Intake, fact_by_id: Known, now_us: int) -> Intake:
    """With the time at which each fact ceases to hold, or holds again."""
    facts = tuple(turned(fact, fact_by_id(fact.id), now_us) for fact in intake.facts)
    changed = {fact.id: fact for fact, former in zip(facts, intake.facts, strict=True) if fact is not former}

    def timed_change(change: Change) -> Change:
        return (
            replace(change, fact=changed.get(change.fact.id, change.fact)) if isinstance(change, AddFact | ReviseFact) else change
        )

    return Intake(tuple(map(timed_change, intake.changes)), facts) if changed else intake


@ornament(lambda hits: list(hits))
def after_successors(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, but none ahead of the one that replaced it: that takes its place, and it follows."""
    by_id = {hit.fact.id: hit for hit in hits}
    hits_shown: dict[str, Hit] = {}
    for hit in hits:
        line = [hit]
        while (
            (newer := by_id.get(line[-1].fact.superseded_by)) is not None
            and newer.fact.id not in hits_shown
            and newer not in line
        ):
            line.append(newer)
        hits_shown |= {hit.fact.id: hit for hit in reversed(line) if hit.fact.id not in hits_shown}
    return list(hits_shown.values())


def former_of(changed: Iterable[Fact], source: str) -> int:
    """How many of these, which an edit changed, the source says no longer."""
    return sum(1 for fact in changed if fact.superseded_by or source not in fact.sources)


def former_note(fact: Fact) -> str:
    """A word on a fact that is no longer true, "" for one that is."""
    return "no longer true" if fact.superseded_by else ""


WITHDRAWN = "This source says nothing any more: it is gone, or was withdrawn."


def noted(source: str, note: SourceNote | None) -> SetMeta:
    """The write that keeps a note, or None for no note any more."""
    return SetMeta(_key(source), msgspec.json.encode(note).decode() if note else "")


def sources_of(facts: Iterable[Fact], meta: Mapping[str, str], below: str = "") -> list[KnownSource]:
    """All sources with a name that begins like this, in order. Retracted facts are counted nowhere."""
    facts_by_source: dict[str, list[Fact]] = {}
    for fact in facts:
        for source in fact.sources:
            if source.startswith(below) and not fact.is_retracted:
                facts_by_source.setdefault(source, []).append(fact)
    return [_known(source, facts_said, _note_of(source, meta)) for source, facts_said in sorted(facts_by_source.items())]


def _known(source: str, facts: list[Fact], note: SourceNote) -> KnownSource:
    current = sum(fact.is_current for fact in facts)
    learned_at_us = note.at_us or max(fact.learned_at_us for fact in facts)
    vouches = any(vouched_by(source, facts))
    return KnownSource(source, vouches, current, len(facts) - current, learned_at_us, note.digest, note.left_out)


def _note_of(source: str, meta: Mapping[str, str]) -> SourceNote:
    note = meta.get(_key(source))
    return json_decoder(SourceNote)(note) if note else SourceNote()


def _key(source: str) -> str:
    return f"learned/{source_digest(source)}"


# Of all statements that one of them or both make. Two texts that were written apart have a few in common.
_SHARE_MIN = 0.5
# Copies of copies have all the same original; a look at a few finds it.
_LOOKED_AT_MAX = 4


def likely_originals(source: str, said_count: int, facts: Iterable[Fact]) -> list[str]:
    """Other sources of at least half of its statements, those of most first. `facts`: those of its `said` statements that are."""
    counts = Counter(source_name for fact in facts for source_name in fact.sources if source_name != source)
    return [source_name for source_name, count in counts.most_common(_LOOKED_AT_MAX) if count >= _SHARE_MIN * said_count]


def original_of(source: str, said_count: int, facts_known: Iterable[Fact], sizes: Mapping[str, int]) -> str:
    """The digest of the source of which this is a copy, "" for none. `sizes`: how many statements each likely original makes."""
    facts = list(facts_known)
    if any(source in fact.sources for fact in facts):
        # Learned before: what it was then.
        return next((fact.originals[source] for fact in facts if source in fact.originals), "")
    for original in likely_originals(source, said_count, facts):
        shared = sum(original in fact.sources for fact in facts)
        if shared >= _SHARE_MIN * (said_count + sizes.get(original, shared) - shared):
            # A copy of a copy is one of the same original.
            return next((fact.originals[original] for fact in facts if original in fact.originals), source_digest(original))
    return ""


# Half the words of both: an edit of a number or of a name leaves more, another sentence about the same thing mostly fewer.
_ALIKE_MIN = 0.5
# Each is compared with this many at about the same position: a chapter written anew is not compared with all of itself.
_COMPARED_MAX = 40


class _Stood(NamedTuple):
    """A statement of only one of the two texts: the common statement before it, and its heading."""

    fact: Fact
    after: str
    heading: str


_Key = Callable[[_Stood], tuple[str, ...]]


def successors(before: Sequence[Fact], now: Sequence[Fact]) -> dict[str, str]:
    """By id, the successor of each dropped statement; those without a successor are left out. Both in order."""
    vanished, new = _unshared(before, now), _unshared(now, before)
    pairs: dict[str, str] = {}
    for match, key in _STEPS:
        old_groups, new_groups = _grouped(vanished, pairs, key), _grouped(new, frozenset(pairs.values()), key)
        for name, facts in old_groups.items():
            pairs |= match(facts, new_groups.get(name, ()))
    return pairs


def _unshared(these: Sequence[Fact], facts: Iterable[Fact]) -> list[_Stood]:
    ids_of_both = {fact.id for fact in facts}
    after, standings = "", list[_Stood]()
    for fact in these:
        if fact.id in ids_of_both:
            after = fact.id
        else:
            standings.append(_Stood(fact, after, canonical(fact.concept).casefold()))
    return standings


def _grouped(these: Iterable[_Stood], ids_taken: Container[str], key: _Key) -> dict[tuple[str, ...], list[Fact]]:
    groups = defaultdict[tuple[str, ...], list[Fact]](list)
    for standing in these:
        if standing.fact.id not in ids_taken:
            groups[key(standing)].append(standing.fact)
    return groups


def _alike(facts: Sequence[Fact], new: Sequence[Fact]) -> dict[str, str]:
    """Those that share most words, the most alike first."""
    ahead = [frozenset(tokenize(fact.content)) for fact in new]
    ranked = sorted(
        (-share, abs(row - column), row, column)
        for row, fact in enumerate(facts)
        for words in (frozenset(tokenize(fact.content)),)
        for column in _about(row, len(facts), len(new))
        if (share := _shared(words, ahead[column])) >= _ALIKE_MIN
    )
    pairs: dict[int, int] = {}
    columns_taken: set[int] = set()
    for *_, row, column in ranked:
        if row not in pairs and column not in columns_taken:
            pairs[row] = column
            columns_taken.add(column)
    return {facts[row].id: new[column].id for row, column in pairs.items()}


def _about(row: int, rows: int, columns: int) -> range:
    """Positions about as far down."""
    middle = row * columns // rows
    return range(max(0, middle - _COMPARED_MAX // 2), min(columns, middle + _COMPARED_MAX // 2))


def _shared(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / max(1, len(a) + len(b))


def _in_order(facts: Sequence[Fact], new: Sequence[Fact]) -> dict[str, str]:
    return {fact.id: newer.id for fact, newer in zip(facts, new, strict=False)}


_STEPS: tuple[tuple[Callable[[Sequence[Fact], Sequence[Fact]], dict[str, str]], _Key], ...] = (
    (_alike, lambda standing: (standing.after, standing.heading)),
    (_alike, lambda standing: (standing.heading,)),
    (_alike, lambda standing: (standing.after,)),
    (_in_order, lambda standing: (standing.after, standing.heading)),
)


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes to make. `replaced_by`: by dropped fact, its replacement: a fact, or the text without it.
    `returned`: by fact that is back although an edit had replaced it, its sources. `begun`: those that were only begun.
    """

    source: str
    replaced_by: Mapping[str, str]
    returned: Mapping[str, tuple[str, ...]]
    begun: Container[str] = ()

    @property
    def ids(self) -> list[str]:
        return [*self.replaced_by, *self.returned]

    def revised(self, fact: Fact) -> Fact:
        if fact.id in self.returned:
            return replace(fact.said_by(self.returned[fact.id]), superseded_by="")
        if sources := tuple(source for source in fact.sources if source != self.source):
            return fact.said_by(sources)
        if fact.id in self.begun:
            return replace(fact, sharing=Sharing.RETRACTED)
        return replace(fact, superseded_by=self.replaced_by[fact.id]) if fact.is_current else fact

    def links(self, facts_known: KnownFacts) -> list[Link]:
        """From each new statement to the former one."""
        pairs = [(newer, older) for older, newer in self.replaced_by.items() if newer in facts_known]
        pairs = [(newer, older) for newer, older in pairs if older not in self.begun and len(facts_known[older].sources) == 1]
        return [Link(Relation.SUPERSEDES, newer, older) for newer, older in pairs]


async def edits_of(awake: Awake, source: str, episodes: Sequence[str], *, is_withdrawn: bool = False) -> Edits:
    """Changes when these episodes are all that a source says now. Raises `InvalidInput` for none of them.

    `is_withdrawn`: it says nothing any more, facts stored by hand included; the episode says that.
    """
    if not episodes:
        raise InvalidInput("`episodes` must list the current episodes of the source")
    texts = _Texts(awake, source, frozenset(episodes))
    known_facts = awake.recall.facts
    facts = await texts.said_in(episodes)
    now = {fact.id: fact for fact in facts}
    returned = {fact.id: voices for fact in facts if fact.superseded_by and (voices := await texts.voices_of(fact))}
    unsaid = [fact for fact in vouched_by(source, known_facts.values()) if fact.id not in now]
    # A former fact names its sources: those that dropped it, and those that may say it again and were interrupted.
    unsaid = [fact for fact in unsaid if fact.is_current or source not in await texts.edited(fact)]
    origins = {fact.id: await texts.former_of(fact.id) for fact in unsaid}
    ids_gone = [fact.id for fact in unsaid if origins[fact.id] or is_withdrawn]
    left = {fact.id for fact in unsaid if fact.is_current and origins[fact.id]}
    latest = texts.latest(origins[fact_id] for fact_id in left)
    before = await texts.said_in(latest)
    places = successors(
        [fact for fact in before if fact.id in now or fact.id in left],
        [fact for fact in facts if fact.is_current or fact.id in returned],
    )
    begun = await texts.only_begun(latest)
    return Edits(source, {fact_id: places.get(fact_id, episodes[-1]) for fact_id in ids_gone}, returned, begun)


def vouched_by(source: str, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Facts that count on a source: current ones, and former ones that others said since, which may not have been learned
    whole."""
    for fact in facts:
        if source in fact.sources and (fact.is_current or (len(fact.sources) > 1 and not fact.is_retracted)):
            yield fact


class _Texts:
    """The texts of one source, the earlier and the present ones, and what was taken from them."""

    def __init__(self, awake: Awake, source: str, present: frozenset[str]) -> None:
        self._store, self._facts_known, self._source, self._present = awake.store, awake.recall.facts, source, present
        self._episodes: dict[str, Episode] = {}

    async def said_in(self, episodes: Iterable[str]) -> list[Fact]:
        """The facts, in order, each once."""
        ids = [id for episode in episodes for id in await self._store.linked(Relation.DERIVES_FROM, episode, backwards=True)]
        return [fact for id in dict.fromkeys(ids) if (fact := self._facts_known.get(id)) is not None]

    async def former_of(self, fact_id: str) -> frozenset[str]:
        """Earlier texts of the source that said it."""
        return (await self._by_source(fact_id)).get(self._source, frozenset()) - self._present

    async def voices_of(self, fact: Fact) -> tuple[str, ...]:
        """Sources of a replaced fact: this one, and those without an edit of their texts. None where a person replaced it on
        better knowledge: then no source has the replacement in other texts.
        """
        edited = await self.edited(fact)
        return tuple(source for source in fact.sources if source == self._source or source not in edited) if edited else ()

    async def edited(self, fact: Fact) -> set[str]:
        """Those of its sources that replaced a fact by an edit: they say in other texts what stands in its place."""
        newer, older = await self._by_source(fact.superseded_by), await self._by_source(fact.id)
        return {source for source in fact.sources if source in newer and newer[source] != older.get(source)}

    def latest(self, origins: Iterable[frozenset[str]]) -> list[str]:
        """The texts that said it last, the oldest first."""
        age = {id: episode.learned_at_us for id, episode in self._episodes.items()}
        return sorted({max(origin, key=age.__getitem__) for origin in origins}, key=age.__getitem__)

    async def only_begun(self, former: Iterable[str]) -> frozenset[str]:
        """The last statements of former texts that end within a line, where a present one goes on from there."""
        present = [episode.text for episode in (await self._store.episodes(self._present)).values()]
        texts = [(id, text) for id in former if not (text := self._episodes[id].text).endswith("\n")]
        grown = [id for id, text in texts if any(now.startswith(text) for now in present)]
        return frozenset([said[-1].id for id in grown if (said := await self.said_in([id]))])

    async def _by_source(self, id: str) -> dict[str, frozenset[str]]:
        """Texts that said it, by their source; of a text itself, that."""
        ids = {id, *await self._store.linked(Relation.DERIVES_FROM, id)}
        if unread := ids - self._episodes.keys():
            self._episodes |= await self._store.episodes(unread)
        texts = defaultdict[str, set[str]](set)
        for fact_id in ids & self._episodes.keys():
            texts[self._episodes[fact_id].source].add(fact_id)
        return {source: frozenset(ids_said) for source, ids_said in texts.items()}

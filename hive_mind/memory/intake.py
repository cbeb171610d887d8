"""From candidates to changes: the effect of storing a statement, given the facts known already. Pure.

The same statement from the same source again changes nothing; from another source it is one more confirmation. A retracted fact
comes back only when a source that never vouched for it says it.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hive_mind.errors import InvalidInput
from hive_mind.memory.entities import entities
from hive_mind.model.aggregation import is_time
from hive_mind.model.bounds import BOUNDS, refuse_long, refuse_other_than, shown_value
from hive_mind.model.content import Candidate, Content, Episode
from hive_mind.model.evidence import LISTS, TEXTS, names_of, said_of
from hive_mind.model.fact import FORGOTTEN, KEPT_HOME, NAME_CHARACTERS_MAX, Fact, Relation, Sharing, with_places
from hive_mind.model.ids import canonical, entity_id, episode_id, fact_id, shown
from hive_mind.regex import regex
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, Link, ReviseFact

# Longer is no statement but a document: let a reader cut it. Keeps one hostile line from filling an index.
STATEMENT_CHARACTERS_MAX = 20_000

_ORIGINAL = regex(r"[0-9a-f]{32}")

Known = Callable[[str], Fact | None]


@dataclass(frozen=True, slots=True)
class Intake:
    """Changes to write, and every fact as it will then be, in the order of the candidates."""

    changes: tuple[Change, ...]
    facts: tuple[Fact, ...]


def statement(candidate: Candidate) -> str:
    """The candidate's text as it is kept: its speaker belongs to the text, or "I moved" would be anybody's."""
    content = shown(candidate.content)
    text = _laid_out(content) if candidate.keeps_lines else canonical(content)
    speaker = canonical(shown(candidate.speaker))
    return text if not speaker or text.startswith(f"{speaker}: ") else f"{speaker}: {text}"


def _laid_out(content: str) -> str:
    """Code as it stands: with its lines joined it would be another command."""
    return unicodedata.normalize("NFC", "\n".join(line.rstrip() for line in content.split("\n"))).strip("\n")


def new_episode(content: Content, summary: str, learned_at_us: int) -> Episode:
    """Content as it is kept. Raises `InvalidInput` for a field of another type."""
    refuse_other_than(Content, content)
    return Episode(
        id=episode_id(content.text, content.source),
        text=content.text,
        source=content.source,
        said_at=content.said_at,
        learned_at_us=learned_at_us,
        speaker=content.speaker,
        title=content.title,
        summary=summary,
    )


def new_fact(candidate: Candidate, source: str, now_us: int) -> Fact:
    """A candidate as a fact. Raises `InvalidInput` for text that says nothing or too much, or a confidence outside [0, 1]."""
    refuse_other_than(Candidate, candidate)
    content = statement(candidate)
    if candidate.copied_from and not _ORIGINAL.fullmatch(candidate.copied_from):
        raise InvalidInput(f"`copied_from` is the digest of a source, not {shown_value(candidate.copied_from)!r}")
    if not any(character.isalnum() for character in candidate.content):
        raise InvalidInput("a fact needs words: this text has neither letters nor digits")
    if len(content) > STATEMENT_CHARACTERS_MAX:
        raise InvalidInput(
            f"a fact has at most {STATEMENT_CHARACTERS_MAX:,} characters, this one {len(content):,}: learn it as content instead"
        )
    BOUNDS["confidence"].refuse("confidence", candidate.confidence)
    refuse_source(source)
    refuse_long("concept", STATEMENT_CHARACTERS_MAX, candidate.concept)
    refuse_long("text before", STATEMENT_CHARACTERS_MAX, candidate.before)
    refuse_long("date, speaker, entity or label", NAME_CHARACTERS_MAX, *names_of(candidate))
    # Its fields, with the content as it is kept, and without names that say nothing.
    parts = said_of(candidate)
    parts |= {name: content if name == "content" else canonical(parts[name]) for name in TEXTS}
    parts |= {name: tuple(filter(canonical, parts[name])) for name in LISTS}
    return Fact(
        **parts,
        id=fact_id(content),
        confidence=float(candidate.confidence),
        sources=(source,),
        learned_at_us=now_us,
        copied=(f"{candidate.copied_from} {source}",) if candidate.copied_from else (),
    )


def by_hand(concept: str, content: str, confidence: float, said_at: str, labels: tuple[str, ...]) -> Candidate:
    """A statement that somebody stores, with the names it mentions, as one that was learned has them. Raises `InvalidInput`."""
    refuse_no_time(said_at)
    return Candidate(content, concept, confidence, said_at, entities=entities(content), labels=labels)


def refuse_no_time(said_at: str) -> None:
    """Raises `InvalidInput` for a time that nothing could be found by, or come after: one that a person wrote, not a reader."""
    if said_at and not is_time(said_at):
        example = "2026-03-01 or 2026-03-01T14:30Z"
        raise InvalidInput(f"`said_at` is a day or a time in ISO 8601, such as {example}, not {shown_value(said_at)!r}")


def refuse_source(source: str) -> None:
    """Raises `InvalidInput` for a source that names nobody, or is no name at all."""
    if not isinstance(source, str) or not source.strip():
        raise InvalidInput("a fact needs a source: name the person, file or feed that vouches for it")
    refuse_long("source", NAME_CHARACTERS_MAX, source)


def take_in(facts: Sequence[Fact], fact_by_id: Known, episode: Episode | None) -> Intake:
    """Changes to write for facts as they were said, each once."""
    changes: list[Change] = [AddEpisode(episode)] if episode else []
    kept_facts: dict[str, Fact] = {}
    for fact in facts:
        earlier = kept_facts.get(fact.id) or fact_by_id(fact.id)
        merged = confirmed(earlier, fact) if earlier else fact
        kept_facts[fact.id] = merged
        if episode:
            changes.append(Link(Relation.DERIVES_FROM, fact.id, episode.id))
        if earlier is None or earlier.is_retracted:
            changes.extend(_mentions(fact))
    # Facts first: a link needs both its ends.
    return Intake((*_fact_changes(kept_facts.values(), fact_by_id), *changes), tuple(kept_facts[fact.id] for fact in facts))


def superseding(newer: Fact, older: Fact, fact_by_id: Known) -> Intake:
    """Changes to write for a fact that takes the place of an older one. Raises `InvalidInput` where it was itself taken back."""
    refuse_no_time(newer.said_at)
    earlier = fact_by_id(newer.id)
    fact = confirmed(earlier, newer) if earlier else newer
    if fact.is_retracted:
        raise InvalidInput("the new statement was retracted, and this source vouched for it before: say it from another source")
    # A former fact may be true again: on, off, on.
    current = replace(fact, superseded_by="")
    past = replace(older, superseded_by=current.id)
    link = Link(Relation.SUPERSEDES, current.id, past.id)
    return Intake((*_fact_changes((current, past), fact_by_id), link, *_mentions(newer)), (current, past))


def confirmed(earlier: Fact, fact: Fact) -> Fact:
    """The fact after hearing it again. One that another memory had already taken back confirms nothing."""
    newcomers = tuple(source for source in fact.sources if source not in earlier.sources)
    copied = (*earlier.copied, *fact.said_by(newcomers).copied)
    labels = with_places(earlier.labels, fact.labels if newcomers else ())
    merged = replace(earlier, sources=earlier.sources + newcomers, copied=copied, labels=labels)
    # A copy of what was taken back says nothing new.
    if not newcomers or fact.is_retracted or (earlier.is_retracted and len(merged.roots) == len(earlier.roots)):
        is_released = not fact.held_back and earlier.held_back in (KEPT_HOME, FORGOTTEN)
        return replace(earlier, held_back="") if is_released else earlier
    if earlier.is_retracted:
        fact = replace(fact.said_by(newcomers), turned_at_us=earlier.times_held)
        return replace(fact, superseded_by=earlier.superseded_by, offered=earlier.offered)
    confidence = max(earlier.confidence, fact.confidence)
    # More evidence may open the gate that held it back; a shared fact stays so.
    held_back = fact.held_back if earlier.held_back else ""
    return replace(merged, confidence=confidence, held_back=held_back)


def retracting(fact: Fact, replaced: Iterable[Fact]) -> Intake:
    """Changes to write for a fact taken back: it first, then the facts it had replaced, which hold again."""
    facts = (replace(fact, sharing=Sharing.RETRACTED), *(replace(older, superseded_by="") for older in replaced))
    return Intake(tuple(ReviseFact(changed) for changed in facts), facts)


def _fact_changes(facts: Iterable[Fact], fact_by_id: Known) -> Iterable[Change]:
    for fact in facts:
        earlier = fact_by_id(fact.id)
        if earlier is None:
            yield AddFact(fact)
        elif earlier != fact:
            yield ReviseFact(fact)


def _mentions(fact: Fact) -> Iterable[Change]:
    names = [name for name in fact.entities if canonical(name)]
    for entity, name in dict(zip(map(entity_id, names), names, strict=True)).items():
        yield AddEntity(entity, name)
        yield Link(Relation.MENTIONS, fact.id, entity)

"""Erasing from one memory: the items that go, the rest that stays, and the digests remembered, so that they are refused.

Works on a store, with or without a memory over it. Erased items are gone from the file when `erase` returns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.erasure import Erasure, Erasures, read_key, remainder
from hive_mind.model.fact import Fact
from hive_mind.ranking.form import texts_to_embed
from hive_mind.store import AddEpisode, Change, Erase, FactStore, Link, ReviseFact, SetMeta

_PREFIX = "erased/"

ERASED = "this was erased, or names what was erased, and is not kept: `hive-mind erase` says what is erased here"


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """Items an erasure takes: facts, episodes, and facts that stay without a source or without the words before them."""

    facts: tuple[Fact, ...] = ()
    episodes: tuple[Episode, ...] = ()
    revised: tuple[Fact, ...] = ()
    texts: tuple[str, ...] = ()
    """Texts of the embeddings to delete: those of nothing that stays."""


def erasures_in(meta: Mapping[str, str]) -> Erasures:
    """Earlier erasures from a memory, by its named values."""
    keys = (read_key(name.removeprefix(_PREFIX)) for name in meta if name.startswith(_PREFIX))
    return Erasures(key for key in keys if key is not None)


async def found_in(store: FactStore, erasures: Erasures, *, everything: bool = False) -> ErasureScope:
    """Items that would go; `everything` of an agent that is erased itself."""
    facts: list[Fact] = []
    revised: list[Fact] = []
    going: dict[str, None] = {}
    staying: set[str] = set()
    async for batch in store.facts():
        for fact in batch:
            left = None if everything else remainder(fact, erasures)
            if left is None:
                facts.append(fact)
            elif left != fact:
                revised.append(left)
            if left != fact:
                going.update(dict.fromkeys(texts_to_embed(fact)))
            staying.update(texts_to_embed(left) if left else ())
    episodes = [
        episode async for batch in store.all_episodes() for episode in batch if everything or erasures.covers_episode(episode)
    ]
    texts = tuple(text for text in going if text not in staying)
    return ErasureScope(tuple(facts), tuple(episodes), tuple(revised), texts)


async def erase(store: FactStore, erasures: Sequence[Erasure], at_us: int, *, everything: bool = False) -> ErasureScope:
    """Let go of it for good and remember the digests. Interrupted, it is to be called again; twice is once."""
    scope = await found_in(store, Erasures(erasures), everything=everything)
    ids = (*(fact.id for fact in scope.facts), *(episode.id for episode in scope.episodes))
    changes: list[Change] = [SetMeta(f"{_PREFIX}{erasure.key}", str(at_us)) for erasure in erasures]
    changes += [ReviseFact(fact) for fact in scope.revised]
    await store.write([*changes, Erase(ids, scope.texts)])
    await store.scrub()
    return scope


def kept_of(facts: Iterable[Fact], erasures: Erasures) -> list[Fact]:
    """The rest of facts just said that may be kept."""
    return [left for fact in facts if (left := remainder(fact, erasures)) is not None] if erasures else list(facts)


async def kept_changes(store: FactStore, facts: Sequence[Fact], changes: Sequence[Change], erasures: Erasures) -> list[Change]:
    """Changes from elsewhere with facts that may be kept: no erased episode, and no link to one."""
    changes_kept = [
        change for change in changes if not (isinstance(change, AddEpisode) and erasures.covers_episode(change.episode))
    ]
    ends = {end for change in changes_kept if isinstance(change, Link) for end in (change.from_id, change.to_id)}
    ids_there = {*(await store.find(ends)), *(await store.episodes(ends)), *(fact.id for fact in kept_of(facts, erasures))}
    ids_there |= {change.episode.id for change in changes_kept if isinstance(change, AddEpisode)}
    return [change for change in changes_kept if not isinstance(change, Link) or {change.from_id, change.to_id} <= ids_there]


def the_one(stored: Sequence[Fact]) -> Fact:
    """The fact that one statement became. Raises `InvalidInput` where it may not be kept."""
    if not stored:
        raise InvalidInput(ERASED)
    return stored[0]


def refuse_erased(facts: Sequence[Fact], erasures: Erasures) -> None:
    """Raises `InvalidInput` for what may not be kept."""
    if erasures and any(remainder(fact, erasures) is None for fact in facts):
        raise InvalidInput(ERASED)

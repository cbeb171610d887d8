"""Gives back to an agent's memory what it lost, as far as the hives of its home can.

Facts that an agent shared are in its node's journal and in those of the nodes beside it, in one home.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hive_mind.hive.replication.journal_snapshot import Vouched
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.evidence import said_of
from hive_mind.model.fact import Fact, Sharing
from hive_mind.replacing import REPLACED, UNFINISHED
from hive_mind.runtime.members.generations import snapshot_of
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.runtime.workers.config import HiveConfig
from hive_mind.store.base import AddFact, FactStore


@dataclass(frozen=True, slots=True)
class GivenBack:
    """`facts` were missing and are there again, of `known` that the agent shared and nobody took back; `hives` were read."""

    facts: int
    known: int
    hives: tuple[str, ...]


async def give_back(settings: Settings, agent: str) -> GivenBack:
    """Add to an agent's memory what its hives have of it, also while their nodes run.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`.
    """
    folders = sorted(path for path in (settings.home / "hives").glob("*") if path.is_dir() and not _is_leftover(path))
    vouched = [claim for folder in folders for claim in await _vouched(settings.home, folder.name, agent)]
    facts = _facts(vouched)
    async with opened_store(settings, agent) as store:
        added = await _add(store, facts)
    return GivenBack(added, len(facts), tuple(folder.name for folder in folders))


def _is_leftover(folder: Path) -> bool:
    return folder.name.endswith((UNFINISHED, REPLACED))


async def _vouched(home: Path, hive: str, agent: str) -> list[Vouched]:
    snapshot = await snapshot_of(home, HiveConfig(hive), (), HiveSettings(), while_open=True)
    return [claim for claim in snapshot.vouched if claim.assertion.agent == agent]


def _facts(vouched: Iterable[Vouched]) -> Sequence[Fact]:
    """One for each statement; the sources it was shared for are its roots, and it is as old as the first of them."""
    facts: dict[str, Fact] = {}
    for one in sorted((each.assertion for each in vouched), key=lambda assertion: assertion.stamp):
        fact = facts.get(one.fact_id) or Fact(
            **said_of(one.statement),
            id=one.fact_id,
            confidence=one.confidence,
            sources=(),
            learned_at_us=one.stamp.ms * 1000,
            sharing=Sharing.SHARED,
        )
        sources = tuple(dict.fromkeys((*fact.sources, one.root)))
        facts[one.fact_id] = replace(fact, sources=sources, offered=sources)
    return list(facts.values())


async def _add(store: FactStore, facts: Sequence[Fact]) -> int:
    known_facts = await store.find(fact.id for fact in facts)
    missing = [fact for fact in facts if fact.id not in known_facts]
    await store.write([AddFact(fact) for fact in missing])
    return len(missing)

"""Hives on disk that can be moved to their next generation, and what is in them."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

from hive_mind.hive.replication.resettlement import JournalSnapshot, Vouched, facts_of
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import RegistryEntry
from hive_mind.runtime.members.generations import Move, Moved, move, settle, snapshot_of
from hive_mind.runtime.members.host import fresh_chance
from hive_mind.runtime.node import system_clock
from hive_mind.runtime.workers.config import HiveConfig
from tests.builders import run
from tests.hives import assertion

OLD = HiveConfig("fleet", "flat", {"": ("a", "b")})
SHARDED = HiveConfig("fleet.g2", "sharded", {"": ("a", "b", "c", "d")}, replicas=2, partitions=8)
FEDERATED = HiveConfig("fleet.g2", "federated", {"north": ("a", "c"), "south": ("b",)}, {"north": ("pumps",)}, 0.7)
TUNING = HiveSettings()


async def held(home: Path, hive: HiveConfig, *, while_open: bool = False) -> tuple[HiveFact, ...]:
    """The facts that the journals of a hive hold together, oldest first."""
    found = await snapshot_of(home, hive, (), TUNING, while_open=while_open)
    return await asyncio.to_thread(facts_of, found, TUNING, fresh_chance(), system_clock())


def snapshot(facts: int = 12) -> JournalSnapshot:
    said = (
        assertion(f"Pump {n} is red.", ms=1_700_000_000_000 + n, agent=f"agent {n % 3}", root=f"file {n % 4}")
        for n in range(facts)
    )
    trust = RegistryEntry("trust/agent 1", "1.5", assertion().stamp, "mo")
    return JournalSnapshot(tuple(Vouched(one, "ab"[number % 2]) for number, one in enumerate(said)), (trust,))


def begun(home: Path, hive: HiveConfig = OLD, facts: int = 12) -> tuple[HiveFact, ...]:
    run(settle(home, snapshot(facts), hive, {}, TUNING))
    return all_of(home, hive)


def all_of(home: Path, hive: HiveConfig) -> tuple[HiveFact, ...]:
    found: tuple[HiveFact, ...] = run(held(home, hive))
    return found


def moved(home: Path, new: HiveConfig = SHARDED, **options: Any) -> Moved:
    done: Moved = run(move(Move(home, OLD, ("a", "b"), new, {}, TUNING, **options)))
    return done


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def hives(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "hives").iterdir())

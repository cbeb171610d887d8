"""A small fleet that has stopped, its archive, and what a home remembers, to compare both."""

from pathlib import Path
from typing import Any

from hive_mind.control.archive import Archived, export
from hive_mind.control.state import FleetFolder, FleetState
from hive_mind.hive.replication.resettlement import JournalSnapshot, Vouched
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.messages import RegistryEntry
from hive_mind.runtime.members.generations import settle
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from hive_mind.runtime.workers.config import HiveConfig
from tests.builders import run
from tests.hives import assertion
from tests.unit.runtime.moving import held

HIVE = HiveConfig("town", "flat", {"": ("n0", "n1")})
SAID = ("Pump 1 is red.", "Pump 2 is blue.", "The valve is open.")


def manifest(kind: str = "flat", name: str = "town") -> str:
    return f"""# Kept with its comments.
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: {name}}}
spec:
  topology: {kind}
  agents: [{{name: ann}}, {{name: ben}}]
  embedding: {{kind: none}}
  platform: {{kind: inprocess}}
"""


def stopped_fleet(home: Path) -> Path:
    run(_begun(home))
    return home


async def _begun(home: Path) -> None:
    folder = FleetFolder(home, "town").make()
    folder.keep_manifest(manifest(), 1)
    state = FleetState(hive=HIVE, last_hive=HIVE, nodes=("n0", "n1"), revision=1, agents=("ann", "ben", "new"), hives=("town",))
    folder.keep(state)
    said = [Vouched(assertion(text, ms=1_700_000_000_000 + n, agent="ann"), "n0") for n, text in enumerate(SAID)]
    said.append(Vouched(assertion(SAID[0], ms=1_700_000_000_100, agent="ben", root="visit", ttl_ms=9, expires_ms=99), "n1"))
    entry = RegistryEntry("trust/ann", "1.5", assertion().stamp, "mo")
    await settle(home, JournalSnapshot(tuple(said), (entry,)), HIVE, {}, HiveSettings())
    settings = Settings(home=home, embed="none")
    async with await open_memory(settings, "ann") as memory:
        for text in SAID:
            await memory.store_fact("pump", text, source="manual")
    async with await open_memory(settings, "ben") as memory:
        await memory.store_fact("pump", SAID[0], source="visit")
    (home / "agents" / "ann" / "sources.json").write_text('{"/notes.txt": "abc"}')


def archive_of(home: Path) -> Path:
    path = home.parent / "town.zip"
    assert run(export(home, "town", path)) == Archived("town", ("ann", "ben"), 4, 4, 1)
    return path


def provenance(home: Path, hive: HiveConfig = HIVE) -> dict[str, Any]:
    return {fact.content: (fact.provenance, fact.confirmations, fact.trust) for fact in run(held(home, hive))}


def exported(home: Path, agent: str) -> list[str]:
    async def read() -> list[str]:
        async with await open_memory(Settings(home=home, embed="none"), agent) as memory:
            return [line async for line in memory.export()]

    lines: list[str] = run(read())
    return lines

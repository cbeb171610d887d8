"""What it costs that members prove who they are: signing, checking, sharing and asking, each beside the same without.

Sharing and asking: one member, and three, of a flat hive in one process, over the bus and the journal that agents use; CPU time
of all.

    python -m benchmarks.identity [--facts 5000] [--output json]
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import parser_of
from benchmarks.hive import Prose, promotions
from hive_mind.bus.memory import MemoryBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.policy.seal import UNSEALED, Seal, is_sealed, sealed
from hive_mind.hive.settings import HiveSettings
from hive_mind.identity.keys import KeySeal
from hive_mind.model.evidence import Assertion, Sealed, Stamp
from hive_mind.model.ids import fact_id
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.members.plan import MemberPlan
from hive_mind.runtime.secrets.keys import KeyFolder, Proof
from hive_mind.runtime.settings import Settings

NAMES, QUESTIONS = ("ada", "bob", "cleo"), 200
_ANY_NUMBER = HiveSettings(standing=PolicySettings(quota_per_agent=1 << 40))


def facts(count: int) -> list[Assertion]:
    """As one agent asserts them; no vectors."""
    made = [one for batch in promotions(Prose(1), "ada", count, with_vectors=False) for one in batch]
    return [
        Assertion(fact_id(one.statement.content), "ada", "bench", 0.8, Stamp(number), one.statement)
        for number, one in enumerate(made)
    ]


def signing(folder: Path, count: int) -> dict[str, float]:
    """Seals a second, made and checked, and what each adds to a fact."""
    keys = KeyFolder(folder, "hive")
    keys.found()
    keys.issue("ada")
    seal: Seal = KeySeal(keys.signing("ada", "require").keyring, "hive", is_required=True)
    some = facts(count)
    dots = [number.to_bytes(16, "big") for number in range(1, count + 1)]
    since = time.process_time()
    made = [sealed(seal, "all", dot, one) for dot, one in zip(dots, some, strict=True)]
    made_s = time.process_time() - since
    since = time.process_time()
    # Stamps of a benchmark are older than any certificate: what is measured is the signature.
    checked = [is_sealed(seal, "all", one) for one in made]
    checked_s = time.process_time() - since
    assert len(checked) == count
    bare: Sequence[Sealed] = [sealed(UNSEALED, "all", dot, one) for dot, one in zip(dots, some, strict=True)]
    return {
        "seals made /s": count / made_s,
        "seals checked /s": count / checked_s,
        "bytes a fact": len(made[0].seal) - len(bare[0].seal),
    }


async def sharing(folder: Path, count: int, names: Sequence[str], *, is_proven: bool) -> dict[str, float]:
    """Facts a second until all members find them, and CPU milliseconds of a question."""
    keys = KeyFolder(folder / "keys", "hive")
    if is_proven:
        keys.found()
        for name in names:
            keys.issue(name)
    bus, members = MemoryBus(), list[RunningMember]()
    try:
        for name in names:
            proof = Proof("require", keys.path, name) if is_proven else None
            plan = MemberPlan(name, "memory", members=tuple(names), nodes=_ANY_NUMBER, proof=proof)
            members.append(await open_member(Settings(home=folder), plan, NoEmbedder(), bus))
        for one in members:
            await one.until_ready(60, lambda _: None)
        # To make them up is no part of what is measured.
        batches = list(promotions(Prose(1), "ada", count, with_vectors=False))
        since = time.process_time()
        for batch in batches:
            await members[0].runner.promote(batch)
        # Nothing tells when all of them have everything.
        while any(one.is_busy or one.member.node.replica.is_behind for one in members):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        shared_s = time.process_time() - since
        since = time.process_time()
        for number in range(QUESTIONS):
            await members[-1].memory.search_facts(Prose(number).words(4)[0], 5)
        asked_s = time.process_time() - since
        return {
            f"facts /s, {len(names)} of them": count / shared_s,
            f"question ms, {len(names)} of them": 1000 * asked_s / QUESTIONS,
        }
    finally:
        for one in members:
            await one.close()
        await bus.close(drain_s=0)


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = parser_of(__doc__, "output", facts=5_000)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = signing(Path(folder) / "signing", given.facts)
        for is_proven in (False, True):
            word = "proven" if is_proven else "off"
            for names in (NAMES[:1], NAMES):
                found = asyncio.run(sharing(Path(folder) / f"{word}{len(names)}", given.facts, names, is_proven=is_proven))
                rows |= {f"{name}, {word}": value for name, value in found.items()}
    if given.output == "json":
        print(json.dumps(rows))
        return
    for name, value in rows.items():
        print(f"{name:32} {value:12,.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""What it costs that members prove who they are: signing, checking, sharing and asking, each beside the same without.

Sharing and asking: one member, and three, of a flat hive in one process, over the bus and the journal that agents use; CPU time
of all.

    python -m benchmarks.identity [--facts 5000] [--output json]
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.bus_brokers import bus_at
from benchmarks.harness import Row, figure, seconds, shown, waits_ms
from benchmarks.hive import Prose, promotions
from hive_mind.bus import EventBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.effects import Promotion
from hive_mind.hive.policy import UNSEALED, Seal, is_sealed, sealed
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.identity import KeySeal
from hive_mind.model.evidence import Assertion, Sealed, Stamp
from hive_mind.model.ids import fact_id
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
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


def signing(folder: Path, count: int) -> list[Row]:
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
    return [
        figure("seals made", count / made_s, "/s"),
        figure("seals checked", count / checked_s, "/s"),
        figure("bytes a fact", len(made[0].seal) - len(bare[0].seal), "B"),
    ]


@asynccontextmanager
async def members(folder: Path, plans: Sequence[MemberPlan], *, is_proven: bool) -> AsyncIterator[list[RunningMember]]:
    """Of one hive: with a bus each, or all with the one in memory; they see each other."""
    keys = KeyFolder(folder / "keys", plans[0].hive)
    if is_proven:
        keys.found()
    async with AsyncExitStack() as stack:
        found, buses = list[RunningMember](), dict[str, EventBus]()
        for plan in plans:
            if is_proven:
                keys.issue(plan.name)
                plan = replace(plan, proof=Proof("require", keys.path, plan.name))
            place = plan.bus if plan.bus == "memory" else plan.name
            if place not in buses:
                buses[place] = await bus_at(plan.bus)
                stack.push_async_callback(buses[place].close, drain_s=0)
            found.append(await open_member(Settings(home=folder, ann="exact"), plan, NoEmbedder(), buses[place]))
            stack.push_async_callback(found[-1].close)
        for member in found:
            await member.until_ready(60, lambda _: None)
        yield found


async def shared(found: Sequence[RunningMember], batches: Iterable[Sequence[Promotion]]) -> None:
    for batch in batches:
        await found[0].runner.promote(batch)
    # Nothing tells when all of them have everything.
    while any(member.is_busy or member.member.node.replica.is_behind for member in found):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def sharing(folder: Path, count: int, names: Sequence[str], *, is_proven: bool) -> list[Row]:
    """Facts a second until all members find them, and CPU milliseconds of a question."""
    word = "proven" if is_proven else "off"
    plans = [MemberPlan(name, "memory", members=tuple(names), nodes=_ANY_NUMBER) for name in names]
    async with members(folder / f"{word}{len(names)}", plans, is_proven=is_proven) as found:
        # To make them up is no part of what is measured.
        batches = list(promotions(Prose(1), "ada", count, with_vectors=False))
        shared_s = await seconds(shared(found, batches), time.process_time)
        words = [Prose(number).words(4)[0] for number in range(QUESTIONS)]
        asked_ms = await waits_ms(lambda text: found[-1].memory.search_facts(text, 5), words, time.process_time_ns)
    return [
        figure(f"facts shared by {len(names)}, {word}", count / shared_s, "/s"),
        figure(f"question, {len(names)} of them, {word}", sum(asked_ms) / QUESTIONS, "ms"),
    ]


async def measured(folder: Path, facts: int) -> list[Row]:
    rows = signing(folder / "signing", facts)
    for is_proven, names in product((False, True), (NAMES[:1], NAMES)):
        rows += await sharing(folder, facts, names, is_proven=is_proven)
    return rows


if __name__ == "__main__":
    shown(__doc__, measured, facts=5_000)

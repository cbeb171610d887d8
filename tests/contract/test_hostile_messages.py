"""Whatever somebody writes to a broker: nothing of it is believed, nobody stops, and all of it is accounted for.

A test that fails prints its seed; HIVE_EXPLORE=seed repeats it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import psutil
import pytest

from hive_mind.bus import EVERYONE, UNREADABLE_BYTES_MAX, Envelope, EventBus, Key, codec, key_of, type_of
from hive_mind.bus.dead_letters import LETTERS_MAX
from hive_mind.bus.memory import MemoryBus
from hive_mind.bus.redis import RedisBus, keys
from hive_mind.bus.redis.wire import pack
from hive_mind.errors import WireError
from hive_mind.model.messages import Encrypted
from tests.chance import EXPLORE, seed_of_this_run
from tests.contract.bus_builders import Scenario, World, needs
from tests.contract.buses.base import BaseHarness
from tests.contract.hostile import Forged, Forger, samples
from tests.contract.hostile_hive import VICTIM, Attacked, Tapped, lived
from tests.contract.redis_builders import Buses
from tests.sampled import thorough
from tests.waiting import until

HIVE = "hive"
MANY = [2_000, thorough(100_000)]
_BATCH = 200
# Each needs a client of its own to be written past ours.
_SOME = 3
# An attack may not fill the memory: the node forgets what it refused. Python's own allocator takes some.
_GROWTH_BYTES_MAX = 200 << 20

Publish = Callable[[Sequence[Forged]], Awaitable[None]]


class Sorted(NamedTuple):
    """Forged messages by what should become of them."""

    unreadable: int = 0
    not_ours: int = 0
    repeated: int = 0
    ours: int = 0
    encrypted: int = 0
    echoes: int = 0


@pytest.fixture
def seed() -> Iterator[int]:
    chosen = seed_of_this_run()
    print(f"{EXPLORE}={chosen}")
    logger = logging.getLogger("hive_mind")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield chosen
    # Others look for what is logged.
    logger.setLevel(before)


@pytest.mark.parametrize("number", [2_000, thorough(100_000)])
def test_bytes_are_an_envelope_of_the_type_it_says_or_a_wire_error(seed: int, number: int) -> None:
    forger, kinds = a_forger(seed), Counter[str]()
    for forged in [forger.oversize(), *(forger.one() for _ in range(number))]:
        if (envelope := read(forged.data)) is None:
            kinds[f"{forged.kind} refused"] += 1
            continue
        kinds[f"{forged.kind} taken"] += 1
        assert type_of(envelope.message) == envelope.type
        assert codec.encode(codec.decode(codec.encode(envelope))) == codec.encode(envelope)
    assert kinds["oversize refused"] == 1
    assert {kind.split()[0] for kind in kinds} >= {kind.__name__ for kind in forger._kinds}


def test_what_nobody_can_read_is_a_dead_letter_on_every_broker_and_the_rest_goes_on(
    broker: BaseHarness, with_bus: Callable[[Scenario], None], seed: int
) -> None:
    needs(broker, "bytes")
    forger = a_forger(seed)

    async def scenario(world: World) -> None:
        bob = await world.listener()
        forged = (forger.one().data for _ in range(1000))
        unreadable = [*islice((data for data in forged if data and read(data) is None), _SOME - 1), bytes(100_000)]
        for data in unreadable:
            await asyncio.to_thread(world.harness.publish_bytes, world.hive, "bob", data)
        await world.publish("whole")

        assert await bob.take_and_ack() == ["whole"]

        async def are_all_aside() -> bool:
            return len(bob.letters.letters()) == _SOME

        await until(are_all_aside)
        assert sorted(letter.data for letter in bob.letters.letters()) == sorted(
            data[:UNREADABLE_BYTES_MAX] for data in unreadable
        )
        assert world.bus.health.dead_letters == sum(world.bus.health.unreadable.values()) == _SOME
        assert await bob.has_nothing()

    with_bus(scenario)


@pytest.mark.parametrize("number", MANY)
def test_a_member_believes_nothing_of_what_is_forged_in_its_own_process(seed: int, number: int) -> None:
    async def scenario(bus: MemoryBus) -> None:
        async with lived(HIVE, bus, seed) as (victim, honest):

            async def publish(some: Sequence[Forged]) -> None:
                await bus.publish(for_victim(some), timeout_s=30)

            received = victim.counted.received
            told = await attacked(victim, bus, Forger(HIVE, VICTIM, honest, seed), number, publish)
            assert victim.counted.received - received == told.ours
            assert bus.health.dead_letters == sum(victim.runner.figures.refused.values())
            assert len(victim.runner.letters.letters(1_000_000)) <= 2 * LETTERS_MAX

    over_memory(scenario)


@pytest.mark.parametrize("number", MANY)
async def test_a_member_believes_nothing_of_what_is_forged_into_its_stream_and_all_of_it_is_accounted_for(
    buses: Buses, seed: int, number: int
) -> None:
    bus, stream = await buses.bus(), keys.inbox(HIVE, VICTIM)
    async with lived(HIVE, bus, seed) as (victim, honest):

        async def publish(some: Sequence[Forged]) -> None:
            commands = [pack(b"XADD", stream, b"*", keys.BODY, forged.data) for forged in some]
            await bus.outgoing.send(commands, sum(len(forged.data) for forged in some), 30.0)

        received, duplicates = victim.counted.received, bus.health.duplicates
        told = await attacked(victim, bus, Forger(HIVE, VICTIM, honest, seed), number, publish)
        assert victim.counted.received - received == told.ours
        assert bus.health.duplicates - duplicates == told.repeated
        await are_aside(bus, victim, told)


@pytest.mark.parametrize("number", MANY)
def test_a_member_of_a_hive_without_seals_goes_on_and_starts_again_whatever_it_is_sent(seed: int, number: int) -> None:
    """Here much of it is believed, so it gets further."""

    async def scenario(bus: MemoryBus) -> None:
        async with lived(HIVE, bus, seed, is_sealed=False) as (victim, honest):
            forger = Forger(HIVE, VICTIM, honest, seed)
            for _ in range(number // _BATCH):
                await bus.publish(for_victim([forger.one() for _ in range(_BATCH)]), timeout_s=30)
            await quiet(bus, victim)
            assert victim.runner.failure is None
            believed, kept = victim.believes(), await victim.journal.load()
            await victim.runner.close()

        again = Attacked(HIVE, VICTIM, Tapped(bus, VICTIM), seed, kept=kept, is_sealed=False)
        await again.runner.start()
        assert again.believes() == believed
        await again.runner.close()

    over_memory(scenario)


def over_memory(scenario: Callable[[MemoryBus], Awaitable[None]]) -> None:
    async def whole() -> None:
        bus = MemoryBus()
        try:
            await scenario(bus)
        finally:
            await bus.close(drain_s=0)

    asyncio.run(whole())


async def attacked(victim: Attacked, bus: EventBus, forger: Forger, number: int, publish: Publish) -> Sorted:
    """Send so many forged messages, and see that nothing has changed. What should have become of them."""
    of_members = await victim.believes_of_members()
    believed, size = victim.believes(), psutil.Process().memory_info().rss
    counts, seen = Counter[str](), set(map(key_of, forger._honest))
    for start in range(0, number, _BATCH):
        some = []
        for forged in [forger.one() for _ in range(_BATCH)] + ([] if start else [forger.oversize()]):
            what = fate(forged, seen)
            # Whether one is looked at that has the id of another by chance depends on what became of that.
            if what != "repeated" or forged.kind == "replayed":
                counts[what] += 1
                some.append(forged)
        await publish(some)
    await quiet(bus, victim)
    assert victim.runner.failure is None
    assert victim.believes() == believed
    assert await victim.believes_of_members() == of_members
    assert victim.membership.refused
    assert (victim.runner.figures.waiting, victim.runner.figures.echoes) == (0, counts["echoes"])
    assert psutil.Process().memory_info().rss - size < _GROWTH_BYTES_MAX
    return Sorted(**counts)


async def are_aside(bus: RedisBus, victim: Attacked, told: Sorted) -> None:
    """Everything that could not be read, and everything that the node refused, is a dead letter and says why."""
    letters = victim.runner.letters
    aside, refused = letters.letters(1_000_000), sum(victim.runner.figures.refused.values())
    # One letter stands for all that say the same; the bytes of a forged message may come twice.
    counts = Counter(letter.envelope is None for letter in aside for _ in range(letter.count))
    assert counts.total() + letters.pushed_out() >= told.unreadable + refused
    assert not letters.pushed_out() or max(counts.values()) >= LETTERS_MAX
    assert all(letter.reason and letter.name == VICTIM for letter in aside)
    assert bus.health.dead_letters == told.unreadable + refused


def fate(forged: Forged, seen: set[Key]) -> str:
    """What should become of it."""
    if (envelope := read(forged.data)) is None:
        return "unreadable"
    if (key := key_of(envelope)) in seen:
        return "repeated"
    if not is_for_victim(envelope):
        return "not_ours"
    seen.add(key)
    if envelope.sender == VICTIM:
        return "echoes"
    return "encrypted" if isinstance(envelope.message, Encrypted) else "ours"


def read(data: bytes) -> Envelope | None:
    try:
        return codec.decode(data)
    except WireError:
        return None


def is_for_victim(envelope: Envelope) -> bool:
    everyone = envelope.target == EVERYONE and envelope.sender != VICTIM
    return envelope.hive == HIVE and (everyone or VICTIM in envelope.target)


def a_forger(seed: int) -> Forger:
    honest = [Envelope(f"n0-{n}", HIVE, "n0", (VICTIM,), type_of(one), one) for n, one in enumerate(samples(seed))]
    return Forger(HIVE, VICTIM, honest, seed)


def for_victim(some: Sequence[Forged]) -> list[Envelope]:
    """What a bus within a process could carry of it."""
    return [envelope for envelope in [read(forged.data) for forged in some] if envelope is not None and is_for_victim(envelope)]


async def quiet(bus: EventBus, victim: Attacked) -> None:
    """Return when everything was dealt with."""

    async def is_done() -> bool:
        if victim.runner.failure is not None:
            return True
        # Before the look at the queues too: what it says to itself may be on its way into one.
        if victim.runner.is_busy:
            return False
        state = next((state for state in await bus.queues(HIVE) if state.name == VICTIM), None)
        return (state is None or not (state.waiting or state.unacknowledged)) and not victim.runner.is_busy

    await until(is_done, within_s=120)

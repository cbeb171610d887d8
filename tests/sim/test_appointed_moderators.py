"""A moderator who was appointed later writes more than others may: all of it is kept on all members, whatever comes first.

Who was never appointed forgets its own beyond the limit, however it words what it floods the registry with. Of who was dismissed
nobody keeps what it says afterwards, and that undoes nothing it decided before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from unittest.mock import patch

import msgspec
import pytest

from hive_mind import sim
from hive_mind.hive.effects import Write
from hive_mind.hive.policy import AFTER_DISMISSAL, sealed_entry
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Announce, Appointment, RegistryEntry
from hive_mind.sim import CALM, FACT_IDS, MINUTE_MS, MODERATOR, Weather, agents_of
from hive_mind.sim.history import node_of
from hive_mind.sim.intruders import THIEF
from hive_mind.sim.keys import seal_of
from hive_mind.sim.world import World
from tests.sampled import usually
from tests.sim.scenarios import THREE, world_of, written

LIMIT, DECISIONS = 4, 12
LATE, LIAR = agents_of("n1")[0], agents_of("n2")[0]
# Each draws other delays and losses; two show it at every change.
SEEDS = usually(range(12), 0, 1)
STORMY = replace(CALM, is_signed=True, loss=0.4, duplication=0.3, delay_ms=20_000)


@contextmanager
def small_limit() -> Iterator[None]:
    standing = replace(sim.SETTINGS.standing, entries_per_agent=LIMIT)
    with patch.object(sim, "SETTINGS", replace(sim.SETTINGS, standing=standing)):
        yield


def decide(world: World, facts: tuple[str, ...]) -> None:
    world.request(
        world.machines["n1"], Write(world.history.next_request(), tuple((f"redacted/{fact}", "true") for fact in facts), LATE)
    )


def kept(world: World, name: str) -> set[RegistryEntry]:
    return set(node_of(world.machines[name]).registry.entries())


def redacted_by(world: World, name: str, by: str) -> set[str]:
    return {entry.key.removeprefix("redacted/") for entry in kept(world, name) if entry.by == by and entry.key.startswith("red")}


def in_force(world: World, name: str) -> set[str]:
    return {key.removeprefix("redacted/") for key in node_of(world.machines[name]).registry.in_force("redacted")}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weather", [CALM, STORMY], ids=["calm", "stormy"])
def test_what_it_decided_is_kept_on_all_whatever_they_hear_first(weather: Weather, seed: int) -> None:
    """n2 hears nothing of the founder, whose word the appointment is, until all is decided and said."""
    with small_limit():
        world = world_of(weather=weather, seed=seed)
        world.run(5 * MINUTE_MS)
        world.network.divide(["n2"])
        written(world, "n0", f"moderator/{LATE}", "true")
        world.run(5 * MINUTE_MS)
        decide(world, FACT_IDS[: DECISIONS // 2])
        world.network.join()
        world.network.divide(["n0"])
        decide(world, FACT_IDS[DECISIONS // 2 : DECISIONS])
        world.run(5 * MINUTE_MS)
        world.machines["n2"].crash(loses_tail=Random(seed).random() < 0.5)
        world.machines["n2"].start()
        world.run(5 * MINUTE_MS)
        world.calm_down()
        world.run(30 * MINUTE_MS)

        assert world.violation is None
        assert [redacted_by(world, name, LATE) for name in THREE.nodes] == [set(FACT_IDS[:DECISIONS])] * 3
        assert kept(world, "n0") == kept(world, "n1") == kept(world, "n2")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weather", [CALM, STORMY], ids=["calm", "stormy"])
def test_what_a_dismissed_moderator_says_is_kept_by_nobody_whatever_they_hear_first(weather: Weather, seed: int) -> None:
    """n1, where it sits, and n2 hear of its dismissal only when it has decided more, and the same again."""
    with small_limit():
        world, half = world_of(weather=weather, seed=seed), DECISIONS // 2
        world.run(5 * MINUTE_MS)
        written(world, "n0", f"moderator/{LATE}", "true")
        world.run(5 * MINUTE_MS)
        decide(world, FACT_IDS[:half])
        world.run(5 * MINUTE_MS)
        in_office = redacted_by(world, "n1", LATE)
        world.network.divide(["n0"])
        written(world, "n0", f"moderator/{LATE}", "false")
        world.run(2 * MINUTE_MS)
        decide(world, FACT_IDS[:DECISIONS])
        world.run(5 * MINUTE_MS)
        world.machines["n2"].crash(loses_tail=Random(seed).random() < 0.5)
        world.machines["n2"].start()
        world.run(5 * MINUTE_MS)
        world.calm_down()
        world.run(30 * MINUTE_MS)

        assert world.violation is None
        assert in_office == set(FACT_IDS[:half])
        assert [redacted_by(world, name, LATE) for name in THREE.nodes] == [in_office] * 3
        assert [in_force(world, name) for name in THREE.nodes] == [in_office] * 3
        assert kept(world, "n0") == kept(world, "n1") == kept(world, "n2")
        assert node_of(world.machines["n2"]).refused[AFTER_DISMISSAL] >= half
        for name in THREE.nodes:
            world.machines[name].crash(loses_tail=False)
            world.machines[name].start()
            assert redacted_by(world, name, LATE) == in_office


def lies(world: World) -> list[RegistryEntry]:
    """What its agent may not decide, with every kind of appointment: none, another's, its own making."""
    assert world.mail is not None
    seal = seal_of(world.mail.office.signing("n2").keyring)
    now_ms = world.machines["n2"].true_ms
    genuine = next(entry for entry in kept(world, "n1") if entry.key == f"moderator/{LATE}")
    own = sealed_entry(seal, RegistryEntry(f"moderator/{LIAR}", "true", Stamp(now_ms, 0, b"liar"), LIAR))
    appointments = (
        None,
        Appointment(genuine.stamp, MODERATOR, genuine.seal),
        Appointment(own.stamp, LIAR, own.seal),
        Appointment(own.stamp, MODERATOR, own.seal),
    )
    made = [
        RegistryEntry(f"redacted/{fact}", "true", Stamp(now_ms + number, 0, b"liar"), LIAR, appointment=appointment)
        for appointment in appointments
        for number, fact in enumerate(FACT_IDS)
    ]
    return [msgspec.structs.replace(one, seal=sealed_entry(seal, one).seal) for one in made]


def test_who_was_never_appointed_forgets_its_own_beyond_the_limit() -> None:
    with small_limit():
        world = world_of(weather=replace(CALM, is_signed=True))
        mail = world.mail
        assert mail is not None
        world.run(5 * MINUTE_MS)
        written(world, "n0", f"moderator/{LATE}", "true")
        world.run(MINUTE_MS)
        decide(world, FACT_IDS[:DECISIONS])
        world.run(MINUTE_MS)
        flood = Announce(tuple(lies(world)))

        for name in ("n0", "n1"):
            world.post(THIEF, name, mail.office.signing("n2").signed(mail.bare("n2", (name,), flood)))
        world.run(30 * MINUTE_MS)

        for name in THREE.nodes:
            assert len([entry for entry in kept(world, name) if entry.by == LIAR]) == LIMIT
            assert redacted_by(world, name, LATE) == set(FACT_IDS[:DECISIONS])
        assert kept(world, "n0") == kept(world, "n1") == kept(world, "n2")
        refused = node_of(world.machines["n1"]).refused
        assert refused["a registry entry with an appointment that no founder sealed"] == 2 * len(FACT_IDS)
        assert refused["a registry entry of a writer with too many"] > 0

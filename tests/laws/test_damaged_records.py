"""A record that is lost is never taken for something taken back: nobody else loses anything, and its node has it again."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.crdt.context import Context
from hive_mind.hive.effects import SetAside
from hive_mind.hive.replication.partition_replica import ASSERTIONS, HEADS, PROOFS, SEEN
from hive_mind.hive.topology import Topology
from hive_mind.model.ids import fact_id
from tests import hives
from tests.chance import examples
from tests.hives import MODERATOR, Hive, federated, flat, sharded
from tests.sampled import usually

TOPOLOGIES: dict[str, Callable[[], Topology]] = {
    "flat": flat,
    "federated": federated,
    # Most nodes write to partitions that others hold.
    "sharded": lambda: sharded(4, 2, 8),
}
TEXTS = [f"Pump {number} is red." for number in range(12)]
LONG_ENOUGH_MS = 240_000


def lived(topology: str, chance: Random) -> Hive:
    """A hive after a life of saying and taking back, with restarts, in which everybody has heard everything."""
    hive = Hive(TOPOLOGIES[topology](), hives.settings(), seed=chance.getrandbits(32))
    for _ in range(30):
        name, text = chance.choice(hive.topology.nodes), chance.choice(TEXTS)
        hive.clock.pass_(7)
        match chance.randrange(8):
            case 0 | 1:
                hive.take_back(name, fact_id(text), by=f"agent of {name}")
            case 2:
                hive.take_back(name, fact_id(text), by=MODERATOR)
            case 3:
                hive.boot(name)
            case _:
                hive.say(name, text, agent=f"agent of {name}", confidence=chance.choice([0.5, 0.95]))
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)
    return hive


def state(hive: Hive) -> dict[str, object]:
    """What each node holds of its partitions, and what everybody knows."""
    return {
        name: (
            {partition: hive.live(name).get(partition, {}) for partition in hive.topology.held_by(name)},
            node.registry.entries(),
            [p for p in hive.topology.held_by(name) if not node.partitions.shares[p].is_complete],
        )
        for name, node in hive.nodes.items()
    }


def pasts(hive: Hive, name: str) -> dict[str, Context]:
    """What a node has seen of its partitions, live or gone."""
    return {partition: hive.nodes[name].partitions.shares[partition].members.context for partition in hive.topology.held_by(name)}


def damage(hive: Hive, name: str, places: list[tuple[str, bytes]], *, is_place_sure: bool = True) -> None:
    hive.damaged[name] = [SetAside(*place, is_place_sure) for place in places]
    hive.boot(name)


@pytest.mark.parametrize("topology", usually(["sharded", "flat", "federated"], "sharded"))
@settings(max_examples=examples() // 3)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.02, 0.2, 1.0]), is_place_sure=st.booleans())
def test_whatever_records_a_node_loses_it_has_again_and_nobody_else_loses_anything(topology, seed, share, is_place_sure):
    chance = Random(seed)
    hive = lived(topology, chance)
    before = state(hive)
    name = chance.choice(hive.topology.nodes)
    past, places = pasts(hive, name), sorted(hive.kept[name])
    lost = chance.sample(places, max(1, round(share * len(places))))

    damage(hive, name, lost, is_place_sure=is_place_sure)
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)
    again, seen = state(hive), pasts(hive, name)
    hive.boot(name)
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)

    assert again == before, f"seed {seed}: {name} lost {lost}"
    assert not any(seen[partition].join(former) for partition, former in past.items()), f"seed {seed}: its past is not whole"
    assert state(hive) == before, f"seed {seed}: {name} lost {lost}, and was started again"


@pytest.mark.parametrize("table", [ASSERTIONS, PROOFS, SEEN, HEADS])
@pytest.mark.parametrize("topology", ["flat", "federated"])
def test_a_node_that_lost_a_record_claims_no_more_than_it_has_until_others_have_told_it_all(topology, table):
    hive = lived(topology, Random(3))
    name = hive.topology.nodes[0]
    place = next(place for place in sorted(hive.kept[name]) if place[0] == table)
    hive.is_lost = lambda *_: True

    damage(hive, name, [place])

    share = hive.nodes[name].partitions.shares[place[1].partition(b"\0")[0].decode()]
    context = share.members.context
    assert not share.is_complete
    assert sum(context.up_to.values()) + len(context.beyond) == len(share)


def test_who_was_away_has_a_lost_fact_from_others_though_it_met_first_who_had_lost_it():
    hive = Hive(flat("n0", "n1", "n2"), hives.settings())
    hive.say("n0", TEXTS[0])
    hive.down.add("n1")
    hive.say("n0", TEXTS[1], agent="bo")
    hive.say("n0", TEXTS[2])
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)
    ((dot, _),) = [(dot, one) for dot, one in hive.live("n0")["all"].items() if one.agent == "bo"]
    hive.kept["n0"] = {place: value for place, value in hive.kept["n0"].items() if place[0] != "outbox"}

    damage(hive, "n0", [(ASSERTIONS, b"all\0" + dot)])
    hive.is_lost = lambda sender, to, _: "n2" in (sender, to)
    hive.boot("n1")
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)
    assert hive.who_has(TEXTS[2]) == {"n0", "n1", "n2"}
    assert hive.who_has(TEXTS[1]) == {"n2"}
    hive.is_lost = lambda *_: False
    hive.wait(LONG_ENOUGH_MS, step_ms=1_000)

    assert hive.who_has(TEXTS[1]) == {"n0", "n1", "n2"}


def test_a_clock_that_is_lost_does_not_go_back():
    hive = Hive(flat("n0", "n1"), hives.settings())
    hive.say("n0", TEXTS[0])
    hive.clock.wall_ms -= 600_000

    damage(hive, "n0", [("meta", b"clock")])
    hive.say("n0", TEXTS[1])

    first, second = (hive.fact("n0", fact_id(text)).provenance[0].stamp for text in TEXTS[:2])
    assert first < second

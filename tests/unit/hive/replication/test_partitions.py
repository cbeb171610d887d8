"""What moves when members join and leave, and that nothing is lost or hidden on the way."""

import pytest

from hive_mind.hive.effects import Rearrange, Received
from hive_mind.hive.policy import UNSEALED
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Changes, PoolReply, PoolRequest, Replicate, SyncOffer, SyncState, SyncStep
from tests.hives import FORGETFUL, HOUR_MS, PUMP, PUMP_ID, Hive, federated, flat, keyring, probe, sharded

FACTS = [f"Pump {number} is red." for number in range(40)]


def filled(topology) -> Hive:
    hive = Hive(topology)
    for number, text in enumerate(FACTS):
        hive.say(topology.nodes[number % len(topology.nodes)], text, agent=f"agent {number % 5}")
    hive.wait(15_000)
    return hive


def holders_with_everything(hive: Hive) -> dict[str, bool]:
    """For each fact whether every holder of its home has it."""
    homes = {text: hive.topology.holders(hive.topology.home(fact_id(text), hive.topology.nodes[0])) for text in FACTS}
    return {text: set(holders) <= hive.who_has(text) for text, holders in homes.items()}


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_as_many_nodes_keep_a_fact_as_was_set(replicas):
    hive = filled(sharded(6, replicas))

    for text in FACTS:
        holders = set(hive.topology.holders(hive.topology.home(fact_id(text), "")))
        assert len(holders) == replicas
        assert holders <= hive.who_has(text)
        # Besides, its author keeps what it said itself.
        assert len(hive.who_has(text) - holders) <= 1


def test_a_question_asks_one_of_each_set_and_no_more():
    hive = filled(sharded(6, 3))
    gathered = hive.ask("n0")

    # Two sets; the asker is in one of them.
    assert (len(gathered.asked), gathered.completeness) == (1, 1.0)
    assert len(hive.listed("n0").facts) == len(FACTS)


def test_taking_back_and_forgetting_reach_every_copy_in_a_sharded_hive():
    hive = Hive(sharded(), FORGETFUL)
    hive.wait(40_000)
    hive.say("n0")
    hive.say("n1", FACTS[0], ttl_ms=HOUR_MS)
    assert len(hive.who_has()) >= 3

    hive.take_back("n0")
    assert hive.who_has() == set()

    hive.wait(HOUR_MS + HOUR_MS // 2, step_ms=60_000)
    assert hive.who_has(FACTS[0]) == set()


@pytest.mark.parametrize(
    "change", ["three join", "one leaves", "three leave", "three others come", "a set goes and another comes"]
)
@pytest.mark.parametrize("knows_former", [False, True], ids=["told nothing", "told who was there"])
def test_partitions_move_to_their_new_holders_and_nothing_is_lost(change, knows_former):
    hive = filled(sharded(6))
    nodes = set(hive.topology.nodes)
    nodes = {
        "three join": nodes | {"x0", "x1", "x2"},
        "one leaves": nodes - {"n2"},
        "three leave": nodes - {"n0", "n1", "n2"},
        "a set goes and another comes": nodes - set(hive.topology.placement.sets[0]) | {"x0", "x1", "x2"},
        "three others come": (nodes - {"n0", "n1", "n2"}) | {"x0", "x1", "x2"},
    }[change]

    hive.rearrange(hive.topology.with_nodes(sorted(nodes)), knows_former=knows_former)
    hive.wait(120_000)

    assert all(holders_with_everything(hive).values())
    for asker in hive.topology.nodes:
        assert hive.ask(asker).completeness == 1.0
        assert len(hive.listed(asker).facts) == len(FACTS)
    assert not any(node.partitions.sources for node in hive.nodes.values())
    # A joiner that was told nothing does not know who left, and what it has from others it takes from nobody else.
    assert not any(hive.nodes[name].partitions.leaving for name in (hive.nodes if knows_former else hive.topology.nodes))


def test_who_stops_holding_keeps_it_until_the_new_holders_have_it_and_lets_go_then():
    hive = filled(sharded(3))
    before = {text: hive.who_has(text) for text in FACTS}
    hive.is_lost = lambda *_: True

    hive.rearrange(hive.topology.with_nodes([f"n{number}" for number in range(6)]))
    hive.wait(30_000)
    assert {text: hive.who_has(text) for text in FACTS} == before

    hive.is_lost = lambda *_: False
    hive.wait(90_000)
    for text in FACTS:
        partition = hive.topology.home(fact_id(text), "")
        moved = set(hive.topology.holders(partition)).isdisjoint({"n0", "n1", "n2"})
        assert len(hive.who_has(text)) <= (4 if moved else 3)
    assert all(not node.partitions.leaving for node in hive.nodes.values())


def test_a_new_holder_says_what_it_does_not_have_yet():
    hive = filled(sharded(3))
    hive.is_lost = lambda *args: isinstance(args[2], SyncOffer | SyncStep | SyncState)
    hive.rearrange(hive.topology.with_nodes([f"n{number}" for number in range(6)]))
    hive.wait(3_000)
    moved = {name for name in hive.topology.held_by("n4") if "n0" not in hive.topology.holders(name)}
    assert moved

    for asker in ("n0", "n4"):
        found = hive.ask(asker, "red pump")
        if found is None:
            hive.wait(3_000)
            found = hive.answer()
        assert set(found.missing) == moved
        assert {hive.topology.home(id, "") for id in map(fact_id, FACTS) if id not in found.pool.ids} <= moved
        assert found.completeness == 1 - len(moved) / 16

    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.ask("n0", "red pump").missing == hive.ask("n4", "red pump").missing == ()


def test_who_knows_another_version_of_the_topology_stays_silent():
    hive = Hive(sharded(6))
    hive.say("n0")
    node, epoch = hive.nodes["n0"], hive.topology.epoch
    name = hive.topology.read_set("n0")[0].name

    assert isinstance(node.search(PoolRequest("q", name, epoch, probe(), 1_000), hive.clock()), PoolReply)
    assert node.search(PoolRequest("q", name, epoch + 1, probe(), 1_000), hive.clock()) is None
    assert node.search(PoolRequest("q", "no such set", epoch, probe(), 1_000), hive.clock()) is None

    newer = hive.topology.with_nodes(["n0", "n1", "n2"])
    hive.tell("n0", Rearrange(newer))
    assert hive.tell("n0", Rearrange(hive.topology)) == [], "an older one changes nothing"
    assert node.topology is newer


def test_a_flat_joiner_is_incomplete_until_it_agrees_with_one_who_has_everything():
    hive = filled(flat("n0", "n1"))
    hive.is_lost = lambda *args: isinstance(args[2], SyncStep | SyncState)
    hive.rearrange(hive.topology.with_nodes(["n0", "n1", "n2"]))
    asked = PoolRequest("q", hive.topology.read_set("n2")[0].name, hive.topology.epoch, probe(), 1_000)

    assert hive.nodes["n2"].search(asked, hive.clock()).missing == ("all",)
    assert hive.ask("n2").completeness == 1.0
    assert len(hive.ask("n2", "red pump").pool) == len(FACTS)

    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.nodes["n2"].search(asked, hive.clock()).missing == ()
    assert len(hive.live("n2")["all"]) == len(FACTS)


def test_two_joiners_that_have_nothing_do_not_believe_each_other():
    hive = filled(flat("n0", "n1"))
    cut = {"n0", "n1"}
    hive.is_lost = lambda sender, to, _: (sender in cut) != (to in cut)
    hive.rearrange(hive.topology.with_nodes(["n0", "n1", "n2", "n3"]))

    hive.wait(60_000)
    assert not hive.nodes["n2"].partitions.shares["all"].is_complete
    assert not hive.nodes["n3"].partitions.shares["all"].is_complete

    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.nodes["n2"].partitions.shares["all"].is_complete
    assert len(hive.live("n3")["all"]) == len(FACTS)


def test_what_is_still_to_come_is_known_after_a_restart():
    hive = filled(sharded(3))
    hive.is_lost = lambda *_: True
    hive.rearrange(hive.topology.with_nodes([f"n{number}" for number in range(6)]))
    hive.rearrange(hive.topology.with_nodes([f"n{number}" for number in range(3)]))
    incoming = {name: set(node.partitions.sources) for name, node in hive.nodes.items()}

    for name in list(hive.nodes):
        hive.boot(name)

    assert {name: set(node.partitions.sources) for name, node in hive.nodes.items()} == incoming
    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert all(holders_with_everything(hive).values())


def test_who_held_a_partition_before_says_so_after_a_restart_though_it_was_empty():
    hive = Hive(sharded(4, 2))
    hive.is_lost = lambda *_: True
    hive.rearrange(hive.topology.with_nodes([f"n{number}" for number in range(6)]))
    for name in list(hive.nodes):
        hive.boot(name, is_founding=False)
    assert hive.nodes["n4"].partitions.sources

    hive.is_lost = lambda *_: False
    hive.wait(60_000)

    assert not any(node.partitions.sources or node.partitions.leaving for node in hive.nodes.values())
    assert all(share.is_complete for name in ("n4", "n5") for share in hive.nodes[name].partitions.shares.values())


def test_a_former_holder_that_never_had_everything_does_not_say_so_after_a_restart():
    hive = filled(sharded(3))
    hive.is_lost = lambda *_: True
    first = hive.topology
    hive.rearrange(first.with_nodes([f"n{number}" for number in range(6)]), knows_former=True)
    moved = set(hive.nodes["n4"].partitions.sources)
    hive.rearrange(hive.topology.with_nodes(first.nodes))
    hive.boot("n4")

    partitions = hive.nodes["n4"].partitions
    assert moved
    assert set(partitions.leaving) == moved
    assert not any(partitions.shares[name].is_complete for name in moved)


def test_a_partition_that_moved_while_its_holder_was_away_is_handed_over_all_the_same():
    hive = filled(sharded(3))
    before = {name: set(hive.topology.held_by(name)) for name in hive.nodes}
    after = hive.topology.with_nodes([f"n{number}" for number in range(6)])
    hive.topology = after
    for name in after.nodes:
        hive.boot(name, is_founding=False)
    moved = before["n0"] - set(after.held_by("n0"))
    assert set(hive.nodes["n0"].partitions.leaving) == moved

    hive.wait(60_000)

    assert all(holders_with_everything(hive).values())
    assert not any(node.partitions.sources or node.partitions.leaving for node in hive.nodes.values())


@pytest.mark.parametrize("is_jump", [False, True], ids=["restarted with the next topology", "heard of it later"])
def test_the_only_complete_holder_that_left_and_comes_back_waits_for_those_in_between_alone(is_jump):
    """Its fellow is gone for good, and those in between never heard from either: nobody else could complete them."""
    hive = filled(Sharded(first_placement(["n0", "n1"], 2, 8)))
    hive.is_lost = lambda *_: True
    hive.rearrange(hive.topology.with_nodes(["n2", "n3"]), knows_former=True)
    hive.say("n2")
    hive.down |= {"n0", "n1"}
    between = hive.topology
    hive.rearrange(between.with_nodes(["n0", "n4"]))
    if is_jump:
        hive.boot("n0", between)
        hive.tell("n0", Rearrange(hive.topology, is_next=False))
    else:
        hive.boot("n0", is_founding=False)
    assert not any(share.is_complete for share in hive.nodes["n0"].partitions.shares.values())

    hive.is_lost = lambda *_: False
    hive.wait(90_000)

    assert not any(
        hive.nodes[name].partitions.sources or hive.nodes[name].partitions.leaving for name in ("n0", "n2", "n3", "n4")
    )
    assert all(hive.who_has(text) >= {"n0", "n4"} for text in (*FACTS, PUMP))


def test_what_came_by_chance_is_not_everything():
    """A stray assertion at a node that never held the partition completes nobody who holds it now."""
    hive = filled(sharded(6))
    partition = hive.topology.home(PUMP_ID, "")
    stranger = next(name for name in hive.topology.nodes if name not in hive.topology.holders(partition))
    holder = hive.nodes[hive.topology.holders(partition)[0]]
    given = next(iter(holder.partitions.shares[partition].all_sealed()))

    hive.tell(stranger, Received(holder.name, Replicate("batch", (Changes(partition, (given,), (), ()),))))

    assert not hive.nodes[stranger].partitions.shares[partition].is_complete
    hive.wait(60_000)
    assert not hive.live(stranger).get(partition)


@pytest.mark.parametrize("seal_of", [lambda _: UNSEALED, lambda name: keyring(name, "ines")], ids=["unsealed", "sealed"])
def test_what_comes_to_a_former_holder_reaches_the_new_ones(seal_of):
    hive = Hive(Sharded(first_placement(["n0", "n1", "n2"], 1, 8)), seal_of=seal_of)
    before = hive.topology
    hive.is_lost = lambda *_: True
    hive.say("n0")
    after = before.with_nodes(["n1", "n2", "n3"])
    hive.rearrange(after)
    hive.boot("n0", after)

    hive.is_lost = lambda *_: False
    hive.wait(90_000)

    assert set(after.holders(after.home(PUMP_ID, ""))) <= hive.who_has()


def test_a_group_that_gets_a_member_hands_it_everything():
    hive = filled(federated())
    hive.rearrange(hive.topology.with_nodes([*hive.topology.nodes, "s9"]))
    hive.wait(60_000)

    (group,) = (name for name, members in hive.topology.groups.items() if "s9" in members)
    old = next(name for name in hive.topology.groups[group] if name != "s9")
    assert hive.live("s9").get(f"group:{group}") == hive.live(old)[f"group:{group}"]


def test_a_sure_fact_with_fifty_groups_has_two_assertions_and_is_one_fact():
    hive = Hive(federated().__class__({f"g{number:02}": (f"node {number:02}",) for number in range(50)}))
    hive.say("node 00", confidence=0.95)
    hive.say("node 33", confidence=0.95, agent="bo")

    dots = {dot for name in hive.nodes for share in hive.live(name).values() for dot in share}
    gathered = hive.ask("node 07")
    assert len(gathered.pool) == gathered.statistics.documents == 1
    assert len(dots) <= 4
    assert [row.agent for row in hive.listed("node 07").facts[0].provenance] == ["ines", "bo"]


def test_with_the_fact_its_copies_go():
    hive = Hive(federated(root="root"))
    hive.say("n0", confidence=0.95)

    hive.take_back("n0")

    assert hive.who_has() == set()
    for name in hive.topology.nodes:
        assert hive.found(name, "", is_local=True) == hive.found(name, "") == []


def test_who_becomes_less_sure_is_so_in_every_copy():
    hive = Hive(federated())
    hive.say("n0", confidence=0.95)
    hive.say("n0", agent="bo", confidence=0.95)

    hive.say("n0", confidence=0.4)

    for name in hive.topology.nodes:
        said = {(one.agent, one.confidence) for one in hive.live(name)["everyone"].values()}
        assert said == {("ines", 0.4), ("bo", 0.95)}


def test_domains_change_the_order_of_asking_and_never_what_is_found():
    hive = Hive(federated(domains={"south": ["pumps"]}))
    for number, text in enumerate(FACTS):
        hive.say(("n0", "s0")[number % 2], text, confidence=0.5)
    plain, routed = hive.ask("n0", "red pump"), hive.ask("n0", "red pump", domains=("pump",))

    assert set(plain.pool.ids) == set(routed.pool.ids)
    assert routed.completeness == 1.0
    assert [one.name for one in hive.topology.read_set("n0", ("pump",))] == ["south", "north"]
    assert hive.found("n0", "red pump 7") == hive.found("n0", "red pump 7", domains=("pump",))


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("down", [("n1",), ("n1", "n3", "n5"), ("n1", "n2", "n3", "n4", "n5")])
def test_with_members_down_an_answer_names_exactly_the_partitions_nobody_is_left_for(replicas, down):
    hive = filled(sharded(6, replicas))
    hive.down = set(down)
    lost = {name for name in map("p{:04}".format, range(16)) if set(hive.topology.holders(name)) <= hive.down}

    found = hive.ask("n0", "red pump")
    for _ in range(10):
        if found is None:
            hive.wait(500, step_ms=50)
            found = hive.answer()

    assert set(found.missing) == lost
    assert found.completeness == 1 - len(lost) / 16
    here = {id for id in map(fact_id, FACTS) if hive.topology.home(id, "") not in lost}
    assert set(found.pool.ids) == here

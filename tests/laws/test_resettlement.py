"""Whatever a hive has lived through, another topology that begins with its journals knows exactly the same."""

from contextlib import suppress
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.model.ids import fact_id
from tests import hives
from tests.chance import examples
from tests.hives import FORGETFUL, HOUR_MS, MODERATOR, Hive
from tests.resettling import known, moved, read

TEXTS = [f"Pump {number} is red." for number in range(6)]
KINDS = ("say", "say", "say", "say", "say again", "take back", "moderate", "quarantine", "trust", "wait", "crash", "lose", "hear")
DEEDS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 3)), max_size=25)


def names(count: int):
    return tuple(f"n{number}" for number in range(count))


def federated(count: int, threshold: float):
    groups = {"north": names(count)[::2], "south": names(count)[1::2]}
    return Federated({group: nodes for group, nodes in groups.items() if nodes}, broadcast_threshold=threshold)


TOPOLOGIES = st.one_of(
    st.builds(lambda count: Flat(names(count)), st.integers(1, 4)),
    st.builds(federated, st.integers(1, 5), st.sampled_from([0.0, 0.7, 0.9])),
    st.builds(lambda count, r: Sharded(first_placement(names(count), r, 8)), st.integers(1, 6), st.integers(1, 3)),
)


def lived(topology, deeds, tuned=None) -> Hive:
    """A hive with a past; at last all of it hears of everything."""
    hive = Hive(topology, tuned or hives.settings())
    for what, number, who in deeds:
        hive.clock.pass_(7)
        node = topology.nodes[who % len(topology.nodes)]
        live(hive, what, number, f"agent {who}", node)
    return hive


def live(hive: Hive, what: str, number: int, agent: str, node: str) -> None:
    id = fact_id(TEXTS[number])
    match what:
        case "say":
            hive.say(node, TEXTS[number], agent=agent, root=f"source {number % 2}", confidence=number / 5)
        case "say again":
            hive.say(node, TEXTS[number], agent=agent, root="source 0", confidence=0.95, ttl_ms=(number + 1) * HOUR_MS)
        case "take back":
            with suppress(InvalidInput):
                hive.take_back(node, id, by=agent)
        case "moderate":
            hive.take_back(node, id, by=MODERATOR)
        case "quarantine":
            hive.write(node, f"quarantine/{id}", "true" if number % 2 else "false")
        case "trust":
            hive.write(node, f"trust/{agent}", str(number / 3))
        case "wait":
            hive.wait(1_000)
        case "crash":
            hive.boot(node)
        case "lose":
            chance = Random(number)
            hive.is_lost = lambda *_: chance.random() < 0.5
        case "hear":
            hive.is_lost = lambda *_: False


def agreed(hive: Hive) -> Hive:
    hive.is_lost = lambda *_: False
    hive.wait(240_000, 1_000)
    return hive


def voices(hive: Hive):
    """All that is vouched for and counts, wherever it lies."""
    found: dict[str, set[object]] = {}
    for node in hive.nodes.values():
        policy = node.policy.at(hive.clock())
        for share in node.partitions.shares.values():
            for one in share.all_sealed():
                if policy.is_visible(one):
                    said = one.assertion
                    found.setdefault(said.fact_id, set()).add(
                        (said.agent, said.root, said.confidence, said.stamp, said.expires_ms)
                    )
    return found


@given(DEEDS, st.lists(TOPOLOGIES, min_size=2, max_size=4))
def test_moving_a_hive_whose_nodes_agree_changes_nothing_that_counts(deeds, topologies):
    first, *others = topologies
    hive = agreed(lived(first, deeds))
    # One agent may have said the same in two groups; then its last word is the one that goes along.
    hive = moved(hive, Flat(("x",)))
    before, facts = voices(hive), known(hive)

    for topology in others:
        hive = moved(hive, topology)

        assert voices(hive) == before
        assert known(hive) == facts


@given(DEEDS, TOPOLOGIES, TOPOLOGIES)
def test_moving_a_hive_in_the_middle_of_things_gives_what_it_would_have_agreed_on(deeds, topology, other):
    hive = lived(topology, deeds)
    settled = known(moved(hive, Flat(("x",))))
    assert known(moved(hive, other)) == settled
    assert known(moved(agreed(hive), Flat(("x",)))) == settled


@settings(max_examples=examples() // 4)
@given(DEEDS)
def test_the_same_questions_get_the_same_answers_in_every_topology(deeds):
    hive = moved(lived(Flat(names(3)), deeds), Flat(names(3)))
    answers = {text: hive.found("n0", text) for text in TEXTS}

    for topology in (federated(4, 0.9), Sharded(first_placement(names(6), 2, 8)), Flat(("n0", "n1"))):
        hive = moved(hive, topology)
        for name in topology.nodes:
            assert {text: hive.found(name, text) for text in TEXTS} == answers


@given(DEEDS, TOPOLOGIES, st.integers(0, 8))
def test_nothing_expires_sooner_or_later_for_having_been_moved(deeds, topology, hours):
    hive = agreed(lived(Flat(("x",)), deeds, FORGETFUL))
    other = moved(hive, topology, FORGETFUL)

    hive.clock.pass_(hours * HOUR_MS + 1_000)
    # Who has been there for hours knows what time it is.
    other.wait(60_000, 1_000)

    assert known(other).keys() == known(hive).keys()


@given(DEEDS, TOPOLOGIES)
def test_journals_may_be_read_in_any_order(deeds, topology):
    hive = lived(topology, deeds)
    forth = read(hive)
    hive.kept = dict(reversed(hive.kept.items()))
    assert (read(hive).vouched, read(hive).entries) == (forth.vouched, forth.entries)

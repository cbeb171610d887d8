"""Merging replicas is a join, and a node killed between any two effects has what it acknowledged."""

from collections import defaultdict
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Promote, Retract, Write
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.model.evidence import Sealed
from hive_mind.model.ids import fact_id
from tests import hives
from tests.hives import IMPATIENT, MODERATOR, Clock, Hive, federated, flat, promotion, sharded

TEXTS = [f"Pump {number} is red." for number in range(5)]

DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "take back", "moderate", "trust", "quarantine"]),
        st.integers(0, 4),
        st.integers(0, 2),
    ),
    max_size=12,
)


def lived(deeds, seed: int, common=()) -> InMemoryHiveGraph:
    """A replica with a life of its own after one that it has in common with the others."""
    clock = Clock()
    hive = InMemoryHiveGraph(clock=clock, chance=Random(seed), topology=flat("n0"), settings=hives.settings())
    shared = None if common is None else lived(common, 99, None)
    if shared is not None:
        hive.merge_state(shared)
    clock.pass_(1_000 + seed)
    for who in range(3):
        if f"agent {who}" not in hive.agents():
            hive.register_agent(f"agent {who}")
    for what, number, who in deeds:
        clock.pass_(3)
        agent, id = f"agent {who}", fact_id(TEXTS[number])
        if what == "say":
            hive.promote_fact(agent, TEXTS[number], confidence=number / 4)
        elif what == "take back":
            with suppress(InvalidInput):  # Somebody else's.
                hive.retract_fact(id, agent)
        elif what == "moderate":
            hive.retract_fact(id, MODERATOR)
        elif what == "trust":
            hive.update_trust(agent, number / 2, by=MODERATOR)
        elif what == "quarantine":
            hive.quarantine_fact(id, by=MODERATOR, is_on=bool(who))
    return hive


def state(hive: InMemoryHiveGraph):
    node = hive.host.nodes["n0"]
    live = {given.dot: given for given in node.partitions.shares["all"].all_sealed()}
    found = {fact.id: (fact.provenance, fact.status, fact.trust) for fact in hive.query_facts("red pump", limit=100)}
    # Not the context: what came and went before the other heard of it leaves a proof there and need not be seen.
    return live, node.registry.entries(), found


def merged(*replicas: InMemoryHiveGraph) -> InMemoryHiveGraph:
    first, *others = replicas
    for other in others:
        first.merge_state(other)
    return first


@given(DEEDS, DEEDS, DEEDS)
def test_merging_is_commutative_and_again_changes_nothing_and_writes_nothing(common, one, other):
    there = lived(other, 2, common)
    both = merged(lived(one, 1, common), there)
    before, kept = state(both), dict(both.host.kept["n0"])
    assert state(merged(lived(other, 2, common), lived(one, 1, common))) == before

    merged(both, there, merged(lived((), 3, common), lived(one, 1, common)), both)

    assert state(both) == before
    assert both.host.kept["n0"] == kept


@given(DEEDS, DEEDS, DEEDS, DEEDS)
def test_merging_is_associative(common, one, two, three):
    left = merged(merged(lived(one, 1, common), lived(two, 2, common)), lived(three, 3, common))
    right = merged(lived(one, 1, common), merged(lived(two, 2, common), lived(three, 3, common)))
    assert state(left) == state(right)


LIVES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["say", "say", "say", "say sure", "take back", "moderate", "redact", "wait"]),
        st.integers(0, 4),
        # After how many effects which of the nodes is killed: the one that acts, or one that hears of it.
        st.one_of(st.none(), st.tuples(st.integers(0, 2), st.integers(0, 8))),
    ),
    max_size=25,
)
TOPOLOGIES = {"flat": flat, "federated": federated, "sharded": lambda: sharded(4, 2, 8)}


class Ledger:
    """What was acknowledged: True it is there, False it is not, None nobody can tell. By text and agent."""

    def __init__(self) -> None:
        self.is_there: dict[tuple[str, str], bool | None] = defaultdict(bool)
        self.redacted: dict[str, bool] = {}
        """Whether it is sure that they are."""

    def note(self, text: str, agent: str, is_there: bool, is_sure: bool) -> None:
        keys = [key for key in self.is_there if key[0] == text] if agent == MODERATOR else [(text, agent)]
        for key in keys:
            if text in self.redacted:
                # Who has not heard of it may still say it; it goes when it hears.
                self.is_there[key] = False if self.redacted[text] else None
            elif is_sure:
                self.is_there[key] = is_there
            elif self.is_there[key] is not is_there:
                self.is_there[key] = None


def assertions_of(hive: Hive, text: str, names) -> list[Sealed]:
    shares = [share for name in names for share in hive.nodes[name].partitions.shares.values()]
    return [given for share in shares for given in share.assertions(fact_id(text))]


def agents_behind(hive: Hive, text: str, names) -> set[str]:
    return {given.assertion.agent for given in assertions_of(hive, text, names)}


def act(hive: Hive, name: str, what: str, text: str, ledger: Ledger) -> None:
    agent, id = f"agent of {name}", fact_id(text)
    if what == "wait":
        hive.wait(4_000, step_ms=1_000)
    elif what.startswith("say"):
        sureness = 0.95 if what == "say sure" else 0.5
        had = {given.assertion.confidence for given in assertions_of(hive, text, [name]) if given.assertion.agent == agent}
        answer = hive.request(name, lambda r: Promote(r, [promotion(text, agent=agent, confidence=sureness)]))
        if answer is None or not answer[0].refused:
            # Saying it again is no new assertion: if a moderator took back the first, and this node has not heard of it, both go.
            ledger.note(text, agent, True, answer is not None and sureness not in had)
    elif what == "redact":
        answer = hive.request(name, lambda r: Write(r, [(f"redacted/{id}", "true")], MODERATOR))
        ledger.redacted[text] = ledger.redacted.get(text, False) or answer is not None
        ledger.note(text, MODERATOR, False, answer is not None)
    else:
        by = MODERATOR if what == "moderate" else agent
        answer = hive.request(name, lambda r: Retract(r, [id], by))
        ledger.note(text, by, False, answer is not None)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@given(life=LIVES, seed=st.integers(0, 2**16))
def test_a_node_killed_between_any_two_effects_has_what_it_acknowledged(topology, life, seed):
    hive = Hive(TOPOLOGIES[topology](), hives.settings(delivery=IMPATIENT), seed=seed)
    names, ledger = hive.topology.nodes, Ledger()
    hive.is_lost = lambda *_: hive.chance.random() < 0.2
    for who, what, number, kill in life:
        hive.clock.pass_(5)
        if kill is not None:
            hive.dies_after = {names[kill[0]]: kill[1]}
        act(hive, names[who], what, TEXTS[number], ledger)
        hive.dies_after = {}
        for name in sorted(hive.down):
            hive.boot(name)
            for (text, agent), is_there in ledger.is_there.items():
                if is_there and agent == f"agent of {name}":
                    assert agent in agents_behind(hive, text, [name]), f"{name} has forgotten {text!r}"

    hive.is_lost = lambda *_: False
    hive.wait(120_000, step_ms=1_000)

    for (text, agent), is_there in ledger.is_there.items():
        if is_there:
            # Where a copy shows that a fact has its home elsewhere, it is confirmed there.
            homes = {hive.topology.home(fact_id(text), node) for node in names}
            kept = [[agent in agents_behind(hive, text, [one]) for one in hive.topology.holders(home)] for home in homes]
            assert any(map(all, kept)), f"{text!r} of {agent} is lost"
        elif is_there is False:
            assert agent not in agents_behind(hive, text, names), f"{text!r} of {agent} has come back"
    for partition in {name for node in names for name in hive.topology.held_by(node)}:
        held = [hive.live(node).get(partition, {}) for node in hive.topology.holders(partition)]
        assert all(one == held[0] for one in held), partition

"""Replicated types: whatever is delayed, lost, repeated or reordered, replicas that heard the same agree."""

import json
from dataclasses import dataclass, field
from functools import reduce
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.crdt import HybridClock, LWWRegister
from hive_mind.crdt.context import Context, pack, unpack
from hive_mind.crdt.orset import Delta, GSet, ORSet
from hive_mind.crdt.reconcile import DotIndex, reconcile, whole
from hive_mind.model.evidence import Stamp, dot

NAMES = ["a", "b", "c"]
ELEMENTS = st.sampled_from(["x", "y", "z"])
REPLICA = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), REPLICA, ELEMENTS),
        st.tuples(st.just("refresh"), REPLICA, ELEMENTS),
        st.tuples(st.just("remove"), REPLICA, ELEMENTS),
        st.tuples(st.just("merge"), REPLICA, REPLICA),
        st.tuples(st.just("hear"), REPLICA, st.integers(0, 99)),
    ),
    max_size=25,
)


@dataclass
class History:
    """Three replicas of a set that write, merge and hear single changes; `deltas` is all that was ever written."""

    replicas: list = field(default_factory=lambda: [ORSet(name) for name in NAMES])
    deltas: list = field(default_factory=list)

    def run(self, steps):
        for what, number, argument in steps:
            getattr(self, what)(self.replicas[number], argument)
        return self

    def add(self, replica, element):
        self.deltas.append(replica.add(element))

    def refresh(self, replica, element):
        self.deltas.append(replica.add(element, supersedes=replica.dots_of(element)))

    def remove(self, replica, element):
        self.deltas.append(replica.remove(element))

    def merge(self, replica, other):
        replica.merge(self.replicas[other])

    def hear(self, replica, number):
        if self.deltas:
            replica.apply(self.deltas[number % len(self.deltas)])


HISTORIES = STEPS.map(lambda steps: History().run(steps))


def joined(*replicas):
    result = replicas[0].copy("joined")
    for other in replicas[1:]:
        result.merge(other)
    return result


@given(HISTORIES)
def test_merging_is_commutative_associative_and_idempotent(history):
    a, b, c = history.replicas
    assert joined(a, b) == joined(b, a)
    assert joined(joined(a, b), c) == joined(a, joined(b, c))
    assert joined(a, a.copy("twin"), a) == a
    assert joined(a, b, b, a, b) == joined(a, b)


@given(HISTORIES, st.randoms(use_true_random=False))
def test_changes_in_any_order_and_number_give_what_merging_gives(history, chance):
    heard = history.deltas * 2
    chance.shuffle(heard)
    listener = ORSet("listener")
    for delta in heard:
        listener.apply(delta)

    assert listener == joined(*history.replicas)


@given(HISTORIES)
def test_one_change_does_what_merging_the_whole_replica_after_it_does(history):
    here, there, _ = history.replicas
    there.merge(here)
    by_delta, by_state = there.copy("by delta"), there.copy("by state")

    by_delta.apply(here.add("new"))
    by_delta.apply(here.remove("x"))
    by_state.merge(here)

    assert by_delta == by_state


@given(HISTORIES, ELEMENTS)
def test_adding_wins_over_a_removal_that_did_not_see_it_and_one_that_saw_everything_is_final(history, element):
    here, there, _ = history.replicas
    there.remove(element)
    here.add(element)
    assert element in joined(here, there)
    assert element in joined(there, here)

    everything = joined(*history.replicas)
    everything.remove(element)
    assert element not in joined(everything, *history.replicas)
    assert element not in reduce(lambda a, b: joined(a, b), [*history.replicas, everything])


@given(HISTORIES)
def test_what_a_replica_tells_about_itself_holds_together(history):
    for replica in history.replicas:
        by_element = {}
        for live, element in sorted(replica.live.items()):
            by_element.setdefault(element, []).append(live)
            assert replica.has_seen(live)
        assert replica.items() == set(by_element) == set(replica)
        assert {element: list(replica.dots_of(element)) for element in by_element} == by_element
        assert replica.context.next_counter(replica.actor) > max(
            [int.from_bytes(live[8:]) for live in replica.live if live.startswith(replica.actor)], default=0
        )


@given(HISTORIES)
def test_a_set_returns_from_json_as_it_was(history):
    for replica in history.replicas:
        again = ORSet.from_dict(json.loads(json.dumps(replica.to_dict())), "again")

        assert again == replica
        assert again.to_dict() == replica.to_dict()
        assert joined(again, *history.replicas) == joined(replica, *history.replicas)


# In fewer, no merge brings nothing but a context.
@settings(max_examples=100)
@given(HISTORIES)
def test_versions_grow_exactly_with_changes(history):
    here, there, _ = history.replicas
    before, state = here.version, here.to_dict()
    here.merge(there)
    assert (here.version > before) == (here.to_dict() != state)


DOTS = st.lists(st.builds(dot, st.sampled_from([b"actor--a", b"actor--b"]), st.integers(1, 12)), max_size=25)
ANY_DOTS = st.lists(st.builds(dot, st.binary(min_size=8, max_size=8), st.integers(1, (1 << 40) - 1)), max_size=25)


@given(DOTS, DOTS, st.randoms(use_true_random=False))
def test_a_context_is_the_set_of_its_dots(some, more, chance):
    context = Context({}, some)
    assert context.join(Context({}, more)) == bool(set(more) - set(some))
    everything = some + more
    chance.shuffle(everything)

    assert context == Context({}, everything) == Context.from_dict(json.loads(json.dumps(context.to_dict())))
    assert [d for d in (dot(a, n) for a in (b"actor--a", b"actor--b") for n in range(1, 15)) if context.covers(d)] == sorted(
        set(everything)
    )
    assert context.seen(everything) == everything
    assert context.unseen(everything) == []


@given(st.one_of(DOTS, ANY_DOTS))
def test_dots_return_from_runs(dots):
    assert unpack(pack(dots)) == tuple(sorted(set(dots)))


@given(st.one_of(st.binary(max_size=40), st.builds(lambda tail: b"actor--a" + tail, st.binary(max_size=12))))
def test_bytes_are_refused_or_are_what_packing_gives(data):
    try:
        dots = unpack(data, 1_000)
    except ValueError:
        return
    assert pack(dots) == data


def random_replicas(chance):
    """Two replicas with some common and some own past, sometimes much of it."""
    replicas = [ORSet(name) for name in NAMES]
    for _ in range(chance.choice([5, 40, 400])):
        replica = chance.choice(replicas)
        act = chance.random()
        if act < 0.55:
            replica.add(f"fact {chance.randrange(60)}")
        elif act < 0.7:
            replica.add_all(f"fact {chance.randrange(600)}" for _ in range(chance.choice([2, 30])))
        elif act < 0.9:
            replica.remove(f"fact {chance.randrange(60)}")
        else:
            replica.merge(chance.choice(replicas))
    return replicas[:2]


def synchronised(here, there, key):
    """What an exchange does: find dots that one side has, decide by what the other saw, then join what was seen."""
    sides = [DotIndex(here.live, key), DotIndex(there.live, key)]
    only = [set(), set()]
    spans, turn = whole(sides[1]), 0
    while spans:
        found = reconcile(sides[turn], spans)
        spans = found.spans
        only[turn].update(found.only_here)
        only[1 - turn].update(found.only_there)
        turn = 1 - turn
    result = here.copy("result")
    new = {d: there.live[d] for d in only[1] if not here.has_seen(d)}
    result.drop(d for d in only[0] if there.has_seen(d))
    result.apply(Delta(new))
    result.join_context(there.context.up_to, there.context.beyond)
    return result


@pytest.mark.parametrize("block", range(4))
def test_reconciling_live_dots_and_joining_contexts_is_a_merge(block, monkeypatch):
    # Lists of a few dots only, so that small sets take all the steps that large ones do.
    monkeypatch.setattr("hive_mind.crdt.reconcile.LISTED_BYTES_MAX", [12, 24, 60, 256][block])
    for seed in range(40 * block, 40 * block + 40):
        here, there = random_replicas(Random(seed))
        merged = here.copy("merged")
        merged.merge(there)

        assert synchronised(here, there, seed.to_bytes(8, "big")) == merged, f"seed {seed}"


@given(HISTORIES)
def test_fingerprints_agree_exactly_when_sets_do(history):
    here, there, _ = history.replicas
    prints = [DotIndex(one.live, b"key").fingerprint() for one in (here, there)]
    assert (prints[0] == prints[1]) == (here.live.keys() == there.live.keys())


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.text("ab", max_size=2))
WRITES = st.lists(
    st.tuples(
        st.sampled_from(["f", "g"]),
        VALUES,
        st.one_of(st.integers(0, 3), st.builds(Stamp, st.integers(0, 3000), st.integers(0, 2))),
    ),
    max_size=6,
)
WRITERS = st.lists(st.tuples(st.sampled_from(["", "alice", "bob"]), WRITES), min_size=3, max_size=3)


def merged(first, *others):
    """A copy of the first with the others merged in."""
    result = type(first).from_dict(json.loads(json.dumps(first.to_dict())))
    for other in others:
        result.merge(other)
    return result


def assert_merging_converges(a, b, c):
    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, a) == a
    assert merged(a, b, b, a) == merged(a, b)


@given(*[st.sets(st.integers(0, 5))] * 3)
def test_growing_sets_converge(a, b, c):
    assert_merging_converges(GSet(a), GSet(b), GSet(c))
    assert merged(GSet(a), GSet(b)).items() == a | b


@given(WRITERS)
def test_registers_converge_whoever_writes_what_and_when(writers):
    registers = [LWWRegister(name) for name, _ in writers]
    for register, (_, written) in zip(registers, writers, strict=True):
        for _, value, timestamp in written:
            register.set(value, timestamp)
    assert_merging_converges(*registers)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("tick"), st.integers(0, 50)),
            st.tuples(st.just("take"), st.integers(0, 50), st.integers(0, 2**17), st.integers(0, 50)),
        ),
        max_size=30,
    )
)
def test_a_clock_only_gives_what_is_later_than_all_it_gave_or_took(steps):
    clock = HybridClock(b"here....")
    known = [Stamp(0)]
    for what, ms, *rest in steps:
        if what == "tick":
            stamp = clock.tick(ms)
            assert stamp > max(known)
            known.append(stamp)
        elif clock.take(Stamp(ms, rest[0], b"zzzzzzzz"), rest[1], 10):
            assert ms <= rest[1] + 10
            known.append(Stamp(ms, rest[0], b"zzzzzzzz"))
    assert clock.last == max(known)

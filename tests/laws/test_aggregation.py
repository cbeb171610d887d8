"""Aggregations are exact over the whole hive: every fact counts once, whatever the topology, however many members there are."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest

from hive_mind.hive.effects import Effect, Send, Tallied
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.model.aggregation import KINDS, Aggregation, in_order, moment_ms
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import TallyReply
from tests.hives import FIRST_MS, Hive, federated, flat, settings, sharded

SEED = 23
# Each kind of question about each of what it may be about, and more.
FACTS, QUESTIONS = 120, 48
MACHINES = ("D4", "D40", "D5", "T1", "T2")
# Three rows to a page: most answers take several.
PAGED = settings(scatter=ScatterSettings(reply_bytes_max=72))


class Told(NamedTuple):
    """A statement of the world of one seed."""

    content: str
    concept: str
    entities: tuple[str, ...]
    said_at: str

    def is_about(self, wanted: str) -> bool:
        return (
            not wanted
            or wanted.casefold() in self.concept.casefold().split()
            or wanted.casefold() in map(str.casefold, self.entities)
        )


def world(chance: Random) -> list[Told]:
    def one(number: int) -> Told:
        machine, other = chance.sample(MACHINES, 2)
        day = f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        said_at = chance.choice((day, day[:7], f"{day}T{chance.randint(10, 23)}:00", f"{day}/2026-01-01"))
        return Told(f"Note {number} on {machine}.", f"Pump {machine}", chance.choice(((), (other,), ("INC-7",))), said_at)

    return [one(number) for number in range(FACTS)]


def questions(chance: Random) -> Iterator[Aggregation]:
    for number in range(QUESTIONS):
        about = chance.choice((*MACHINES, "d4", "INC-7", "pump", "nothing", ""))
        yield Aggregation(KINDS[number % len(KINDS)], about, chance.choice((1, 3, 50)))


def expected(told: list[Told], wanted: Aggregation) -> tuple[int, list[str]]:
    moments = {fact_id(one.content): moment_ms(one.said_at, 0) for one in told if one.is_about(wanted.about)}
    shown = sorted(moments, key=lambda one: (moments[one], one), reverse=wanted.kind != "earliest")
    return len(moments), [] if wanted.kind == "count" else shown[: wanted.limit]


def found(tallied: Tallied, wanted: Aggregation) -> tuple[int, list[str]]:
    shown = [] if wanted.kind == "count" else in_order(tallied.moments, wanted.kind)[: wanted.limit]
    return len(tallied.moments), shown


def asked(hive: Hive, name: str, about: str) -> Tallied:
    """The answer, which may have to wait for what was lost."""
    if (tallied := hive.tallied(name, about)) is None:
        hive.wait(2_500, step_ms=50)
        tallied = hive.answer()
    assert tallied is not None
    return tallied


def filled(hive: Hive, told: list[Told], chance: Random) -> Hive:
    """Each fact by one to three agents at different nodes: two groups may say the same without knowing of each other."""
    names = list(hive.nodes)
    for one in told:
        for name in chance.sample(names, min(len(names), chance.randint(1, 3))):
            fields = {"concept": one.concept, "entities": one.entities, "said_at": one.said_at}
            hive.say(name, one.content, agent=name, **fields)
    hive.wait(5_000)
    return hive


class Repeating(Hive):
    """Every message arrives twice."""

    def perform_one(self, name: str, effect: Effect) -> None:
        super().perform_one(name, effect)
        if isinstance(effect, Send):
            super().perform_one(name, effect)


TOPOLOGIES = {
    "flat": flat(),
    "federated": federated(),
    "sharded": sharded(),
    "a large federated": Federated({f"g{group}": tuple(f"g{group}n{n}" for n in range(2)) for group in range(10)}),
    "a large sharded": sharded(30, 3, 64),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_questions_are_answered_exactly_in_every_topology(name: str):
    chance = Random(SEED)
    told = world(chance)
    hive = filled(Hive(TOPOLOGIES[name], PAGED), told, chance)

    for wanted in questions(Random(SEED)):
        asker = chance.choice(list(hive.nodes))
        tallied = asked(hive, asker, wanted.about)

        assert found(tallied, wanted) == expected(told, wanted), (wanted, asker)
        assert (tallied.completeness, tallied.silent) == (1.0, ())


@pytest.mark.parametrize("topology", [federated(), sharded()], ids=["federated", "sharded"])
def test_the_same_holds_where_messages_are_lost_and_repeated(topology: Topology):
    chance = Random(SEED)
    told = world(chance)
    hive = filled(Repeating(topology, PAGED), told, chance)
    hive.is_lost = lambda *_: chance.random() < 0.05

    complete = 0
    for wanted in questions(Random(SEED)):
        tallied = asked(hive, chance.choice(list(hive.nodes)), wanted.about)
        count, shown = expected(told, wanted)
        complete += tallied.completeness == 1.0
        assert len(tallied.moments) <= count
        if tallied.completeness == 1.0:
            assert found(tallied, wanted) == (count, shown), wanted
    assert complete > QUESTIONS / 2, "most are complete all the same"


def test_with_members_down_the_answer_says_what_is_missing_and_counts_the_rest_exactly():
    chance = Random(SEED)
    told = world(chance)
    hive = filled(Hive(sharded(6, 1, 12), PAGED), told, chance)
    hive.down = {"n1", "n4"}
    placed = hive.nodes["n0"].topology
    gone = {p for one in placed.read_set("n0") if hive.down & set(one.members) for p in one.partitions}

    for wanted in questions(Random(SEED)):
        tallied = asked(hive, "n0", wanted.about)
        left = [one for one in told if placed.home(fact_id(one.content), "n0") not in gone]

        assert found(tallied, wanted) == expected(left, wanted), wanted
        assert set(tallied.missing) == gone
        assert set(tallied.silent) == hive.down


def test_replicas_speak_for_members_that_are_down():
    chance = Random(SEED)
    told = world(chance)
    hive = filled(Hive(sharded(6, 3, 16), PAGED), told, chance)
    hive.down = {"n1", "n4"}

    for wanted in questions(Random(SEED)):
        tallied = asked(hive, "n0", wanted.about)

        assert tallied.completeness == 1.0
        assert found(tallied, wanted) == expected(told, wanted), wanted


def test_pages_are_bounded_and_a_page_that_cannot_be_one_changes_nothing():
    hive = filled(Hive(sharded(6, 1, 12), PAGED), world(Random(SEED)), Random(SEED))
    hive.sent.clear()
    asked(hive, "n0", "")
    replies = [message for _, _, message in hive.sent if isinstance(message, TallyReply)]

    assert len(replies) > len(hive.nodes)
    assert max(len(reply.rows) for reply in replies) == 72


def test_what_was_taken_back_no_longer_counts():
    hive = Hive(federated())
    hive.say("n0", "The pump is red.", concept="pump")
    hive.say("s0", "The pump is loud.", concept="pump")
    assert len(asked(hive, "n1", "pump").moments) == 2

    hive.take_back("n0")
    assert asked(hive, "s1", "pump").moments.keys() == {fact_id("The pump is loud.")}


def test_a_fact_that_says_no_time_was_said_when_it_was_shared():
    hive = Hive(flat())
    hive.say("n0")
    (moment,) = asked(hive, "n0", "").moments.values()
    assert moment >= FIRST_MS

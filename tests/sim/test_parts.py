"""The simulated world does what its faults say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from random import Random
from unittest.mock import patch

import msgspec
import numpy as np
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Ask, Delete, Held, Promote, Promotion, Put, Retract, Retracted, Write
from hive_mind.model.gathered import EvidenceColumns, Gathered, Pool
from hive_mind.model.messages import Receipt
from hive_mind.model.query import TermStatistics
from hive_mind.sim import (
    CALM,
    DEADLINE_MS,
    EVERYTHING,
    FACT_IDS,
    FAULTS,
    HOUR_MS,
    MINUTE_MS,
    MODERATOR,
    MODERATORS_NODE,
    STATEMENTS,
    drawn,
    parse,
    probe,
)
from hive_mind.sim import checks as checked
from hive_mind.sim.checks import unfinished
from hive_mind.sim.history import Operation, assertions_of, node_of
from hive_mind.sim.keys import BEAT_MS
from hive_mind.sim.machine import Disk, Fate, Network, Packet, Schedule
from hive_mind.sim.promises import (
    TIME_SLACK_MS,
    Promises,
    check_answer,
    check_fresh,
    check_moderated,
    check_unanswered,
    check_visible,
)
from hive_mind.sim.world import World
from tests.sim import scenarios
from tests.sim.scenarios import world_of


def put(key: bytes, value: bytes = b"") -> list[Put]:
    return [Put("table", key, value)]


def carried(weather, count: int = 200, fate: Fate = Fate.TAKEN) -> list[Packet]:
    schedule, arrived = Schedule(), []

    def deliver(packet: Packet) -> Fate:
        arrived.append(packet)
        return fate

    network = Network(schedule, Random(1), weather, deliver)
    for number in range(count):
        network.send("here", "there", Receipt(str(number)))
    schedule.run(3_600_000, lambda: False)
    return arrived


def test_what_was_synced_survives_any_crash_and_of_the_rest_a_beginning():
    kept = set()
    for seed in range(30):
        disk = Disk()
        disk.write(put(b"1"))
        disk.sync()
        disk.write(put(b"2"))
        disk.write(put(b"3"))
        disk.crash(Random(seed), loses_tail=True)
        kept.add(b"".join(record.key for record in disk.load()))

    assert kept == {b"1", b"12", b"123"}


def test_a_disk_gives_back_the_last_value_of_each_key_and_a_backup_is_older_than_what_it_replaces():
    disk = Disk()
    disk.write([*put(b"a", b"1"), *put(b"b", b"1")])
    disk.write([*put(b"a", b"2"), Delete("table", b"b")])
    assert disk.load() == put(b"a", b"2")

    disk = Disk()
    assert not disk.restore(Random(1))
    disk.write(put(b"1"))
    disk.write(put(b"2"))
    assert disk.restore(Random(1))
    assert disk.load() == put(b"1")


def test_a_calm_network_brings_everything_once_and_out_of_order_a_bad_one_loses_and_repeats_and_a_broker_puts_aside():
    arrived = [int(packet.message.batch) for packet in carried(CALM)]
    assert sorted(arrived) == list(range(200))
    assert arrived != sorted(arrived)

    arrived = [packet.message.batch for packet in carried(replace(CALM, loss=0.5, duplication=0.5))]
    assert 60 < len(set(arrived)) < 140
    assert len(arrived) > len(set(arrived))
    # It repeats what nobody acknowledges.
    assert len(carried(replace(CALM, is_brokered=True), count=3)) == 15


def test_what_is_due_happens_in_its_order_at_its_time_and_nothing_in_the_past():
    schedule, done = Schedule(), []
    for delay_ms in (30, 10, 10.9, -5, 21):
        schedule.after(delay_ms, lambda due_ms=delay_ms: done.append((due_ms, schedule.now_ms)))
    schedule.run(19, lambda: False)
    assert (done, schedule.now_ms, schedule.events) == ([(-5, 0), (10, 10), (10.9, 10)], 19, 3)

    schedule.skip(5)
    schedule.run(100, lambda: len(done) == 4)
    assert (done[3:], schedule.now_ms, schedule.events) == ([(21, 24)], 24, 4)
    schedule.run(6, lambda: False)
    assert (done[4:], schedule.now_ms, schedule.skipped_ms) == ([(30, 30)], 30, 24)


def test_a_network_counts_what_it_carries_and_loses():
    for weather in (CALM, replace(CALM, loss=0.5)):
        schedule, arrived = Schedule(), []
        network = Network(schedule, Random(1), weather, lambda packet, arrived=arrived: arrived.append(packet) or Fate.TAKEN)
        for number in range(200):
            network.send("here", "there", Receipt(str(number)))
        schedule.run(HOUR_MS, lambda: False)
        assert (network.sent, network.lost) == (200, 200 - len(arrived))
    assert 60 < network.lost < 140


def test_who_is_cut_off_or_hears_only_some_gets_nothing_from_others():
    network = Network(Schedule(), Random(1), CALM, lambda _: Fate.TAKEN)
    network.divide(["a", "b"])
    network.eclipse("c", ["d"])
    heard = {(sender, to) for sender in "abcd" for to in "abcd" if sender != to and network.reaches(sender, to)}
    assert heard == {("a", "b"), ("b", "a"), ("d", "c"), ("c", "d")}
    network.shine("c")
    network.join()
    assert (network.is_divided, network.reaches("a", "c"), network.reaches("c", "b")) == (False, True, True)


def promoted(at_ms: int, *, lasts_ms: int | None = 1, ttl_ms: int = 0, refused: str = "", **fields) -> Operation:
    promotion = Promotion(STATEMENTS[0], "ann", "ann", 0.8, ttl_ms)
    ended_ms = None if lasts_ms is None else at_ms + lasts_ms
    return Operation(Promote("r", (promotion,)), "n0", 1, at_ms, ended_ms, (Held(FACT_IDS[0], refused),), **fields)


def taken_back(at_ms: int, by: str = "ann", node: str = "n0", **fields) -> Operation:
    return Operation(Retract("r", (FACT_IDS[0],), by), node, 1, at_ms, at_ms + 1, (Retracted(FACT_IDS[0], 1),), **fields)


ASKED = Ask("r", probe(EVERYTHING), DEADLINE_MS)


def answered(ids: Sequence[str] = ("a", "b"), confidence: float = 1.0, trust: float = 1.0, missing: int = 0) -> Operation:
    """Of the last of them."""
    ones = np.ones(len(ids), np.float32)
    columns = [np.append(ones[:-1], np.float32(last)) for last in (confidence, trust)]
    pool, names = Pool(tuple(ids), ones, ones, ones), tuple(f"p{number}" for number in range(missing))
    evidence = EvidenceColumns(ones, columns[1], columns[0])
    return Operation(ASKED, "n0", 1, 0, 5, Gathered(pool, evidence, TermStatistics(0, 0.0), 2, names))


REDACTED = Operation(Write("r", ((f"redacted/{FACT_IDS[0]}", "true"),), MODERATOR), "n0", 1, 0, 1, ())


@pytest.mark.parametrize(
    ("operations", "now_ms", "is_promised"),
    [
        ([promoted(0)], HOUR_MS, True),
        ([promoted(0, lasts_ms=None)], HOUR_MS, False),
        ([promoted(0, is_unsure=True)], HOUR_MS, False),
        ([promoted(0, refused="no")], HOUR_MS, False),
        ([promoted(0, ttl_ms=HOUR_MS)], HOUR_MS - TIME_SLACK_MS - 1, True),
        ([promoted(0, ttl_ms=HOUR_MS)], HOUR_MS - TIME_SLACK_MS, False),
        # Whether the later one counts nobody knows, or everybody.
        ([promoted(0), promoted(5, ttl_ms=HOUR_MS, lasts_ms=None)], HOUR_MS, False),
        ([promoted(0), promoted(5, ttl_ms=HOUR_MS, refused="no")], HOUR_MS, True),
        ([promoted(0, ttl_ms=HOUR_MS), promoted(5)], HOUR_MS, True),
        ([promoted(0), taken_back(5)], HOUR_MS, False),
        ([promoted(0), taken_back(5, MODERATOR)], HOUR_MS, False),
        ([promoted(0), taken_back(5, "bob")], HOUR_MS, True),
        ([promoted(0), REDACTED], HOUR_MS, False),
        # On the same node the stamps are in order; another one may be ahead.
        ([taken_back(0), promoted(1)], HOUR_MS, True),
        ([taken_back(0), promoted(0)], HOUR_MS, False),
        ([taken_back(0, node="n1"), promoted(TIME_SLACK_MS)], HOUR_MS, False),
        ([taken_back(0, node="n1"), promoted(TIME_SLACK_MS + 1)], HOUR_MS, True),
        ([taken_back(0, node="n1", ahead_ms=5), promoted(TIME_SLACK_MS + 5)], HOUR_MS, False),
        ([taken_back(0, node="n1", ahead_ms=5), promoted(TIME_SLACK_MS + 6)], HOUR_MS, True),
        ([taken_back(0, node="n1", ahead_ms=5), promoted(TIME_SLACK_MS + 1, ahead_ms=5)], HOUR_MS, True),
        ([taken_back(0, node="n1"), promoted(TIME_SLACK_MS, ahead_ms=9)], HOUR_MS, False),
    ],
)
def test_what_was_acknowledged_is_promised_unless_it_may_be_gone(operations: list[Operation], now_ms: int, *, is_promised: bool):
    assert any(Promises(operations).live(now_ms)) is is_promised


def test_nothing_is_promised_of_a_key_that_was_stolen_nor_the_order_of_stamps_that_were_forgotten():
    assert not any(Promises([promoted(4)], stolen={"n0": 5}).live(0))
    assert any(Promises([promoted(5)], stolen={"n0": 5, "n1": 9}).live(0))
    assert not any(Promises([taken_back(0), promoted(1)], forgetful={"n0"}).live(0))


@pytest.mark.parametrize(
    ("said", "broken"),
    [
        ({}, []),
        ({"confidence": 0.0, "trust": 0.0, "missing": 2}, []),
        ({"ids": ("a", "b", "a")}, ["I4 no fact is found twice"]),
        ({"confidence": 1.01}, ["I5 evidence is within its range"]),
        ({"confidence": -0.01}, ["I5 evidence is within its range"]),
        ({"trust": 1.01}, ["I5 evidence is within its range"]),
        ({"missing": 3}, ["P13 completeness is a share"]),
    ],
)
def test_an_answer_says_what_can_be_in_it(said: dict, broken: list[str]):
    assert [violation.invariant for violation in check_answer(answered(**said))] == broken


def test_a_question_that_nobody_answers_is_noticed_when_its_time_is_over():
    weather = replace(CALM, sync_ms=50)
    world = world_of(weather=weather)
    world.history.begin(ASKED, "n0", world.machines["n0"].boots, world.schedule.now_ms)
    world.run(DEADLINE_MS + DEADLINE_MS // 10 + 500 + 20 * weather.sync_ms)
    assert list(check_unanswered(world)) == []
    world.run(1)
    assert [violation.invariant for violation in check_unanswered(world)] == ["every request is answered in time"]
    world.machines["n0"].crash(loses_tail=False)
    world.machines["n0"].start()
    assert list(check_unanswered(world)) == []


def lived_through(*, is_signed: bool = False) -> World:
    """Three members, each of which said something; one took it back, and something was redacted."""
    world = world_of(weather=replace(CALM, is_signed=is_signed))
    world.run(2 * BEAT_MS + 1_000)
    for number in range(3):
        scenarios.promoted(world, f"n{number}", number)
    scenarios.promoted(world, "n2", 3, ttl_ms=HOUR_MS)
    world.run(MINUTE_MS)
    scenarios.retracted(world, "n0", 0)
    scenarios.written(world, MODERATORS_NODE, f"redacted/{FACT_IDS[1]}", "true")
    world.run(20 * MINUTE_MS)
    return world


@pytest.fixture(scope="module")
def world_at_rest() -> World:
    world = lived_through()
    world.run(HOUR_MS)
    return world


def broken_in(world: World) -> dict[str, int]:
    """How often each promise is."""
    checks = (
        checked.settled(world),
        checked.unretracted(world),
        checked.expired(world),
        check_moderated(world),
        check_visible(world, checked.promises_of(world), world.run),
        check_fresh(world, lambda: world.run(MINUTE_MS)),
    )
    return Counter(violation.invariant.split()[0] for violation in chain.from_iterable(checks))


@pytest.mark.parametrize("is_signed", [False, True])
def test_where_all_is_well_no_check_complains(*, is_signed: bool):
    world = lived_through(is_signed=is_signed)
    assert (checked.agreement(world), unfinished(world), broken_in(world)) == (1.0, "", {"I8": 3})
    world.run(HOUR_MS)
    assert (checked.agreement(world), checked.difference(world), broken_in(world)) == (1.0, "", {})


def test_a_member_that_lost_everything_is_seen_by_whoever_looks_at_what_it_holds():
    world = lived_through()
    lost = world.machines["n2"]
    lost.crash(loses_tail=False)
    lost.disk = Disk()
    world.network.divide(["n2"])
    lost.start()

    assert (checked.agreement(world), unfinished(world)) == (4 / 6, "n2 does not know the time")
    assert checked.difference(world).startswith("registries of n0 and n2 differ by 1 entries")
    # It has neither of two facts, finds neither when asked twice, and hears of two entries, as the others of its own.
    assert broken_in(world) == {"I1": 4, "I8": 2, "I10": 4}


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({"confidence": 1.5}, {"I5": 1}),
        ({"tenant": "other"}, {"I13": 1}),
        ({"ttl_ms": 24 * HOUR_MS}, {"I8": 1}),
        ({"ttl_ms": 24 * HOUR_MS + 1}, {}),
        ({"agent": "somebody"}, {"I1": 1}),
    ],
)
def test_an_assertion_that_was_changed_where_it_lies_is_seen(world_at_rest: World, changed: dict, broken: dict[str, int]):
    world = world_at_rest
    (assertion,) = (assertion for _, assertion in assertions_of(world.machines["n2"]))
    share = node_of(world.machines["n2"]).partitions.shares["all"]
    forged = msgspec.structs.replace(assertion, assertion=msgspec.structs.replace(assertion.assertion, **changed))
    with patch.object(share, "all_sealed", lambda: [forged]):
        checks = (*checked.settled(world), *checked.expired(world))
    assert Counter(violation.invariant.split()[0] for violation in checks) == broken


def test_faults_are_named_and_switched_off_by_leaving_them_out():
    assert parse("all") == frozenset(FAULTS)
    assert parse("none") == frozenset()
    with pytest.raises(InvalidInput, match="gremlins"):
        parse("loss,gremlins")

    both = drawn(parse("loss,clock"), Random(3))
    alone = drawn(parse("loss"), Random(3))
    assert (both.loss, both.delay_ms) == (alone.loss, alone.delay_ms)
    assert (alone.clock_error_ms, alone.crash_share, alone.has_liar) == (0, 0.0, False)


def test_a_healed_hive_has_to_wait_for_the_keys_of_all():
    """Who starts again refuses what others answer until their next beats; that is no promise broken."""
    world = world_of(weather=replace(CALM, is_signed=True))
    world.run(2 * BEAT_MS + 1_000)
    before, machine = unfinished(world), world.machines["n1"]

    machine.crash(loses_tail=False)
    machine.start()
    world.run(BEAT_MS // 2)
    again = unfinished(world)
    world.run(BEAT_MS // 2)

    assert (before, again, unfinished(world)) == ("", "n1 does not know the key of n2", "")

"""The simulated world does what its faults say."""

from dataclasses import replace
from random import Random

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Delete, Put
from hive_mind.model.messages import Receipt
from hive_mind.sim import CALM, FAULTS, drawn, parse
from hive_mind.sim.checks import unfinished
from hive_mind.sim.keys import BEAT_MS
from hive_mind.sim.machine import Disk, Fate, Network, Packet, Schedule
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


def test_a_disk_gives_back_the_last_value_of_each_key():
    disk = Disk()
    disk.write([*put(b"a", b"1"), *put(b"b", b"1")])
    disk.write([*put(b"a", b"2"), Delete("table", b"b")])
    assert disk.load() == put(b"a", b"2")


def test_a_backup_is_older_than_what_it_replaces():
    disk = Disk()
    assert not disk.restore(Random(1))
    disk.write(put(b"1"))
    disk.write(put(b"2"))

    assert disk.restore(Random(1))
    assert disk.load() == put(b"1")


def test_a_calm_network_brings_everything_once_and_out_of_order():
    arrived = [int(packet.message.batch) for packet in carried(CALM)]
    assert sorted(arrived) == list(range(200))
    assert arrived != sorted(arrived)


def test_a_bad_network_loses_and_repeats():
    arrived = [packet.message.batch for packet in carried(replace(CALM, loss=0.5, duplication=0.5))]
    assert 60 < len(set(arrived)) < 140
    assert len(arrived) > len(set(arrived))


def test_a_broker_repeats_what_nobody_acknowledges_and_then_puts_it_aside():
    arrived = carried(replace(CALM, is_brokered=True), count=3)
    assert len(arrived) == 15


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

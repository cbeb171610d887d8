"""One partition's log: places in it, and what is dropped when it is full."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.amqp.entity import Message, split
from hive_mind.devbroker.eventhub import Partition, Retention
from tests.unit.devbroker.values import section


def filled(count, retention=None, size=10):
    partition = Partition(0, retention or Retention())
    for number in range(count):
        partition.append(Message(body=section(0x75, bytes([number % 256]) * size)), None, float(number))
    return partition


@given(st.integers(0, 40), st.integers(1, 12), st.integers(-3, 45))
def test_what_is_kept_is_the_newest_and_every_place_is_still_found(count, most, sequence):
    partition = filled(count, Retention(events_max=most))

    assert (partition.begin, partition.end) == (max(0, count - most), count)
    kept = [split(partition.event(number)).annotation_map["x-opt-sequence-number"] for number in range(partition.begin, count)]
    assert kept == list(range(partition.begin, count))
    start = partition.start(f"amqp.annotation.x-opt-sequence-number > '{sequence}'")
    assert start == min(max(partition.begin, sequence + 1), count)


@given(st.integers(1, 30), st.integers(1, 12), st.data())
def test_by_offset_and_by_time_the_same_event_is_found(count, most, data):
    partition = filled(count, Retention(events_max=most))
    number = data.draw(st.integers(partition.begin, count - 1))
    notes = split(partition.event(number)).annotation_map

    for name in ("x-opt-offset", "x-opt-enqueued-time"):
        assert partition.start(f"amqp.annotation.{name} >= '{notes[name]}'") == number
        assert partition.start(f"amqp.annotation.{name} > '{notes[name]}'") == number + 1


def test_a_partition_keeps_no_more_bytes_than_it_may():
    partition = filled(100, Retention(bytes_max=2000), size=100)
    assert sum(len(partition.event(number)) for number in range(partition.begin, partition.end)) <= 2000
    assert len(partition._events) < 50
    assert partition.last.sequence == 99


def test_a_clock_that_is_set_back_does_not_put_events_out_of_order():
    partition = Partition(0, Retention())
    for now in (5.0, 3.0, 6.0):
        partition.append(Message(), None, now)
    assert partition.start("amqp.annotation.x-opt-enqueued-time > '4000'") == 0
    assert partition.start("amqp.annotation.x-opt-enqueued-time > '5000'") == 2


def test_an_event_larger_than_a_partition_is_numbered_and_gone():
    partition = filled(3, Retention(bytes_max=50), size=100)
    assert (partition.begin, partition.end, partition.last.sequence) == (3, 3, 2)
    assert partition.start("amqp.annotation.x-opt-offset > '-1'") == 3

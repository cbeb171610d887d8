"""Agendas keep their order and throw away what was struck out."""

from hive_mind.devbroker.servicebus.queue import DueQueue


def test_what_was_struck_out_does_not_pile_up():
    agenda = DueQueue()
    for number in range(10_000):
        agenda.enter(number, 1e9 - number)
        agenda.strike_out(number)
    assert len(agenda._heap) < 200


def test_tidying_up_keeps_the_order():
    agenda = DueQueue()
    for number in range(500):
        agenda.enter(number, float(number))
        agenda.enter(number, 1e6 - number)
    assert [agenda.pop() for _ in range(500)] == list(range(499, -1, -1))

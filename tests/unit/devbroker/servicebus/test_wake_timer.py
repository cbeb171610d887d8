"""Alarms ring once for many reasons, and at the earliest time."""

from math import inf

from hive_mind.devbroker.servicebus.namespace import WakeTimer
from tests.unit.devbroker.letters import TurnedHost


class Sleeper:
    def __init__(self, *dues):
        self.host = TurnedHost(now=0)
        self.woken_at = []
        self._dues = list(dues)
        self.alarm = WakeTimer(self.host, self._look)

    def _look(self):
        self.woken_at.append(round(self.host.now()))
        return self._dues.pop(0) if self._dues else None


def test_rung_twice_it_wakes_once_and_can_be_rung_again():
    sleeper = Sleeper()

    sleeper.alarm.ring()
    sleeper.alarm.ring()
    sleeper.host.run()
    assert sleeper.woken_at == [0]
    sleeper.alarm.ring()
    sleeper.host.run()

    assert sleeper.woken_at == [0, 0]


def test_it_wakes_at_the_earliest_time_it_was_told_and_when_that_look_said():
    sleeper = Sleeper(70)
    for due in (50, 30, None, inf, 40):
        sleeper.alarm.expect(due)
    sleeper.host.run(100)
    assert sleeper.woken_at == [30, 70]


def test_what_is_long_due_is_looked_at_soon():
    sleeper = Sleeper()
    sleeper.host.run(10)
    sleeper.alarm.expect(5)
    sleeper.host.run(1)
    assert sleeper.woken_at == [10]

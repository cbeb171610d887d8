"""Agendas keep their order and throw away what was struck out."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.servicebus.queue import DueQueue


@given(st.lists(st.tuples(st.sampled_from(["enter", "strike", "pop"]), st.integers(0, 6), st.integers(0, 9)), max_size=60))
def test_an_agenda_is_a_sorted_table(steps):
    agenda, table = DueQueue(), {}
    for what, number, due in steps:
        if what == "enter":
            agenda.enter(number, due)
            table[number] = due
        elif what == "strike":
            agenda.strike_out(number)
            table.pop(number, None)
        else:
            first = min(table, key=lambda each: (table[each], each), default=None)
            assert agenda.pop() == first
            table.pop(first, None)
        assert len(agenda) == len(table)
        assert agenda.first_due() == min(table.values(), default=None)

    assert list(agenda.pop_due(4)) == sorted((each for each in table if table[each] <= 4), key=lambda each: (table[each], each))


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

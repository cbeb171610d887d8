"""Which dots only one side has."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.crdt.context import differing
from hive_mind.model.evidence import dot

SIDES = st.lists(st.integers(1, 30).map(lambda counter: dot(b"8 bytes!", counter)), max_size=30, unique=True)


@given(SIDES, SIDES)
def test_each_side_is_told_what_only_it_has_in_the_order_in_which_it_came(here, there):
    only_here, only_there = differing(dict.fromkeys(here), dict.fromkeys(there))
    assert only_here == [one for one in here if one not in there]
    assert only_there == [one for one in there if one not in here]

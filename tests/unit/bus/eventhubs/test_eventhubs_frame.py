"""The bytes of an event."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus.eventhubs.clients import AROUND_BYTES, Event, pack, unpack


@given(st.text(max_size=256), st.binary(max_size=300))
def test_what_is_packed_comes_out_as_it_was_and_needs_the_room_that_is_set_aside(hive: str, data: bytes) -> None:
    packed = pack(Event(hive, data))
    assert unpack(packed) == Event(hive, data)
    assert len(packed) - len(data) < AROUND_BYTES


@given(st.binary(max_size=40))
def test_bytes_of_others_are_nothing(data: bytes) -> None:
    assert unpack(data) is None


@given(st.integers(0, 10))
def test_a_frame_that_was_cut_is_nothing(length: int) -> None:
    assert unpack(pack(Event("hive", b"data"))[:length]) is None

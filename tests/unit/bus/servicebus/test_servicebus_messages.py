"""How long Service Bus is told to keep a message."""

from datetime import timedelta

import msgspec

from hive_mind.bus.servicebus.messages import messages_of
from tests.contract.bus_builders import envelope

DAY_S = 86_400.0


def test_what_is_brief_is_kept_for_a_minute_and_all_else_for_as_long_as_was_set() -> None:
    lasting = envelope("word")
    brief = msgspec.structs.replace(lasting, is_brief=True)

    kept = [one.time_to_live for some in (lasting, brief) for one in messages_of(some, b"", DAY_S)]
    short = [one.time_to_live for some in (lasting, brief) for one in messages_of(some, b"", 10.0)]

    assert kept == [timedelta(days=1), timedelta(seconds=60)]
    assert short == [timedelta(seconds=10)] * 2

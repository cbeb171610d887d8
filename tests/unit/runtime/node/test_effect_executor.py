"""What a message is put on."""

import pytest

from hive_mind.hive.effects import Now
from hive_mind.model.messages import AppMessage, FactsReply, FactsRequest, Heartbeat, Message, Receipt
from hive_mind.runtime.node.effect_executor import Envelopes


@pytest.mark.parametrize(
    ("message", "is_brief"),
    [
        (Heartbeat(b"", 1, 1), True),
        (FactsRequest("q", (), 1), True),
        (FactsReply("q", ()), True),
        (Receipt("p"), False),
        (AppMessage(b"", 1, 1, "", b""), False),
    ],
)
def test_beats_and_questions_pile_up_for_nobody_and_what_must_arrive_does(message: Message, is_brief: bool) -> None:
    assert Envelopes("hive", "ann").of(message, ("bob",), Now(0, 0)).is_brief == is_brief

"""What a message is put on."""

from random import Random
from typing import cast

import pytest

from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.hive.effects import Now
from hive_mind.hive.node import HiveNode
from hive_mind.journal.base import Journal
from hive_mind.model.messages import AppMessage, FactsReply, FactsRequest, Heartbeat, Message, Receipt
from hive_mind.runtime.node.effect_executor import EffectExecutor, EffectHost, InHand, Outlet
from tests.hives import flat


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
    parts = (cast("Journal", None), cast("Outlet", None), lambda: Now(0, 0), cast("EffectHost", None))
    executor = EffectExecutor(HiveNode("ann", flat("ann"), chance=Random(1)), "hive", *parts, InHand(DeadLetterFile(), None))
    assert executor.envelope(("bob",), message, Now(0, 0)).is_brief == is_brief

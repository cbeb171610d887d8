"""What whoever can write to the bus may do in a hive that does not sign; and that people are told before they rely on it."""

from pathlib import Path

import pytest

from hive_mind.hive.effects import Received
from hive_mind.model.evidence import Sealed, Stamp, actor_id
from hive_mind.model.evidence import dot as dot_of
from hive_mind.model.messages import Announce, Changes, RegistryEntry, Replicate
from tests.hives import FIRST_MS, MODERATOR, PUMP, Hive, assertion, flat

STRANGER = actor_id("nobody", b"anything")
DOOR = assertion("The door is open.", agent="bo")


def test_words_in_anybodys_name_are_believed_a_moderators_too() -> None:
    hive = Hive(flat("n0", "n1"))
    hive.say("n0", PUMP)
    forged = RegistryEntry(f"redacted/{hive.fact('n1').id}", "true", Stamp(FIRST_MS + 1, 0, STRANGER), MODERATOR)

    hive.tell("n1", Received("n0", Replicate("", (Changes("all", (Sealed(dot_of(STRANGER, 1), DOOR),)),))))
    hive.tell("n1", Received("n0", Announce((forged,))))

    assert hive.found("n1", "door pump") == [DOOR.statement.content]
    assert hive.fact("n1", DOOR.fact_id).provenance[0].agent == "bo"


@pytest.mark.parametrize("page", ["README.md", "docs/howto/agents.md"])
def test_who_begins_is_told_that_write_access_to_the_bus_is_full_control(page: str) -> None:
    text = " ".join((Path(__file__).parents[3] / page).read_text("utf-8").split())
    assert "rite access to the bus is full control" in text
    assert "--keys" in text

"""What is taken back or redacted, in each topology: by whom, for how long, and what stays."""

import pytest

from hive_mind.hive.effects import Received
from hive_mind.model.evidence import Sealed, dot
from hive_mind.model.messages import Changes, Replicate
from tests.hives import FIRST_MS, MODERATOR, PUMP, PUMP_ID, Hive, assertion, flat, sharded
from tests.unit.hive.each_topology import TOPOLOGIES, ends, hive_over, vouched


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> Hive:
    return hive_over(request.param)


def test_a_stranger_can_not_take_it_back_nor_overwrite_it(hive):
    here, there = ends(hive)
    hive.say(here, speaker="ines")

    (retracted,) = hive.take_back(here, by="bo")
    hive.say(here, agent="bo", speaker="bo", confidence=0.1)

    assert retracted.refused == "only its author or a moderator may take it back"
    (fact,) = hive.listed(there).facts
    assert (fact.statement.speaker, fact.confidence, fact.provenance[0].agent) == ("ines", 0.8, "ines")


def test_what_a_moderator_has_seen_it_takes_back_though_the_authors_clock_is_ten_seconds_ahead(hive):
    """Everybody's, wherever they are."""
    here, there = ends(hive)
    hive.wait(40_000)
    hive.clock.wall_ms += 10_000
    hive.say(here)
    hive.clock.wall_ms -= 10_000
    hive.say(there, agent="bo")
    assert hive.found(there) == [PUMP]

    assert hive.take_back(there, by=MODERATOR)[0].refused == ""
    hive.wait(15_000)

    assert hive.who_has() == set()
    assert hive.found(here) == hive.found(there) == []


def test_a_moderators_word_covers_what_was_under_way_and_not_what_is_said_later():
    hive = Hive(flat())
    hive.wait(40_000)
    hive.is_lost = lambda _, __, message: isinstance(message, Replicate)
    hive.say("n0")
    hive.is_lost = lambda *_: False
    hive.clock.pass_(10)

    hive.take_back("n2", by=MODERATOR)
    hive.wait(5_000)
    assert hive.who_has() == set()

    late = Sealed(dot(b"8 bytes!", 1), assertion(agent="bo", ms=FIRST_MS - 1))
    hive.tell("n1", Received("n9", Replicate("", (Changes("all", (late,)),))))
    assert hive.who_has() == set()

    hive.say("n0", agent="bo")
    assert hive.who_has() == {"n0", "n1", "n2"}
    assert hive.found("n2") == [PUMP]


def test_a_batch_that_names_a_partition_twice_is_durable_before_its_receipt():
    hive = Hive(flat())
    first, second = (Sealed(dot(b"8 bytes!", n), assertion(content)) for n, content in ((1, "One."), (2, "Two.")))

    hive.tell(
        "n1", Received("n9", Replicate("", (Changes("all", (first,)), Changes("all", (second,)), Changes("all", (first,)))))
    )

    hive.boot("n1")
    assert hive.who_has("One.") == hive.who_has("Two.") == {"n1"}


def test_an_author_takes_back_what_it_said_at_another_node_or_before_that_one_lost_its_memory():
    hive = Hive(sharded())
    hive.say("n0")
    hive.say("n0", agent="bo")
    hive.kept["n0"] = {}
    hive.boot("n0")
    hive.clock.pass_(10)

    (retracted,) = hive.take_back("n0")
    hive.wait(15_000)

    assert retracted.refused == ""
    assert [row.agent for row in vouched(hive, "n4")] == ["bo"]


def test_redacted_is_for_ever_and_saying_it_again_is_refused(hive):
    here, there = ends(hive)
    hive.say(here)

    assert hive.write(there, f"redacted/{PUMP_ID}") == ""
    hive.wait(15_000)
    assert hive.who_has() == set()

    (held,) = hive.say(here, agent="bo")
    assert held.refused == "it was taken back for all"
    assert hive.write(there, f"redacted/{PUMP_ID}", "") != ""
    assert hive.write(there, f"redacted/{PUMP_ID}", "false") != ""
    hive.boot(here)
    late = Sealed(dot(b"8 bytes!", 1), assertion(agent="bo", ms=FIRST_MS + 10_000_000))
    hive.tell(here, Received(there, Replicate("", (Changes(hive.topology.home(PUMP_ID, here), (late,)),))))
    # Just started, a node does not know what time it is: it hides at once and removes for good when it does.
    assert hive.found(here) == hive.found(here, "", is_local=True) == []
    hive.wait(90_000)
    assert hive.who_has() == set()


def test_one_id_that_is_none_does_not_undo_what_was_taken_back_beside_it(hive):
    here, there = ends(hive)
    hive.say(here)

    nonsense = ["x" * 5_000, "\ud800"]
    assert [one.refused == "" for one in hive.take_back(here, PUMP_ID, *nonsense)] == [True, False, False]
    assert all(one.refused for one in hive.take_back(here, *nonsense, by=MODERATOR))

    assert hive.found(there) == []
    hive.boot(here)
    assert hive.found(here) == []

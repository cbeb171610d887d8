"""What another node answers is believed as far as it can be true: a fact says what its id says, and stops nobody."""

import msgspec
import pytest

from hive_mind.hive.effects import Fetch, SearchLocal
from hive_mind.model.evidence import HiveFact, Provenance, Stamp, Statement
from hive_mind.model.messages import FactsReply, FactsRequest, ListReply, ListRequest
from tests.hives import PUMP, PUMP_ID, Hive, federated

LIES = {
    "other words": {"statement": Statement("Forged.", "pump")},
    "nobody's": {"provenance": ()},
    "too sure": {"confidence": 2.0},
    "no number": {"trust": float("nan")},
    "no date": {"provenance": (Provenance("ines", "ines", 0.8, Stamp(1 << 62)),)},
    "unsure": {"provenance": (Provenance("ines", "ines", float("nan"), Stamp(1)),)},
}


def replying(hive: Hive, liar: str, **lie: object) -> None:
    """The liar changes the facts that it answers with."""
    honest = hive.perform_one

    def perform_one(name, effect):
        if name != liar or not isinstance(effect, SearchLocal):
            honest(name, effect)
            return
        reply = hive.nodes[name].search(effect.request, hive.clock())
        if isinstance(reply, FactsReply | ListReply):
            facts: tuple[HiveFact, ...] = tuple(msgspec.structs.replace(fact, **lie) for fact in reply.facts)
            reply = msgspec.structs.replace(reply, facts=facts)
        hive._inbox.append((effect.reply_to, name, reply))

    hive.perform_one = perform_one


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_who_is_asked_for_a_fact_by_its_id_puts_nothing_else_under_it(lie):
    hive = Hive(federated())
    hive.say("s0")
    hive.wait(5_000)
    replying(hive, "s0", **lie)

    found = hive.request("n0", lambda request: Fetch(request, [(PUMP_ID, "s0")], 2_000))

    # The other member of the group is asked, and is honest.
    assert [fact.content for fact in found] == [PUMP]
    assert found[0].provenance[0].agent == "ines"


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_listing_holds_what_can_be_and_ends(lie):
    hive = Hive(federated())
    hive.say("n0")
    hive.say("s0", "The pump of the others is green.")
    hive.wait(5_000)
    for liar in ("s0", "s1"):
        replying(hive, liar, **lie)

    assert [fact.content for fact in hive.listed("n0").facts] == [PUMP]


def test_a_question_is_answered_with_each_fact_once_and_with_no_more_than_anybody_shows():
    hive = Hive(federated())
    hive.say("s0")
    many = tuple(f"{number:032x}" for number in range(20_000))
    for asked, shown in (((PUMP_ID,) * 10_000, [PUMP_ID]), ((PUMP_ID, *many), [PUMP_ID]), ((*many, PUMP_ID), [])):
        reply = hive.nodes["s0"].search(FactsRequest("q", asked, 1_000), hive.clock())
        assert [fact.id for fact in reply.facts] == shown


def test_a_fact_that_is_read_comes_without_the_vector_it_is_found_by():
    hive = Hive(federated())
    hive.say("s0", model="m", vector=b"\x00\x3c" * 384)
    (name,) = [one.name for one in hive.topology.read_set("n0") if "s0" in one.members]
    fetch, listing = FactsRequest("q", (PUMP_ID,), 1_000), ListRequest("q", name, hive.topology.epoch, "", 10, 1_000)

    for request in (fetch, listing):
        reply = hive.nodes["s0"].search(request, hive.clock())
        assert [(fact.content, fact.statement.vector) for fact in reply.facts] == [(PUMP, b"")]
    assert len(hive.fact("s0").statement.vector) == 2 * 384

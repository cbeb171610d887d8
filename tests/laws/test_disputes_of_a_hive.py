"""The pairs of a hive that can't both be true, found from signatures of wordings, are those of the full listing."""

from heapq import merge
from random import Random

import pytest
from msgspec import structs

from hive_mind.hive.effects import Tallied
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.trust.contradiction import FORM, ROW_BYTES, newest_first
from hive_mind.memory.disputes import disputable, disputed
from hive_mind.memory.sharing import fact_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import TallyReply, WordingRequest
from tests.hives import Hive, federated, flat, settings, sharded

SEED = 29
# Three rows to a page: most answers take several.
PAGED = settings(scatter=ScatterSettings(reply_bytes_max=3 * ROW_BYTES))
TOPOLOGIES = {"flat": flat(), "federated": federated(), "sharded": sharded(), "a large sharded": sharded(30, 3, 64)}


def filled(topology: Topology) -> Hive:
    """Some topics have more facts than are compared, many of one moment. Each is said once: of a fact that two groups share
    the time is that of whoever answers first."""
    chance, hive, said = Random(SEED), Hive(topology, PAGED), set()
    for number in range(400):
        subject, verb = chance.choice(("The gateway", "Ferry A", "Ferry B")), chance.choice(("listens on", "is not on", "is on"))
        what, where = chance.choice(("port 80", "port 443", "the quay", "line 7")), chance.choice(("", " in May", " since 2024"))
        said.add(f"{subject} {verb} {what}{where}." if number % 3 else f"Meter {number} showed {chance.randint(1, 9)} bar.")
    for text in sorted(said):
        hive.say(chance.choice(list(hive.nodes)), text, concept=chance.choice(("gateway", "Gateway", "ferry A", "hall 7", "")))
    hive.wait(5_000)
    return hive


def worded(hive: Hive, name: str) -> Tallied:
    if (tallied := hive.tallied(name, with_wording=True)) is None:
        hive.wait(2_500, step_ms=50)
        tallied = hive.answer()
    assert tallied is not None
    return tallied


def pairs(facts: list[Fact]) -> list[tuple[str, str]]:
    return sorted((one.id, other.id) for one, other in disputed(facts))


def listed(hive: Hive, name: str) -> list[Fact]:
    if (found := hive.listed(name, limit=10_000)) is None:
        hive.wait(2_500, step_ms=50)
        found = hive.answer()
    return [fact_of(fact) for fact in found.facts]


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_the_pairs_are_those_of_the_full_listing_in_every_topology(name: str):
    hive = filled(TOPOLOGIES[name])
    for asker in list(hive.nodes)[:2]:
        everything, tallied = listed(hive, asker), worded(hive, asker)
        ids = disputable([], newest_first(tallied.rows))

        assert {fact.fact_id for fact in newest_first(tallied.rows)} == {fact.id for fact in everything}
        assert tallied.completeness == 1.0
        assert ids < {fact.id for fact in everything}
        assert pairs([fact for fact in everything if fact.id in ids]) == pairs(everything) != []


def test_own_facts_are_compared_with_those_of_others_as_in_a_listing():
    hive = filled(sharded())
    everything = listed(hive, "n0")
    own, others = everything[::4], [fact for number, fact in enumerate(everything) if number % 4]
    known = {fact.id for fact in own}
    ids = disputable(own, [fact for fact in newest_first(worded(hive, "n0").rows) if fact.fact_id not in known])
    together = list(merge(own, others, key=lambda fact: -fact.learned_at_us))
    assert pairs([fact for fact in together if fact.id in ids]) == pairs(together) != []


def test_a_fact_that_two_groups_hold_as_about_two_things_is_compared_under_both():
    hive = Hive(federated())
    hive.say("n0", "The pump is open.", concept="pump")
    hive.say("s0", "The pump is open.", concept="valve")
    hive.say("s0", "The pump is closed.", concept="valve")
    hive.wait(5_000)
    for asker in ("n0", "s0"):
        assert len(disputable([], newest_first(worded(hive, asker).rows))) == 2


def test_members_send_rows_and_no_facts_and_where_every_node_holds_everything_nothing_is_sent():
    sent = {}
    for name in ("flat", "sharded"):
        hive = filled(TOPOLOGIES[name])
        hive.sent.clear()
        worded(hive, "n0")
        sent[name] = [message for _, _, message in hive.sent]
    assert sent["flat"] == []
    assert {type(message) for message in sent["sharded"]} == {WordingRequest, TallyReply}
    assert max(len(message.rows) for message in sent["sharded"] if isinstance(message, TallyReply)) == 3 * ROW_BYTES


def test_members_that_do_not_know_the_question_or_this_form_of_it_count_as_missing():
    hive = filled(sharded(6, 1, 12))
    hive.is_lost = lambda _sender, to, message: isinstance(message, WordingRequest) and to != "n0"
    here = worded(hive, "n0")
    assert 0.0 < here.completeness < 1.0
    assert here.rows

    hive.is_lost = lambda *_: False
    assert worded(hive, "n0").completeness == 1.0
    asked = [message for _, to, message in hive.sent if isinstance(message, WordingRequest) and to == "n1"]
    assert hive.nodes["n1"].search(asked[0], hive.now("n1")) is not None
    assert hive.nodes["n1"].search(structs.replace(asked[0], form=FORM + 1), hive.now("n1")) is None


def test_what_was_taken_back_or_said_anew_is_gone_and_there():
    hive = Hive(sharded())
    hive.say("n0", "The pump is open.", "The pump is closed.", concept="pump")
    hive.wait(5_000)
    assert len(disputable([], newest_first(worded(hive, "n1").rows))) == 2
    hive.take_back("n0", fact_id("The pump is open."))
    hive.wait(5_000)
    assert disputable([], newest_first(worded(hive, "n1").rows)) == set()

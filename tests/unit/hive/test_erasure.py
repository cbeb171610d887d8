"""What is to be erased leaves every replica and every journal, is refused from whoever says it again, and shown by nobody."""

import pytest

from hive_mind.hive.topology import Topology
from hive_mind.model.erasure import Erasure, erasure_of
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import FactsRequest, ListRequest, PoolRequest, Replicate
from hive_mind.ranking.tokens import terms_in
from tests.hives import MODERATOR, PUMP, Hive, federated, flat, sharded

ADA = "Ada Lovelace lives at 12 Elm Street."
AFTER = "The pump in the yard is green."
SUBJECT = erasure_of("subject", "Ada Lovelace")

TOPOLOGIES = [flat("n0", "n1", "n2", "n3"), federated(), sharded(4, 2, 8)]


def erase(hive: Hive, name: str, *wanted: Erasure, by: str = MODERATOR) -> list[str]:
    return [hive.write(name, f"erasure/{one.key}", by=by) for one in wanted]


def names_it(hive: Hive, text: str = "lovelace") -> set[str]:
    """Nodes whose journal has it."""
    wanted = text.encode()
    return {name for name, kept in hive.kept.items() for (_, key), value in kept.items() if wanted in key.lower() + value.lower()}


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: type(topology).__name__)
def test_no_journal_has_it_though_one_was_away_and_everything_else_stays(topology: Topology) -> None:
    hive = Hive(topology)
    first, *_, last = topology.nodes
    hive.wait(20_000)
    hive.say(first, ADA, PUMP)
    hive.say(first, AFTER, before=ADA)
    hive.say(last, "Our neighbour is ADA LOVELACE!", agent="ben")
    hive.wait(20_000)
    assert names_it(hive)
    hive.down.add(last)

    terms_in(ADA)
    assert erase(hive, first, SUBJECT) == [""]
    assert terms_in.cache_info().currsize == 0
    hive.wait(20_000)
    assert names_it(hive) <= {last}
    hive.boot(last)
    hive.wait(60_000)

    assert names_it(hive) == set()
    assert hive.who_has(PUMP)
    assert {fact.content for name in topology.nodes for fact in hive.listed(name).facts} == {PUMP}
    hive.say(first, AFTER)
    assert hive.who_has(AFTER)


def test_what_is_still_under_way_to_one_that_is_away_goes_too() -> None:
    hive = Hive(flat("n0", "n1", "n2"))
    hive.wait(20_000)
    hive.down.add("n2")
    hive.say("n0", ADA)
    erase(hive, "n0", SUBJECT)
    assert names_it(hive) == set()
    hive.sent.clear()
    hive.boot("n2")
    hive.wait(60_000)

    assert names_it(hive) == set()
    assert not any(isinstance(message, Replicate) and b"Lovelace" in repr(message).encode() for _, _, message in hive.sent)
    # Nothing is missing for ever: who never saw it has learned that it is gone.
    contexts = [hive.nodes[name].partitions.share("all").members.context for name in ("n0", "n1", "n2")]
    assert contexts[0].up_to == contexts[1].up_to == contexts[2].up_to


def test_what_was_taken_back_and_is_under_way_goes_as_well() -> None:
    hive = Hive(flat("n0", "n1"))
    hive.wait(20_000)
    hive.down.add("n1")
    hive.say("n0", ADA)
    hive.take_back("n0", fact_id(ADA))
    assert names_it(hive) == {"n0"}

    erase(hive, "n0", SUBJECT)
    assert names_it(hive) == set()


def test_who_says_it_again_is_refused_by_its_own_node_and_by_all_others() -> None:
    hive = Hive(flat())
    hive.wait(20_000)
    hive.say("n0", ADA)
    erase(hive, "n0", SUBJECT)
    hive.wait(20_000)

    (held,) = hive.say("n1", ADA, agent="ben")
    assert held.refused
    # A member that does not know of it, because it is set back to before.
    hive.kept["n2"] = {}
    hive.boot("n2", is_founding=False)
    hive.is_lost = lambda _sender, to, _message: to == "n2"
    hive.say("n2", ADA, agent="cleo")
    assert hive.who_has(ADA) == {"n2"}
    hive.is_lost = lambda *_: False
    hive.wait(60_000)

    assert hive.who_has(ADA) == set()
    assert names_it(hive) == set()


def test_what_a_member_shows_that_has_not_heard_of_it_reaches_nobody() -> None:
    hive = Hive(sharded(2, 1, 16))
    hive.wait(20_000)
    # n1 gets questions, and nothing by which it could hear of an erasure.
    hive.is_lost = lambda _sender, to, message: to == "n1" and not isinstance(message, PoolRequest | FactsRequest | ListRequest)
    contents = [f"Ada Lovelace has key {number}." for number in range(20)]
    hive.say("n1", *contents)
    shown = {fact.content for fact in hive.listed("n0").facts}
    assert shown

    erase(hive, "n0", SUBJECT)

    assert all(any(name == "n1" for name in hive.who_has(content)) for content in shown)
    assert hive.listed("n0").facts == ()
    assert hive.found("n0", contents[0]) == []


def test_only_a_moderator_may_erase() -> None:
    hive = Hive(flat())
    hive.wait(20_000)
    hive.say("n0", ADA)

    assert erase(hive, "n0", SUBJECT, by="ines") != [""]
    assert hive.write("n0", "erasure/subject/2/ada")
    assert hive.write("n0", f"erasure/{SUBJECT.key}", "")
    assert hive.who_has(ADA) == {"n0", "n1", "n2"}


def test_a_source_and_an_agent_are_erased_alone() -> None:
    hive = Hive(flat())
    hive.wait(20_000)
    hive.say("n0", PUMP, root="talk.txt")
    hive.say("n0", PUMP, agent="ben", root="mail")
    hive.say("n0", AFTER, agent="ben", root="other")

    erase(hive, "n0", erasure_of("source", "talk.txt"))
    fact = hive.fact("n0")
    assert fact is not None
    assert [(one.agent, one.root) for one in fact.provenance] == [("ben", "mail")]
    erase(hive, "n0", erasure_of("agent", "ben"))
    assert hive.who_has(PUMP) == hive.who_has(AFTER) == set()

import itertools

import msgspec
import pytest

from hive_mind.hive.effects import Listed, Listing, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.listing import ListScatter
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.evidence import HiveFact, Provenance, Stamp, Statement
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import FactsReply, ListPlace, ListReply, ListRequest, PrefixRequest
from tests.hives import Hive, federated, flat, settings, sharded

SETS = (ReplicaSet("set0", ("n0", "n1"), ("p0", "p1")), ReplicaSet("set1", ("n2", "n3"), ("p2",)))


def fact(content: str, ms: int) -> HiveFact:
    return HiveFact(fact_id(content), Statement(content), (Provenance("ines", "ines", 0.8, Stamp(ms)),), 0.8, 0, 1.0)


def listing(limit: int = 3, deadline_ms: int = 1_000, node: str = "n0", bytes_max: int = 4 << 20) -> ListScatter:
    settings = ScatterSettings(reply_bytes_max=bytes_max)
    return ListScatter(Listing("q", limit, deadline_ms, "pump"), Asker(node, SETS, 5, settings, Latencies(settings)), 0)


def begun(**more: int) -> ListScatter:
    scatter = listing(**more)
    scatter.start(0)
    return scatter


def reply(name: str, *facts: HiveFact, missing: tuple[str, ...] = (), query: str = "q", is_cut: bool = False) -> ListReply:
    return ListReply(query, name, facts, missing, place(facts[-1]) if is_cut else None)


def place(fact: HiveFact) -> ListPlace:
    return ListPlace(fact.provenance[0].stamp, fact.id)


def requests(effects: list[Send | SearchLocal]) -> list[tuple[str, ListPlace | None, int]]:
    """Whom, after which place, and for how many."""
    return [(effect.to[0], effect.message.after, effect.message.limit) for effect in effects if isinstance(effect, Send)]


def test_one_member_of_each_set_is_asked_the_node_itself_without_a_message():
    asked = ListRequest("q", "set0", 5, "pump", 3, 1_000)
    effects = listing(bytes_max=500).start(0)
    assert effects[0] == SearchLocal(asked, "n0")
    assert effects[1:] == [Send(("n2",), msgspec.structs.replace(asked, replica_set="set1", bytes_max=500))]


def test_the_newest_of_all_come_first_each_once():
    scatter = begun()

    scatter.take("n0", reply("set0", fact("old", 1), fact("newest", 9)), 1)
    scatter.take("n2", reply("set1", fact("new", 5), fact("newest", 9), fact("older", 2)), 2)

    assert scatter.is_done
    assert [one.content for one in scatter.gathered().facts] == ["newest", "new", "older"]
    assert scatter.gathered().missing == ()


def test_a_silent_member_is_replaced_and_what_nobody_spoke_for_is_named():
    scatter = begun()
    scatter.take("n0", reply("set0", fact("old", 1), missing=("p1",)), 1)
    asked = []
    for now_ms in range(50, 1_050, 50):
        asked += [effect.to[0] for effect in scatter.tick(now_ms) if isinstance(effect, Send)]

    assert {"n1", "n3"} <= set(asked)
    assert scatter.is_done
    assert set(scatter.gathered().missing) == {"p1", "p2"}
    assert [one.content for one in scatter.gathered().facts] == ["old"]


def test_who_has_more_than_fits_a_message_is_asked_for_what_comes_after_the_last_it_gave():
    scatter = begun(limit=4)
    scatter.take("n0", reply("set0"), 1)

    assert requests(scatter.take("n2", reply("set1", fact("9", 9), fact("8", 8), is_cut=True), 2)) == [
        ("n2", place(fact("8", 8)), 2)
    ]
    assert not scatter.is_done
    scatter.take("n2", reply("set1", fact("7", 7), fact("6", 6), is_cut=True), 3)

    assert scatter.is_done, "nobody wants more than the limit"
    assert [one.content for one in scatter.gathered().facts] == ["9", "8", "7", "6"]
    assert scatter.gathered().missing == ()


def test_a_page_that_comes_twice_or_gets_nowhere_is_asked_for_again_and_then_of_others():
    scatter = begun(limit=9)
    scatter.take("n0", reply("set0"), 1)
    first = reply("set1", fact("9", 9), is_cut=True)
    scatter.take("n2", first, 2)

    assert scatter.take("n2", first, 3) == []
    asked = [one for now_ms in range(50, 1_000, 50) for one in requests(scatter.tick(now_ms))]
    assert ("n2", place(fact("9", 9)), 8) in asked
    assert ("n3", None, 9) in asked
    scatter.take("n3", reply("set1", fact("9", 9), fact("8", 8)), 990)

    assert scatter.is_done
    assert [one.content for one in scatter.gathered().facts] == ["9", "8"]
    assert scatter.gathered().missing == ()


def test_who_goes_silent_between_two_pages_is_named_as_missing():
    scatter = begun(limit=9)
    scatter.take("n0", reply("set0"), 1)
    scatter.take("n2", reply("set1", fact("9", 9), is_cut=True), 900)
    for now_ms in range(950, 1_900, 50):
        scatter.tick(now_ms)
    assert not scatter.is_done, "the page granted it the deadline anew"
    scatter.tick(1_900)

    assert scatter.is_done
    assert [one.content for one in scatter.gathered().facts] == ["9"]
    assert scatter.gathered().missing == ("p2",)


def test_there_is_time_for_many_pages_and_an_end_to_crumbs():
    scatter = begun(limit=1_000)
    scatter.take("n0", reply("set0"), 1)
    times_ms = []
    for now_ms in itertools.count(800, 800):
        if scatter.is_done:
            break
        times_ms.append(now_ms)
        scatter.take("n2", reply("set1", fact(f"crumb {now_ms}", 1_000_000 - now_ms), is_cut=True), now_ms)
        scatter.tick(now_ms)

    assert 25_000 < times_ms[-1] <= 31_000
    assert len(scatter.gathered().facts) >= 30
    assert scatter.gathered().missing == ("p2",)


def test_what_was_not_asked_for_changes_nothing_nor_does_a_reply_after_the_end():
    scatter = begun()

    assert scatter.take("n9", reply("set0", fact("forged", 1)), 1) == []
    assert scatter.take("n0", reply("no such set", fact("forged", 1)), 1) == []
    assert scatter.take("n0", FactsReply("q", ()), 1) == []
    assert scatter.gathered().facts == ()

    scatter.tick(1_000)
    assert scatter.is_done
    assert scatter.take("n0", reply("set0", fact("late", 1)), 1_001) == []
    assert scatter.gathered().facts == ()


def test_without_time_it_is_over_at_once_and_says_that_it_knows_nothing():
    scatter = listing(deadline_ms=0)
    assert scatter.start(0) == []
    assert scatter.is_done
    assert set(scatter.gathered().missing) == {"p0", "p1", "p2"}


@pytest.mark.parametrize("bytes_max", [4 << 20, 700, 1])
def test_every_topology_lists_the_same_however_little_fits_a_message(bytes_max):
    lists = []
    for make in (lambda: flat("n0"), flat, federated, sharded):
        hive = Hive(make(), settings(scatter=ScatterSettings(reply_bytes_max=bytes_max)))
        for number in range(20):
            hive.say(
                hive.topology.nodes[number % len(hive.topology.nodes)], f"Pump {number}.", confidence=0.95 if number % 3 else 0.5
            )
            hive.clock.pass_(10)
        lists.append([fact.content for fact in hive.listed("n0", "pump", 7).facts])

    assert lists == [[f"Pump {number}." for number in range(19, 12, -1)]] * 4


def named(hive: Hive, prefix: str, limit: int = 256) -> Listed:
    """Asked for by the beginning of an id; waits for what is lost."""
    found: Listed | None = hive.request("n0", lambda request: Listing(request, limit, 2_000, prefix=prefix))
    if found is None:
        hive.wait(2_500, step_ms=50)
        found = hive.answer()
    assert found is not None
    return found


def noted(hive: Hive, *contents: str) -> list[str]:
    names = hive.topology.nodes
    for number, content in enumerate(contents):
        hive.say(names[number % len(names)], content)
        hive.clock.pass_(10)
    return sorted(map(fact_id, contents))


@pytest.mark.parametrize("bytes_max", [4 << 20, 1])
@pytest.mark.parametrize("make", [flat, federated, sharded])
def test_the_beginning_of_an_id_finds_its_facts_and_nothing_else_travels(make, bytes_max):
    hive = Hive(make(), settings(scatter=ScatterSettings(reply_bytes_max=bytes_max)))
    ids = noted(hive, *(f"Pump {number}." for number in range(40)))
    hive.sent.clear()

    for prefix in (*(one[:6] for one in ids), ids[0], ids[0][:1], "zzzzzz", "\U0010ffff"):
        found = named(hive, prefix)
        assert {fact.id for fact in found.facts} == {one for one in ids if one.startswith(prefix)}, prefix
        assert found.completeness == 1.0
    carried = [fact for _, _, message in hive.sent if isinstance(message, ListReply) for fact in message.facts]
    assert len(carried) <= 2 * len(ids) + 40


def test_what_is_said_and_taken_back_after_the_first_look_is_found_and_gone():
    hive = Hive(sharded())
    (first, *_), new = noted(hive, "Pump 1.", "Pump 2."), fact_id("Pump 3.")
    assert [fact.id for fact in named(hive, first[:8]).facts] == [first]

    hive.say("n1", "Pump 3.")
    hive.take_back("n0", first)
    hive.wait(5_000)

    assert [fact.id for fact in named(hive, new[:8]).facts] == [new]
    assert named(hive, first[:8]).facts == ()


def test_members_that_do_not_know_the_question_count_as_missing():
    hive = Hive(sharded())
    noted(hive, *(f"Pump {number}." for number in range(20)))
    hive.is_lost = lambda _sender, to, message: isinstance(message, PrefixRequest) and to != "n0"

    assert 0.0 < named(hive, "zzzzzz").completeness < 1.0

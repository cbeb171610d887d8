from hive_mind.hive.effects import Listing, SearchLocal, Send
from hive_mind.hive.latencies import Latencies, ScatterSettings
from hive_mind.hive.listing import ListScatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.evidence import HiveFact, Provenance, Stamp, Statement
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import FactsReply, ListReply, ListRequest
from tests.hives import Hive, federated, flat, sharded

SETS = (ReplicaSet("set0", ("n0", "n1"), ("p0", "p1")), ReplicaSet("set1", ("n2", "n3"), ("p2",)))


def fact(content: str, ms: int) -> HiveFact:
    return HiveFact(fact_id(content), Statement(content), (Provenance("ines", "ines", 0.8, Stamp(ms)),), 0.8, 0, 1.0)


def listing(limit: int = 3, deadline_ms: int = 1_000, node: str = "n0") -> ListScatter:
    settings = ScatterSettings()
    return ListScatter(Listing("q", limit, deadline_ms, "pump"), SETS, node, 5, settings, Latencies(settings), 0)


def reply(name: str, *facts: HiveFact, missing: tuple[str, ...] = (), query: str = "q") -> ListReply:
    return ListReply(query, name, facts, missing)


def test_one_member_of_each_set_is_asked_the_node_itself_without_a_message():
    asked = ListRequest("q", "set0", 5, "pump", 3, 1_000)

    effects = listing().start(0)

    assert effects[0] == SearchLocal(asked, "n0")
    assert [(effect.to, effect.message.replica_set) for effect in effects[1:] if isinstance(effect, Send)] == [(("n2",), "set1")]


def test_the_newest_of_all_come_first_each_once():
    scatter = listing()
    scatter.start(0)

    scatter.take("n0", reply("set0", fact("old", 1), fact("newest", 9)), 1)
    scatter.take("n2", reply("set1", fact("new", 5), fact("newest", 9), fact("older", 2)), 2)

    assert scatter.is_done
    assert [one.content for one in scatter.gathered().facts] == ["newest", "new", "older"]
    assert scatter.gathered().missing == ()


def test_a_silent_member_is_replaced_and_what_nobody_spoke_for_is_named():
    scatter = listing()
    scatter.start(0)
    scatter.take("n0", reply("set0", fact("old", 1), missing=("p1",)), 1)
    asked = []
    for now_ms in range(50, 1_050, 50):
        asked += [effect.to[0] for effect in scatter.tick(now_ms) if isinstance(effect, Send)]

    assert {"n1", "n3"} <= set(asked)
    assert scatter.is_done
    assert set(scatter.gathered().missing) == {"p1", "p2"}
    assert [one.content for one in scatter.gathered().facts] == ["old"]


def test_what_was_not_asked_for_changes_nothing():
    scatter = listing()
    scatter.start(0)

    assert scatter.take("n9", reply("set0", fact("forged", 1)), 1) == []
    assert scatter.take("n0", reply("no such set", fact("forged", 1)), 1) == []
    assert scatter.take("n0", FactsReply("q", ()), 1) == []

    assert scatter.gathered().facts == ()


def test_a_reply_after_the_end_changes_nothing():
    scatter = listing()
    scatter.start(0)
    scatter.tick(1_000)
    assert scatter.is_done

    assert scatter.take("n0", reply("set0", fact("late", 1)), 1_001) == []
    assert scatter.gathered().facts == ()


def test_without_time_it_is_over_at_once_and_says_that_it_knows_nothing():
    scatter = listing(deadline_ms=0)

    assert scatter.start(0) == []
    assert scatter.is_done
    assert set(scatter.gathered().missing) == {"p0", "p1", "p2"}


def test_every_topology_lists_the_same():
    lists = []
    for make in (lambda: flat("n0"), flat, federated, sharded):
        hive = Hive(make())
        for number in range(20):
            hive.say(
                hive.topology.nodes[number % len(hive.topology.nodes)], f"Pump {number}.", confidence=0.95 if number % 3 else 0.5
            )
            hive.clock.pass_(10)
        lists.append([fact.content for fact in hive.listed("n0", "pump", 7).facts])

    assert lists == [[f"Pump {number}." for number in range(19, 12, -1)]] * 4

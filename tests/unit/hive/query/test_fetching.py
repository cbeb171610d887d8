"""Facts are fetched of those who hold them, and of others where that fails."""

from hive_mind.hive.effects import Fetch, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.questions import FetchScatter
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.evidence import HiveFact, Statement
from hive_mind.model.messages import FactsReply

SETS = (ReplicaSet("s", ("a", "b", "c"), ("p0",)), ReplicaSet("t", ("d", "e"), ("p1",)))


def fact(id: str) -> HiveFact:
    return HiveFact(id, Statement(f"text {id}"), (), 0.8, 0, 1.0)


def fetch_of(*wanted: tuple[str, str], node: str = "me", deadline_ms: int = 2_000) -> FetchScatter:
    latencies = Latencies()
    while latencies.take_hedge():
        pass
    return FetchScatter(Fetch("f", wanted, deadline_ms), Asker(node, SETS, 1, ScatterSettings(), latencies), 0)


def begun(*wanted: tuple[str, str], **more: int) -> FetchScatter:
    fetch = fetch_of(*wanted, **more)
    fetch.start(0)
    return fetch


def asked(effects: list[Send | SearchLocal]) -> list[tuple[str, tuple[str, ...]]]:
    return [(e.to[0], e.message.fact_ids) if isinstance(e, Send) else (e.reply_to, e.request.fact_ids) for e in effects]


def test_each_holder_is_asked_for_what_it_holds_and_facts_come_in_the_order_wanted():
    fetch = fetch_of(("3", "d"), ("1", "a"), ("2", "d"), ("1", "a"))

    assert asked(fetch.start(0)) == [("a", ("1",)), ("d", ("2", "3"))]
    fetch.take("d", FactsReply("f", (fact("2"), fact("3"), fact("99"))), 4)
    fetch.take("a", FactsReply("f", (fact("1"),)), 5)

    assert fetch.is_done
    assert [one.id for one in fetch.gathered()] == ["3", "1", "2"]


def test_what_the_holder_has_let_go_of_another_replica_is_asked_for():
    fetch = begun(("1", "a"), ("2", "a"))

    assert asked(fetch.take("a", FactsReply("f", (fact("1"),)), 5)) == [("b", ("2",))]
    assert asked(fetch.take("b", FactsReply("f", ()), 6)) == [("c", ("2",))]
    fetch.take("c", FactsReply("f", ()), 7)

    assert fetch.is_done
    assert [one.id for one in fetch.gathered()] == ["1"]


def test_who_has_no_room_for_all_is_asked_for_the_rest_and_who_has_room_for_nothing_not_for_ever():
    fetch = begun(("1", "a"), ("2", "a"), ("3", "a"))
    first = FactsReply("f", (fact("1"),), is_cut=True)

    assert asked(fetch.take("a", first, 5)) == [("a", ("2", "3"))]
    assert fetch.take("a", first, 6) == [], "the same page again"
    fetch.take("a", FactsReply("f", (fact("2"), fact("3"))), 7)

    assert fetch.is_done
    assert [one.id for one in fetch.gathered()] == ["1", "2", "3"]
    assert asked(begun(("1", "a")).take("a", FactsReply("f", (), is_cut=True), 5)) == [("b", ("1",))]


def test_a_silent_holder_is_asked_again_and_replaced_within_the_deadline():
    fetch = begun(("1", "d"), deadline_ms=1_000)

    later = [(now, asked(fetch.tick(now))) for now in (200, 400)]
    fetch.take("e", FactsReply("f", (fact("1"),)), 410)

    assert later == [(200, [("d", ("1",))]), (400, [("e", ("1",))])]
    assert (fetch.is_done, fetch.silent, len(fetch.gathered())) == (True, ("d",), 1)


def test_a_node_looks_at_its_own_replica_first():
    (effect,) = fetch_of(("1", "a"), node="c").start(0)
    assert isinstance(effect, SearchLocal)
    assert effect.reply_to == "c"


def test_a_node_in_place_of_another_answers_both_requests():
    fetch = begun(("1", "a"), ("2", "b"))
    fetch.take("a", FactsReply("f", ()), 5)

    fetch.take("b", FactsReply("f", (fact("2"),)), 6)
    assert not fetch.is_done
    fetch.take("b", FactsReply("f", (fact("1"),)), 7)

    assert [one.id for one in fetch.gathered()] == ["1", "2"]


def test_facts_nobody_was_asked_for_and_late_ones_change_nothing():
    fetch = begun(("1", "a"))

    assert fetch.take("mallory", FactsReply("f", (fact("1"),)), 1) == []
    assert fetch.take("a", FactsReply("other", (fact("1"),)), 1) == []
    assert fetch.gathered() == ()
    fetch.tick(2_000)
    fetch.take("a", FactsReply("f", (fact("1"),)), 2_001)

    assert (fetch.is_done, fetch.gathered(), fetch.silent) == (True, (), ("a",))


def test_without_time_or_wishes_it_is_over_at_once():
    for fetch in (fetch_of(("1", "a"), deadline_ms=0), fetch_of()):
        assert fetch.start(0) == []
        assert (fetch.is_done, fetch.gathered(), fetch.wake_at_ms) == (True, (), None)

import pytest

from hive_mind.hive.effects import SearchLocal, Send, Tally
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.listing import TallyScatter, rows_that_fit, wordings_that_fit
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.topology import ReplicaSet
from hive_mind.hive.trust.contradiction import ROW_BYTES
from hive_mind.model.aggregation import row
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import FactsReply, TallyReply, TallyRequest

SETS = (ReplicaSet("set0", ("n0", "n1"), ("p0", "p1")), ReplicaSet("set1", ("n2", "n3"), ("p2",)))


def tally(bytes_max: int = 4 << 20) -> TallyScatter:
    settings = ScatterSettings(reply_bytes_max=bytes_max)
    scatter = TallyScatter(Tally("q", 1_000, "pump"), Asker("n0", SETS, 5, settings, Latencies(settings)), 0)
    scatter.start(0)
    return scatter


def rows(*moments: int) -> bytes:
    return b"".join(row(moment, fact_id(str(moment))) for moment in moments)


def reply(name: str, *moments: int, missing: tuple[str, ...] = (), is_cut: bool = False) -> TallyReply:
    return TallyReply("q", name, rows(*moments), missing, is_cut)


def test_one_member_of_each_set_is_asked_the_node_itself_without_a_message():
    settings = ScatterSettings(reply_bytes_max=500)
    scatter = TallyScatter(Tally("q", 1_000, "pump"), Asker("n0", SETS, 5, settings, Latencies(settings)), 0)
    here, there = scatter.start(0)
    assert here == SearchLocal(TallyRequest("q", "set0", 5, "pump", 1_000), "n0")
    assert there == Send(("n2",), TallyRequest("q", "set1", 5, "pump", 1_000, bytes_max=500))


def test_every_fact_counts_once_at_its_earliest():
    scatter = tally()
    scatter.take("n0", reply("set0", 1, 9), 1)
    same = fact_id("9")
    scatter.take("n2", TallyReply("q", "set1", row(4, same) + row(5, fact_id("5"))), 2)

    found = scatter.gathered()

    assert scatter.is_done
    assert found.moments == {fact_id("1"): 1, same: 4, fact_id("5"): 5}
    assert (found.completeness, found.missing, found.silent) == (1.0, (), ())


def test_who_has_more_is_asked_for_what_comes_after_its_last_row_and_a_repeated_page_changes_nothing():
    scatter = tally()
    scatter.take("n0", reply("set0"), 1)

    (again,) = scatter.take("n2", reply("set1", 1, 2, is_cut=True), 2)
    assert scatter.take("n2", reply("set1", 1, 2, is_cut=True), 3) == []
    assert (again.to, again.message.after) == (("n2",), rows(2))
    scatter.take("n2", reply("set1", 3), 4)

    assert scatter.is_done
    assert len(scatter.gathered().moments) == 3


@pytest.mark.parametrize(
    "impossible",
    [
        TallyReply("q", "set1", b"half a row"),
        TallyReply("q", "set1", rows(2) + rows(1)),
        TallyReply("q", "set1", rows(2) + rows(2)),
        TallyReply("q", "set1", b"", (), True),
        FactsReply("q", ()),
        reply("set7", 1),
    ],
)
def test_what_can_be_no_page_changes_nothing(impossible):
    scatter = tally()
    scatter.take("n0", reply("set0"), 1)
    assert scatter.take("n2", impossible, 2) == []
    assert not scatter.is_done
    assert scatter.gathered().moments == {}


def test_a_silent_member_is_replaced_and_what_nobody_spoke_for_is_named_with_who_stayed_silent():
    scatter = tally()
    scatter.take("n0", reply("set0", 1, missing=("p1",)), 1)
    asked = [one.to[0] for now_ms in range(50, 1_050, 50) for one in scatter.tick(now_ms) if isinstance(one, Send)]

    found = scatter.gathered()
    assert {"n1", "n3"} <= set(asked)
    assert (set(found.missing), set(found.silent)) == ({"p1", "p2"}, {"n1", "n2", "n3"})
    assert found.completeness == pytest.approx(1 / 3)


def test_pages_have_a_bound():
    assert rows_that_fit(0) is None
    assert (rows_that_fit(1), rows_that_fit(72), rows_that_fit(1 << 40)) == (1, 3, 1 << 14)
    assert [wordings_that_fit(size) for size in (0, 1, 3 * ROW_BYTES - 1, 3 * ROW_BYTES, 1 << 40)] == [1 << 12, 1, 2, 3, 1 << 8]

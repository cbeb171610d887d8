"""What was written reaches every holder, however often messages are lost and nodes are killed."""

from random import Random

import msgspec
import pytest

from hive_mind.bus.codec import encode_message
from hive_mind.hive.effects import Delete, Held, Put, Received, Reconnected, Send, Tick
from hive_mind.hive.replication.exchange_steps import size_of
from hive_mind.hive.replication.outbox import OUTBOX, UNDELIVERED, Batch, DeliverySettings, Outbox
from hive_mind.model.evidence import Stamp
from hive_mind.model.messages import Receipt, Replicate
from tests.hives import FIRST_MS, PUMP, PUMP_ID, Court, Hive, assertion, flat, said, sharded, share

SETTINGS = DeliverySettings(first_retry_ms=1_000, last_retry_ms=4_000, retries_max=3, batch_dots_max=10)


def outbox(*contents: str, tuned: DeliverySettings = SETTINGS):
    """An outbox over one share, and the dots in it."""
    own = share()
    said(own, *(assertion(text) for text in contents or (PUMP,)))
    return Outbox(tuned, Random(1), {"all": own}.__getitem__), own, tuple(given.dot for given in own.all_sealed())


def holders(_: str) -> tuple[str, ...]:
    return ("n0", "n1", "n2")


def test_a_batch_is_written_down_with_what_it_promises_and_sent_to_all_who_must_have_it():
    box, own, dots = outbox()
    assert box.post([], (("all", dots),), 0) == ([], [])
    records, sends = box.post(["n1", "n2"], (("all", dots),), 0)

    assert [(type(record), record.table) for record in records] == [(Put, OUTBOX)]
    (send,) = sends
    assert send.to == ("n1", "n2")
    assert send.message.changes[0].adds == tuple(own.all_sealed())
    assert len(box) == 1


def test_what_another_wrote_is_handed_on_with_the_head_that_says_whose_it_is():
    author, here = share("n1"), share()
    said(author)
    here.take_changes(author.everything(), Court())
    _, (send,) = Outbox(SETTINGS, Random(1), {"all": here}.__getitem__).post(["n2"], (("all", tuple(here.members.live)),), 0)
    assert [head.node for head in send.message.changes[0].heads] == ["n1"]


@pytest.mark.parametrize("is_silent", [False, True], ids=["the other has answered", "the other is silent"])
def test_who_has_not_answered_and_is_there_gets_it_again(is_silent):
    box, _, dots = outbox()
    _, (send,) = box.post(["n1", "n2"], (("all", dots),), 0)
    if not is_silent:
        box.received("n1", send.message.batch)

    _, (again,) = box.due(1_000, holders, "n0", frozenset({"n1"} if is_silent else ()))

    assert (again.to, again.message) == (("n2",), send.message)


def test_waits_double_up_to_a_bound():
    box, _, dots = outbox(tuned=DeliverySettings(first_retry_ms=1_000, last_retry_ms=4_000))
    box.post(["n1"], (("all", dots),), 0)
    times = []
    for _ in range(8):
        times.append(box.wake_at_ms())
        box.due(times[-1], holders, "n0")

    waits = [later - earlier for earlier, later in zip([0, *times], times, strict=False)]
    assert all(500 * 2 ** min(n, 2) <= wait <= 1_000 * 2 ** min(n, 2) for n, wait in enumerate(waits))


def test_when_the_bus_is_back_nothing_waits_for_its_time():
    box, _, dots = outbox()
    box.post(["n1"], (("all", dots),), 0)
    for at in (1_000, 3_000, 7_000):
        box.due(at, holders, "n0")
    box.hasten(7_100)
    assert box.wake_at_ms() == 7_100

    _, again = box.due(7_100, holders, "n0")
    assert len(again) == 1
    assert box.wake_at_ms() <= 7_100 + SETTINGS.first_retry_ms


def test_a_node_that_lost_the_bus_says_again_at_once_what_may_be_lost():
    hive = Hive(flat("n0", "n1"))
    hive.is_lost = lambda *_: True
    hive.say("n0", PUMP)
    hive.is_lost = lambda *_: False
    now = hive.clock()
    assert hive.nodes["n0"].handle(Reconnected(), now) == []
    assert hive.nodes["n0"].wake_at_ms(now) <= now.mono_ms

    hive.tell("n0", Tick())
    assert not len(hive.nodes["n0"].outbox)


def test_a_receipt_tells_once_that_a_fact_is_kept_elsewhere_and_one_by_who_was_not_asked_tells_nothing():
    box, _, dots = outbox()
    _, (send,) = box.post(["n1", "n2"], (("all", dots),), 0)
    batch = send.message.batch
    for stranger, other in (("n9", batch), ("n1", "no such batch"), ("", batch)):
        assert box.received(stranger, other) == ([], [])
    assert box.is_waiting_for() == {PUMP_ID}

    records, facts = box.received("n1", batch)
    assert (facts, [type(record) for record in records]) == ([PUMP_ID], [Put])
    assert box.received("n1", batch) == ([], [])
    assert box.is_waiting_for() == frozenset()

    records, facts = box.received("n2", batch)
    assert (facts, [type(record) for record in records]) == ([], [Delete])
    assert box.received("n2", batch) == ([], [])
    assert len(box) == 0


def test_what_was_taken_back_before_anybody_had_it_comes_with_its_proof_and_leaves_no_gap():
    hive = Hive(flat())
    hive.is_lost = lambda _, __, message: isinstance(message, Replicate)
    hive.say("n0", "The door is open.")
    hive.say("n0")
    hive.take_back("n0")
    hive.boot("n0")
    hive.say("n0", "The tank is full.")
    hive.is_lost = lambda *_: False

    hive.wait(30_000)

    assert hive.who_has() == set()
    contexts = [node.partitions.shares["all"].members.context for node in hive.nodes.values()]
    assert contexts == [contexts[0]] * 3
    assert not any(context.beyond for context in contexts)
    assert not any(table == UNDELIVERED for table, _ in hive.kept["n0"])


def test_one_who_never_answers_is_left_to_exchanges_once_somebody_has_it_and_not_before():
    box, _, dots = outbox()
    _, (send,) = box.post(["n1", "n2"], (("all", dots),), 0)
    for turn in range(1, 20):
        box.due(turn * 10_000, holders, "n0")
    assert len(box) == 1

    box.received("n1", send.message.batch)
    records, _ = box.due(500_000, holders, "n0")

    assert [type(record) for record in records] == [Delete]
    assert len(box) == 0


def test_who_left_is_not_waited_for_and_a_new_holder_is():
    box, _, dots = outbox()
    box.post(["n1"], (("all", dots),), 0)
    _, (send,) = box.due(10_000, lambda _: ("n0", "n5"), "n0")
    assert send.to == ("n5",)


@pytest.mark.parametrize("make", [flat, sharded], ids=["flat", "sharded"])
def test_what_was_never_delivered_is_delivered_after_a_restart(make):
    hive = Hive(make())
    hive.is_lost = lambda *_: True
    author = next(
        name for name in hive.topology.nodes if name not in hive.topology.holders(hive.topology.home(PUMP_ID, name))[1:]
    )
    hive.say(author)
    assert hive.who_has() == {author}

    hive.boot(author)
    hive.is_lost = lambda *_: False
    hive.wait(10_000)

    assert set(hive.topology.holders(hive.topology.home(PUMP_ID, author))) <= hive.who_has()
    assert not any(table == OUTBOX for table, _ in hive.kept[author])


def test_a_receipt_that_comes_again_does_nothing():
    hive = Hive(flat())
    hive.is_lost = lambda _, __, message: isinstance(message, Receipt)
    hive.say("n0")
    receipts = [(sender, m) for sender, to, m in hive.sent if isinstance(m, Receipt) and to == "n0"]
    hive.is_lost = lambda *_: False

    for _ in range(3):
        for sender, message in receipts:
            hive.tell("n0", Received(sender, message))

    assert (hive.shared, len(hive.nodes["n0"].outbox)) == ([("n0", (PUMP_ID,))], 0)
    assert not any(isinstance(effect, Send) and isinstance(effect.message, Replicate) for effect in hive.tell("n0", Tick()))


def test_promotion_that_reaches_nobody_says_so():
    """A holder of the partition has it at once; anybody else hears of it when a holder does, and never before."""
    hive = Hive(sharded())
    holders = hive.topology.holders(hive.topology.home(PUMP_ID, ""))
    outside = next(name for name in hive.topology.nodes if name not in holders)
    hive.is_lost = lambda *_: True

    (held,) = hive.say(outside)
    (inside,) = hive.say(holders[0], agent="bo")
    hive.wait(60_000)

    assert (held.refused, held.is_shared, inside.is_shared) == ("", False, True)
    assert (outside, (PUMP_ID,)) not in hive.shared
    assert hive.nodes[outside].outbox.is_waiting_for() == {PUMP_ID}

    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.shared.count((outside, (PUMP_ID,))) == 1


def test_what_is_taken_back_under_way_still_arrives_together_with_the_proof_and_is_forgotten_when_it_has():
    box, own, dots = outbox()
    (given,) = own.all_sealed()
    box.post(["n1"], (("all", dots),), 0)
    taken = own.remove(given.assertion.fact_id, dots, "ines", "retracted", Stamp(FIRST_MS + 1), Court())

    kept = box.undelivered.keep({"all": taken})
    _, (again,) = box.due(1_000, holders, "n0")
    records, _ = box.received("n1", again.message.batch)

    assert [record.table for record in kept] == [UNDELIVERED]
    assert (again.message.changes[0].adds, again.message.changes[0].removals) == ((given,), tuple(taken.removals))
    assert [record.table for record in records] == [OUTBOX, UNDELIVERED]
    assert box.undelivered.get("all", given.dot) is None


def test_what_was_replaced_meanwhile_travels_with_what_replaced_it():
    box, own, dots = outbox()
    box.post(["n1"], (("all", dots),), 0)
    (stronger,) = said(own, assertion(PUMP, FIRST_MS + 1, confidence=0.95)).adds

    _, (again,) = box.due(4_000, holders, "n0")

    (change,) = again.message.changes
    assert [removal.dots for removal in change.removals] == [dots]
    assert stronger.dot in {given.dot for given in change.adds}


def test_what_is_long_is_cut_too_so_that_it_fits_every_message():
    long = [f"Fact {number}. " + "x" * 700 for number in range(8)]
    box, _, dots = outbox(*long, "y" * 9_000, tuned=DeliverySettings(batch_bytes_max=3_000))

    _, sends = box.post(["n1"], (("all", dots),), 0)

    assert sum(size > 3_000 for size in [len(encode_message(send.message)) for send in sends]) == 1
    sent = [given.dot for send in sends for changes in send.message.changes for given in changes.adds]
    assert sorted(sent) == sorted(dots)


@pytest.mark.parametrize(
    ("dots_max", "bytes_in_sizes", "cut"), [(10, 99, [10, 10, 3]), (23, 99, [23]), (24, 4, [4] * 5 + [3]), (3, 5, [3] * 7 + [2])]
)
def test_a_batch_is_as_full_as_it_may_be_and_keeps_the_order(dots_max: int, bytes_in_sizes: int, cut: list[int]):
    texts = [f"Fact {number:02}." for number in range(23)]
    _, own, dots = outbox(*texts)
    size = max(map(size_of, own.all_sealed()))
    box, _, _ = outbox(*texts, tuned=DeliverySettings(batch_dots_max=dots_max, batch_bytes_max=bytes_in_sizes * size))

    records, _ = box.post(["n1"], (("all", dots[:9]), ("all", dots[9:])), 0)

    items = [msgspec.msgpack.decode(record.value, type=Batch).items for record in records]
    assert [sum(len(part) for _, part in batch) for batch in items] == cut
    assert [dot for batch in items for _, part in batch for dot in part] == list(dots)


def test_what_is_in_two_batches_is_kept_until_both_have_come():
    box, own, dots = outbox()
    (given,) = own.all_sealed()
    sends = [box.post([node], (("all", dots),), 0)[1][0] for node in ("n1", "n2")]
    box.undelivered.keep({"all": own.remove(given.assertion.fact_id, dots, "ines", "retracted", Stamp(FIRST_MS + 1), Court())})

    first, second = (box.received(send.to[0], send.message.batch)[0] for send in sends)

    assert [[record.table for record in records] for records in (first, second)] == [[OUTBOX], [OUTBOX, UNDELIVERED]]


def test_a_promotion_again_is_noted_as_shared_once_another_has_it():
    box, own, dots = outbox(PUMP, "The door is open.")
    pump, door = (given.assertion.fact_id for given in own.all_sealed())
    _, (send,) = box.post(["n1"], (("all", dots[1:]),), 0)
    outcomes = (Held(pump), Held(door), Held("x", refused="no"), Held(pump, is_shared=True))

    assert [held.is_shared for held in box.noted(outcomes, {})] == [True, False, False, True]
    box.received("n1", send.message.batch)
    assert [held.is_shared for held in box.noted(outcomes, {})] == [True, True, False, True]
    assert [held.is_shared for held in box.noted(outcomes, {"all": own.everything()})] == [False, False, False, True]


def test_who_is_away_gets_no_copy_every_minute_and_everything_when_it_is_heard():
    hive = Hive(flat("n0", "n1"))
    hive.wait(5_000)
    hive.down.add("n1")
    hive.say("n0")
    silent = hive.nodes["n0"].questions.latencies
    silent.suspects = frozenset({"n1"})
    hive.sent.clear()

    hive.wait(4 * 3_600_000, 10_000)
    assert not [message for _, _, message in hive.sent if isinstance(message, Replicate)]

    hive.down.clear()
    silent.suspects = frozenset()
    hive.wait(60_000)
    assert hive.who_has() == {"n0", "n1"}
    assert len(hive.nodes["n0"].outbox) == 0

"""What an author does about what it wrote and others hold: it asks every boot of a holder once whether that still has it."""

import pytest

from hive_mind.hive.effects import Send
from hive_mind.hive.replication.partition_content import Proofs
from hive_mind.model.messages import SyncStep
from tests.hives import HOUR_MS, MODERATOR, PUMP_ID, Hive, keyring, sharded


def alone(**options) -> tuple[Hive, str, str]:
    """A hive in which one node holds the pump, and an author that does not."""
    hive = Hive(sharded(3, replicas=1), **options)
    hive.wait(40_000)
    (holder,) = hive.topology.holders(hive.topology.home(PUMP_ID, ""))
    author = next(name for name in hive.topology.nodes if name != holder)
    return hive, author, holder


def boot_with(hive: Hive, name: str, journal: dict) -> None:
    """A backup is put in place of a node's disk."""
    hive.kept[name] = dict(journal)
    hive.boot(name)


def steps_of(hive: Hive, author: str, ms: int = 60_000) -> list[SyncStep]:
    """What an author sends in some time."""
    hive.sent.clear()
    hive.wait(ms)
    return [message for sender, _, message in hive.sent if sender == author and isinstance(message, SyncStep)]


@pytest.mark.parametrize("is_author", [False, True], ids=["holder", "author"])
def test_whichever_of_them_is_set_back_hears_from_the_other_what_was_taken_back(*, is_author: bool):
    hive, author, holder = alone()
    hive.say(author)
    name = author if is_author else holder
    backup = dict(hive.kept[name])
    hive.take_back(author)
    boot_with(hive, name, backup)
    assert name in hive.who_has()

    hive.wait(60_000)
    assert hive.who_has() == set()


def test_a_holder_set_back_gets_from_the_author_what_it_lost():
    hive, author, holder = alone()
    backup = dict(hive.kept[holder])
    hive.say(author)
    boot_with(hive, holder, backup)
    assert holder not in hive.who_has()

    hive.wait(60_000)

    assert hive.who_has() == {author, holder}
    assert hive.ask(holder).pool.ids == (PUMP_ID,)


def test_what_an_author_wrote_in_earlier_boots_is_compared_too_however_much_it_is():
    hive, author, holder = alone(seal_of=keyring)
    home = hive.topology.home(PUMP_ID, "")
    backup = dict(hive.kept[holder])
    for boot in range(3):
        hive.say(author, *[f"Pump {boot} {number} is red." for number in range(1_000)], agent=author)
        hive.boot(author)
    written = dict(hive.live(author)[home])
    assert len(written) > 128
    boot_with(hive, holder, backup)

    hive.wait(60_000)

    assert hive.live(holder)[home] == written


def test_each_boot_of_a_holder_is_asked_until_it_has_confirmed_and_then_no_more():
    hive, author, holder = alone()
    hive.say(author)
    assert steps_of(hive, author)
    assert steps_of(hive, author) == []

    hive.is_lost = lambda *args: args[1] == author and isinstance(args[2], SyncStep)
    hive.boot(holder)
    assert len(steps_of(hive, author)) > 1
    hive.is_lost = lambda *_: False
    assert len(steps_of(hive, author)) == 1
    assert steps_of(hive, author) == []


def test_what_was_confirmed_is_asked_again_after_hours_as_the_holder_may_have_heard_more_since():
    hive, author, holder = alone()
    hive.say(author)
    backup = dict(hive.kept[author])
    hive.take_back(author)
    share = hive.nodes[holder].partitions.shares[hive.topology.home(PUMP_ID, "")]
    known, share._proofs = share._proofs, Proofs()
    boot_with(hive, author, backup)
    hive.wait(60_000)
    assert hive.who_has() == {author}

    share._proofs = known
    hive.wait(7 * HOUR_MS, step_ms=60_000)

    assert hive.who_has() == set()


def test_an_author_whose_clock_ran_ahead_hears_soon_that_a_moderator_took_its_words_back():
    hive, author, holder = alone()
    hive.is_lost = lambda *_: True
    hive.clock.wall_ms += 40 * HOUR_MS
    hive.boot(author)
    hive.say(author)
    # Now it no longer knows when it really said that.
    hive.boot(author)
    hive.clock.wall_ms -= 40 * HOUR_MS
    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.who_has() == {author, holder}
    hive.take_back(holder, by=MODERATOR)
    assert hive.who_has() == {author}, "its stamp is later than that of the word that reached it"

    hive.wait(60_000)

    assert hive.who_has() == set()


def test_who_has_not_got_everything_yet_confirms_nothing():
    hive, author, holder = alone()
    hive.say(author)
    hive.nodes[holder].partitions.shares[hive.topology.home(PUMP_ID, "")].is_complete = False

    assert len(steps_of(hive, author)) > 1
    hive.nodes[holder].partitions.shares[hive.topology.home(PUMP_ID, "")].is_complete = True
    assert len(steps_of(hive, author)) == 1


def test_an_author_takes_nothing_of_others_from_a_holder():
    hive, author, holder = alone()
    other = next(name for name in hive.topology.nodes if name not in (author, holder))
    hive.say(author)
    hive.say(other, agent="bo")
    home = hive.topology.home(PUMP_ID, "")
    share, node = hive.nodes[holder].partitions.shares[home], hive.nodes[author]
    step = SyncStep(
        b"s" * 16, hive.nodes[holder].incarnation, node.incarnation, home, (), tuple(share.all_sealed()), (), b"",
        tuple(share.heads.values()), tuple(share.members.context.last.values()),
    )  # fmt: skip

    at = node.policy.at(hive.clock())
    sends, _ = node.repair.on_step(holder, step, at)[2], node.repair.on_step(other, step, at)

    assert {one.agent for one in hive.live(author)[home].values()} == {"ines"}
    assert set(node.partitions.shares[home].members.context.last) == {node.partitions.shares[home].members.actor}
    assert not any(isinstance(send, Send) and send.message.wants for send in sends)

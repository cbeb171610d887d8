"""A mailbox: filters, attempts, delays, bounds and what was seen already, for every back end alike."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus import EVERYONE, Subscription, dead_letters
from hive_mind.bus import mailbox as mailbox_module
from hive_mind.bus.dead_letters import DeadLetterFile, Refusal
from hive_mind.bus.mailbox import Mailbox, MailboxDelivery
from hive_mind.errors import BackendError
from tests.contract.bus_builders import envelope, letter_text, texts
from tests.waiting import until


class Kept:
    """A back end that only takes note."""

    def __init__(self, **bounds: Any) -> None:
        self.settled_natives: list[int] = []
        self.rings = 0
        self.box: Mailbox[int] = Mailbox(Subscription("hive", "bob", **bounds), self.ring, self)

    def ring(self) -> None:
        self.rings += 1

    def settled(self, native: int) -> None:
        self.settled_natives.append(native)

    @property
    def letters(self) -> list[tuple[str, int, str]]:
        return [(letter_text(letter), letter.attempts, letter.reason) for letter in self.box.letters.letters()]


# No timer of these tests is longer than a moment.
_HANGS_AFTER_S = 60.0


async def test_what_is_for_others_is_settled_unseen() -> None:
    kept = Kept()
    kept.box.offer(1, envelope("to cid", "cid"))
    kept.box.offer(2, envelope("own broadcast", *EVERYONE, sender="bob"))
    kept.box.offer(3, envelope("elsewhere", hive="other"))
    kept.box.offer(4, envelope("for all", *EVERYONE))
    kept.box.offer(5, envelope("to itself", sender="bob"))

    assert kept.settled_natives == [1, 2, 3]
    assert texts(kept.box.take(10)) == ["for all", "to itself"]


async def test_what_the_broker_repeats_is_seen_once_while_held_and_after_it_was_acknowledged() -> None:
    kept = Kept()
    once = envelope("once")
    kept.box.offer(1, once)
    kept.box.offer(1, once)
    kept.box.offer(2, once)
    (delivery,) = kept.box.take(10)
    assert kept.settled_natives == [2]
    await delivery.ack()
    kept.box.offer(1, once)
    kept.box.offer(3, once)

    assert (kept.settled_natives, kept.box.duplicates) == ([2, 1, 1, 3], 3)
    assert list(kept.box.take(10)) == []


async def test_two_senders_may_use_the_same_id() -> None:
    kept = Kept()
    one = envelope("ann's", sender="ann")
    kept.box.offer(1, one)
    kept.box.offer(2, msgspec.structs.replace(envelope("cid's", sender="cid"), id=one.id))
    assert texts(kept.box.take(10)) == ["ann's", "cid's"]


async def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_module, "SEEN_MAX", 10)

    kept = Kept()
    sent = [envelope(str(n)) for n in range(11)]
    for native, one in enumerate(sent):
        kept.box.offer(native, one)
        await kept.box.take(1)[0].ack()
    for native, one in enumerate(sent):
        kept.box.offer(100 + native, one)

    # The last five are known for certain, the first for certain no more.
    assert kept.box.duplicates >= 5
    assert texts(kept.box.take(20))[0] == "0"


async def test_what_a_broker_delivered_too_often_is_put_aside_unseen() -> None:
    kept = Kept(attempts_max=2)
    kept.box.offer(1, envelope("second"), 2)
    kept.box.offer(2, envelope("third"), 3)

    assert [(delivery.native, delivery.attempt) for delivery in kept.box.take(10)] == [(1, 2)]
    assert kept.letters == [("third", 3, "delivered 2 times and never acknowledged")]
    assert (kept.box.redelivered, kept.settled_natives) == (1, [2])


async def test_room_is_told_to_who_waits_for_it_and_so_is_the_end() -> None:
    kept = Kept(waiting_max=1)
    kept.box.offer(1, envelope("fills it"))
    waiting = asyncio.create_task(kept.box.until_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert kept.box.room == 0
    kept.box.take(1)
    await waiting

    kept.box.offer(2, envelope("fills it again"))
    await kept.box.until_room(0.001)
    waiting = asyncio.create_task(kept.box.until_room())
    await asyncio.sleep(0)
    kept.box.end()
    await waiting
    kept.box.offer(3, envelope("too late"))
    assert list(kept.box.take(1)) == []


async def test_an_end_leaves_no_timer_behind() -> None:
    kept = Kept(ack_wait_s=0.01)
    for native in range(2):
        kept.box.offer(native, envelope(str(native)))
    delayed, out = kept.box.take(2)
    await delayed.nack(delay_s=0.01)
    assert kept.box.is_out(out)
    kept.box.end()
    rings = kept.rings
    await asyncio.sleep(0.03)

    assert kept.rings == rings
    assert not kept.box.is_out(out)
    await out.ack()
    assert (kept.settled_natives, kept.letters) == ([], [])


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 30))
def test_whatever_happens_each_envelope_is_settled_or_put_aside_once(
    seed: int, waiting_max: int, inflight_max: int, attempts_max: int, count: int
) -> None:
    rng = random.Random(seed)

    async def scenario() -> None:
        kept = Kept(waiting_max=waiting_max, inflight_max=inflight_max, attempts_max=attempts_max)
        sent = [envelope(str(n)) for n in range(count)]
        offered = 0
        out: list[MailboxDelivery[int]] = []
        while len(kept.settled_natives) < count:
            if offered < count and kept.box.room:
                kept.box.offer(offered, sent[offered])
                offered += 1
            if rng.random() < 0.1 and offered:
                # The broker repeats itself.
                again = rng.randrange(offered)
                before = len(kept.settled_natives)
                kept.box.offer(again, sent[again])
                del kept.settled_natives[before:]
            out += kept.box.take(rng.randrange(1, 4))
            assert len(out) <= inflight_max
            if out and rng.random() < 0.8:
                delivery = out.pop(rng.randrange(len(out)))
                await rng.choice(
                    [
                        delivery.ack,
                        delivery.nack,
                        lambda d=delivery: d.nack(delay_s=0.0001),
                        lambda d=delivery: d.dead_letter("x"),
                    ]
                )()
            await asyncio.sleep(0)

        assert sorted(kept.settled_natives) == list(range(count))
        assert kept.box.is_drained
        assert len(kept.letters) == kept.box.put_aside
        assert all(attempts <= attempts_max for _, attempts, _ in kept.letters)

    asyncio.run(asyncio.wait_for(scenario(), _HANGS_AFTER_S))


async def test_a_few_large_ones_fill_it_as_many_small_ones_do_until_they_are_settled() -> None:
    kept = Kept(waiting_max=1000, held_bytes_max=3000)
    for native in range(3):
        assert kept.box.room == 1000 - native
        kept.box.offer(native, envelope(str(native)), size=1000)
    assert (kept.box.room, kept.box.has_room) == (0, False)

    waiting = asyncio.create_task(kept.box.until_room())
    first, second, third = kept.box.take(10)
    await asyncio.sleep(0)
    assert not waiting.done(), "what is taken and not acknowledged takes memory, too"
    await first.ack()
    await waiting

    kept.box.offer(3, envelope("3"), size=1000)
    await second.nack()
    assert not kept.box.has_room, "what comes back was never gone"
    await third.dead_letter("unwanted")
    for delivery in kept.box.take(10):
        await delivery.ack()
    assert (kept.box.room, kept.letters) == (1000, [("2", 1, "unwanted")])


async def test_one_that_is_larger_than_all_its_room_is_taken_in_alone() -> None:
    kept = Kept(held_bytes_max=1)

    assert kept.box.has_room
    kept.box.offer(1, envelope("large"), size=1000)
    assert not kept.box.has_room
    await kept.box.take(10)[0].ack()
    assert kept.box.has_room


async def test_what_is_settled_unseen_takes_no_room() -> None:
    kept = Kept(held_bytes_max=2000)

    kept.box.offer(1, envelope("for another", "cid"), size=2000)
    kept.box.offer(2, again := envelope("again"), size=1000)
    kept.box.offer(3, again, size=1000)

    assert kept.settled_natives == [1, 3]
    assert kept.box.has_room


async def test_bytes_that_are_no_envelope_and_mail_of_another_hive_are_put_aside_and_settled() -> None:
    kept = Kept()
    kept.box.refuse(1, b"\x00", 3, "malformed")
    for native in (2, 3):
        kept.box.offer(native, envelope("elsewhere", hive="other"))

    assert kept.settled_natives == [1, 2, 3]
    letters = {letter.reason: letter for letter in kept.box.letters.letters()}
    assert (letters["malformed"].data, letters["malformed"].attempts) == (b"\x00", 3)
    assert letters["it belongs to hive 'other'"].count == 2
    assert (kept.box.put_aside, kept.box.unreadable) == (1, {"of another version": 1})


@pytest.fixture
def file(tmp_path: Path) -> DeadLetterFile:
    return DeadLetterFile(tmp_path / "bob.dlq")


async def test_what_is_refused_is_settled_once_it_is_on_disk_and_what_gathers_meanwhile_shares_a_write(
    file: DeadLetterFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    write = file.write

    def counted(refusals: Sequence[Refusal], done: Sequence[int] = ()) -> None:
        write(refusals, done)
        writes.append(len(refusals))

    monkeypatch.setattr(file, "write", counted)
    kept = Kept(letters=file, inflight_max=20)
    for native in range(20):
        kept.box.offer(native, envelope(str(native)))
    for delivery in kept.box.take(20):
        await delivery.dead_letter("no")
    assert (kept.settled_natives, kept.box.is_drained, len(kept.box.held)) == ([], False, 20)

    await until(lambda: kept.box.is_drained)
    assert sorted(kept.settled_natives) == list(range(20))
    assert (len(kept.letters), writes) == (20, [1, 19])


async def test_on_a_disk_that_takes_nothing_nothing_is_settled_and_no_more_is_handed_out_until_there_is_room(
    file: DeadLetterFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_module, "_WRITE_AGAIN_S", 0.01)
    is_full = True
    opened = dead_letters._opened

    def refusing(path: Path) -> object:
        if is_full:
            raise BackendError("sqlite", "the disk is full")
        return opened(path)

    monkeypatch.setattr(dead_letters, "_opened", refusing)
    kept = Kept(letters=file, inflight_max=2)
    for native in range(3):
        kept.box.offer(native, envelope(str(native)))
    kept.box.refuse(9, b"garbage", 1, "malformed")
    (first,) = kept.box.take(10)
    await first.dead_letter("no")
    await until(lambda: bool(file.trouble))
    assert list(kept.box.take(10)) == []
    assert (kept.settled_natives, set(kept.box.natives)) == ([], {0, 1, 2, 9})

    is_full = False
    await until(lambda: kept.settled_natives == [9, 0])
    assert (file.trouble, texts(kept.box.take(10))) == ("", ["1", "2"])


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_letter_that_a_person_wants_again_is_handled_like_any_message_and_is_gone_when_it_was(
    file: DeadLetterFile, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_module, "_LETTERS_EVERY_S", 0.0)
    letters = file if is_kept else DeadLetterFile()
    kept = Kept(letters=letters)
    kept.box.offer(1, envelope("one"))
    await kept.box.take(1)[0].dead_letter("not now")
    await until(lambda: kept.settled_natives == [1])
    for outcome in ("refused", "acknowledged"):
        letters.send_again([int(letter.id) for letter in letters.letters()])
        taken = await until(lambda: kept.box.take(1))
        assert (texts(taken), taken[0].attempt, kept.box.held) == (["one"], 1, ())
        await (taken[0].dead_letter("still not") if outcome == "refused" else taken[0].ack())
        await until(lambda: kept.box.is_drained)
        assert [reason for _, _, reason in kept.letters] == (["still not"] if outcome == "refused" else [])
    assert kept.settled_natives == [1]
    kept.box.end()


async def test_before_its_end_what_is_being_written_can_be_waited_for(file: DeadLetterFile) -> None:
    kept = Kept(letters=file)
    for native in range(3):
        kept.box.offer(native, envelope(str(native)))
    for delivery in kept.box.take(3):
        await delivery.dead_letter("no")
    await kept.box.finish()
    assert sorted(kept.settled_natives) == [0, 1, 2]
    await kept.box.finish()


async def test_after_its_end_nothing_is_settled_though_a_write_was_under_way(file: DeadLetterFile) -> None:
    kept = Kept(letters=file)
    kept.box.offer(1, envelope("one"))
    await kept.box.take(1)[0].dead_letter("no")
    kept.box.end()
    await until(lambda: bool(file.letters()))
    await asyncio.sleep(0.05)
    assert kept.settled_natives == []

"""What is nonsense, forged or too much breaks nothing and fills no memory when nodes tell one another."""

import pytest

from hive_mind.errors import BackendThrottled, InvalidInput
from hive_mind.hive.effects import Received, Record, Say
from hive_mind.hive.replication.reliable_channels import DATA_BYTES_MAX, IncomingMessage, Receiver
from hive_mind.model.messages import AppMessage, AppMessageReceipt
from tests.unit.hive.town import SETTINGS, Town


def test_no_more_is_under_way_than_the_window_and_the_rest_follows() -> None:
    town = Town("ann", "bob")
    for number in range(10):
        town.say("ann", "bob", str(number))
    assert len(town.network) == SETTINGS.window
    town.deliver()

    assert town.log("bob") == [f"ann {number}" for number in range(10)]


@pytest.mark.parametrize("up_to", [-1, 0, 5, 9, 10, 11, 1 << 60])
def test_a_receipt_for_what_was_never_sent_breaks_nothing(up_to: int) -> None:
    town = Town("ann", "bob")
    for number in range(10):
        town.say("ann", "bob", str(number))
    (_, _, first), *_ = town.network
    assert isinstance(first, AppMessage)
    town.handle("ann", Received("bob", AppMessageReceipt(first.lane, up_to)))
    town.handle("ann", Received("cleo", AppMessageReceipt(first.lane, up_to)))
    town.handle("ann", Received("bob", AppMessageReceipt(b"another", up_to)))

    assert town.nodes["ann"].unconfirmed == 10 - max(min(up_to, 10), 0)
    town.settle()


@pytest.mark.parametrize(
    "message",
    [AppMessage(b"short", 1, 1, "", b""), AppMessage(b"12345678", 0, 0, "", b""), AppMessage(b"12345678", -5, -9, "", b"")],
)
@pytest.mark.parametrize("number", [1, 1 << 62])
def test_a_nonsensical_message_breaks_nothing(message: AppMessage, number: int) -> None:
    town = Town("ann", "bob")
    town.handle("bob", Received("ann", message))
    town.handle("bob", Received("ann", AppMessage(b"12345678", number, number + 1, "note", b"ahead")))
    town.say("ann", "bob", "hello")
    town.settle()

    assert "ann hello" in town.log("bob")


def test_forged_senders_can_make_a_node_keep_only_so_much_and_the_honest_are_heard_all_the_same() -> None:
    receiver, told = Receiver(SETTINGS), list[IncomingMessage]()

    def act(one: IncomingMessage) -> list[Record]:
        told.append(one)
        return []

    data = bytes(DATA_BYTES_MAX)
    for sender in range(2_000):
        for number in (2, 3):
            assert receiver.receive(f"forged {sender}", AppMessage(b"8 bytes!", number, 1, "", data), act) == ([], [])
    assert 20 << 20 < receiver.early_bytes <= 32 << 20
    assert len(receiver._channels) < 500

    for number in (2, 1, 2, 3):
        receiver.receive("honest", AppMessage(b"8 bytes!", number, 1, "kind", data), act)
    assert [one.id[-1] for one in told] == ["1", "2", "3"]

    for sender in range(2_000):
        receiver.receive(f"forged {sender}", AppMessage(b"8 bytes!", 4, 4, "", b""), act)
    assert receiver.early_bytes == 0


def test_long_names_of_senders_do_not_fill_the_memory() -> None:
    receiver = Receiver(SETTINGS)
    for sender in range(10_000):
        receiver.receive("\U0010ffff" * 250 + f"{sender}", AppMessage(b"8 bytes!", 1, 1, "", b""), lambda _: [])
    assert sum(map(len, receiver._channels)) <= 8 << 20


@pytest.mark.parametrize(
    ("to", "data"), [("ann", b""), ("", b""), ("*", b""), ("half \udcff", b""), ("bob", b"x" * (DATA_BYTES_MAX + 1))]
)
def test_what_has_a_receiver_that_is_none_or_is_too_long_is_refused(to: str, data: bytes) -> None:
    town = Town("ann", "bob")
    with pytest.raises(InvalidInput):
        town.handle("ann", Say("request", (to, "bob"), "note", data))
    assert not town.network


def test_for_one_that_is_away_only_so_much_is_kept() -> None:
    town = Town("ann", "bob")
    for number in range(50):
        town.say("ann", "bob", str(number))
    with pytest.raises(BackendThrottled, match="bob confirms nothing"):
        town.say("ann", "bob", "one more")
    town.deliver()
    town.say("ann", "bob", "one more")


@pytest.mark.parametrize(
    ("kind", "data", "why"), [("note", b"x" * (DATA_BYTES_MAX + 1), "fit one message"), ("k" * 1001, b"", "at most 1000")]
)
def test_what_is_larger_than_anybody_could_have_said_is_not_kept_until_its_turn(kind: str, data: bytes, why: str) -> None:
    town = Town("ann", "bob")
    with pytest.raises(InvalidInput, match=why):
        town.handle("ann", Received("bob", AppMessage(b"a lane..", 2, 1, kind, data), "delivery"))

"""What is told is acted on once and in order: with loss, repetition, reordering, and death between any two effects."""

from collections.abc import Sequence
from random import Random

import pytest

from hive_mind.hive.effects import Now, Persist, Put, Received, Reconnected, Record, Say, Send, Tick
from hive_mind.hive.replication.reliable_channels import AppMessages, IncomingMessage
from hive_mind.model.messages import AppMessage, AppMessageReceipt
from tests.unit.hive.town import LOG, SETTINGS, Town


def test_what_is_said_is_acted_on_and_confirmed_and_forgotten_by_its_sender() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "hello")
    assert town.done == [("bob",)]
    town.deliver()

    assert town.log("bob") == ["ann hello"]
    assert town.nodes["ann"].unconfirmed == 0
    assert not [place for place in town.journals["ann"] if place[0] == "tell-said"]


def test_the_effect_and_its_mark_are_one_write_and_the_receipt_comes_after() -> None:
    town = Town("ann", "bob")
    effects = town.nodes["bob"].handle(Received("ann", AppMessage(b"12345678", 1, 1, "note", b"x"), "d"), town.now)

    assert [type(effect).__name__ for effect in effects] == ["Persist", "Send", "Acknowledge"]
    assert isinstance(effects[0], Persist)
    assert [record.table for record in effects[0].records] == [LOG, "tell-heard"]
    assert effects[1] == Send(("ann",), AppMessageReceipt(b"12345678", 1))


def test_everybody_is_told_but_the_teller() -> None:
    town = Town("ann", "bob", "cleo")
    town.handle("ann", Say("request", ("*",), "note", b"all"))
    town.deliver()
    assert (town.log("ann"), town.log("bob"), town.log("cleo")) == ([], ["ann all"], ["ann all"])
    assert town.done == [("bob", "cleo")]


def test_whatever_is_lost_repeated_reordered_or_killed_each_is_acted_on_once_and_in_order() -> None:
    for seed in range(60):
        town, chance = Town("ann", "bob", "cleo", seed=seed), Random(seed)
        said: dict[tuple[str, str], list[str]] = {}
        for number in range(60):
            sender, to = chance.sample(town.names, 2)
            answered = len(town.done)
            town.say(sender, to, str(number))
            if len(town.done) > answered:
                said.setdefault((sender, to), []).append(str(number))
            for _ in range(chance.randrange(8)):
                storm(town, chance)
        town.settle()

        for (sender, to), texts in said.items():
            acted = [text.split()[1] for text in town.log(to) if text.startswith(sender)]
            # One whose sender died before it was told may have been acted on as well; none twice.
            assert [text for text in acted if text in texts] == texts, f"seed {seed}"
        for name in town.names:
            assert len(town.log(name)) == len(set(town.log(name))), f"seed {seed}"


def storm(town: Town, chance: Random) -> None:
    match chance.randrange(7):
        case 0 if town.network:
            town.network.remove(chance.choice(town.network))
        case 1 if town.network:
            town.network.append(chance.choice(town.network))
        case 2:
            chance.shuffle(town.network)
        case 3:
            town.pass_(chance.randrange(400))
        case 4:
            town.dies_after[chance.choice(town.names)] = chance.randrange(4)
        case 5:
            for name in [name for name in town.names if name not in town.nodes]:
                town.boot(name)
        case _:
            town.deliver()


@pytest.mark.parametrize("point", range(12))
@pytest.mark.parametrize("name", ["ann", "bob"])
def test_a_death_after_any_effect_neither_loses_nor_doubles_anything(name: str, point: int) -> None:
    town = Town("ann", "bob")
    town.dies_after[name] = point
    for number in range(3):
        answered = len(town.done)
        for _ in range(5):
            if len(town.done) > answered:
                break
            if "ann" not in town.nodes:
                town.boot("ann")
                if any(
                    f"{number}".encode() in value for (table, _), value in town.journals["ann"].items() if table == "tell-said"
                ):
                    # It was durable before its sender died, who only was not told.
                    break
            town.say("ann", "bob", f"{number}")
        town.deliver()
    town.settle()

    assert town.log("bob") == ["ann 0", "ann 1", "ann 2"]


@pytest.mark.parametrize(("forgetful", "acted"), [("bob", ["ann after"]), ("ann", ["ann after", "ann before"])])
def test_who_lost_its_memory_acts_on_what_is_new_to_it_only_and_is_not_taken_for_its_former_self(
    forgetful: str, acted: list[str]
) -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "before")
    town.deliver()
    town.journals[forgetful].clear()
    town.boot(forgetful)
    town.say("ann", "bob", "after")
    town.deliver()

    assert sorted(town.log("bob")) == acted


def test_without_anybody_who_acts_nothing_is_confirmed() -> None:
    town = Town("ann", "bob")
    town.nodes["bob"].deliver_to(None)
    town.say("ann", "bob", "hello")
    town.deliver()
    assert town.nodes["ann"].unconfirmed == 1

    town.nodes["bob"].deliver_to(town.writer("bob"))
    town.settle()
    assert town.log("bob") == ["ann hello"]


def test_a_handler_that_fails_or_writes_where_it_may_not_holds_up_nothing() -> None:
    town = Town("ann", "bob")
    write = town.writer("bob")

    def moody(told: IncomingMessage) -> Sequence[Record]:
        if told.data == b"bad":
            raise ValueError("I can't")
        return [Put("dots", b"", b"")] if told.data == b"sly" else write(told)

    town.nodes["bob"].deliver_to(moody)
    for text in ("bad", "sly", "good"):
        town.say("ann", "bob", text)
    town.settle()

    assert town.log("bob") == ["ann good"]
    assert town.nodes["bob"].failed == 2
    assert ("dots", b"") not in town.journals["bob"]


def test_waiting_grows_longer_while_nobody_answers_and_when_the_bus_is_back_all_is_said_again_at_once() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "hello")
    sent = []
    for _ in range(60):
        town.network.clear()
        town.pass_(100)
        sent.append(len(town.network))
    assert 6 < sum(sent) < 30

    town.network.clear()
    town.handle("ann", Reconnected())
    town.handle("ann", Tick())
    town.deliver()
    assert town.log("bob") == ["ann hello"]


def test_of_a_journal_only_its_own_records_are_taken_back() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "hello")
    town.deliver()
    kept = [Put(table, key, value) for (table, key), value in town.journals["bob"].items()]
    again = AppMessages("bob", tuple, Random(1), SETTINGS)

    assert again.start([*kept, Put("dots", b"k", b"v")], town.now) == [Put("dots", b"k", b"v")]
    assert [record.table for record in again.kept] == [LOG]


def test_who_is_away_is_told_once_and_again_when_it_is_heard() -> None:
    heard: set[str] = set()
    ann = AppMessages("ann", tuple, Random(1), SETTINGS, is_there=lambda name, _: name in heard)

    first = ann.handle(Say("request", ("bob",), "note", b"hello"), Now(0, 1_000))
    assert [effect.to for effect in first if isinstance(effect, Send)] == [("bob",)]
    assert [effect for ms in range(2_000, 60_000, 1_000) for effect in ann.handle(Tick(), Now(0, ms))] == []
    heard.add("bob")
    (again,) = ann.handle(Tick(), Now(0, 60_000))
    assert again in first

"""What is told is acted on once and in order: with loss, repetition, reordering, and death between any two effects."""

from collections import deque
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from hive_mind.errors import BackendThrottled, InvalidInput
from hive_mind.hive.effects import Done, Effect, Event, Now, Persist, Put, Received, Reconnected, Record, Say, Send, Tick
from hive_mind.hive.lanes import Heard, TellingSettings, Told
from hive_mind.hive.telling import DATA_BYTES_MAX, Telling
from hive_mind.model.messages import Message, SearchReply, SearchRequest, Tell, TellReceipt

LOG = "app.log"
SETTINGS = TellingSettings(window=4, unconfirmed_max=50, first_retry_ms=100, last_retry_ms=800)


class Plain:
    """A node that is nothing but its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.events: list[Event] = []
        self.kept: list[Put] = []

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]:
        del now
        self.kept = list(kept)
        return []

    def handle(self, event: Event, now: Now) -> list[Effect]:
        del now
        self.events.append(event)
        return []

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        del request, now
        return None

    def index_some(self, now: Now) -> bool:
        del now
        return False

    def wake_at_ms(self, now: Now) -> int:
        return now.mono_ms + 60_000


class Town:
    """Nodes that tell one another, over journals that last and a network that does not care."""

    def __init__(self, *names: str, seed: int = 1) -> None:
        self.chance, self.names, self.now_ms = Random(seed), names, 1_000
        self.journals: dict[str, dict[tuple[str, bytes], bytes]] = {name: {} for name in names}
        self.nodes: dict[str, Telling] = {}
        self.network: deque[tuple[str, str, Message]] = deque()
        self.dies_after: dict[str, int] = {}
        self.done: list[tuple[str, ...]] = []
        for name in names:
            self.boot(name)

    def boot(self, name: str) -> None:
        self.dies_after.pop(name, None)
        node = Telling(Plain(name), lambda: self.names, Random(self.chance.getrandbits(32)), SETTINGS)
        node.handler = self.writer(name)
        self.nodes[name] = node
        kept = [Put(table, key, value) for (table, key), value in sorted(self.journals[name].items())]
        self.perform(name, node.start(kept, self.now))

    def writer(self, name: str):
        """Says how often something was acted on, and as which thing of its sender."""

        def write(told: Told) -> Sequence[Record]:
            former = self.journals[name].get((LOG, told.id.encode()), b"")
            return [Put(LOG, told.id.encode(), former + told.sender.encode() + b" " + told.data + b";")]

        return write

    @property
    def now(self) -> Now:
        return Now(0, self.now_ms)

    def handle(self, name: str, event: Event) -> None:
        if name in self.nodes:
            self.perform(name, self.nodes[name].handle(event, self.now))

    def perform(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if name in self.dies_after:
                self.dies_after[name] -= 1
                if self.dies_after[name] < 0:
                    del self.nodes[name], self.dies_after[name]
                    return
            match effect:
                case Persist(records):
                    for record in records:
                        place = record.table, record.key
                        self.journals[name].pop(place, None)
                        if isinstance(record, Put):
                            self.journals[name][place] = record.value
                case Send(to, message):
                    self.network.extend((name, one, message) for one in to)
                case Done(_, outcome):
                    self.done.append(outcome)  # type: ignore[arg-type]

    def say(self, name: str, to: str, text: str) -> None:
        self.handle(name, Say("request", (to,), "note", text.encode()))

    def deliver(self) -> None:
        while self.network:
            sender, to, message = self.network.popleft()
            self.handle(to, Received(sender, message))

    def pass_(self, ms: int) -> None:
        self.now_ms += ms
        for name in list(self.nodes):
            if self.nodes[name].wake_at_ms(self.now) <= self.now_ms:
                self.handle(name, Tick())

    def settle(self) -> None:
        """With everybody there and nothing lost any more."""
        self.dies_after.clear()
        for name in self.names:
            if name not in self.nodes:
                self.boot(name)
        for _ in range(200):
            self.deliver()
            if not any(node.unconfirmed for node in self.nodes.values()):
                return
            self.pass_(200)
        raise AssertionError("it never ends")

    def log(self, name: str) -> list[str]:
        """What was acted on, lane by lane in the order of its numbers, as often as it was."""
        entries = [(key, value.decode()) for (table, key), value in self.journals[name].items() if table == LOG]
        entries.sort(key=lambda one: (one[0].split(b"-")[0], int(one[0].split(b"-")[1])))
        return [text for _, value in entries for text in value.rstrip(";").split(";")]


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
    effects = town.nodes["bob"].handle(Received("ann", Tell(b"12345678", 1, 1, "note", b"x"), "d"), town.now)

    assert [type(effect).__name__ for effect in effects] == ["Persist", "Send", "Acknowledge"]
    assert isinstance(effects[0], Persist)
    assert [record.table for record in effects[0].records] == [LOG, "tell-heard"]
    assert effects[1] == Send(("ann",), TellReceipt(b"12345678", 1))


def test_everybody_is_told_but_the_teller() -> None:
    town = Town("ann", "bob", "cleo")
    town.handle("ann", Say("request", ("*",), "note", b"all"))
    town.deliver()

    assert (town.log("ann"), town.log("bob"), town.log("cleo")) == ([], ["ann all"], ["ann all"])
    assert town.done == [("bob", "cleo")]


@pytest.mark.parametrize("seed", range(150))
def test_whatever_is_lost_repeated_reordered_or_killed_each_is_acted_on_once_and_in_order(seed: int) -> None:
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
            missing = [name for name in town.names if name not in town.nodes]
            for name in missing:
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
    assert isinstance(first, Tell)
    town.handle("ann", Received("bob", TellReceipt(first.lane, up_to)))
    town.handle("ann", Received("cleo", TellReceipt(first.lane, up_to)))
    town.handle("ann", Received("bob", TellReceipt(b"another", up_to)))

    assert town.nodes["ann"].unconfirmed == 10 - max(min(up_to, 10), 0)
    town.settle()


@pytest.mark.parametrize(
    "tell", [Tell(b"short", 1, 1, "", b""), Tell(b"12345678", 0, 0, "", b""), Tell(b"12345678", -5, -9, "", b"")]
)
@pytest.mark.parametrize("number", [1, 1 << 62])
def test_a_nonsensical_tell_breaks_nothing(tell: Tell, number: int) -> None:
    town = Town("ann", "bob")
    town.handle("bob", Received("ann", tell))
    town.handle("bob", Received("ann", Tell(b"12345678", number, number + 1, "note", b"ahead")))
    town.say("ann", "bob", "hello")
    town.settle()

    assert "ann hello" in town.log("bob")


def test_what_comes_too_early_waits_for_what_is_missing() -> None:
    town = Town("ann", "bob")
    for number in range(3):
        town.say("ann", "bob", str(number))
    lost = town.network.popleft()
    town.deliver()
    assert town.log("bob") == []
    town.network.append(lost)
    town.deliver()

    assert town.log("bob") == ["ann 0", "ann 1", "ann 2"]


def test_forged_senders_can_make_a_node_keep_only_so_much_and_the_honest_are_heard_all_the_same() -> None:
    heard, told = Heard(SETTINGS), list[Told]()

    def act(one: Told) -> list[Record]:
        told.append(one)
        return []

    data = bytes(DATA_BYTES_MAX)
    for sender in range(2_000):
        for number in (2, 3):
            assert heard.hear(f"forged {sender}", Tell(b"8 bytes!", number, 1, "", data), act) == ([], [])
    assert 20 << 20 < heard.early_bytes <= 32 << 20
    assert len(heard._lanes) < 500

    for number in (2, 1, 2, 3):
        heard.hear("honest", Tell(b"8 bytes!", number, 1, "kind", data), act)
    assert [one.id[-1] for one in told] == ["1", "2", "3"]

    for sender in range(2_000):
        heard.hear(f"forged {sender}", Tell(b"8 bytes!", 4, 4, "", b""), act)
    assert heard.early_bytes == 0


def test_long_names_of_senders_do_not_fill_the_memory() -> None:
    heard = Heard(SETTINGS)

    for sender in range(10_000):
        heard.hear("\U0010ffff" * 250 + f"{sender}", Tell(b"8 bytes!", 1, 1, "", b""), lambda _: [])

    assert sum(map(len, heard._lanes)) <= 8 << 20


def test_one_that_lost_its_memory_acts_on_what_is_new_to_it_only() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "before")
    town.deliver()
    town.journals["bob"].clear()
    town.boot("bob")
    town.say("ann", "bob", "after")
    town.deliver()

    assert town.log("bob") == ["ann after"]


def test_a_sender_that_lost_its_memory_is_not_taken_for_its_former_self() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "before")
    town.deliver()
    town.journals["ann"].clear()
    town.boot("ann")
    town.say("ann", "bob", "after")
    town.deliver()

    assert sorted(town.log("bob")) == ["ann after", "ann before"]


def test_without_anybody_who_acts_nothing_is_confirmed() -> None:
    town = Town("ann", "bob")
    handler, town.nodes["bob"].handler = town.nodes["bob"].handler, None
    town.say("ann", "bob", "hello")
    town.deliver()
    assert town.nodes["ann"].unconfirmed == 1

    town.nodes["bob"].handler = handler
    town.settle()
    assert town.log("bob") == ["ann hello"]


def test_a_handler_that_fails_or_writes_where_it_may_not_holds_up_nothing() -> None:
    town = Town("ann", "bob")
    write = town.nodes["bob"].handler
    assert write is not None

    def moody(told: Told) -> Sequence[Record]:
        if told.data == b"bad":
            raise ValueError("I can't")
        return [Put("dots", b"", b"")] if told.data == b"sly" else write(told)

    town.nodes["bob"].handler = moody
    for text in ("bad", "sly", "good"):
        town.say("ann", "bob", text)
    town.settle()

    assert town.log("bob") == ["ann good"]
    assert town.nodes["bob"].failed == 2
    assert ("dots", b"") not in town.journals["bob"]


def test_when_the_bus_is_back_everything_is_said_again_at_once() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "lost")
    town.network.clear()
    town.handle("ann", Reconnected())
    town.handle("ann", Tick())
    town.deliver()

    assert town.log("bob") == ["ann lost"]


def test_waiting_grows_longer_while_nobody_answers() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "hello")
    sent = []
    for _ in range(60):
        town.network.clear()
        town.pass_(100)
        sent.append(len(town.network))

    assert 6 < sum(sent) < 30


@pytest.mark.parametrize("to", ["ann", "", "*x*"[:1]])
def test_nonsense_is_refused(to: str) -> None:
    town = Town("ann", "bob")
    with pytest.raises(InvalidInput):
        town.handle("ann", Say("request", (to, "bob"), "note", b""))
    with pytest.raises(InvalidInput):
        town.handle("ann", Say("request", ("bob",), "note", b"x" * (DATA_BYTES_MAX + 1)))
    assert not town.network


def test_for_one_that_is_away_only_so_much_is_kept() -> None:
    town = Town("ann", "bob")
    for number in range(50):
        town.say("ann", "bob", str(number))
    with pytest.raises(BackendThrottled, match="bob confirms nothing"):
        town.say("ann", "bob", "one more")
    town.deliver()
    town.say("ann", "bob", "one more")


def test_the_node_is_started_with_its_own_records_and_hears_of_all_else() -> None:
    town = Town("ann", "bob")
    town.say("ann", "bob", "hello")
    town.deliver()
    town.journals["bob"]["dots", b"k"] = b"v"
    town.boot("bob")
    node = town.nodes["bob"].node
    assert isinstance(node, Plain)

    assert node.kept == [Put("dots", b"k", b"v")]
    assert [record.table for record in town.nodes["bob"].kept] == [LOG]
    town.handle("bob", Tick())
    assert node.events == [Tick()]


@pytest.mark.parametrize(
    ("kind", "data", "why"), [("note", b"x" * (DATA_BYTES_MAX + 1), "more than the"), ("k" * 1001, b"", "at most 1000")]
)
def test_what_is_larger_than_anybody_could_have_said_is_not_kept_until_its_turn(kind: str, data: bytes, why: str) -> None:
    town = Town("ann", "bob")

    with pytest.raises(InvalidInput, match=why):
        town.handle("ann", Received("bob", Tell(b"a lane..", 2, 1, kind, data), "delivery"))

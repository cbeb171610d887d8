"""Nodes that tell one another, over journals that last; each dies after as many effects as a test says."""

from collections import deque
from collections.abc import Iterable, Sequence
from random import Random

from hive_mind.hive.effects import Done, Effect, Event, Now, Persist, Put, Received, Record, Say, Send, Tick
from hive_mind.hive.replication.reliable_channels import AppMessages, ChannelSettings, IncomingMessage
from hive_mind.model.messages import Message

LOG = "app.log"
SETTINGS = ChannelSettings(window=4, unconfirmed_max=50, first_retry_ms=100, last_retry_ms=800)


class Town:
    """Nodes that tell one another, over journals that last and a network that does not care."""

    def __init__(self, *names: str, seed: int = 1) -> None:
        self.chance, self.names, self.now_ms = Random(seed), names, 1_000
        self.journals: dict[str, dict[tuple[str, bytes], bytes]] = {name: {} for name in names}
        self.nodes: dict[str, AppMessages] = {}
        self.network: deque[tuple[str, str, Message]] = deque()
        self.dies_after: dict[str, int] = {}
        self.done: list[tuple[str, ...]] = []
        for name in names:
            self.boot(name)

    def boot(self, name: str) -> None:
        self.dies_after.pop(name, None)
        node = AppMessages(name, lambda: self.names, Random(self.chance.getrandbits(32)), SETTINGS)
        node.deliver_to(self.writer(name))
        self.nodes[name] = node
        kept = [Put(table, key, value) for (table, key), value in sorted(self.journals[name].items())]
        node.start(kept, self.now)

    def writer(self, name: str):
        """Says how often something was acted on, and as which thing of its sender."""

        def write(told: IncomingMessage) -> Sequence[Record]:
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
            if (wake_ms := self.nodes[name].wake_at_ms()) is not None and wake_ms <= self.now_ms:
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

"""Members that exchange what they have, message by message, and a registry as small as an exchange allows."""

from random import Random

import msgspec

from benchmarks.crowd import Member
from hive_mind.hive.effects import Now
from hive_mind.hive.replication import GossipSettings
from hive_mind.model.messages import Message, RegistryEntry, SyncStep

NOW = Now(1_700_000_000_000, 77)


class Entries:
    """A registry, as far as an exchange looks."""

    def __init__(self, *entries: RegistryEntry) -> None:
        self._entries = entries

    def fingerprint(self, key: bytes) -> bytes:
        return key + msgspec.msgpack.encode(self._entries)

    def entries(self) -> tuple[RegistryEntry, ...]:
        return self._entries


NOTHING = Entries()


def two(*names: str, seed: int = 1, **settings) -> tuple[Member, ...]:
    chance = Random(seed)
    return tuple(Member(name, chance, GossipSettings(**settings)) for name in names or ("ada", "bert"))


def meet(here: Member, there: Member) -> list[Message]:
    """One exchange, and everything that was sent."""
    sent: list[tuple[Member, Member, Message]] = [(here, there, here.offer(NOW))]
    for sender, receiver, message in sent:
        sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]
    return [message for _, _, message in sent]


def steps(messages: list[Message]) -> list[SyncStep]:
    return [message for message in messages if isinstance(message, SyncStep)]


def first_steps(here: Member, there: Member) -> list[SyncStep]:
    """What the other answers to an offer."""
    return steps(list(there.receive(here.name, here.offer(NOW), NOW)))

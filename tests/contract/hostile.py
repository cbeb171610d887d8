"""Messages as somebody who can write to a broker might forge them: cut, flipped, of wrong types, too large, repeated, of others.

Everything is made from honest envelopes and one seed.
"""

from collections.abc import Callable, Sequence
from itertools import count
from random import Random
from typing import Any, NamedTuple

import hypothesis
import msgspec
from hypothesis import HealthCheck, settings

from hive_mind.bus import Envelope, codec, type_of
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.log import EPOCH_MAX
from hive_mind.hive.topology.log import pack as packed
from hive_mind.model.messages import AnnouncedTopology, Heartbeat, Message, TopologyUpdate
from tests.laws.test_wire import MESSAGES

_ODD_NUMBERS = (-1, 0, 1, 2**31, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64 - 1)
_ODD_SHARES = (float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.8e308, -1.0, 8_100.0)
_ODD_TEXTS = ("", "*", "\0", "default", "naïve 日本", "\U0010ffff", "../../etc", "x" * 300, "y" * 70_000)
_STRANGERS = ("mallory", "*", "n0", "n1", "n2", "n3", "s" * 256)
_DEPTHS = (10, 500, 2_000, 100_000)
_DOTS = (0, 1, 4, 12, 13, 26, 300)


class Forged(NamedTuple):
    """Bytes for a broker, and what was done to them."""

    kind: str
    data: bytes


def samples(seed: int, of_each: int = 12) -> list[Message]:
    """Messages of every type, as the laws of the wire format have them."""
    found: list[Message] = []
    for strategy in MESSAGES.values():

        @hypothesis.seed(seed)
        @settings(max_examples=of_each, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @hypothesis.given(strategy)
        def collect(message: Message) -> None:
            found.append(message)

        collect()
    return found


class Forger:
    """Makes one forged message after another for the node `victim` of a hive."""

    def __init__(self, hive: str, victim: str, honest: Sequence[Envelope], seed: int) -> None:
        self._hive, self._victim, self._chance = hive, victim, Random(seed)
        self._numbers = count(1)
        made = [self._on_envelope(message) for message in samples(seed)]
        # What was said really goes deeper into a node than what only has the right types.
        self._all = [*made, *honest]
        self._honest = honest
        self._kinds: tuple[Callable[[Envelope], bytes], ...] = (
            *(self.cut, self.flipped, self.spliced, self.other_version, self.garbage, self.deep),
            *(self.wrong_value, self.wrong_value, self.wrong_value, self.wrong_envelope),
            *(self.other_hive, self.other_type, self.other_sender, self.replayed, self.said_again),
            *(self.beat, self.topology_update),
        )

    def one(self) -> Forged:
        """The next."""
        kind = self._chance.choice(self._kinds)
        some = self._chance.choice(self._honest if self._chance.random() < 0.5 else self._all)
        return Forged(kind.__name__, kind(some))

    def cut(self, some: Envelope) -> bytes:
        whole = codec.encode(some)
        return whole[: self._chance.randrange(len(whole))]

    def flipped(self, some: Envelope) -> bytes:
        data = bytearray(codec.encode(self._fresh(some)))
        for _ in range(self._chance.randrange(1, 4)):
            data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
        return bytes(data)

    def spliced(self, some: Envelope) -> bytes:
        one, other = codec.encode(self._fresh(some)), codec.encode(self._chance.choice(self._all))
        return one[: self._chance.randrange(len(one))] + other[self._chance.randrange(len(other)) :]

    def other_version(self, some: Envelope) -> bytes:
        """Of the envelope, or of the message in it."""
        version = bytes([self._chance.choice((0, 2, 99, 255))])
        if self._chance.random() < 0.5:
            return version + codec.encode(self._fresh(some))[1:]
        return self._packed(some, lambda fields: fields | {"data": version + fields["data"][1:]})

    def garbage(self, some: Envelope) -> bytes:
        del some
        return self._chance.choice((b"", b"\x01")) + self._chance.randbytes(self._chance.randrange(200))

    def deep(self, some: Envelope) -> bytes:
        """Brackets in brackets: around nothing, or as a message."""
        brackets = self._chance.choice((b"\x91", b"\x81\xa4type")) * self._chance.choice(_DEPTHS)
        if self._chance.random() < 0.5:
            return b"\x01" + brackets
        return self._packed(some, lambda fields: fields | {"data": b"\x01" + brackets})

    def wrong_value(self, some: Envelope) -> bytes:
        """Anywhere in the message: often of the right type, and then huge or odd."""

        def changed(fields: dict[str, Any]) -> dict[str, Any]:
            tree = msgspec.msgpack.decode(fields["data"][1:])
            for _ in range(self._chance.randrange(1, 3)):
                tree = self._changed(tree)
            return fields | {"data": b"\x01" + msgspec.msgpack.encode(tree)}

        return self._packed(self._fresh(some), changed)

    def wrong_envelope(self, some: Envelope) -> bytes:
        return self._packed(self._fresh(some), self._changed)

    def other_hive(self, some: Envelope) -> bytes:
        return codec.encode(msgspec.structs.replace(self._fresh(some), hive=self._chance.choice(("elsewhere", f"{self._hive}2"))))

    def other_type(self, some: Envelope) -> bytes:
        """The envelope says one thing and the message is another."""
        kinds = [type_of(other.message) for other in self._all]
        return codec.encode(msgspec.structs.replace(self._fresh(some), type=self._chance.choice(kinds)))

    def other_sender(self, some: Envelope) -> bytes:
        return codec.encode(msgspec.structs.replace(self._fresh(some), sender=self._chance.choice(_STRANGERS)))

    def replayed(self, some: Envelope) -> bytes:
        del some
        return codec.encode(self._chance.choice(self._honest))

    def said_again(self, some: Envelope) -> bytes:
        """Once more, and pretending to be new."""
        del some
        return codec.encode(self._fresh(self._chance.choice(self._honest)))

    def beat(self, some: Envelope) -> bytes:
        """Of one that wants in, or wants another one out; of a boot that nobody knows yet."""
        del some
        chance, epoch = self._chance, self._chance.choice((1, 1 << 16, EPOCH_MAX))
        said = Heartbeat(chance.randbytes(8), 1 + chance.randrange(1 << 20), epoch, chance.randbytes(8), seal=self._seal())
        answered = chance.randbytes(chance.choice((0, 3, 16)))
        wants = chance.choice(({"wants_in": True}, {"is_leaving": True}, {"asks": True}, {"answers": answered, "wants_in": True}))
        return codec.encode(self._on_envelope(msgspec.structs.replace(said, **wants)))

    def topology_update(self, some: Envelope) -> bytes:
        """A hive of its own, as if a member had made it."""
        del some
        chance, epoch = self._chance, self._chance.choice((2, 1 << 16, 1 << 36, EPOCH_MAX))
        topology = Flat(tuple({"mallory", chance.choice(_STRANGERS[2:])}), epoch)
        follows = chance.choice((0, 1, 1, epoch - 1))
        made = AnnouncedTopology(packed(topology), chance.choice(("", *_STRANGERS)), follows, self._seal())
        return codec.encode(self._on_envelope(TopologyUpdate(epoch, (made,), follows)))

    def oversize(self) -> Forged:
        """More than anybody takes."""
        return Forged("oversize", b"\x01" + bytes(codec.ENVELOPE_BYTES_MAX))

    def _seal(self) -> bytes:
        """None, some bytes, or one that an honest member made under something else."""
        beats = [some.message.seal for some in self._honest if isinstance(some.message, Heartbeat)]
        return self._chance.choice((b"", self._chance.randbytes(32), *self._chance.sample(beats, min(len(beats), 1))))

    def _on_envelope(self, message: Message) -> Envelope:
        sender = self._chance.choice(_STRANGERS)
        return Envelope(f"made-{next(self._numbers)}", self._hive, sender, (self._victim,), type_of(message), message)

    def _fresh(self, some: Envelope) -> Envelope:
        """Under an id of its own: what is known by its id nobody looks at."""
        return msgspec.structs.replace(some, id=f"forged-{next(self._numbers)}")

    def _packed(self, some: Envelope, change: Callable[[dict[str, Any]], Any]) -> bytes:
        return b"\x01" + msgspec.msgpack.encode(change(msgspec.msgpack.decode(codec.encode(some)[1:])))

    def _changed(self, tree: Any) -> Any:
        """The same, but for one place somewhere in it."""
        if not tree or not isinstance(tree, list | dict) or self._chance.random() < 0.1:
            return self._odd(tree)
        if isinstance(tree, list):
            place = self._chance.randrange(len(tree))
            return [*tree[:place], self._changed(tree[place]), *tree[place + 1 :]]
        key = self._chance.choice(list(tree))
        if key == "type" or self._chance.random() < 0.05:
            return {name: value for name, value in tree.items() if name != key}
        return tree | {key: self._changed(tree[key])}

    def _odd(self, value: Any) -> Any:
        chance = self._chance
        if chance.random() < 0.15:
            return chance.choice((None, True, 7, -7.5, "text", b"bytes", [], [[]], {}, {"a": 1}))
        match value:
            case bool():
                return not value
            case int():
                return chance.choice((*_ODD_NUMBERS, min(value + 1, 2**64 - 1), max(value - 1, -(2**63))))
            case float():
                return chance.choice(_ODD_SHARES)
            case str():
                return chance.choice((*_ODD_TEXTS, value[:-1], value + "é", value * 2))
            case bytes():
                return chance.choice(
                    (chance.randbytes(len(value)), chance.randbytes(chance.choice(_DOTS)), value[:-1], value * 2)
                )
            case list():
                return chance.choice((value * 2, value[1:], value * 300, [value], value[::-1]))
        return chance.choice((None, [], {}))

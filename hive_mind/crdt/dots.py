"""Dots as they come in: named actors, checked dots, and which of two sets of dots differ."""

from hashlib import blake2b
from itertools import filterfalse, islice
from typing import TypeVar

from hive_mind.model.evidence import ACTOR_BYTES, COUNTER_BYTES, Actor, Dot, actor_of, counter_of, dot

E = TypeVar("E")

DOT_BYTES = ACTOR_BYTES + COUNTER_BYTES
COUNTER_MAX = (1 << 8 * COUNTER_BYTES) - 1


def actor_named(actor: str | Actor) -> Actor:
    """An actor as it is, or one made from a name."""
    if isinstance(actor, str):
        return blake2b(actor.encode(), digest_size=ACTOR_BYTES).digest()
    if len(actor) != ACTOR_BYTES:
        raise ValueError(f"an actor has {ACTOR_BYTES} bytes, not {len(actor)}")
    return actor


def checked_dot(actor: Actor, counter: int) -> Dot:
    """A dot of what came from elsewhere; ValueError if there can't be such a dot."""
    if len(actor) != ACTOR_BYTES or not 1 <= counter <= COUNTER_MAX:
        raise ValueError(f"no dot: actor of {len(actor)} bytes, counter {counter}")
    return dot(actor, counter)


def dot_from_hex(text: str) -> Dot:
    """A dot written as hexadecimal. Raises `ValueError` for any other text."""
    found = bytes.fromhex(text)
    return checked_dot(actor_of(found), counter_of(found))


def differing(here: dict[Dot, E], there: dict[Dot, E]) -> tuple[list[Dot], list[Dot]]:
    """The dots that only one side has, in an order that depends on what was written and not on how this process hashes bytes."""
    if here.keys().isdisjoint(there):
        return list(here), list(there)
    if len(here) == len(there) and here.keys() == there.keys():
        return [], []
    only_here = list(filterfalse(there.__contains__, here))
    only_there = len(there) - (len(here) - len(only_here))
    # What is new lies last in a dict. Sought from its end and counted, it is found without looking at all the rest.
    newest_first = list(islice(filterfalse(here.__contains__, reversed(there)), only_there))
    return only_here, newest_first[::-1]

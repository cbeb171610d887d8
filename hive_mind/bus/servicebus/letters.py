"""Dead letters of a hive: those of all its subscriptions that are known here."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec
from azure.servicebus import ServiceBusReceivedMessage

from hive_mind.bus import codec
from hive_mind.bus.base import DeadLetter
from hive_mind.bus.servicebus.account import Account
from hive_mind.bus.servicebus.dead import Act, DeadLetters, revived
from hive_mind.bus.servicebus.errors import Missing
from hive_mind.bus.servicebus.outgoing import Outgoing
from hive_mind.bus.servicebus.parcel import messages_of

_REPLAY_S = 10.0

Paths = Mapping[str, str]
"""Of subscriptions, by the node's name."""


async def letters_in(account: Account, paths: Paths, limit: int) -> Sequence[DeadLetter]:
    """The oldest. Raises `BackendError`."""
    letters: list[DeadLetter] = []
    for name, path in sorted(paths.items()):
        # Somebody may be known who never subscribed.
        with suppress(Missing):
            letters += await DeadLetters(account, path, name).list(limit)
    return sorted(letters, key=lambda letter: letter.at_ms)[:limit]


async def replay(account: Account, outgoing: Outgoing, kept_s: float, paths: Paths, ids: Sequence[str]) -> int:
    """Send some again, each to its name alone, and take them off. Raises `BackendError`."""
    return await _each(account, paths, ids, lambda name: _sending_to(name, outgoing, kept_s))


async def drop(account: Account, paths: Paths, ids: Sequence[str]) -> int:
    """Take some off. Raises `BackendError`."""

    async def forget(_: ServiceBusReceivedMessage) -> bool:
        return True

    return await _each(account, paths, ids, lambda _: forget)


async def _each(account: Account, paths: Paths, ids: Sequence[str], doing: Callable[[str], Act]) -> int:
    numbers: dict[str, set[int]] = {}
    for path, _, number in (id.rpartition("/") for id in ids):
        if number.isascii() and number.isdigit():
            numbers.setdefault(path, set()).add(int(number))
    done = 0
    for name, path in paths.items():
        if path in numbers:
            done += await DeadLetters(account, path, name).each(numbers[path], doing(name))
    return done


def _sending_to(name: str, outgoing: Outgoing, kept_s: float) -> Act:
    async def send_again(message: ServiceBusReceivedMessage) -> bool:
        found = revived(message)
        if found is None:
            return False
        envelope = msgspec.structs.replace(found[0], target=(name,))
        await outgoing.publish(messages_of(envelope, codec.encode(envelope), kept_s, found[1]), _REPLAY_S)
        return True

    return send_again

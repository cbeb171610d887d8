"""Removes all that a hive is to forget from Service Bus: in unread subscriptions, and in their dead letters.

Messages in a member's hands just now it settles itself; they are gone then, or when they expire.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from azure.servicebus import ServiceBusReceivedMessage, ServiceBusSubQueue

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BusSettings, Envelope
from hive_mind.bus.servicebus.account import Account, Missing, account_of, silence, translated
from hive_mind.bus.servicebus.dead_letters import READ_MAX, forget, peek, taken_off
from hive_mind.bus.servicebus.messages import envelope_of, subscription_of
from hive_mind.errors import WireError

# Members go on meanwhile: they pass on what is to be forgotten, and read what they have in hand.
_PASSES = 3

IsMeant = Callable[[Envelope], bool]


async def scrub(
    address: BusAddress, settings: BusSettings, hives: Sequence[str], names: Collection[str], is_meant: IsMeant
) -> str:
    """Take off what is meant; why some of it stays and until when, "" where nothing does. Raises `BackendError`."""
    account = account_of(address, settings)
    silence()
    left: list[ServiceBusReceivedMessage] = []
    try:
        for path in sorted({subscription_of(hive, name) for hive in hives for name in names}):
            left += await _scrubbed(account, path, ServiceBusSubQueue.DEAD_LETTER, is_meant)
            left += await _scrubbed(account, path, None, is_meant)
    finally:
        await account.close()
    if not left:
        return ""
    until = max(message.expires_at_utc or datetime.max.replace(tzinfo=UTC) for message in left)
    return (
        f"members are just reading what is to be erased: it is gone when they have read it, at the latest at "
        f"{until:%Y-%m-%d %H:%M} UTC; erase again to see it here"
    )


async def _scrubbed(
    account: Account, path: str, queue: ServiceBusSubQueue | None, is_meant: IsMeant
) -> list[ServiceBusReceivedMessage]:
    """The messages meant that are still there in the end; none where no node ever subscribed."""
    line = account.from_subscription(path, sub_queue=queue)
    try:
        receiver = await line.open()
        messages = list(_meant(await peek(receiver, READ_MAX), is_meant))
        for _ in range(_PASSES):
            if messages:
                await taken_off(receiver, {message.sequence_number for message in messages}, forget)
                messages = list(_meant(await peek(receiver, READ_MAX), is_meant))
        return messages
    except Exception as error:
        if isinstance(failure := translated(error, f"subscription {path!r}"), Missing):
            return []
        raise failure from error
    finally:
        await line.close()


def _meant(messages: Sequence[ServiceBusReceivedMessage], is_meant: IsMeant) -> Iterator[ServiceBusReceivedMessage]:
    """Unreadable messages may hold anything."""
    for message in messages:
        try:
            if is_meant(envelope_of(message)):
                yield message
        except WireError:
            yield message

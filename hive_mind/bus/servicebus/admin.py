"""Managing entities: in the cloud through the management API, given the right; elsewhere the broker's operator does it.

The development broker makes subscriptions when they are asked for, Microsoft's emulator has them in its Config.json.

Dead letters: Service Bus keeps those of a subscription in a queue beside it, a hive's are those of all its subscriptions.

Looking takes nothing away. To drop some, the queue is read until they are found; the others are given back. Nodes of an earlier
version put theirs here, too.

Removes all that a hive is to forget from Service Bus: in unread subscriptions, and in their dead letters.

Messages in a member's hands just now it settles itself; they are gone then, or when they expire.
"""

import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from azure.core.exceptions import AzureError, ResourceExistsError
from azure.servicebus import ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusReceiver
from azure.servicebus.aio.management import ServiceBusAdministrationClient
from azure.servicebus.management import CorrelationRuleFilter

from hive_mind.bus import BusSettings, DeadLetter
from hive_mind.bus.address import BusAddress
from hive_mind.bus.codec import IsMeant, dead_letter, may_be_meant
from hive_mind.bus.servicebus.account import (
    NAME,
    TARGET,
    Account,
    Missing,
    account_of,
    attempt_of,
    data_of,
    is_ping,
    short,
    silence,
    subscription_of,
    target_of_all,
    text_of,
    translated,
)
from hive_mind.errors import BackendRejected
from hive_mind.regex import regex

_log = logging.getLogger(__name__)

# The longest allowed: fewer renewals, and a crashed receiver delays its messages by no more than this.
_LOCK = timedelta(minutes=5)
# Far more than a subscriber's own `attempts_max`: its dead letters say why, the broker's do not.
_DELIVERIES_MAX = 100
_DEFAULT_RULE = "$Default"

Counts = dict[str, tuple[int | None, int | None]]
"""Numbers of waiting and of dead messages, by subscription."""


class AdminClient:
    """Of one topic."""

    def __init__(self, account: Account) -> None:
        self._account = account

    async def make(self, path: str) -> bool:
        """Make a subscription and its two rules; False where that is not for us to do."""
        if not self._account.is_cloud:
            return False
        topic = self._account.topic
        try:
            async with self._client() as client:
                try:
                    await client.create_subscription(topic, path, lock_duration=_LOCK, max_delivery_count=_DELIVERIES_MAX)
                except ResourceExistsError:
                    return True
                # First the rules, then away with the one that lets everything pass: better too much for a moment than too little.
                for name, target in (("own", path), ("everyone", target_of_all(path))):
                    await client.create_rule(topic, path, name, filter=CorrelationRuleFilter(properties={TARGET: target}))
                await client.delete_rule(topic, path, _DEFAULT_RULE)
        except AzureError as error:
            _log.info("subscription %s could not be made: %s", path, short(error))
            return False
        return True

    async def counts(self) -> Counts:
        """Of all subscriptions; nothing where nobody tells us."""
        if not self._account.is_cloud:
            return {}
        try:
            async with self._client() as client:
                return {
                    str(properties.name): (properties.active_message_count, properties.dead_letter_message_count)
                    async for properties in client.list_subscriptions_runtime_properties(self._account.topic)
                }
        except AzureError as error:
            _log.debug("subscriptions can't be listed: %s", short(error))
            return {}

    def advised(self, error: Missing, path: str = "") -> BackendRejected:
        """An error that says how to make what is missing."""
        topic = self._account.topic
        if not self._account.is_cloud:
            advice = "start the broker as `hive-mind broker --auto-create`, or add it to the broker's Config.json"
        else:
            namespace = self._account.host.partition(".")[0]
            advice = f"az servicebus topic create --namespace-name {namespace} --name {topic} --enable-duplicate-detection"
        rules = ""
        if path:
            rules = (
                f"; the subscription {path!r} needs two correlation rules, {TARGET} = {path!r} and {TARGET} = "
                f"{target_of_all(path)!r}"
            )
            if self._account.is_cloud:
                advice = "give this identity the right Manage (Azure Service Bus Data Owner) and it is made, or make it yourself"
        return BackendRejected(NAME, f"{str(error).removeprefix(f'{NAME}: ')}: {advice}{rules}")

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ServiceBusAdministrationClient]:
        async with ServiceBusAdministrationClient(self._account.host, self._account.credential) as client:  # type: ignore[arg-type]
            yield client


_PAGE = 200
READ_MAX = 10_000
# Those that are there come at once; the first may have to wait for its link.
_PATIENCE_S = 3.0
# As nodes of an earlier version wrote it beside the reason.
_DESCRIPTION = regex(r"(\d+) attempts, at (\d+)")


class DeadLetters:
    """Of the subscription at `path`, of the node `name`."""

    def __init__(self, account: Account, path: str, name: str) -> None:
        self._account, self._path, self._name = account, path, name

    async def list(self, limit: int) -> list[DeadLetter]:
        """The oldest. Raises `BackendError`."""
        async with self._receiver() as receiver:
            return [self._letter(message) for message in await peek(receiver, limit)]

    async def drop(self, numbers: Collection[int]) -> int:
        """Take some off. How many there were. Raises `BackendError`."""
        async with self._receiver() as receiver:
            sequence_numbers = {message.sequence_number for message in await peek(receiver, READ_MAX)}
            return await taken_off(receiver, sequence_numbers.intersection(numbers))

    def _letter(self, message: ServiceBusReceivedMessage) -> DeadLetter:
        reason, description = text_of(message.dead_letter_reason), text_of(message.dead_letter_error_description)
        ours = _DESCRIPTION.fullmatch(description)
        enqueued = message.enqueued_time_utc
        at_ms = int(enqueued.timestamp() * 1000) if enqueued is not None else 0
        attempts, at_ms = (int(ours[1]), int(ours[2])) if ours else (attempt_of(message), at_ms)
        reason = reason if ours or not description else f"{reason}: {description}"
        return dead_letter(self._name, data_of(message), attempts, reason, f"{self._path}/{message.sequence_number}", at_ms)

    @asynccontextmanager
    async def _receiver(self) -> AsyncIterator[ServiceBusReceiver]:
        line = self._account.from_subscription(self._path, sub_queue=ServiceBusSubQueue.DEAD_LETTER)
        try:
            yield await line.open()
        except Exception as error:
            raise translated(error, f"dead letters of subscription {self._path!r}") from error
        finally:
            await line.close()


async def peek(receiver: ServiceBusReceiver, limit: int) -> list[ServiceBusReceivedMessage]:
    """The oldest, with bodies; nothing is taken away."""
    messages: list[ServiceBusReceivedMessage] = []
    start = 1
    while len(messages) < limit:
        page = await receiver.peek_messages(min(_PAGE, limit - len(messages)), sequence_number=start)
        if not page:
            break
        start = int(page[-1].sequence_number or 0) + 1
        messages += [message for message in page if not is_ping(message)]
    return messages


async def taken_off(receiver: ServiceBusReceiver, numbers: set[int | None]) -> int:
    """Take some off, and give back what had to be read on the way. How many were taken off."""
    others_read: list[ServiceBusReceivedMessage] = []
    taken_count = 0
    try:
        while numbers and len(others_read) < READ_MAX:
            messages = await receiver.receive_messages(1, max_wait_time=_PATIENCE_S)
            if not messages:
                break
            for message in messages:
                if message.sequence_number in numbers:
                    numbers.discard(message.sequence_number)
                    await receiver.complete_message(message)
                    taken_count += 1
                else:
                    others_read.append(message)
        return taken_count
    finally:
        for message in others_read:
            with suppress(Exception):
                await receiver.abandon_message(message)


# Members go on meanwhile: they pass on what is to be forgotten, and read what they have in hand.
_PASSES = 3


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


async def _meant(receiver: ServiceBusReceiver, is_meant: IsMeant) -> list[ServiceBusReceivedMessage]:
    return [message for message in await peek(receiver, READ_MAX) if may_be_meant(data_of(message), is_meant)]


async def _scrubbed(
    account: Account, path: str, queue: ServiceBusSubQueue | None, is_meant: IsMeant
) -> list[ServiceBusReceivedMessage]:
    """The messages meant that are still there in the end; none where no node ever subscribed."""
    line = account.from_subscription(path, sub_queue=queue)
    try:
        receiver = await line.open()
        messages = await _meant(receiver, is_meant)
        for _ in range(_PASSES):
            if messages:
                await taken_off(receiver, {message.sequence_number for message in messages})
                messages = await _meant(receiver, is_meant)
        return messages
    except Exception as error:
        if isinstance(failure := translated(error, f"subscription {path!r}"), Missing):
            return []
        raise failure from error
    finally:
        await line.close()

"""Dead letters: Service Bus keeps those of a subscription in a queue beside it, a hive's are those of all its subscriptions.

Looking takes nothing away. To replay or drop some, the queue is read until they are found; the others are given back.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from azure.servicebus import ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusReceiver

from hive_mind.bus import codec
from hive_mind.bus.base import UNREADABLE_BYTES_MAX, DeadLetter, Envelope
from hive_mind.bus.servicebus.account import Account, Missing, translated
from hive_mind.bus.servicebus.messages import attempt_of, data_of, envelope_of, is_ping, message_to, text_of
from hive_mind.bus.servicebus.outgoing import TopicSender
from hive_mind.errors import WireError
from hive_mind.regex import regex

_PAGE = 200
READ_MAX = 10_000
# Those that are there come at once; the first may have to wait for its link.
_PATIENCE_S = 3.0
_DESCRIPTION = regex(r"(\d+) attempts, at (\d+)")

Act = Callable[[ServiceBusReceivedMessage], Awaitable[bool]]
"""Does something with a dead letter; whether it is to be taken off."""

_REPLAY_S = 10.0

Paths = Mapping[str, str]
"""Of subscriptions, by the node's name."""


def description_of(attempts: int, at_ms: int) -> str:
    """The description beside the reason of a dead letter."""
    return f"{attempts} attempts, at {at_ms}"


def revived(message: ServiceBusReceivedMessage) -> tuple[Envelope, str] | None:
    """A dead letter's envelope, and what makes its message id a new one: the broker would take it for a duplicate."""
    try:
        return envelope_of(message), f"#{secrets.token_hex(4)}"
    except WireError:
        return None


class DeadLetters:
    """Of the subscription at `path`, of the node `name`."""

    def __init__(self, account: Account, path: str, name: str) -> None:
        self._account, self._path, self._name = account, path, name

    async def list(self, limit: int) -> list[DeadLetter]:
        """The oldest. Raises `BackendError`."""
        async with self._receiver() as receiver:
            return [self._letter(message) for message in await peek(receiver, limit)]

    async def each(self, numbers: Collection[int], act: Act) -> int:
        """Do something with some of them. How many were taken off. Raises `BackendError`."""
        async with self._receiver() as receiver:
            sequence_numbers = {message.sequence_number for message in await peek(receiver, READ_MAX)}
            return await taken_off(receiver, sequence_numbers.intersection(numbers), act)

    def _letter(self, message: ServiceBusReceivedMessage) -> DeadLetter:
        envelope, data = None, b""
        try:
            envelope = envelope_of(message)
        except WireError:
            data = data_of(message)[:UNREADABLE_BYTES_MAX]
        reason, description = text_of(message.dead_letter_reason), text_of(message.dead_letter_error_description)
        ours = _DESCRIPTION.fullmatch(description)
        attempts, at_ms = (int(ours[1]), int(ours[2])) if ours else (attempt_of(message), _enqueued_ms(message))
        reason = reason if ours or not description else f"{reason}: {description}"
        return DeadLetter(self._name, envelope, attempts, reason, f"{self._path}/{message.sequence_number}", at_ms, data)

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


async def taken_off(receiver: ServiceBusReceiver, wanted: set[int | None], act: Act) -> int:
    """Do something with some, and give back what had to be read on the way. How many were taken off."""
    messages: list[ServiceBusReceivedMessage] = []
    try:
        return await _take_off(receiver, wanted, messages, act)
    finally:
        for message in messages:
            with suppress(Exception):
                await receiver.abandon_message(message)


async def forget(_: ServiceBusReceivedMessage) -> bool:
    """An `Act`: take it off, no more."""
    return True


async def _take_off(
    receiver: ServiceBusReceiver, wanted: set[int | None], others: list[ServiceBusReceivedMessage], act: Act
) -> int:
    taken = 0
    while wanted and len(others) < READ_MAX:
        messages = await receiver.receive_messages(1, max_wait_time=_PATIENCE_S)
        if not messages:
            break
        for message in messages:
            if message.sequence_number in wanted:
                wanted.discard(message.sequence_number)
                if await act(message):
                    await receiver.complete_message(message)
                    taken += 1
                    continue
            others.append(message)
    return taken


def _enqueued_ms(message: ServiceBusReceivedMessage) -> int:
    return int(message.enqueued_time_utc.timestamp() * 1000) if message.enqueued_time_utc is not None else 0


async def letters_in(account: Account, paths: Paths, limit: int) -> Sequence[DeadLetter]:
    """The oldest. Raises `BackendError`."""
    letters: list[DeadLetter] = []
    for name, path in sorted(paths.items()):
        # A known name may never have subscribed.
        with suppress(Missing):
            letters += await DeadLetters(account, path, name).list(limit)
    return sorted(letters, key=lambda letter: letter.at_ms)[:limit]


async def replay(account: Account, outgoing: TopicSender, kept_s: float, paths: Paths, ids: Sequence[str]) -> int:
    """Send some again, each to its name alone, and take them off. Raises `BackendError`."""
    return await _each(account, paths, ids, lambda name: _sending_to(name, outgoing, kept_s))


async def drop(account: Account, paths: Paths, ids: Sequence[str]) -> int:
    """Take some off. Raises `BackendError`."""
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


def _sending_to(name: str, outgoing: TopicSender, kept_s: float) -> Act:
    async def send_again(message: ServiceBusReceivedMessage) -> bool:
        found = revived(message)
        if found is None:
            return False
        envelope, suffix = found
        await outgoing.publish([message_to(name, envelope, codec.encode(envelope), kept_s, suffix)], _REPLAY_S)
        return True

    return send_again

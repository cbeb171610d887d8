"""The post of a node: letters to the desks of its agents, kept in its journal until the ledger of a desk has it.

A letter is one entry of an item's stream, as it stands in the sender's ledger. It travels as an application message, so it
arrives once and in order; and the receiver skips what it has already, so that a kill between journal and ledger costs
nothing. Letters that arrived and are still in a journal are removed with the next one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from hive_mind.errors import BackendThrottled, BackendUnavailable, HiveError, InvalidInput
from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.hive.replication.reliable_channels import Act, IncomingMessage
from hive_mind.judge.items import COMMENTED, DECIDED, OPENED, REOPENED, check, decision_of, item_of, reopening_of
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

KIND = "hive-mind.item"
"""Kind of the application message."""
TABLE = "app.post"

_WAITING_MAX = 10_000
_AGAIN_S = 1.0


class DeskLetter(msgspec.Struct, frozen=True):
    """To the desk of agent `to`: an entry of the stream of `item`. `sender` is the node it came from, "" on its way."""

    to: str
    item: str
    kind: str
    body: bytes
    at_ms: int
    sender: str = ""

    @property
    def entry(self) -> Entry:
        return Entry(self.kind, self.body, self.at_ms, stream=f"a letter about item {self.item}")


Receive = Callable[[DeskLetter], Awaitable[bool]]
"""Keeps it durably. False: not now, it is to come again."""


def packed(letter: DeskLetter) -> bytes:
    return msgspec.msgpack.encode(letter)


class Post:
    """Of one node. `run` it while its agents are there. `otherwise` takes what is no letter, `kept` what a journal had."""

    def __init__(self, node: str, otherwise: Act, kept: Callable[[], Iterable[Put]] = tuple) -> None:
        self.node = node
        self._otherwise, self._kept = otherwise, kept
        self._loaded: dict[int, DeskLetter] | None = None
        self._done: list[int] = []
        self._next = 1
        self._receivers: dict[str, Receive] = {}
        self._news = asyncio.Event()

    def write(self, message: IncomingMessage) -> Sequence[Record]:
        """Keep it: the handler of `AppMessages`. Raises `InvalidInput` for what is no letter though it says so."""
        if message.kind != KIND:
            return self._otherwise(message)
        letter = _checked(message)
        waiting = self._waiting
        if len(waiting) >= _WAITING_MAX:
            raise BackendThrottled("hive", f"the desk's queue is full: {_WAITING_MAX:,} messages wait")
        number, self._next = self._next, self._next + 1
        waiting[number] = letter
        done, self._done = self._done, []
        self._news.set()
        return [Put(TABLE, _key(number), packed(letter)), *(Delete(TABLE, _key(one)) for one in done)]

    def bring_to(self, agent: str, receive: Receive) -> None:
        """From now on its letters go there, with those that waited."""
        self._receivers[agent] = receive
        self._news.set()

    async def hand_over(self, letter: DeskLetter) -> None:
        """From one agent of this node to another. Raises `BackendUnavailable` where that takes none now."""
        receive = self._receivers.get(letter.to)
        if receive is None or not await receive(msgspec.structs.replace(letter, sender=self.node)):
            raise BackendUnavailable(f"the desk of {letter.to}", "it takes nothing now")

    async def run(self) -> None:
        """Bring letters to desks, in order, until it is cancelled."""
        self._news.set()
        while True:
            await self._news.wait()
            self._news.clear()
            if await self._bring():
                await asyncio.sleep(_AGAIN_S)
                self._news.set()

    async def _bring(self) -> bool:
        """Whether letters are left that somebody here should take."""
        late: set[tuple[str, str]] = set()
        for number, letter in list(self._waiting.items()):
            receive = self._receivers.get(letter.to)
            # Entries about an item come after the item.
            if receive is None or (letter.to, letter.item) in late:
                continue
            if await _is_taken(receive, letter):
                del self._waiting[number]
                self._done.append(number)
            else:
                late.add((letter.to, letter.item))
        return bool(late)

    @property
    def _waiting(self) -> dict[int, DeskLetter]:
        # Lazily: the first letter may arrive while the journal is read.
        if self._loaded is None:
            own = sorted((put for put in self._kept() if put.table == TABLE), key=lambda put: put.key)
            self._loaded = {int.from_bytes(put.key, "big"): msgspec.msgpack.decode(put.value, type=DeskLetter) for put in own}
            self._next = max(self._loaded, default=0) + 1
        return self._loaded


async def _is_taken(receive: Receive, letter: DeskLetter) -> bool:
    try:
        return await receive(letter)
    except HiveError as error:
        _log.warning("the desk of %s could not store a letter about item %s: %s", letter.to, letter.item, error)
        return False


def _checked(message: IncomingMessage) -> DeskLetter:
    """Nothing is believed of it but that it came."""
    try:
        letter = msgspec.msgpack.decode(message.data, type=DeskLetter)
        _check(letter)
    except (msgspec.MsgspecError, HiveError) as error:
        raise InvalidInput(f"{message.sender} sent a letter that can't be read: {error}") from None
    return msgspec.structs.replace(letter, sender=message.sender)


def _check(letter: DeskLetter) -> None:
    named = letter.item
    if letter.kind == OPENED:
        check(item := item_of(letter.entry))
        named = item.id
    elif letter.kind in (DECIDED, COMMENTED):
        named = decision_of(letter.entry).item
    elif letter.kind == REOPENED:
        reopening_of(letter.entry)
    else:
        raise InvalidInput(f"it has the unknown kind {letter.kind!r}")
    if named != letter.item:
        raise InvalidInput(f"it is about item {letter.item} and speaks of item {named}")


def _key(number: int) -> bytes:
    return number.to_bytes(8, "big")

"""The log of a judge over a ledger: each judgement with what it rests on; what people decided is in the same file."""

import logging
import secrets
from collections.abc import AsyncIterator, Callable

import msgspec

from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import InvalidInput, WireError
from hive_mind.judge.precedent import Judged
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

PREFIX = "judged/"
"""of the streams of judgements, followed by a judgement's id: what is judged again is kept again"""
_JUDGED = "judged"
_KEY = "judge/key"
# An amount that a person can still look through; its digest is kept in any case.
_RESULT_MAX_BYTES = 256_000


class LedgerLog:
    """A `DecisionLog` over an open ledger, which stays its owner's."""

    def __init__(self, ledger: Ledger, clock_ms: Callable[[], int] = wall_clock_ms) -> None:
        self.ledger, self.now_ms = ledger, clock_ms

    async def keep(self, judged: Judged) -> None:
        """Durable when it returns; of a result too large only its size. Raises `InvalidInput` and what a ledger raises."""
        stream = PREFIX + judged.judgment.id
        entry = Entry(_JUDGED, _encoded(judged), self.now_ms())
        while not await self.ledger.append(stream, len(await self.ledger.read(stream)), [entry]):
            pass

    async def judged(self, since_ms: int = 0) -> list[Judged]:
        """All that was judged from then on, in that order."""
        return [one async for one in self.each(since_ms)]

    async def each(self, since_ms: int = 0) -> AsyncIterator[Judged]:
        """The same one by one. Unreadable entries are logged and left out."""
        pos = 0
        while (page := await self.ledger.newer(pos, PREFIX)).upto != pos:
            for entry in page.entries:
                if entry.at_ms >= since_ms and (one := _read(entry)):
                    yield one
            pos = page.upto

    async def key(self) -> str:
        """A secret of this ledger, made when it is asked for the first time."""
        if not (kept := await self.ledger.read(_KEY)):
            await self.ledger.append(_KEY, 0, [Entry("key", secrets.token_hex(16).encode(), self.now_ms())])
            kept = await self.ledger.read(_KEY)
        return kept[0].body.decode()


def _encoded(judged: Judged) -> bytes:
    try:
        body = msgspec.json.encode(judged, enc_hook=str)
    except UnicodeEncodeError:
        raise InvalidInput("the result holds an unpaired surrogate: give it as UTF-8") from None
    if len(body) <= _RESULT_MAX_BYTES:
        return body
    return msgspec.json.encode(msgspec.structs.replace(judged, result={"bytes": len(body)}))


def _read(entry: Entry) -> Judged | None:
    try:
        return msgspec.json.decode(entry.body, type=Judged)
    except msgspec.MsgspecError as error:
        _log.error(
            "a judgement is left out: %s", WireError(f"entry {entry.seq} of {entry.stream} is malformed ({error}); upgrade")
        )
        return None

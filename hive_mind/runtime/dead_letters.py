"""The dead letters of a hive: what its nodes here refused, in files, and what its broker put aside, for people to deal with.

An id says where a letter lies. One of the broker is handled again by its node, too: it goes to that node's file, and off the
broker.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hive_mind.bus import DEAD_LETTERS_SHOWN, BusAdmin, DeadLetter, QueueState, dead_letters
from hive_mind.bus.dead_letters import DeadLetterFile, Files, is_of_a_node
from hive_mind.errors import InvalidInput

_ALL = 100_000


class HiveLetters:
    """Of one hive. `admin` None: its bus can't be reached. `folder`: where journals of nodes lie; None where there are none."""

    def __init__(self, hive: str, admin: BusAdmin | None, folder: Path | None, own: DeadLetterFile | None = None) -> None:
        self.hive, self._admin, self._folder, self._own = hive, admin, folder, own

    async def listed(self, limit: int = DEAD_LETTERS_SHOWN) -> list[DeadLetter]:
        """The oldest first."""
        letters = await asyncio.to_thread(dead_letters.listed, self._files(), limit)
        letters += await self._admin.dead_letters(self.hive, limit=limit) if self._admin else ()
        return sorted(letters, key=lambda letter: letter.at_ms)[:limit]

    async def find(self, ids: Sequence[str]) -> list[DeadLetter]:
        """Those of these ids that are there."""
        letters = {letter.id: letter for letter in await self.listed(_ALL)}
        return [letters[id] for id in dict.fromkeys(ids) if id in letters]

    async def pushed_out(self) -> int:
        """How many letters went for want of room."""
        return sum([await asyncio.to_thread(file.pushed_out) for file in self._files().values()])

    async def replay(self, ids: Sequence[str]) -> int:
        """Let nodes handle letters again, now or when they run. How many there were; unreadable ones stay.

        Raises `InvalidInput` for a letter of the broker whose node does not live here.
        """
        adopted = [letter for letter in await self._of_broker(ids) if letter.envelope is not None]
        homes = [(letter, self._home_of(letter.name)) for letter in adopted]
        count = await asyncio.to_thread(dead_letters.send_again, self._files(), ids)
        for letter, file in homes:
            await asyncio.to_thread(file.adopt, letter)
        return count + await self._dropped([letter.id for letter in adopted])

    async def drop(self, ids: Sequence[str]) -> int:
        """Forget letters. How many there were."""
        return await asyncio.to_thread(dead_letters.drop, self._files(), ids) + await self._dropped(ids)

    async def queues(self) -> list[QueueState]:
        """Messages on the bus, by name, with the dead letters that are here."""
        dead = await asyncio.to_thread(lambda: {name: file.count() for name, file in self._files().items()})
        queues = await self._admin.queues(self.hive) if self._admin else ()
        return [replace(queue, dead=(queue.dead or 0) + dead[queue.name]) if dead.get(queue.name) else queue for queue in queues]

    async def _of_broker(self, ids: Sequence[str]) -> list[DeadLetter]:
        letter_ids = {id for id in ids if not is_of_a_node(id)}
        letters = await self._admin.dead_letters(self.hive, limit=_ALL) if self._admin and letter_ids else ()
        return [letter for letter in letters if letter.id in letter_ids]

    async def _dropped(self, ids: Sequence[str]) -> int:
        letter_ids = [id for id in ids if not is_of_a_node(id)]
        return await self._admin.drop(self.hive, letter_ids) if self._admin and letter_ids else 0

    def _files(self) -> Files:
        files = dict(dead_letters.files_in(self._folder)) if self._folder else {}
        if self._own:
            files[self._own.name] = self._own
        return files

    def _home_of(self, node: str) -> DeadLetterFile:
        if self._own and self._own.name == node:
            return self._own
        if self._folder is None or not (self._folder / f"{node}.sqlite").exists():
            raise InvalidInput(f"the journal of {node} is not here, so it gets nothing again from here: ask where it runs")
        return dead_letters.file_of(self._folder, node)

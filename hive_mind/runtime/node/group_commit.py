"""Where effects wait until what they promise is durable.

A `Persist` holds back what follows it, and everything that later events want, because a later event may speak of what an
earlier one wrote. Events that come while a write is under way share the next one.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from hive_mind.hive.effects import Persist
from hive_mind.journal.base import Journal
from hive_mind.runtime.node.effect_executor import Work


class Barrier:
    """`release` gets effects in their order once their records are durable; `fail` the error, once, if they can't be made so."""

    def __init__(
        self, journal: Journal, *, release: Callable[[Sequence[Work]], None], fail: Callable[[BaseException], None]
    ) -> None:
        self._journal, self._release, self._fail = journal, release, fail
        self._work_held: list[Work] = []
        self._under_way: asyncio.Task[None] | None = None
        self._is_scheduled = False
        self._is_broken = False

    @property
    def is_standing(self) -> bool:
        """Whether anything waits; what comes later must wait as well."""
        return bool(self._work_held) or self._under_way is not None

    def hold(self, effects: Sequence[Work]) -> None:
        """Keep effects, behind those that are held, until their records are durable."""
        if self._is_broken:
            return
        self._work_held += effects
        if self._under_way is None and not self._is_scheduled:
            # Not at once: what other tasks want in this turn of the event loop shares the write.
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin)

    def break_down(self) -> None:
        """Nothing that is held will ever be done."""
        self._is_broken = True
        self._work_held.clear()

    async def finish(self) -> None:
        """Wait for the write under way, if there is one."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way])

    def _begin(self) -> None:
        self._is_scheduled = False
        if self._under_way is not None or not self._work_held:
            return
        group, self._work_held = self._work_held, []
        records = [record for effect in group if isinstance(effect, Persist) for record in effect.records]
        if not records:
            self._let_go(group)
            return
        self._under_way = asyncio.ensure_future(self._journal.write(records))
        self._under_way.add_done_callback(partial(self._written, group))

    def _written(self, group: Sequence[Work], write: "asyncio.Task[None]") -> None:
        self._under_way = None
        if self._is_broken:
            _ = write.cancelled() or write.exception()
            return
        error = asyncio.CancelledError() if write.cancelled() else write.exception()
        if error is None:
            self._let_go(group)
        else:
            self.break_down()
            self._fail(error)

    def _let_go(self, group: Sequence[Work]) -> None:
        self._release(group)
        if not self._is_scheduled:
            self._begin()

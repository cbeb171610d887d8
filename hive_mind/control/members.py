"""The members of a fleet's hive: asked of all its processes that answer, and one put out by one of them."""

import asyncio
from collections.abc import Callable, Mapping

from hive_mind.control.evicting import Evicted, evictor, refuse_harm, still_to_hear
from hive_mind.control.platforms.base import Platform, Running
from hive_mind.errors import BackendError
from hive_mind.runtime.members.members_seen import MembersSeen

_PATIENCE_S = 5.0
_POLL_S = 0.2

Views = Mapping[str, tuple[MembersSeen, ...]]
"""By process."""


class Members:
    """Of a fleet on a platform. `now` is a clock in seconds."""

    def __init__(self, platform: Platform, now: Callable[[], float]) -> None:
        self._platform, self._now = platform, now

    async def seen(self, found: Mapping[str, Running]) -> Views:
        """What each process says that answers; those that don't are left out."""
        names = [name for name, one in found.items() if one.is_alive]
        asked = (self._platform.members(name, _PATIENCE_S) for name in names)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        told: dict[str, tuple[MembersSeen, ...]] = {}
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, BaseException):
                if not isinstance(answer, BackendError):
                    raise answer
                continue
            told[name] = answer
        return told

    async def evict(
        self, member: str, found: Mapping[str, Running], process: str, *, is_forced: bool, timeout_s: float
    ) -> Evicted:
        """Put a member out, and wait until all that answer know. `process` is where it runs or ran, "" where nobody knows.

        Raises `HiveError` where nothing was done.
        """
        seen = await self.seen(found)
        lost = refuse_harm(member, _all(seen), process, is_forced=is_forced)
        node = evictor(member, _all(seen))
        by = next(name for name, views in seen.items() if any(view.node == node for view in views))
        await self._platform.evict(by, member, timeout_s)
        until_s = self._now() + timeout_s
        while (waiting := still_to_hear(member, _all(seen := await self.seen(found)))) and self._now() < until_s:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        epoch = max((view.epoch for view in _all(seen)), default=0)
        return Evicted(member, by, epoch, tuple(lost), waiting)


def _all(views: Views) -> list[MembersSeen]:
    return [view for some in views.values() for view in some]

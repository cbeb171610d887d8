"""Notices of a fleet: sent by the agent at whose desk people decide, and begun again where its ledger fails for a while."""

import asyncio
import logging

from hive_mind.agents.notices import Notices
from hive_mind.errors import HiveError
from hive_mind.ledger.base import Ledger
from hive_mind.runtime.runs.notifying import delivery
from hive_mind.runtime.secrets.references import resolved_here
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.config import NotifyConfig

REPLIES = "/v1/replies"
"""the path below which replies by link are taken, followed by the agent of the desk and the token"""
_log = logging.getLogger(__name__)
_AGAIN_S = 5.0


class DeskNotices:
    """Of one desk, from `begin` to `close`. Raises `InvalidInput` and `ConfigError` for notices that could go nowhere."""

    def __init__(self, config: NotifyConfig, settings: Settings, agent: str, ledger: Ledger) -> None:
        self._agent = agent
        url, link, *command = (resolved_here(text, home=settings.home) for text in (config.url, config.link, *config.command))
        self.recipient = url or tuple(command)
        link = f"{link.rstrip('/')}{REPLIES}/{agent}" if link else ""
        self.notices = Notices(ledger, delivery(self.recipient), link=link, hours=config.hours)
        self._following: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._following = asyncio.create_task(self._follow(), name=f"notices of {self._agent}")

    async def close(self) -> None:
        """Send nothing more. Closing twice is fine."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])

    async def _follow(self) -> None:
        while True:
            try:
                await self.notices.follow()
                return
            except HiveError as error:
                _log.error("%s: notices can't be sent, tried again: %s", self._agent, error)
                await asyncio.sleep(_AGAIN_S)

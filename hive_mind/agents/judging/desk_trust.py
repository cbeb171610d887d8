"""Effects of people's answers to audits on a whole fleet: a fact that is wrong is taken back for all, and its agent is rated.

The desk's agent does it, once for each audit: the message is recorded first, and sent again as recorded where it is unknown
whether it arrived. Nobody rates itself: audits of the desk's own facts rate nobody.
"""

import asyncio
import logging

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.fact_items import AUDIT
from hive_mind.agents.judging.rules_at_work import HiveMember
from hive_mind.errors import HiveError
from hive_mind.hive.policy.rights import rating_key
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.judge.items import ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_STREAM = "audited/"
_AGAIN_S = 5.0


class DeskTrust:
    """Follows one desk. `ledger` and `desk` stay their owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, ledger: Ledger, desk: LedgerDesk, member: HiveMember) -> None:
        self._agent, self._ledger, self._desk, self._member = agent, ledger, desk, member

    async def run(self) -> None:
        """Take each answer once, from the first on. Until it is cancelled."""
        async for decided in self._desk.decisions():
            view = await self._desk.view(decided.decision.item)
            if view is not None and view.decision is not None and view.item.kind == AUDIT:
                await self._take(view, is_right=view.decision.action is JudgmentAction.ACCEPT)

    async def _take(self, view: ItemView, *, is_right: bool) -> None:
        stream = _STREAM + view.item.id
        noted = await self._ledger.read(stream)
        if not noted:
            entries = self._meant(view, is_right=is_right)
            noted = [Entry("meant", msgspec.json.encode(entries), view.decided_ms)]
            await self._ledger.append(stream, 0, noted)
        if len(noted) == 1:
            await self._write(msgspec.json.decode(noted[0].body, type=list[tuple[str, str]]))
            await self._ledger.append(stream, 1, [Entry("told", b"", view.decided_ms)])

    def _meant(self, view: ItemView, *, is_right: bool) -> list[tuple[str, str]]:
        node, subject = self._member.member.node, view.item.agent
        entries = []
        if not is_right and node.policy.is_moderator(self._agent):
            entries.append((f"retracted/{view.item.subject}", "true"))
        if subject != self._agent:
            key, tuned = rating_key(self._agent, subject), node.settings.standing.trust
            entries.append((key, rating_value(node.registry.get(key), is_right, node.policy.hive_ms(self._member.now()), tuned)))
        return entries

    async def _write(self, entries: list[tuple[str, str]]) -> None:
        """Tried until the hive takes it."""
        while entries:
            try:
                refusals = await self._member.runner.write(entries, self._agent)
            except HiveError as error:
                _log.warning("%s: an audit's result can't be sent to the hive yet: %s", self._agent, error)
                await asyncio.sleep(_AGAIN_S)
            else:
                for refusal in filter(None, refusals):
                    _log.warning("%s: the hive refuses an audit's result: %s", self._agent, refusal)
                return

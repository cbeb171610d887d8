"""The effects of people's decisions on a whole fleet, which the agent of its desk brings about: it sees what all people decide.

What they no longer agree with is taken back: a rule of the hive that decides otherwise than they do is on trial again. Only what
was decided since the rule was approved speaks against it: its approver knew the rest. By an answer to an audit a fact that is
wrong is taken back for all, and its agent is rated; so is the agent of a run that was audited.
"""

import asyncio
import logging

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.desk_pages import DeskExchange
from hive_mind.agents.judging.fact_items import AUDIT, is_decided, shown_precedent
from hive_mind.agents.judging.rules_at_work import HiveMember
from hive_mind.errors import HiveError
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.rights import rating_key
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.judge.calibration import TARGET
from hive_mind.judge.items import NOBODY, ItemView
from hive_mind.judge.judge_settings import DeskConfig
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import KIND, EvaluationRule, RolloutRecord, key_of, known, taken_back, tried, value_of
from hive_mind.ledger.base import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_TRUST_STREAM = "audited/"
# Decisions before these are no news.
_CASES_MAX = 1_000
_TOGETHER_S, _AGAIN_S = 0.5, 5.0


async def run_desk(agent: str, at: DeskConfig, ledger: Ledger, member: HiveMember) -> None:
    """Exchange items with the desk, or as the desk with all agents; there decisions take effect on rules and trust, too.

    Until it is cancelled.
    """
    desk = LedgerDesk(ledger)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(DeskExchange(agent, at, ledger, desk, member.desk_pages, member.runner.tell).run())
        if at.agent == agent:
            tasks.create_task(DeskEffects(agent, desk, member).run())


class DeskEffects:
    """Follows one desk, which stays its owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, desk: LedgerDesk, member: HiveMember) -> None:
        self._agent, self._desk, self._member = agent, desk, member
        self._views: dict[str, ItemView] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Take each decision once, from the first on. Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hold_against_rules())
            async for decided in self._desk.decisions():
                view = await self._desk.view(decided.decision.item)
                if view and is_decided(view):
                    self._views.pop(view.item.id, None)
                    self._views[view.item.id] = view
                    if len(self._views) > _CASES_MAX:
                        del self._views[next(iter(self._views))]
                    self._news.set()
                if view and view.decision and view.item.kind == AUDIT and view.decision.by not in NOBODY:
                    await self._take(view, is_right=view.decision.action is JudgmentAction.ACCEPT)

    async def _hold_against_rules(self) -> None:
        while True:
            await self._news.wait()
            # People decide on several at once.
            await asyncio.sleep(_TOGETHER_S)
            self._news.clear()
            for rule, record in self._refuted():
                await self._take_back(rule, record)

    def _refuted(self) -> list[tuple[EvaluationRule, RolloutRecord]]:
        registry = self._member.member.node.registry
        rules = known(registry.with_prefix(f"{KIND}/")).values()
        # One that asks people is never contradicted by what they say.
        deciding = [rule for rule in rules if rule.mode == "active" and rule.action is not JudgmentAction.ESCALATE]
        records = [(rule, self._record(rule, registry)) for rule in deciding]
        return [(rule, record) for rule, record in records if record.is_refuted(TARGET)]

    def _record(self, rule: EvaluationRule, registry: Registry) -> RolloutRecord:
        since_ms = registry.in_force(KIND)[key_of(rule.id)].ms
        (trial,) = tried([rule], [shown_precedent(view) for view in self._views.values() if view.decided_ms >= since_ms])
        return trial.record

    async def _take_back(self, rule: EvaluationRule, record: RolloutRecord) -> None:
        why = f"people agreed in {record.agreed:g} of {record.decided:g} cases"
        try:
            refusals = await self._member.runner.write([(key_of(rule.id), value_of(taken_back(rule, why)))], self._agent)
        except HiveError as error:
            _log.warning("%s: rule %s can't be taken back yet (%s): %s", self._agent, rule.id, why, error)
            await asyncio.sleep(_AGAIN_S)
            self._news.set()
        else:
            _log.warning("%s: rule %s is on trial again: %s", self._agent, rule.id, "; ".join(filter(None, refusals)) or why)

    async def _take(self, view: ItemView, *, is_right: bool) -> None:
        stream = _TRUST_STREAM + view.item.id
        noted = await self._desk.ledger.read(stream)
        if not noted:
            entries = self._meant(view, is_right=is_right)
            noted = [Entry("meant", msgspec.json.encode(entries), view.decided_ms)]
            await self._desk.ledger.append(stream, 0, noted)
        if len(noted) == 1:
            await self._write(json_decoder(list[tuple[str, str]])(noted[0].body))
            await self._desk.ledger.append(stream, 1, [Entry("told", b"", view.decided_ms)])

    def _meant(self, view: ItemView, *, is_right: bool) -> list[tuple[str, str]]:
        node, subject = self._member.member.node, view.item.agent
        entries = []
        # Of an audited run there is no fact to take back.
        if not is_right and not view.item.judged and node.policy.is_moderator(self._agent):
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

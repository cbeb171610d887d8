"""Takes back what people no longer agree with: a rule of the hive that decides otherwise than they do is on trial again.

The desk's agent does it, because it sees what all people of the fleet decide. Only what was decided since the rule was approved
speaks against it: its approver knew the rest.
"""

import asyncio
import logging

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.fact_items import case_of, is_decided
from hive_mind.errors import HiveError
from hive_mind.hive.policy.registry import Registry
from hive_mind.judge.calibration import TARGET
from hive_mind.judge.hive_rules import KIND, key_of, known, taken_back, value_of
from hive_mind.judge.items import ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import EvaluationRule, RolloutRecord
from hive_mind.judge.trial import tried
from hive_mind.runtime.members.member import RunningMember

_log = logging.getLogger(__name__)

# Decisions before these are no news.
_CASES_MAX = 1_000
_TOGETHER_S, _AGAIN_S = 0.5, 5.0


class DeskRules:
    """Follows one desk, which stays its owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, desk: LedgerDesk, member: RunningMember) -> None:
        self._agent, self._desk, self._member = agent, desk, member
        self._views: dict[str, ItemView] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._look())

    async def _follow(self) -> None:
        async for said in self._desk.decisions():
            view = await self._desk.view(said.decision.item)
            if view is not None and is_decided(view):
                self._views.pop(view.item.id, None)
                self._views[view.item.id] = view
                if len(self._views) > _CASES_MAX:
                    del self._views[next(iter(self._views))]
                self._news.set()

    async def _look(self) -> None:
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
        found = [(rule, self._record(rule, registry)) for rule in rules if _decides(rule)]
        return [(rule, record) for rule, record in found if record.is_refuted(TARGET)]

    def _record(self, rule: EvaluationRule, registry: Registry) -> RolloutRecord:
        since_ms = registry.in_force(KIND)[key_of(rule.id)].ms
        (trial,) = tried([rule], [case_of(view) for view in self._views.values() if view.decided_ms >= since_ms])
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


def _decides(rule: EvaluationRule) -> bool:
    """One that asks people is never contradicted by what they say."""
    return rule.mode == "active" and rule.action is not JudgmentAction.ESCALATE

"""The rules that decide now: those of a manifest, and those that people approved for the hive, read anew when either changes.

What people no longer agree with is taken back: a rule of the hive that decides otherwise than they do is on trial again. The
desk's agent does it, because it sees what all people of the fleet decide. Only what was decided since the rule was approved
speaks against it: its approver knew the rest.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.agents.judging.fact_items import case_of, is_decided
from hive_mind.errors import HiveError, InvalidInput, RuleError
from hive_mind.forms.reading import text_of
from hive_mind.hive.effects import Now
from hive_mind.hive.policy.registry import Registry
from hive_mind.judge.calibration import TARGET
from hive_mind.judge.hive_rules import KIND, RulesAtWork, key_of, known, rule_of, taken_back, together, value_of
from hive_mind.judge.items import ItemView
from hive_mind.judge.judge_settings import ReviewConfig
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rule_file import RULES
from hive_mind.judge.rule_file import rules_of as rules_of_text
from hive_mind.judge.rules import EvaluationRule, RolloutRecord, RuleSet, tried
from hive_mind.model.evidence import HiveFact

if TYPE_CHECKING:
    from hive_mind.hive.member import Member

_log = logging.getLogger(__name__)

# Decisions before these are no news.
_CASES_MAX = 1_000
_TOGETHER_S, _AGAIN_S, _LOOK_S = 0.5, 5.0, 0.2


class HiveRequests(Protocol):
    """The requests of a judge to its hive. Each raises `HiveError`."""

    def write(self, entries: Sequence[tuple[str, str]], by: str) -> Awaitable[Sequence[str]]:
        """Put entries into the registry; why each is refused, or ""."""
        ...

    def fetch(self, wanted: Sequence[tuple[str, str]]) -> Awaitable[Sequence[HiveFact]]:
        """Facts that others have shared."""
        ...

    def tell(self, to: Sequence[str], kind: str, data: bytes) -> Awaitable[object]:
        """Send it to nodes: durable when it returns, and it reaches each once."""
        ...


class HiveMember(Protocol):
    """The place of an agent in its hive, as its judge sees it."""

    @property
    def member(self) -> "Member": ...
    @property
    def desk_pages(self) -> DeskPages: ...
    @property
    def runner(self) -> HiveRequests: ...
    def now(self) -> Now:
        """The clocks of its machine."""
        ...


def rules_of(config: ReviewConfig) -> RuleSet:
    """The rules of a configuration. Raises `InvalidInput` for one that can't be used."""
    try:
        return RuleSet(map(rule_of, config.rules))
    except InvalidInput as error:
        raise InvalidInput(f"a rule can't be used: {error}") from None


def rules_in(file: Path) -> tuple[EvaluationRule, ...]:
    """The rules of a file. Raises `RuleError` and `InvalidInput`."""
    text, problems = text_of(file, RULES)
    if problems:
        raise RuleError(problems, str(file))
    return rules_of_text(text, str(file))


class HiveRules:
    """The rules that decide now: read anew whenever the registry of the hive says something else.

    `given`: those of the manifest. Those of the hive are known as soon as there is a node.
    """

    def __init__(self, given: tuple[EvaluationRule, ...], member: "Member") -> None:
        self.given, self._member = given, member
        self._seen = self._read = -1
        self._now = RulesAtWork(RuleSet(given), is_known=False)

    def now(self) -> RulesAtWork:
        """The rules at work; the same object until they change, and as cheap as a comparison."""
        if self._member.is_ready and self._member.node.registry.version != self._seen:
            self._read_anew(self._member.node.registry)
        return self._now

    async def known(self) -> RulesAtWork:
        """The rules at work, as soon as the hive has said which it has."""
        await self.changed_from(None)
        return self.now()

    async def changed_from(self, former: RulesAtWork | None) -> None:
        """Return when they are known, and others are at work than these."""
        # Any member may have written them; a look costs nothing.
        while self.now() is former or not self.now().is_known:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)

    def _read_anew(self, registry: Registry) -> None:
        self._seen, version = registry.version, registry.version_of(KIND)
        if version != self._read:
            self._read, self._now = version, together(self.given, registry.with_prefix(f"{KIND}/"))


class DeskRules:
    """Follows one desk, which stays its owner's. `run` it while the agent is there."""

    def __init__(self, agent: str, desk: LedgerDesk, member: HiveMember) -> None:
        self._agent, self._desk, self._member = agent, desk, member
        self._views: dict[str, ItemView] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._look())

    async def _follow(self) -> None:
        async for decision in self._desk.decisions():
            view = await self._desk.view(decision.decision.item)
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
        records = [(rule, self._record(rule, registry)) for rule in rules if _decides(rule)]
        return [(rule, record) for rule, record in records if record.is_refuted(TARGET)]

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

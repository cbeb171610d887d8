"""The judges of an agent, put together in one way from one configuration: that of its facts, and that of its runs.

Both have their settings, their model with its budget, and the log from which people's decisions teach them. Where a model can't
be had nothing is accepted: a person is asked, with the reason.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge
from hive_mind.agents.judging.functions import functions_at
from hive_mind.agents.judging.hybrid_judge import RunJudge, always
from hive_mind.agents.judging.model_judge import BUDGET_TOKENS, ModelJudge, ModelJudgeSettings, Pace
from hive_mind.agents.judging.rules_at_work import HiveMember, HiveRules, rules_of
from hive_mind.cognition.budget import Budget
from hive_mind.errors import BackendRejected, HiveError
from hive_mind.judge.judge_settings import JudgeSettings, ModelReviewConfig, ReviewConfig
from hive_mind.ledger.base import Ledger
from hive_mind.llm.base import Completion, LanguageModel, OnText, Prompt
from hive_mind.model.dialogue import Reply, Turn
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact
from hive_mind.retry import RetrySettings

_log = logging.getLogger(__name__)

OpenModel = Callable[[str], Awaitable[LanguageModel]]


@dataclass(frozen=True, slots=True)
class JudgeModels:
    """How a judge gets at language models: `open` gives one by its name, `tokens` is what all its verdicts may cost."""

    open: OpenModel
    retry: RetrySettings = field(default_factory=RetrySettings)
    tokens: int = BUDGET_TOKENS

    async def judging(self, name: str, pace: Pace | None = None) -> ModelJudge:
        """One of them as a judge; one that can't be had says so each time it is asked."""
        try:
            model = await self.open(name)
        except HiveError as error:
            _log.warning("no model can judge, so people are asked: %s", error)
            model = _Absent(name, str(error))
        return ModelJudge(model, Budget(self.tokens), ModelJudgeSettings(retry=self.retry), pace=pace)


async def fact_judge(config: ModelReviewConfig, agent: str, ledger: Ledger, member: HiveMember, models: JudgeModels) -> FactJudge:
    """The judge of what an agent would share, which knows what it judged before. Raises what a ledger raises."""
    model = await models.judging(config.name, Pace(config.calls_per_minute))
    settings = replace(settings_of(config), has_model=True)
    judge = FactJudge(agent, model, log_of(ledger, config), settings, _Confirmations(agent, member).of)
    await judge.load()
    return judge


async def run_judge(config: ReviewConfig, ledger: Ledger, models: JudgeModels, model: str, member: HiveMember | None) -> RunJudge:
    """The judge of an agent's runs. `model`: the agent's own, for where the configuration names none. Raises `InvalidInput`."""
    rule_set, name = rules_of(config), config.model.name or model
    hive = HiveRules(rule_set.rules, member.member) if member else None
    judging = await models.judging(name) if name else None
    return RunJudge(
        hive.known if hive else always(rule_set),
        judging,
        settings_of(config.model),
        functions_at(config.functions),
        log_of(ledger, config.model),
    )


def settings_of(config: ModelReviewConfig) -> JudgeSettings:
    """How sure a judge has to be, and what if it is not."""
    return JudgeSettings(threshold=config.threshold, unattended=config.unattended, degrade=config.degrade)


def log_of(ledger: Ledger, config: ModelReviewConfig) -> LedgerLog:
    """Where it keeps what it judged, and learns from what people said of it."""
    return LedgerLog(ledger, audit_share=config.audit, learns_weights=config.weights == "learned")


class _Absent:
    """A model that can't be had."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, prompt: Prompt) -> Completion:
        del prompt
        raise BackendRejected(self._name, self._why)

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        del turn, on_text
        raise BackendRejected(self._name, self._why)

    async def close(self) -> None:
        """Nothing to release."""


class _Confirmations:
    """Confirmation of a fact by what other agents have shared already: 1 − ½ᵏ for k sources that this agent has not, by trust."""

    def __init__(self, agent: str, member: HiveMember) -> None:
        self._agent, self._member = agent, member

    async def of(self, facts: Sequence[Fact]) -> Mapping[str, float]:
        """By the ids of those that others have shared; where the hive can't be asked, none are known."""
        try:
            hive_facts = await self._member.runner.fetch([(fact.id, "") for fact in facts])
        except HiveError as error:
            _log.info("%s: the hive does not say what others confirm: %s", self._agent, error)
            return {}
        own_sources = {fact.id: set(fact.sources) for fact in facts}
        return {fact.id: 1.0 - 0.5**k for fact in hive_facts if (k := self._sources(fact, own_sources.get(fact.id, set()))) > 0.0}

    def _sources(self, fact: HiveFact, own_sources: set[str]) -> float:
        trust = self._member.member.node.policy.at(self._member.now()).trust
        roots: dict[str, float] = {}
        for row in fact.provenance:
            if row.agent != self._agent and row.root not in own_sources:
                roots[row.root] = max(roots.get(row.root, 0.0), min(trust(row.agent), 1.0))
        return sum(roots.values())

"""The language model that judges an agent's facts, put together: the model, its budget and pace, its log, what others confirm.

Where the model can't be had nothing is accepted: each fact goes to a person, with the reason.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge
from hive_mind.agents.judging.model_judge import BUDGET_TOKENS, CheckedModel, ModelJudgeSettings, Pace
from hive_mind.agents.judging.rules_at_work import HiveMember
from hive_mind.cognition.budget import Budget
from hive_mind.errors import BackendRejected, HiveError
from hive_mind.judge.judge_settings import JudgeSettings, ModelReviewConfig
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


async def open_judge(config: ModelReviewConfig, agent: str, ledger: Ledger, member: HiveMember, models: JudgeModels) -> FactJudge:
    """The judge, which knows what it judged before. Raises what a ledger raises."""
    try:
        model = await models.open(config.name)
    except HiveError as error:
        _log.warning("%s: no model can judge its facts, so people are asked about each: %s", agent, error)
        model = _Absent(config.name, str(error))
    settings = JudgeSettings(threshold=config.threshold, has_model=True, unattended=config.unattended)
    asking = ModelJudgeSettings(retry=models.retry)
    checked = CheckedModel(model, Budget(models.tokens), asking, pace=Pace(config.calls_per_minute))
    judge = FactJudge(
        agent,
        checked,
        LedgerLog(ledger),
        settings,
        _Confirmations(agent, member).of,
        audit_share=config.audit,
        learns_weights=config.weights == "learned",
    )
    await judge.load()
    return judge


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
            found = await self._member.runner.fetch([(fact.id, "") for fact in facts])
        except HiveError as error:
            _log.info("%s: the hive does not say what others confirm: %s", self._agent, error)
            return {}
        own = {fact.id: set(fact.sources) for fact in facts}
        return {one.id: 1.0 - 0.5**k for one in found if (k := self._sources(one, own.get(one.id, set()))) > 0.0}

    def _sources(self, fact: HiveFact, own: set[str]) -> float:
        trust = self._member.member.node.policy.at(self._member.now()).trust
        roots: dict[str, float] = {}
        for row in fact.provenance:
            if row.agent != self._agent and row.root not in own:
                roots[row.root] = max(roots.get(row.root, 0.0), min(trust(row.agent), 1.0))
        return sum(roots.values())
